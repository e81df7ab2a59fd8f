package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Tap is a network device of Linux whose other end is this process.
//
// The device hands over and takes super-frames of up to 64 KiB with checksums left out
// (IFF_VNET_HDR), which moves twenty times as many bytes a second as plain frames do: a read or a
// write costs about the same whatever it carries.
type Tap struct {
	file      *os.File
	raw       syscall.RawConn
	name      string
	features  Features
	buffers   []*Buffer   // of a batch; nil where one was kept
	interrupt atomic.Bool // a Read is to return
	waiting   atomic.Bool // a Read is about to wait, or does
	dropped   atomic.Uint64
	closed    atomic.Bool
	reading   tapRead
	writes    sync.Pool // of *tapWrite
}

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

// OpenTap opens the tap device of a name, and makes it if it is not there; the kernel removes what
// it has made when the Tap is closed. It needs CAP_NET_ADMIN in the network namespace, or a device
// that belongs to the user. The device must be brought up, and given addresses, by who calls.
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
	t := &Tap{name: req.Name(), features: Features{Partial: true},
		writes: sync.Pool{New: newTapWrite}}
	t.reading.read = t.fill
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

// Interrupt is Link's. A Read that works looks for it by itself; to wake one that waits costs
// ten times as much.
func (t *Tap) Interrupt() {
	t.interrupt.Store(true)
	if t.waiting.Load() {
		_ = t.file.SetReadDeadline(past) // a closed device needs none
	}
}

// tapRead is what one Read is about, and the function that does it: of one Tap, made once, so that
// reading allocates nothing.
type tapRead struct {
	batch []Frame
	n     int
	err   error
	read  func(fd uintptr) bool
}

// Read is Link's. It waits in the poller of Go's runtime, and then reads until the device is empty
// or the batch is full.
func (t *Tap) Read(batch []Frame) (int, error) {
	if len(t.buffers) < len(batch) {
		t.buffers = make([]*Buffer, len(batch)) // what was in the shorter one is garbage
	}
	r := &t.reading
	for {
		r.batch, r.n, r.err = batch, 0, nil
		err := t.raw.Read(r.read)
		switch {
		case r.n > 0:
			return r.n, nil
		case t.closed.Load():
			return 0, ErrClosed
		case r.err != nil:
			// EBADFD: the device was deleted
			return 0, fmt.Errorf("tap %s: read: %w", t.name, r.err)
		case t.interrupt.Load() && t.interrupt.Swap(false):
			return 0, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			// An Interrupt that sets its deadline after this finds the next wait, and
			// nothing else to do.
			_ = t.file.SetReadDeadline(time.Time{}) // a closed device needs none
		case err != nil:
			return 0, fmt.Errorf("tap %s: read: %w", t.name, err)
		}
	}
}

// worthBatch is how many bytes end a batch: what has been read is to be used while the
// processor's cache has it.
const worthBatch = 256 << 10

// fill reads what there is; false if there is nothing, and nobody has interrupted. The calls do not
// block, so that Go's scheduler need not know of them.
func (t *Tap) fill(fd uintptr) bool {
	r := &t.reading
	if t.waiting.Load() {
		t.waiting.Store(false)
	}
	for size := 0; r.n < len(r.batch) && size < worthBatch; {
		buffer := borrow(&t.buffers[r.n])
		b := buffer.room
		got, _, errno := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&b[0])),
			uintptr(len(b)))
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			if r.n > 0 {
				return true
			}
			// before the look at interrupt, as Interrupt does it after: one of both sees the other
			t.waiting.Store(true)
			return t.interrupt.Load()
		case errno != 0:
			r.err = errno
			return true
		}
		var err error
		if r.batch[r.n], err = unpack(b[:got]); err == nil {
			r.batch[r.n].Buffer = buffer
			r.n++
			size += int(got)
		}
	}
	return true
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
		// the kernel's own, or verified by it
		Valid:  b[0]&(virtioNeedsChecksum|virtioDataValid) != 0,
		Header: native.Uint16(b[2:]), Size: native.Uint16(b[4:]),
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

// tapWrite is the memory of one Write, and the function that does it. What a system call is given
// must not move, so that without a pool each of these would be garbage.
type tapWrite struct {
	header [virtioLen]byte
	small  [smallFrame]byte // a frame as a whole, if it fits
	vector [maxPieces + 1]unix.Iovec
	n      int // pieces of vector, or bytes of small
	call   uintptr
	at     unsafe.Pointer // of what is called with: vector, or small
	errno  syscall.Errno
	write  func(fd uintptr)
}

// smallFrame is the length in bytes, virtio's header included, up to which a frame is copied to be
// handed over in one piece: the kernel takes one piece in 1.07 us where it takes four in 1.24.
const smallFrame = 512

func newTapWrite() any {
	w := new(tapWrite)
	w.vector[0].Base = &w.header[0]
	w.vector[0].SetLen(virtioLen)
	w.write = func(fd uintptr) {
		for {
			_, _, w.errno = unix.RawSyscall(w.call, fd, uintptr(w.at), uintptr(w.n))
			if w.errno != unix.EINTR {
				return
			}
		}
	}
	return w
}

// prepare lays the frame out.
func (w *tapWrite) prepare(g GSO, pieces [][]byte) {
	w.header = [virtioLen]byte{}
	pack(&w.header, g)
	length := virtioLen
	for _, p := range pieces {
		length += len(p)
	}
	if length <= smallFrame {
		w.call, w.at = unix.SYS_WRITE, unsafe.Pointer(&w.small[0])
		w.n = copy(w.small[:], w.header[:])
		for _, p := range pieces {
			w.n += copy(w.small[w.n:], p)
		}
		return
	}
	w.call, w.at = unix.SYS_WRITEV, unsafe.Pointer(&w.vector[0])
	w.n = 1
	for _, p := range pieces {
		if len(p) > 0 {
			w.vector[w.n].Base = &p[0]
			w.vector[w.n].SetLen(len(p))
			w.n++
		}
	}
}

// Write is Link's. The frame is handed over by one call, from whichever goroutine has it.
func (t *Tap) Write(g GSO, pieces ...[]byte) error {
	if len(pieces) > maxPieces {
		return t.tooMany(len(pieces))
	}
	w := t.writes.Get().(*tapWrite)
	w.prepare(g, pieces)
	err := t.raw.Control(w.write)
	errno := w.errno
	if w.call == unix.SYS_WRITEV {
		clear(w.vector[1:]) // the pieces are not ours to keep
	}
	t.writes.Put(w)
	if err == nil && errno == 0 {
		return nil
	}
	return t.unwritten(err, errno)
}

func (t *Tap) tooMany(pieces int) error {
	return fmt.Errorf("tap %s: write: %d pieces, at most %d", t.name, pieces, maxPieces)
}

// unwritten is what Write tells of a frame that the device has not taken.
func (t *Tap) unwritten(err error, errno syscall.Errno) error {
	switch {
	case err != nil:
		return ErrClosed
	case errno == unix.EAGAIN, errno == unix.ENOBUFS, errno == unix.ENOMEM, errno == unix.EIO:
		t.dropped.Add(1) // EIO: the device is down
		return nil
	}
	return fmt.Errorf("tap %s: write: %w", t.name, errno)
}
