package link

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// tunKind is the name of the devices, without their numbers.
const tunKind = "utun"

// A utun is the other end of a socket for the control of the kernel (sys/kern_control.h, and
// net/if_utun.h, which is not among the public headers).
const (
	protoControl = 2 // SYSPROTO_CONTROL: the protocol of the socket, and the level of its options
	utunName     = 2 // UTUN_OPT_IFNAME
	utunControl  = "com.apple.net.utun_control"
)

// openUnit creates the device with a number, or any for -1. The kernel removes it when the socket
// is closed.
func openUnit(unit int) (int, error) {
	syscall.ForkLock.RLock() // a child must not inherit the socket before it is marked
	fd, err := unix.Socket(unix.AF_SYSTEM, unix.SOCK_DGRAM, protoControl)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return 0, fmt.Errorf("socket: %w", err)
	}
	info := new(unix.CtlInfo)
	copy(info.Name[:], utunControl)
	if err := unix.IoctlCtlInfo(fd, info); err != nil {
		_ = unix.Close(fd) // nothing was written
		return 0, fmt.Errorf("CTLIOCGINFO: %w", err)
	}
	// unit 0 takes any device, and unit n is utun(n-1)
	address := &unix.SockaddrCtl{ID: info.Id, Unit: uint32(unit + 1)} //nolint:gosec // -1 to 32767
	if err := unix.Connect(fd, address); err != nil {
		_ = unix.Close(fd) // nothing was written
		return 0, fmt.Errorf("connect: %w", err)
	}
	return fd, nil
}

// tunName returns the name of the device behind a descriptor.
func tunName(fd int) (string, error) { return unix.GetsockoptString(fd, protoControl, utunName) }

// prepareTun does nothing: a utun has no other framing.
func prepareTun(int) error { return nil }

// removeTun does nothing: the kernel removes a utun.
func removeTun(string) error { return nil }
