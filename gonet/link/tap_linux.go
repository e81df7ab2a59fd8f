package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Tap is a network device of Linux whose other end is this process.
//
// The device hands over and takes super-frames of up to 64 KiB with checksums left out (IFF_VNET_HDR), which moves twenty times
// as many bytes a second as plain frames do: a read or a write costs about the same whatever it carries.
type Tap struct {
	file      *os.File
	raw       syscall.RawConn
	name      string
	features  Features
	buffers   [][]byte
	interrupt atomic.Bool
	dropped   atomic.Uint64
	closed    atomic.Bool
}

// virtioLen is the length in bytes of the header that stands before each frame (struct virtio_net_hdr, linux/virtio_net.h).
const virtioLen = 10

// What virtio_net_hdr says.
const (
	virtioNeedsChecksum = 1
	virtioDataValid     = 2
	virtioTCPv4         = 1
	virtioTCPv6         = 4
	virtioECN           = 0x80
)

// The offloads of TUNSETOFFLOAD (linux/if_tun.h).
const (
	tunChecksum = 0x01
	tunTSO4     = 0x02
	tunTSO6     = 0x04
)

// OpenTap opens the tap device of a name, and makes it if it is not there; the kernel removes what it has made when the Tap is
// closed. It needs CAP_NET_ADMIN in the network namespace, or a device that belongs to the user. The device must be brought
// up, and given addresses, by who calls.
func OpenTap(name string) (*Tap, error) {
	t, err := openTap(name)
	if err != nil {
		return nil, fmt.Errorf("tap %s: %w", name, err)
	}
	return t, nil
}

func openTap(name string) (*Tap, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	req, err := unix.NewIfreq(name)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err != nil {
		return nil, errors.Join(fmt.Errorf("TUNSETIFF: %w", err), unix.Close(fd))
	}
	t := &Tap{name: req.Name(), features: Features{Partial: true}}
	// A kernel that refuses offloads leaves a device that works, slower.
	if unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, tunChecksum|tunTSO4|tunTSO6) == nil {
		t.features.TCPv4, t.features.TCPv6, t.features.MaxSuper = true, true, 65535
	}
	t.file = os.NewFile(uintptr(fd), "/dev/net/tun")
	if t.raw, err = t.file.SyscallConn(); err != nil {
		return nil, errors.Join(err, t.file.Close())
	}
	if t.features.MTU, err = mtu(t.name); err != nil {
		return nil, errors.Join(err, t.file.Close())
	}
	return t, nil
}

// mtu asks the kernel for the MTU of a device.
func mtu(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written to it
	req, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFMTU, req); err != nil {
		return 0, fmt.Errorf("SIOCGIFMTU: %w", err)
	}
	return int(req.Uint32()), nil
}

// Name is the device's, which the kernel chooses for names such as "tap%d".
func (t *Tap) Name() string { return t.name }

// Features is Link's.
func (t *Tap) Features() Features { return t.features }

// Dropped counts the frames that the kernel had no room for.
func (t *Tap) Dropped() uint64 { return t.dropped.Load() }

// Close is Link's. The kernel removes the device, unless it was made to stay.
func (t *Tap) Close() error {
	t.closed.Store(true)
	return t.file.Close()
}

// past is a deadline that has gone by.
var past = time.Unix(1, 0)

// Interrupt is Link's.
func (t *Tap) Interrupt() {
	t.interrupt.Store(true)
	_ = t.file.SetReadDeadline(past) // a closed device needs none
}

// interrupted takes an interrupt.
func (t *Tap) interrupted() bool {
	if !t.interrupt.Swap(false) {
		return false
	}
	// One that comes between these two lines is not lost: the next Read looks for it first.
	_ = t.file.SetReadDeadline(time.Time{})
	return true
}

