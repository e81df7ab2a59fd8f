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

	"interleave/gonet/wire"
)

// Tap is a tap or a tun: a network device of Linux whose other end is this process. A tap carries
// Ethernet frames, a tun IP packets.
//
// The device carries super-frames of up to 64 KiB with partial checksums (IFF_VNET_HDR). A read or
// a write costs about the same whatever it carries, so super-frames move twenty times as many bytes
// a second as plain frames do.
type Tap struct {
	file      *os.File
	raw       syscall.RawConn
	kind      string // "tap" or "tun"
	name      string
	features  Features
	buffers   []*Buffer   // one for each frame of a batch; nil if it was kept
	interrupt atomic.Bool // the next Read must return
	waiting   atomic.Bool // a Read waits, or is about to
	dropped   atomic.Uint64
	closed    atomic.Bool
	reading   tapRead
	writes    sync.Pool // pool of *tapWrite
}

// The flags and types of struct virtio_net_hdr (linux/virtio_net.h).
const (
	virtioNeedsChecksum = 1
	virtioDataValid     = 2
	virtioTCPv4         = 1
	virtioTCPv6         = 4
	virtioUDP           = 5 // VIRTIO_NET_HDR_GSO_UDP_L4: of either family
	virtioECN           = 0x80
)

// The offloads of TUNSETOFFLOAD (linux/if_tun.h).
const (
	tunChecksum = 0x01
	tunTSO4     = 0x02
	tunTSO6     = 0x04
	tunUSO4     = 0x20
	tunUSO6     = 0x40
)

// OpenTap opens the tap device with a name. If there is none, it creates one, which the kernel
// removes when the Tap is closed. It needs CAP_NET_ADMIN in the network namespace, or a device that
// belongs to the user. The caller must bring the device up and give it addresses.
func OpenTap(name string) (*Tap, error) { return open("tap", syscall.IFF_TAP, name) }

// OpenTun is OpenTap for a tun, a device that carries IP packets without Ethernet. The kernel does
// not look for stations on it, so the caller needs no more than its addresses and routes. The empty
// name takes any: macOS, FreeBSD and OpenBSD have an OpenTun, too, and other names.
func OpenTun(name string) (*Tap, error) { return open("tun", syscall.IFF_TUN, name) }

// open opens a device of a kind, whose flag for TUNSETIFF is IFF_TAP or IFF_TUN.
func open(kind string, flag uint16, name string) (*Tap, error) {
	fd, chosen, err := attach(flag, name)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind, name, err)
	}
	t, err := newTap(fd, kind, chosen, 0)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind, name, err)
	}
	return t, nil
}

// attach opens a descriptor of a device, and returns it with the name that the kernel has chosen.
func attach(flag uint16, name string) (int, string, error) {
	fd, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, "", fmt.Errorf("/dev/net/tun: %w", err)
	}
	req, err := newIfreq(name)
	if err != nil {
		return 0, "", errors.Join(err, syscall.Close(fd))
	}
	req.setFlags(flag | syscall.IFF_NO_PI | syscall.IFF_VNET_HDR)
	if err := ioctlDevice(fd, syscall.TUNSETIFF, req); err != nil {
		return 0, "", errors.Join(fmt.Errorf("TUNSETIFF: %w", err), syscall.Close(fd))
	}
	return fd, req.name(), nil
}

// newTap makes a Tap of a descriptor, which it closes if it fails. An MTU of 0 is that of the
// device, which must then be in this network namespace.
func newTap(fd int, kind, name string, bytes int) (*Tap, error) {
	t := &Tap{kind: kind, name: name, features: Features{MTU: bytes, Partial: true,
		L3: kind == "tun"}, writes: sync.Pool{New: newTapWrite}}
	t.reading.read = t.fill
	setOffloads(fd, &t.features)
	t.file = os.NewFile(uintptr(fd), "/dev/net/tun")
	var err error
	if t.raw, err = t.file.SyscallConn(); err != nil {
		return nil, errors.Join(err, t.file.Close())
	}
	if bytes > 0 {
		return t, nil
	}
	if t.features.MTU, err = mtu(t.name); err != nil {
		return nil, errors.Join(err, t.file.Close())
	}
	return t, nil
}

// setOffloads has the kernel send super-frames, and notes which it takes. If it refuses offloads,
// the device works without them, slower. Linux has those of UDP since 6.2, and for both families at
// once only.
func setOffloads(fd int, f *Features) {
	const ofTCP = tunChecksum | tunTSO4 | tunTSO6
	f.UDP = ioctlInt(fd, syscall.TUNSETOFFLOAD, ofTCP|tunUSO4|tunUSO6) == nil
	if f.UDP || ioctlInt(fd, syscall.TUNSETOFFLOAD, ofTCP) == nil {
		f.TCPv4, f.TCPv6, f.MaxSuper = true, true, 65535
	}
}

