package link

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// maxUnit is the largest number of a device (IF_MAXUNIT, net/if.h of the BSDs).
const maxUnit = 0x7fff

// unitOf returns the number of the device with a name, on systems that name devices by a kind and a
// number. An empty name, the kind alone, and the kind with %d, as for Linux, mean any device that
// is free: -1.
func unitOf(kind, name string) (int, error) {
	digits, ok := strings.CutPrefix(name, kind)
	if ok && (digits == "" || digits == "%d") || name == "" {
		return -1, nil
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if !ok || err != nil || n > maxUnit || strconv.FormatUint(n, 10) != digits {
		return 0, fmt.Errorf("devices of this system are called %s0 to %s%d, and %s is any", kind,
			kind, maxUnit, kind)
	}
	return int(n), nil
}

// withRights adds to the error of a process without the rights for a device which ones it needs.
func withRights(err error, needed string) error {
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%w: it needs %s", err, needed)
	}
	return err
}
