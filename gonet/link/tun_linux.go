package link

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"
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
	own, err := dup(fd)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d: %w", fd, err)
	}
	t, err := newTap(own, kind, name, mtu)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind, name, err)
	}
	return t, syscall.Close(fd)
}

// attached returns the kind and name of the device to which a descriptor is attached, and prepares
// the descriptor for a Tap.
func attached(fd int) (kind, name string, err error) {
	req, err := newIfreq("")
	if err != nil {
		return "", "", err
	}
	if err := ioctlDevice(fd, syscall.TUNGETIFF, req); err != nil {
		return "", "", fmt.Errorf("not a tap or tun: TUNGETIFF: %w", err)
	}
	kind, name = "tap", req.name()
	flags := req.flags()
	if flags&syscall.IFF_TUN != 0 {
		kind = "tun"
	}
	if flags&syscall.IFF_NO_PI == 0 || flags&syscall.IFF_VNET_HDR == 0 {
		return "", "", fmt.Errorf("%s %s: opened without IFF_NO_PI or IFF_VNET_HDR", kind, name)
	}
	length := int32(virtioLen)
	return kind, name, errors.Join(
		ioctlPointer(fd, syscall.TUNSETVNETHDRSZ, unsafe.Pointer(&length)),
		syscall.SetNonblock(fd, true))
}
