package link

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestUnitOf(t *testing.T) {
	for _, c := range []struct {
		kind, name string
		unit       int
	}{
		{"utun", "utun0", 0}, {"utun", "utun17", 17}, {"tun", "tun32767", 32767},
		{"utun", "utun", -1}, {"utun", "utun%d", -1}, {"utun", "", -1}, {"tun", "", -1},
	} {
		if got, err := unitOf(c.kind, c.name); got != c.unit || err != nil {
			t.Errorf("%s among %s: %d, %v, want %d", c.name, c.kind, got, err, c.unit)
		}
	}
	for _, name := range []string{"tun0", "utun-1", "utun+1", "utun01", "utun32768", "utun65536",
		"utun1x", "utun 1", "utun1\x00", "7", "gonet0", "UTUN1", "utunutun1", "%d", "utun%d1"} {
		if got, err := unitOf("utun", name); err == nil || !strings.Contains(err.Error(), "utun") {
			t.Errorf("%q: %d, %v", name, got, err)
		}
	}
}

// TestWithRights holds that an error of missing rights says what is needed, and stays what it is.
func TestWithRights(t *testing.T) {
	for _, why := range []error{syscall.EPERM, syscall.EACCES, os.ErrPermission} {
		err := withRights(fmt.Errorf("connect: %w", why), "root")
		if !errors.Is(err, why) || !strings.HasSuffix(err.Error(), ": it needs root") {
			t.Errorf("%v: %v", why, err)
		}
	}
	if err := withRights(syscall.EBUSY, "root"); !errors.Is(err, syscall.EBUSY) ||
		strings.Contains(err.Error(), "root") {
		t.Errorf("a device that is in use: %v", err)
	}
	if err := withRights(nil, "root"); err != nil {
		t.Errorf("no error: %v", err)
	}
}
