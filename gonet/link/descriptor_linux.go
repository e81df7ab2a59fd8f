package link

import (
	"fmt"
	"syscall"
)

// fromDevice makes a link of the descriptor of a tap or tun. It returns nil for another descriptor.
func fromDevice(fd int, features Features) (Link, error) {
	req, err := newIfreq("")
	if err != nil {
		return nil, err
	}
	if ioctlDevice(fd, syscall.TUNGETIFF, req) != nil {
		return nil, nil //nolint:nilerr // another descriptor
	}
	flags, name := req.flags(), req.name()
	if flags&syscall.IFF_VNET_HDR != 0 {
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
	features.L3 = flags&syscall.IFF_TUN != 0
	file, err := pollable(fd)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return NewPackets(file, features), nil
}
