//go:build darwin || freebsd || openbsd

package link

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Tun is a tun: a network device of macOS, FreeBSD or OpenBSD whose other end is this process. It
// carries IP packets without Ethernet, and has no offloads.
type Tun struct {
	*Funcs
	name string
}

var _ Link = (*Tun)(nil)

// OpenTun opens the tun device with a name: "utun" and a number on macOS, "tun" and a number on the
// others. The empty name takes any device that is free. A device that is not there is created, and
// removed when the Tun is closed; OpenBSD needs its node (MAKEDEV tun4). It needs root, or on
// FreeBSD and OpenBSD a device that belongs to the user.
//
// The caller must give the device its addresses and bring it up, as by "ifconfig utun5 10.9.0.1
// 10.9.0.2 up". The MTU of the link is what the device has when it is opened.
func OpenTun(name string) (*Tun, error) {
	unit, err := unitOf(tunKind, name)
	if err != nil {
		return nil, fmt.Errorf("tun %s: %w", name, err)
	}
	before, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("tun %s: %w", name, err)
	}
	fd, err := openUnit(unit)
	if err != nil {
		return nil, fmt.Errorf("tun %s: %w", name, withRights(err, "root"))
	}
	t, err := newTun(fd, 0, func(chosen string) bool {
		return !slices.ContainsFunc(before, func(i net.Interface) bool { return i.Name == chosen })
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("tun %s: %w", name, err), unix.Close(fd))
	}
	return t, nil
}

// NewTun makes a link of the descriptor of a tun that another process has opened and handed in, or
// a network extension of macOS. An MTU of 0 is that of the device. The Tun owns the descriptor; if
// NewTun fails, the caller still does.
func NewTun(fd, mtu int) (*Tun, error) {
	t, err := newTun(fd, mtu, func(string) bool { return false })
	if err != nil {
		return nil, fmt.Errorf("descriptor %d: %w", fd, err)
	}
	return t, nil
}

// newTun makes a Tun of a descriptor, which it does not close if it fails. created tells whether
// the device with a name was created with the descriptor.
func newTun(fd, mtu int, created func(string) bool) (*Tun, error) {
	name, err := tunName(fd)
	if err != nil {
		return nil, fmt.Errorf("not a tun: %w", err)
	}
	if err := prepareTun(fd); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if mtu == 0 {
		device, err := net.InterfaceByName(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		mtu = device.MTU
	}
	file, err := pollable(fd)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d := &tunDevice{File: file, name: name, created: created(name)}
	f := newFamilyTun("tun "+name, d, mtu, families{unix.AF_INET, unix.AF_INET6}, isTunDown)
	return &Tun{Funcs: f, name: name}, nil
}

// isTunDown tells whether a read has failed since the device is not up, as on FreeBSD and OpenBSD.
func isTunDown(err error) bool { return errors.Is(err, unix.EHOSTDOWN) }

// Kind returns "tun".
func (t *Tun) Kind() string { return "tun" }

// Name returns the device's name.
func (t *Tun) Name() string { return t.name }

// tunDevice is the file of a device, which is removed with it if it was created for it.
type tunDevice struct {
	*os.File
	name    string
	created bool
}

// Close closes the device.
func (d *tunDevice) Close() error {
	err := d.File.Close()
	if d.created {
		err = errors.Join(err, removeTun(d.name))
	}
	return err
}
