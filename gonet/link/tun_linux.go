package link

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// NewTap makes a link of the descriptor of a tap or tun, for example one that a process with more
// privileges, or in another network namespace, has opened and handed in. It must be attached to its
// device with IFF_NO_PI and IFF_VNET_HDR; NewPackets takes one without IFF_VNET_HDR. An MTU of 0 is
// read from the device, which must then be in this network namespace. The Tap owns the descriptor;
// if NewTap fails, the caller still does.
func NewTap(fd, mtu int) (*Tap, error) {
	kind, name, err := attached(fd)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d: %w", fd, err)
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d: %w", fd, err)
	}
	t, err := newTap(own, kind, name, mtu)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind, name, err)
	}
	return t, unix.Close(fd)
}

// attached returns the kind and name of the device to which a descriptor is attached, and prepares
// the descriptor for a Tap.
func attached(fd int) (kind, name string, err error) {
	req, err := unix.NewIfreq("")
	if err != nil {
		return "", "", err
	}
	if err := unix.IoctlIfreq(fd, unix.TUNGETIFF, req); err != nil {
		return "", "", fmt.Errorf("not a tap or tun: TUNGETIFF: %w", err)
	}
	kind, name = "tap", req.Name()
	flags := req.Uint16()
	if flags&unix.IFF_TUN != 0 {
		kind = "tun"
	}
	if flags&unix.IFF_NO_PI == 0 || flags&unix.IFF_VNET_HDR == 0 {
		return "", "", fmt.Errorf("%s %s: opened without IFF_NO_PI or IFF_VNET_HDR", kind, name)
	}
	return kind, name, errors.Join(
		unix.IoctlSetPointerInt(fd, unix.TUNSETVNETHDRSZ, virtioLen),
		unix.SetNonblock(fd, true))
}
