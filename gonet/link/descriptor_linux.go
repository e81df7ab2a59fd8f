package link

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fromDevice makes a link of the descriptor of a tap or tun. It returns nil for another descriptor.
func fromDevice(fd int, features Features) (Link, error) {
	req, err := unix.NewIfreq("")
	if err != nil {
		return nil, err
	}
	if unix.IoctlIfreq(fd, unix.TUNGETIFF, req) != nil {
		return nil, nil //nolint:nilerr // another descriptor
	}
	flags, name := req.Uint16(), req.Name()
	if flags&unix.IFF_VNET_HDR != 0 {
		t, err := NewTap(fd, features.MTU)
		if err != nil {
			return nil, err // not t: a Link with a nil *Tap is not nil
		}
		return t, nil
	}
	if features.MTU == 0 {
		if features.MTU, err = mtu(name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	features.L3 = flags&unix.IFF_TUN != 0
	file, err := pollable(fd)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return NewPackets(file, features), nil
}