// mtu returns the MTU of a device.
func mtu(name string) (int, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = syscall.Close(fd) }() // nothing was written to the socket
	req, err := newIfreq(name)
	if err != nil {
		return 0, err
	}
	if err := ioctlDevice(fd, syscall.SIOCGIFMTU, req); err != nil {
		return 0, fmt.Errorf("SIOCGIFMTU: %w", err)
	}
	return req.mtu(), nil
}

// Kind returns "tap" or "tun".
func (t *Tap) Kind() string { return t.kind }

// Name returns the device's name. For a pattern such as "tap%d" the kernel has chosen it.
func (t *Tap) Name() string { return t.name }

// Features implements Link.
func (t *Tap) Features() Features { return t.features }

// Dropped returns the number of written frames that the kernel had no room for.
func (t *Tap) Dropped() uint64 { return t.dropped.Load() }

// Close implements Link. The kernel removes the device, unless it is persistent.
func (t *Tap) Close() error {
	t.closed.Store(true)
	return t.file.Close()
}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// Interrupt implements Link. A Read that does not wait sees the flag by itself. Only one that waits
// is woken, which costs ten times as much.
func (t *Tap) Interrupt() {
	t.interrupt.Store(true)
	if t.waiting.Load() {
		_ = t.file.SetReadDeadline(past) // fails for a closed device only
	}
}

// tapRead is the state of one Read, and the function that does it. A Tap has one, made once, so
// that reading allocates nothing.
type tapRead struct {
	batch []Frame
	n     int
	err   error
	read  func(fd uintptr) bool
}

// Read implements Link. It waits in the poller of Go's runtime, and then reads until the device is
// empty or the batch is full.
func (t *Tap) Read(batch []Frame) (int, error) {
	if len(t.buffers) < len(batch) {
		t.buffers = make([]*Buffer, len(batch)) // the buffers of a shorter slice are garbage
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
			return 0, t.readError(r.err)
		case t.interrupt.Load() && t.interrupt.Swap(false):
			return 0, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			// An Interrupt that sets its deadline after this line ends the next wait, which does no
			// harm.
			_ = t.file.SetReadDeadline(time.Time{}) // fails for a closed device only
		case err != nil:
			// The poller only says that it cannot wait for this descriptor. A read says why.
			if _ = t.raw.Control(func(fd uintptr) { t.fill(fd) }); r.err != nil {
				err = r.err
			}
			return 0, t.readError(err)
		}
	}
}

// readError names the device, and says so if it was deleted: its descriptor is then in a bad state.
func (t *Tap) readError(err error) error {
	if errors.Is(err, syscall.EBADFD) {
		return fmt.Errorf("%s %s: the device was deleted: %w", t.kind, t.name, err)
	}
	return fmt.Errorf("%s %s: read: %w", t.kind, t.name, err)
}

// maxBatchBytes ends a batch, so that the data is used while it is in the processor's cache.
const maxBatchBytes = 256 << 10

// fill reads frames until there are no more. It returns false if there was none and no Interrupt:
// then the poller waits. The system calls do not block, so Go's scheduler need not know of them.
func (t *Tap) fill(fd uintptr) bool {
	r := &t.reading
	if t.waiting.Load() {
		t.waiting.Store(false)
	}
	for size := 0; r.n < len(r.batch) && size < maxBatchBytes; {
		buffer := borrow(&t.buffers[r.n])
		b := buffer.room
		got, _, errno := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&b[0])),
			uintptr(len(b)))
		switch {
		case errno == syscall.EINTR:
			continue
		case errno == syscall.EAGAIN:
			if r.n > 0 {
				return true
			}
			// Store waiting before loading interrupt. Interrupt does it the other way round, so at
			// least one of the two sees the other.
			t.waiting.Store(true)
			return t.interrupt.Load()
		case errno != 0:
			r.err = errno
			return true
		}
		var err error
		if r.batch[r.n], err = parseVirtio(b[:got]); err == nil {
			r.batch[r.n].Buffer = buffer
			r.n++
			size += int(got)
		}
	}
	return true
}

var errVirtio = errors.New("a frame without its header")

