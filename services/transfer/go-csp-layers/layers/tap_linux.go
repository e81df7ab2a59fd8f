package layers

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"interleave/gonet/wire"
)

// tap is a network device of Linux whose other end is this process. As in the paper it carries a
// frame of one MTU with each call.
type tap struct {
	file  *os.File
	mtu   int
	frame []byte // of the one reader
}

// OpenTap attaches to a tap that exists.
func OpenTap(name string) (Device, error) {
	t, err := openTap(name)
	if err != nil {
		return nil, fmt.Errorf("tap %s: %w", name, err)
	}
	return t, nil
}

func openTap(name string) (*tap, error) {
	req, err := unix.NewIfreq(name)
	if err != nil {
		return nil, err
	}
	mtu, err := deviceMTU(name)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err != nil {
		return nil, errors.Join(fmt.Errorf("TUNSETIFF: %w", err), unix.Close(fd))
	}
	return &tap{os.NewFile(uintptr(fd), "/dev/net/tun"), mtu,
		make([]byte, wire.EthernetLen+mtu)}, nil
}

func deviceMTU(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written to the socket
	req, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFMTU, req); err != nil {
		return 0, fmt.Errorf("SIOCGIFMTU: %w", err)
	}
	return int(req.Uint32()), nil
}

func (t *tap) Receive() ([]byte, error) {
	n, err := t.file.Read(t.frame)
	if err != nil {
		return nil, err
	}
	return slices.Clone(t.frame[:n]), nil
}

// Send fails if the kernel has no room: a link may lose frames.
func (t *tap) Send(frame []byte) error {
	_, err := t.file.Write(frame)
	return err
}

func (t *tap) MTU() int { return t.mtu }

func (t *tap) Close() error { return t.file.Close() }
