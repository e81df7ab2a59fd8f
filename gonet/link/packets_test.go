package link

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPacketsAreALink runs over datagram sockets, one for each end.
func TestPacketsAreALink(t *testing.T) {
	contract(t, func() (Link, Link) {
		a, b := datagrams(t)
		return NewPackets(a, ethernet), NewPackets(b, ethernet)
	})
}

// unixgrams returns two Unix sockets of datagrams with their addresses.
func unixgrams(t *testing.T) (ends [2]*net.UnixConn, addresses [2]*net.UnixAddr) {
	t.Helper()
	dir, err := os.MkdirTemp("", "link") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a folder of /tmp
	for i, name := range []string{"a", "b"} {
		addresses[i] = &net.UnixAddr{Name: filepath.Join(dir, name), Net: "unixgram"}
		if ends[i], err = net.ListenUnixgram("unixgram", addresses[i]); err != nil {
			t.Skipf("SKIP: no Unix sockets of datagrams: %v", err)
		}
	}
	return ends, addresses
}

// datagrams returns two Unix sockets of datagrams, each of which sends to the other.
func datagrams(t *testing.T) (io.ReadWriteCloser, io.ReadWriteCloser) {
	t.Helper()
	ends, addresses := unixgrams(t)
	return &datagramEnd{ends[0], addresses[1]}, &datagramEnd{ends[1], addresses[0]}
}

// datagramEnd is a socket whose writes go to one address.
type datagramEnd struct {
	*net.UnixConn
	to *net.UnixAddr
}

func (d *datagramEnd) Write(b []byte) (int, error) { return d.WriteToUnix(b, d.to) }

// TestPacketsLoseWhatCannotBeWritten holds that a datagram socket without a receiver loses frames,
// and does not end the link.
func TestPacketsLoseWhatCannotBeWritten(t *testing.T) {
	a, b := datagrams(t)
	l := NewPackets(a, ethernet)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := l.Write(GSO{}, []byte("lost")); err != nil {
			t.Errorf("a write: %v", err)
		}
	}
	if err := l.Close(); err != nil { // waits until they are written
		t.Error(err)
	}
	if n := l.Dropped(); n != 3 {
		t.Errorf("%d frames were lost, want 3", n)
	}
}

// letter is a datagram with the address of its sender or receiver.
type letter struct {
	b    []byte
	addr net.Addr
}

// post is a socket in memory: a test sees what is sent, and to whom, and sends from any address.
type post struct {
	in, out chan letter
	closed  chan struct{}
}

func newPost() *post {
	return &post{make(chan letter, 16), make(chan letter, 16), make(chan struct{})}
}

func (p *post) ReadFrom(b []byte) (int, net.Addr, error) {
	select {
	case l := <-p.in:
		return copy(b, l.b), l.addr, nil
	case <-p.closed:
		return 0, nil, net.ErrClosed
	}
}

func (p *post) WriteTo(b []byte, to net.Addr) (int, error) {
	p.out <- letter{[]byte(string(b)), to}
	return len(b), nil
}

func (p *post) Close() error                     { close(p.closed); return nil }
func (p *post) LocalAddr() net.Addr              { return nil }
func (p *post) SetDeadline(time.Time) error      { return nil }
func (p *post) SetReadDeadline(time.Time) error  { return nil }
func (p *post) SetWriteDeadline(time.Time) error { return nil }

// readFrames reads n frames.
func readFrames(t *testing.T, l Link, n int) (got []string) {
	t.Helper()
	batch := make([]Frame, 4)
	for len(got) < n {
		read, err := l.Read(batch)
		if err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		for _, f := range batch[:read] {
			got = append(got, string(f.Data))
		}
	}
	return got
}

func udp(s string) *net.UDPAddr {
	a, err := net.ResolveUDPAddr("udp", s) // an address, no name
	if err != nil {
		panic(err)
	}
	return a
}

