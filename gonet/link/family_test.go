package link

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// ofDarwin are the families of macOS: the numbers of IPv6 differ between the systems.
var ofDarwin = families{2, 30}

// TestFamilies holds the header of a utun byte by byte.
func TestFamilies(t *testing.T) {
	for _, c := range []struct{ b, packet string }{
		{"\x00\x00\x00\x02\x45four", "\x45four"},
		{"\x00\x00\x00\x1e\x60six", "\x60six"},
		{"\x00\x00\x00\x02\x4f", "\x4f"},
	} {
		packet, ok := ofDarwin.parse([]byte(c.b))
		if !ok || string(packet) != c.packet {
			t.Errorf("%q: %q, %v", c.b, packet, ok)
		}
		header := []byte("xxxx")
		if err := ofDarwin.put(header, packet); err != nil || string(header) != c.b[:4] {
			t.Errorf("%q has the header %q, %v", c.packet, header, err)
		}
	}
	for name, b := range map[string]string{
		"nothing":              "",
		"a cut header":         "\x00\x00\x02",
		"no packet":            "\x00\x00\x00\x02",
		"IPv6 as IPv4":         "\x00\x00\x00\x02\x60",
		"IPv4 as IPv6":         "\x00\x00\x00\x1e\x45",
		"FreeBSD's IPv6":       "\x00\x00\x00\x1c\x60",
		"the other byte order": "\x02\x00\x00\x00\x45",
		"another version":      "\x00\x00\x00\x02\x15",
	} {
		if packet, ok := ofDarwin.parse([]byte(b)); ok {
			t.Errorf("%s: the packet %q", name, packet)
		}
	}
	for _, packet := range []string{"", "\x05", "\xf0"} {
		if err := ofDarwin.put(make([]byte, 4), []byte(packet)); err == nil {
			t.Errorf("%q was given a family", packet)
		}
	}
}

// FuzzFamilies holds that a packet that is taken has the header that is written for it.
func FuzzFamilies(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02\x45"), uint32(30))
	f.Add([]byte("\x00\x00\x00\x1c\x60"), uint32(28))
	f.Add([]byte("\x00\x00\x00"), uint32(24))
	f.Fuzz(func(t *testing.T, b []byte, inet6 uint32) {
		packet, ok := families{2, inet6}.parse(b)
		if !ok {
			return
		}
		var header [familyLen]byte
		err := families{2, inet6}.put(header[:], packet)
		if err != nil || !bytes.Equal(header[:], b[:familyLen]) || len(packet) != len(b)-familyLen {
			t.Errorf("% x was read as % x, which has the header % x, %v", b, packet, header, err)
		}
	})
}

// marked puts a byte before each frame, so that it is one of IPv4.
type marked struct{ Link }

func (m marked) Write(g GSO, pieces ...[]byte) error {
	return m.Link.Write(g, append([][]byte{{0x45}}, pieces...)...)
}

func (m marked) Read(batch []Frame) (int, error) {
	n, err := m.Link.Read(batch)
	for i := range batch[:n] {
		batch[i].Data = batch[i].Data[1:]
	}
	return n, err
}

func never(error) bool { return false }

// TestFamilyTunIsALink joins two links by sockets, as two ends of one device would be.
func TestFamilyTunIsALink(t *testing.T) {
	contract(t, func() (Link, Link) {
		a, b := datagrams(t)
		return marked{newFamilyTun("tun a", a, 1500, ofDarwin, never)},
			marked{newFamilyTun("tun b", b, 1500, ofDarwin, never)}
	})
	a, _ := datagrams(t)
	l := newFamilyTun("tun a", a, 1400, ofDarwin, never)
	if f := l.Features(); f != (Features{MTU: 1400, L3: true}) {
		t.Errorf("%+v", f)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// script is a device that reads what a test gives it, and notes what is written.
type script struct {
	read   func(b []byte) (int, error)
	write  func(b []byte) error
	closed chan struct{}
}

func (s *script) Read(b []byte) (int, error) { return s.read(b) }

func (s *script) Write(b []byte) (int, error) { return len(b), s.write(b) }

func (s *script) Close() error { close(s.closed); return nil }

var errDown = errors.New("the device is down")

func isErrDown(err error) bool { return errors.Is(err, errDown) }

// TestATunThatIsDown reads a device that comes up after a second, and goes down for good.
func TestATunThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		read := false
		d := &script{closed: make(chan struct{}), read: func(b []byte) (int, error) {
			if read || time.Since(start) < time.Second {
				return 0, errDown
			}
			read = true
			return copy(b, "\x00\x00\x00\x02\x45up"), nil
		}}
		l := newFamilyTun("tun", d, 1500, ofDarwin, isErrDown)
		batch := make([]Frame, 1)
		n, err := l.Read(batch)
		if took := time.Since(start); n != 1 || err != nil || string(batch[0].Data) != "\x45up" ||
			took > time.Second+downInterval {
			t.Errorf("%d, %v: %q after %v", n, err, batch[0].Data, took)
		}
		synctest.Wait() // it is down again
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := l.Read(batch); !errors.Is(err, ErrClosed) {
			t.Errorf("after close: %v", err)
		}
		<-d.closed
	})
}

// TestWhatIsNoPacket holds that a tun drops and counts what is no packet of its, in both
// directions, and goes on.
func TestWhatIsNoPacket(t *testing.T) {
	long := "\x00\x00\x00\x02\x45" + strings.Repeat("x", 100)
	input := []string{"", "\x00\x00", "\x00\x00\x00\x1e\x45", long, long[:len(long)-1], "end"}
	written := make(chan string, 8)
	d := &script{closed: make(chan struct{}),
		read: func(b []byte) (int, error) {
			if input[0] == "end" {
				return 0, io.EOF
			}
			n := copy(b, input[0])
			input = input[1:]
			return n, nil
		},
		write: func(b []byte) error {
			written <- string(b)
			if strings.HasSuffix(string(b), "full") {
				return errors.New("no buffers")
			}
			return nil
		}}
	l := newFamilyTun("tun utun7", d, 100, ofDarwin, never)
	if got := readFrames(t, l, 1); got[0] != long[4:len(long)-1] {
		t.Errorf("read %d bytes, want 100", len(got[0]))
	}
	if _, err := l.Read(make([]Frame, 1)); !errors.Is(err, io.EOF) ||
		!strings.HasPrefix(err.Error(), "tun utun7: read: ") {
		t.Errorf("the end: %v", err)
	}
	if n := l.Dropped(); n != 4 {
		t.Errorf("%d packets were dropped, want 4", n)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}

	block := make(chan struct{})
	d.closed = block
	d.read = func([]byte) (int, error) { <-block; return 0, io.EOF }
	l = newFamilyTun("tun utun7", d, 100, ofDarwin, never)
	for _, packet := range []string{"\x45one", "\x15none", "\x60full", "\x60two"} {
		if err := l.Write(GSO{}, []byte(packet[:1]), []byte(packet[1:])); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"\x00\x00\x00\x02\x45one", "\x00\x00\x00\x1e\x60full",
		"\x00\x00\x00\x1e\x60two"} {
		if got := <-written; got != want {
			t.Errorf("written %q, want %q", got, want)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if n := l.Dropped(); n != 2 {
		t.Errorf("%d packets were dropped, want 2", n)
	}
}
