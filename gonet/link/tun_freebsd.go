package link

import (
	"errors"
	"fmt"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tunKind is the name of the devices, without their numbers.
const tunKind = "tun"

// The requests of net/if_tun.h.
const (
	tunGetName = 0x4020745d // TUNGIFNAME: a struct ifreq
	tunSetHead = 0x80047460 // TUNSIFHEAD: an int, not 0 for the header with the family
	tunSetPID  = 0x2000745f // TUNSIFPID: this process controls the device
)

// ifreq is struct ifreq of net/if.h with its name only.
type ifreq struct {
	name [unix.IFNAMSIZ]byte
	_    [16]byte
}

// openUnit opens the device with a number, or any for -1: the kernel creates one.
func openUnit(unit int) (int, error) {
	path := "/dev/tun"
	if unit >= 0 {
		path += strconv.Itoa(unit)
	}
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return fd, nil
}

// tunName returns the name of the device behind a descriptor.
func tunName(fd int) (string, error) {
	var r ifreq
	if err := ioctl(fd, tunGetName, unsafe.Pointer(&r)); err != nil {
		return "", fmt.Errorf("TUNGIFNAME: %w", err)
	}
	return unix.ByteSliceToString(r.name[:]), nil
}

// prepareTun has the device carry both families, and belong to this process.
func prepareTun(fd int) error {
	if err := unix.IoctlSetPointerInt(fd, tunSetHead, 1); err != nil {
		return fmt.Errorf("TUNSIFHEAD: %w", err)
	}
	if err := unix.IoctlSetInt(fd, tunSetPID, 0); err != nil {
		return fmt.Errorf("TUNSIFPID: %w", err)
	}
	return nil
}

// removeTun removes a device, which would stay after it was closed.
func removeTun(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	var r ifreq
	copy(r.name[:], name)
	err = ioctl(fd, unix.SIOCIFDESTROY, unsafe.Pointer(&r))
	if err != nil && !errors.Is(err, unix.ENXIO) { // another has removed it
		return fmt.Errorf("%s: SIOCIFDESTROY: %w", name, err)
	}
	return nil
}

func ioctl(fd int, request uintptr, argument unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(argument))
	if errno != 0 {
		return errno
	}
	return nil
}