// Read is Link's. It waits in the poller of Go's runtime, and then reads until the device is empty or the batch is full.
func (t *Tap) Read(batch []Frame) (int, error) {
	for len(t.buffers) < len(batch) {
		t.buffers = append(t.buffers, make([]byte, virtioLen+maxFrame))
	}
	for {
		if t.interrupted() {
			return 0, nil
		}
		n, failed := 0, error(nil)
		err := t.raw.Read(func(fd uintptr) bool {
			for n < len(batch) {
				got, err := unix.Read(int(fd), t.buffers[n])
				if errors.Is(err, unix.EINTR) {
					continue
				}
				if errors.Is(err, unix.EAGAIN) {
					break
				}
				if err != nil {
					failed = err
					break
				}
				if batch[n], err = unpack(t.buffers[n][:got]); err == nil {
					n++
				}
			}
			return n > 0 || failed != nil
		})
		switch {
		case n > 0:
			return n, nil
		case t.closed.Load():
			return 0, ErrClosed
		case failed != nil:
			return 0, fmt.Errorf("tap %s: read: %w", t.name, failed) // EBADFD: the device was deleted
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			return 0, fmt.Errorf("tap %s: read: %w", t.name, err)
		}
	}
}

var errVirtio = errors.New("a frame without its header")

// unpack takes the virtio header off a frame.
func unpack(b []byte) (Frame, error) {
	if len(b) < virtioLen {
		return Frame{}, errVirtio
	}
	native := binary.NativeEndian
	f := Frame{Data: b[virtioLen:]}
	f.GSO = GSO{
		Partial: b[0]&virtioNeedsChecksum != 0,
		Valid:   b[0]&(virtioNeedsChecksum|virtioDataValid) != 0, // the kernel's own, or verified by it
		Header:  native.Uint16(b[2:]), Size: native.Uint16(b[4:]),
		Start: native.Uint16(b[6:]), Offset: native.Uint16(b[8:]),
	}
	switch b[1] &^ virtioECN {
	case virtioTCPv4:
		f.GSO.Kind = TCPv4
	case virtioTCPv6:
		f.GSO.Kind = TCPv6
	}
	return f, nil
}

// pack writes the virtio header.
func pack(b *[virtioLen]byte, g GSO) {
	native := binary.NativeEndian
	if g.Partial {
		b[0] = virtioNeedsChecksum
		native.PutUint16(b[6:], g.Start)
		native.PutUint16(b[8:], g.Offset)
	}
	switch g.Kind {
	case Plain:
		return
	case TCPv4:
		b[1] = virtioTCPv4
	case TCPv6:
		b[1] = virtioTCPv6
	}
	native.PutUint16(b[2:], g.Header)
	native.PutUint16(b[4:], g.Size)
}

// maxPieces is how many pieces a frame may have: headers, and the payload from a ring.
const maxPieces = 7

// Write is Link's. The frame is handed over by one writev, from whichever goroutine has it.
func (t *Tap) Write(g GSO, pieces ...[]byte) error {
	if len(pieces) > maxPieces {
		return fmt.Errorf("tap %s: write: %d pieces, at most %d", t.name, len(pieces), maxPieces)
	}
	var header [virtioLen]byte
	pack(&header, g)
	var vector [maxPieces + 1]unix.Iovec
	vector[0].Base = &header[0]
	vector[0].SetLen(virtioLen)
	n := 1
	for _, p := range pieces {
		if len(p) > 0 {
			vector[n].Base = &p[0]
			vector[n].SetLen(len(p))
			n++
		}
	}
	var errno syscall.Errno
	err := t.raw.Control(func(fd uintptr) {
		for {
			_, _, errno = unix.RawSyscall(unix.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&vector[0])), uintptr(n))
			if errno != unix.EINTR {
				return
			}
		}
	})
	switch {
	case err != nil:
		return ErrClosed
	case errno == 0:
		return nil
	case errno == unix.EAGAIN, errno == unix.ENOBUFS, errno == unix.ENOMEM, errno == unix.EIO:
		t.dropped.Add(1) // EIO: the device is down
		return nil
	}
	return fmt.Errorf("tap %s: write: %w", t.name, errno)
}
