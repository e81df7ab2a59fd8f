package link

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// tunKind is the name of the devices, without their numbers.
const tunKind = "tun"

// maxTunNodes bounds the search for a device that is free. A guess: /dev has four at first.
const maxTunNodes = 256

// openUnit opens the device with a number, or any that is free for -1.
func openUnit(unit int) (int, error) {
	if unit >= 0 {
		return openNode(unit)
	}
	for n := range maxTunNodes {
		if fd, err := openNode(n); !errors.Is(err, unix.EBUSY) {
			return fd, err
		}
	}
	return 0, fmt.Errorf("/dev/tun0 to /dev/tun%d: %w", maxTunNodes-1, unix.EBUSY)
}

// openNode opens a device. O_NONBLOCK must be set later: tun(4) of OpenBSD hears of it by an ioctl,
// which only a change of the flag makes.
func openNode(unit int) (int, error) {
	path := "/dev/tun" + strconv.Itoa(unit)
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return fd, nil
}

// tunName returns the name of the device behind a descriptor, which is that of its node in /dev.
func tunName(fd int) (string, error) {
	var opened, node unix.Stat_t
	if err := unix.Fstat(fd, &opened); err != nil {
		return "", err
	}
	unit := unix.Minor(uint64(uint32(opened.Rdev))) //nolint:gosec // the bits of a dev_t
	name := tunKind + strconv.FormatUint(uint64(unit), 10)
	if err := unix.Stat("/dev/"+name, &node); err != nil {
		return "", err
	}
	if opened.Mode&unix.S_IFMT != unix.S_IFCHR || node.Rdev != opened.Rdev {
		return "", unix.ENODEV
	}
	return name, nil
}

// prepareTun does nothing: the header with the family is always there.
func prepareTun(int) error { return nil }

// removeTun does nothing: OpenBSD removes a device that was created by opening it.
func removeTun(string) error { return nil }