// TestDatagramsOfOnePeer holds that frames go to the peer, and are taken from it only.
func TestDatagramsOfOnePeer(t *testing.T) {
	p := newPost()
	l := NewDatagrams(p, udp("10.0.0.1:7"), ethernet)
	for _, x := range []letter{{[]byte("one"), udp("10.0.0.1:7")},
		{[]byte("of another port"), udp("10.0.0.1:8")},
		{[]byte("of another host"), udp("10.0.0.2:7")}, {[]byte("of nobody"), nil},
		{[]byte("two"), udp("[::ffff:10.0.0.1]:7")}} {
		p.in <- x
	}
	if got := strings.Join(readFrames(t, l, 2), " "); got != "one two" {
		t.Errorf("got %q", got)
	}
	if n := l.Dropped(); n != 3 {
		t.Errorf("%d frames were dropped, want 3", n)
	}
	if err := l.Write(GSO{}, []byte("an an"), []byte("swer")); err != nil {
		t.Fatal(err)
	}
	if x := <-p.out; string(x.b) != "an answer" || x.addr.String() != "10.0.0.1:7" {
		t.Errorf("%q to %v", x.b, x.addr)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestDatagramsOfAGroup holds that a link takes the frames of all stations of a group.
func TestDatagramsOfAGroup(t *testing.T) {
	p := newPost()
	l := NewDatagrams(p, udp("230.0.0.1:1234"), ethernet)
	p.in <- letter{[]byte("of one"), udp("10.0.0.1:7")}
	p.in <- letter{[]byte("of two"), udp("10.0.0.2:7")}
	if got := strings.Join(readFrames(t, l, 2), ", "); got != "of one, of two" {
		t.Errorf("got %q", got)
	}
	if err := l.Write(GSO{}, []byte("to all")); err != nil {
		t.Fatal(err)
	}
	if x := <-p.out; string(x.b) != "to all" || x.addr.String() != "230.0.0.1:1234" {
		t.Errorf("%q to %v", x.b, x.addr)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestDatagramsAreALink(t *testing.T) {
	contract(t, func() (Link, Link) {
		sockets, addresses := unixgrams(t)
		return NewDatagrams(sockets[0], addresses[1], ethernet),
			NewDatagrams(sockets[1], addresses[0], ethernet)
	})
}

// TestAPeerThatComesLate has a peer that is not there at first, and one that comes back.
func TestAPeerThatComesLate(t *testing.T) {
	sockets, addresses := unixgrams(t)
	near := attempts{sockets[0], make(chan error, 16)}
	l := NewDatagrams(near, addresses[1], ethernet)
	far := sockets[1]
	for range 2 {
		if err := errors.Join(far.Close(), l.Write(GSO{}, []byte("lost"))); err != nil {
			t.Fatal(err)
		}
		if err := <-near.tried; err == nil {
			t.Error("a frame was sent to a socket that is closed")
		}
		_ = os.Remove(addresses[1].Name) // Close has removed it, on some systems
		var err error
		if far, err = net.ListenUnixgram("unixgram", addresses[1]); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Write(GSO{}, []byte("found")), <-near.tried); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 100)
		if n, err := far.Read(b); err != nil || string(b[:n]) != "found" {
			t.Errorf("%q, %v", b[:n], err)
		}
		if _, err := far.WriteToUnix([]byte("an answer"), addresses[0]); err != nil {
			t.Error(err)
		}
		if got := readFrames(t, l, 1); got[0] != "an answer" {
			t.Errorf("got %q", got)
		}
	}
	if err := errors.Join(l.Close(), far.Close()); err != nil {
		t.Error(err)
	}
	if n := l.Dropped(); n != 2 {
		t.Errorf("%d frames were lost, want 2", n)
	}
}

// attempts is a socket that tells of each datagram that it has tried to send.
type attempts struct {
	*net.UnixConn
	tried chan error
}

func (a attempts) WriteTo(b []byte, to net.Addr) (int, error) {
	n, err := a.UnixConn.WriteTo(b, to)
	a.tried <- err
	return n, err
}

// TestDatagramsThatAreTooLong holds that a datagram that exceeds the MTU is not taken for a shorter
// one.
func TestDatagramsThatAreTooLong(t *testing.T) {
	features := Features{MTU: 100, L3: true}
	for name, open := range map[string]func(*post) *Funcs{
		"one peer":  func(p *post) *Funcs { return NewDatagrams(p, udp("10.0.0.1:7"), features) },
		"connected": func(p *post) *Funcs { return NewPackets(connected{p}, features) },
	} {
		p := newPost()
		l := open(p)
		for _, n := range []int{101, 100, 5000, 1} {
			p.in <- letter{make([]byte, n), udp("10.0.0.1:7")}
		}
		got := readFrames(t, l, 2)
		if len(got[0]) != 100 || len(got[1]) != 1 || l.Dropped() != 2 {
			t.Errorf("%s: frames of %d and %d bytes, %d dropped", name, len(got[0]), len(got[1]),
				l.Dropped())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// connected is a post of one peer.
type connected struct{ *post }

func (c connected) Read(b []byte) (int, error) {
	n, _, err := c.ReadFrom(b)
	return n, err
}

func (c connected) Write(b []byte) (int, error) { return c.WriteTo(b, nil) }

func TestSameAddr(t *testing.T) {
	file := func(name string) net.Addr { return &net.UnixAddr{Name: name, Net: "unixgram"} }
	for _, c := range []struct {
		a, b net.Addr
		same bool
	}{
		{udp("10.0.0.1:7"), udp("10.0.0.1:7"), true},
		{udp("[::ffff:10.0.0.1]:7"), udp("10.0.0.1:7"), true},
		{udp("10.0.0.1:7"), udp("10.0.0.1:8"), false},
		{udp("[fe80::1%1]:7"), udp("[fe80::1%2]:7"), false},
		{file("/run/a"), file("/run/a"), true},
		{file("/run/a"), file("/run/b"), false},
		{file("10.0.0.1:7"), udp("10.0.0.1:7"), false},
		{nil, udp("10.0.0.1:7"), false},
		{nil, nil, false},
	} {
		if got := isSameAddr(c.a, c.b); got != c.same {
			t.Errorf("%v and %v: %v, want %v", c.a, c.b, got, c.same)
		}
	}
}