// parseVirtio removes the virtio header from a frame, and parses it.
func parseVirtio(b []byte) (Frame, error) {
	if len(b) < virtioLen {
		return Frame{}, errVirtio
	}
	native := binary.NativeEndian
	f := Frame{Data: b[virtioLen:]}
	f.GSO = GSO{
		Partial: b[0]&virtioNeedsChecksum != 0,
		// made by the kernel, or verified by it
		Valid:  b[0]&(virtioNeedsChecksum|virtioDataValid) != 0,
		Header: native.Uint16(b[2:]), Size: native.Uint16(b[4:]),
		Start: native.Uint16(b[6:]), Offset: native.Uint16(b[8:]),
	}
	switch b[1] &^ virtioECN {
	case virtioTCPv4:
		f.GSO.Kind = TCPv4
	case virtioTCPv6:
		f.GSO.Kind = TCPv6
	case virtioUDP:
		f.GSO.Kind = UDP
		if f.GSO.Partial { // the kernel's length of the headers is but a hint
			f.GSO.Header = f.GSO.Start + wire.UDPLen
		}
	}
	return f, nil
}

// putVirtio writes the virtio header.
func putVirtio(b *[virtioLen]byte, g GSO) {
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
	case UDP:
		b[1] = virtioUDP
	}
	native.PutUint16(b[2:], g.Header)
	native.PutUint16(b[4:], g.Size)
}

// maxPieces bounds the pieces of a frame: headers, and the payload from a ring.
const maxPieces = 7

// tapWrite is the memory of one Write, and the function that does it. The arguments of a system
// call must not move, so without a pool each of these would be garbage.
type tapWrite struct {
	header [virtioLen]byte
	small  [smallFrame]byte // the whole frame, if it is small
	vector [maxPieces + 1]syscall.Iovec
	n      int // used elements of vector, or bytes of small
	call   uintptr
	at     unsafe.Pointer // the argument of the system call: vector, or small
	errno  syscall.Errno
	write  func(fd uintptr)
}

// smallFrame is the length in bytes, with the virtio header, up to which a frame is copied into one
// piece: the kernel takes one piece in 1.07 us, and four in 1.24.
const smallFrame = 512

func newTapWrite() any {
	w := new(tapWrite)
	w.vector[0].Base = &w.header[0]
	w.vector[0].SetLen(virtioLen)
	w.write = func(fd uintptr) {
		for {
			_, _, w.errno = syscall.RawSyscall(w.call, fd, uintptr(w.at), uintptr(w.n))
			if w.errno != syscall.EINTR {
				return
			}
		}
	}
	return w
}

// prepare lays out the frame for the system call.
func (w *tapWrite) prepare(g GSO, pieces [][]byte) {
	w.header = [virtioLen]byte{}
	putVirtio(&w.header, g)
	length := virtioLen
	for _, p := range pieces {
		length += len(p)
	}
	if length <= smallFrame {
		w.call, w.at = syscall.SYS_WRITE, unsafe.Pointer(&w.small[0])
		w.n = copy(w.small[:], w.header[:])
		for _, p := range pieces {
			w.n += copy(w.small[w.n:], p)
		}
		return
	}
	w.call, w.at = syscall.SYS_WRITEV, unsafe.Pointer(&w.vector[0])
	w.n = 1
	for _, p := range pieces {
		if len(p) > 0 {
			w.vector[w.n].Base = &p[0]
			w.vector[w.n].SetLen(len(p))
			w.n++
		}
	}
}

// Write implements Link. One system call writes the frame, in the goroutine of the caller.
func (t *Tap) Write(g GSO, pieces ...[]byte) error {
	if len(pieces) > maxPieces {
		return t.tooMany(len(pieces))
	}
	w := t.writes.Get().(*tapWrite)
	w.prepare(g, pieces)
	err := t.raw.Control(w.write)
	errno := w.errno
	if w.call == syscall.SYS_WRITEV {
		clear(w.vector[1:]) // do not keep the pieces alive
	}
	t.writes.Put(w)
	if err == nil && errno == 0 {
		return nil
	}
	return t.writeError(err, errno)
}

func (t *Tap) tooMany(pieces int) error {
	return fmt.Errorf("%s %s: write: %d pieces, at most %d", t.kind, t.name, pieces, maxPieces)
}

// writeError returns the error of Write for a frame that the device has not taken. A dropped frame
// is counted, and no error.
func (t *Tap) writeError(err error, errno syscall.Errno) error {
	switch {
	case err != nil:
		return ErrClosed
	case errno == syscall.EAGAIN, errno == syscall.ENOBUFS, errno == syscall.ENOMEM,
		errno == syscall.EIO:
		t.dropped.Add(1) // EIO: the device is down
		return nil
	}
	return fmt.Errorf("%s %s: write: %w", t.kind, t.name, errno)
}
