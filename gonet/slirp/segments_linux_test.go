package slirp

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"interleave/gonet"
	"interleave/gonet/link"
)

// patience bounds what must happen at all.
const patience = 5 * time.Minute

// numbered returns n bytes in which each pair differs from its neighbours.
func numbered(n int) (b []byte) {
	for len(b) < n {
		b = binary.BigEndian.AppendUint16(b, uint16(len(b)))
	}
	return b[:n]
}

// countedHost is the kernel's network. It dials no flow until held is closed. Its flows count the
// calls that send and receive.
type countedHost struct {
	Kernel
	held            chan struct{}
	written, handed atomic.Int32
}

type countedFlow struct {
	*segmentSocket
	host *countedHost
}

func (h *countedHost) DialFlow(ctx context.Context, port uint16, to string) (net.Conn, error) {
	<-h.held
	c, err := h.Kernel.DialFlow(ctx, port, to)
	if s, ok := c.(*segmentSocket); ok {
		return countedFlow{s, h}, err
	}
	return c, err
}

func (c countedFlow) SendSegments(datagrams [][]byte) error {
	c.host.written.Add(1)
	return c.segmentSocket.SendSegments(datagrams)
}

func (c countedFlow) ReadSegments(take func([]byte, int) error) error {
	return c.segmentSocket.ReadSegments(func(b []byte, size int) error {
		c.host.handed.Add(1)
		return take(b, size)
	})
}

// loopback returns a socket of the kernel.
func loopback(t *testing.T) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // nothing waits
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSegments has a guest and a server of the host send many datagrams by one call. They pass as
// such, and their boundaries stay.
func TestSegments(t *testing.T) {
	server := loopback(t)
	h := &countedHost{held: make(chan struct{})}
	near, far := link.Pair(link.Offload())
	n := defaultNetwork(t, false)
	s, err := New(Config{Link: far, Network: n, Host: h, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	guest := newStack(t, near, func(c *gonet.Config) { c.Gateways = []netip.Addr{n.Gateway} },
		"10.0.2.100/24")
	in, err := guest.ListenPacket("udp", ":9")
	if err != nil {
		t.Fatal(err)
	}
	if err := in.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	ping := func() { // the reply comes when the gateway has taken all that was sent before
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if _, err := guest.Ping(ctx, n.Gateway, 0); err != nil {
			t.Fatal(err)
		}
	}
	ping()
	to := netip.AddrPortFrom(n.Gateway, server.LocalAddr().(*net.UDPAddr).AddrPort().Port())
	data := numbered(30*1000 + 17)
	if _, err := in.WriteToAddrPort([]byte("first"), to); err != nil {
		t.Fatal(err)
	}
	if _, err := in.WriteInfo(data, to, gonet.PacketInfo{Segment: 1000}); err != nil {
		t.Fatal(err)
	}
	ping()
	close(h.held)
	b := make([]byte, maxDatagram)
	var from netip.AddrPort
	for i, want := range append([][]byte{[]byte("first")},
		slices.Collect(slices.Chunk(data, 1000))...) {
		got := 0
		if got, from, err = server.ReadFromUDPAddrPort(b); err != nil ||
			!bytes.Equal(b[:got], want) {
			t.Fatalf("datagram %d has %d bytes, %v, want %d", i, got, err, len(want))
		}
	}
	answer := func(data, control []byte, want int) {
		t.Helper()
		h.handed.Store(0)
		if _, _, err := server.WriteMsgUDPAddrPort(data, control, from); err != nil {
			t.Fatal(err)
		}
		size := len(data)
		if control != nil {
			size = 900
		}
		for datagram := range slices.Chunk(data, size) {
			got, _, err := in.ReadFromAddrPort(b)
			if err != nil || !bytes.Equal(b[:got], datagram) {
				t.Fatalf("a datagram of %d bytes, %v, want %d", got, err, len(datagram))
			}
		}
		if calls := int(h.handed.Load()); calls != want && want > 0 {
			t.Errorf("%d calls, want %d", calls, want)
		}
	}
	answer([]byte("first"), nil, 0) // the socket merges what comes from now on
	if h.handed.Load() > 0 {
		answer(data, segmentControl(900), 1)
		if calls := h.written.Load(); calls != 2 { // the first one is of another size
			t.Errorf("%d calls send 32 datagrams, want 2", calls)
		}
	} else {
		t.Log("SKIP: how many calls: datagrams by the dozen need Linux 5.0")
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if sent := s.Stats().Sent; sent != uint64(len("first")+len(data)) { // the flow has counted all
		t.Errorf("%d bytes were sent", sent)
	}
}

// TestSegmentsOneByOne has the kernel refuse many datagrams at once. Each is sent all the same.
func TestSegmentsOneByOne(t *testing.T) {
	server := loopback(t)
	c, err := (Kernel{}).DialFlow(t.Context(), 0, server.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, ok := c.(*segmentSocket)
	if !ok {
		t.Skip("SKIP: datagrams by the dozen need Linux 4.18")
	}
	const many = 150 // more than any kernel takes at once
	data := numbered(many * 10)
	for _, send := range []func([][]byte) error{s.WriteSegments, s.SendSegments} {
		s.single = false
		if err := send(slices.Collect(slices.Chunk(data, 10))); err != nil {
			t.Fatal(err)
		}
		if !s.single {
			t.Error("the kernel takes them")
		}
		b := make([]byte, 100)
		for i := range many {
			if n, err := server.Read(b); err != nil || !bytes.Equal(b[:n], data[10*i:10*i+10]) {
				t.Fatalf("datagram %d: % x, %v", i, b[:n], err)
			}
		}
		if err := send(lengths(7)); err != nil {
			t.Fatal(err)
		}
		if n, err := server.Read(b); n != 7 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
}

// TestReadSegmentsEnds holds that a reader which waits ends with its socket, and with the refusal
// of a peer.
func TestReadSegmentsEnds(t *testing.T) {
	server := loopback(t)
	to := server.LocalAddr().String()
	dial := func() SegmentConn {
		c, err := (Kernel{}).DialFlow(t.Context(), 0, to)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() }) // it may be closed already
		s, ok := c.(SegmentConn)
		if !ok {
			t.Skip("SKIP: datagrams by the dozen need Linux 4.18")
		}
		return s
	}
	ended := make(chan error, 1)
	read := func(c SegmentConn) {
		ended <- c.ReadSegments(func(b []byte, _ int) error {
			t.Errorf("%d bytes", len(b))
			return nil
		})
	}
	c := dial()
	go read(c)
	if err := c.(net.Conn).Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the socket is closed")
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	c = dial()
	go read(c)
	if err := c.WriteSegments(lengths(3)); err != nil {
		t.Fatal(err)
	}
	err := <-ended
	if _, refused := reason(err); !refused {
		t.Errorf("%v, want a refusal", err)
	}
}
