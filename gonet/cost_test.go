package gonet

import (
	"io"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"unsafe"

	"interleave/gonet/internal/demux"
	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// The benchmarks of docs/gonet/cost.md. They report memory, goroutines and allocations, which do
// not depend on how fast the machine is:
//
//	go test -run '^$' -bench Cost -benchtime 10000x ./gonet

// footprint is what is alive at an instant.
type footprint struct {
	bytes      int64 // on the heap, and of the stacks of goroutines
	goroutines int
}

func takeFootprint() footprint {
	return footprint{memory(), runtime.NumGoroutine()}
}

// report reports what has been added since before, for each of n things.
func (before footprint) report(b *testing.B, n int, thing string) {
	b.Helper()
	b.StopTimer()
	after := takeFootprint()
	b.ReportMetric(float64(after.bytes-before.bytes)/float64(n), "B/"+thing)
	b.ReportMetric(float64(after.goroutines-before.goroutines)/float64(n), "goroutines/"+thing)
	b.ReportMetric(0, "ns/op") // is not printed
}

// quiet is for stacks that send nothing by themselves.
func quiet(c *Config) { c.NoDAD, c.NoAutoconf = true, true }

// costHosts makes two hosts on a wire that carries super-frames.
func costHosts(b testing.TB, change ...func(*Config)) (x, y *Stack) {
	b.Helper()
	near, far := link.Pair(link.Offload())
	change = append(change, quiet)
	return host6(b, near, "1", change...), host6(b, far, "2", change...)
}

// BenchmarkCostStack counts an idle stack of both families, with its end of a wire in memory.
func BenchmarkCostStack(b *testing.B) {
	all := make([]*Stack, 0, b.N)
	before := takeFootprint()
	for range b.N {
		l, _ := link.Pair()
		all = append(all, host6(b, l, "1", quiet))
	}
	before.report(b, b.N, "stack")
	runtime.KeepAlive(all)
}

// carry writes bytes to one end of a connection and reads them at the other.
func carry(b testing.TB, from, to net.Conn, bytes []byte) {
	b.Helper()
	if _, err := from.Write(bytes); err != nil {
		b.Fatal(err)
	}
	if _, err := io.ReadFull(to, bytes); err != nil {
		b.Fatal(err)
	}
}

// dialAndAccept makes a connection between two stacks.
func dialAndAccept(b testing.TB, x *Stack, l *Listener) (near, far net.Conn) {
	b.Helper()
	near, err := x.Dial("tcp", "10.0.0.2:80")
	if err != nil {
		b.Fatal(err)
	}
	if far, err = l.Accept(); err != nil {
		b.Fatal(err)
	}
	return near, far
}

func listenCost(b testing.TB, s *Stack) *Listener {
	b.Helper()
	l, err := s.Listen("tcp", ":80")
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// BenchmarkCostConnection counts an end of a connection that has carried a kilobyte in both
// directions, and is idle.
func BenchmarkCostConnection(b *testing.B) {
	x, y := costHosts(b)
	l, kilobyte := listenCost(b, y), make([]byte, 1000)
	all := make([]net.Conn, 0, 2*b.N)
	before := takeFootprint()
	for range b.N {
		near, far := dialAndAccept(b, x, l)
		carry(b, near, far, kilobyte)
		carry(b, far, near, kilobyte)
		all = append(all, near, far)
	}
	before.report(b, 2*b.N, "end")
	runtime.KeepAlive(all)
}

// TestAnIdleEndIsSmall holds what BenchmarkCostConnection counts: a bound that stands in
// docs/gonet/measurements.md.
func TestAnIdleEndIsSmall(t *testing.T) {
	if underRace {
		t.Skip("the race detector changes the sizes")
	}
	const conns, most = 5000, 1536
	x, y := costHosts(t)
	l, kilobyte := listenCost(t, y), make([]byte, 1000)
	all := make([]net.Conn, 0, 2*conns)
	before := memory()
	for range conns {
		near, far := dialAndAccept(t, x, l)
		carry(t, near, far, kilobyte)
		carry(t, far, near, kilobyte)
		all = append(all, near, far)
	}
	each := (memory() - before) / int64(len(all))
	t.Logf("%d bytes for each end; %d of them are the Conn with its users, %d an AsyncConn", each,
		unsafe.Sizeof(Conn{})+unsafe.Sizeof(connUsers{}), unsafe.Sizeof(AsyncConn{}))
	if each > most {
		t.Errorf("%d bytes for each idle end of a connection, want %d at most", each, most)
	}
	runtime.KeepAlive(all)
}

// BenchmarkCostAsync counts an end of a connection with callbacks that has carried a kilobyte in
// both directions, and is idle.
func BenchmarkCostAsync(b *testing.B) {
	x, y := costHosts(b)
	at, kilobyte := listenAsync(b, y, 80, &callbacks{
		received: func(c *AsyncConn, data []byte) int { n, _ := c.Send(data); return n }}),
		make([]byte, 1000)
	got, done := 0, make(chan struct{})
	h := &callbacks{
		connected: func(c *AsyncConn) { _, _ = c.Send(kilobyte) }, // Received misses it else
		received: func(_ *AsyncConn, data []byte) int {
			if got += len(data); got%len(kilobyte) == 0 {
				done <- struct{}{}
			}
			return len(data)
		}}
	all := make([]*AsyncConn, 0, b.N)
	before := takeFootprint()
	for range b.N {
		all = append(all, dialAsync(b, x, at, h))
		<-done
	}
	before.report(b, 2*b.N, "end")
	runtime.KeepAlive(all)
}

// BenchmarkCostConnect counts what a connection allocates at both ends together, from dial to
// close, with a kilobyte in one direction.
func BenchmarkCostConnect(b *testing.B) {
	x, y := costHosts(b)
	l, kilobyte := listenCost(b, y), make([]byte, 1000)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		near, far := dialAndAccept(b, x, l)
		carry(b, near, far, kilobyte)
		if err := far.Close(); err != nil {
			b.Fatal(err)
		}
		if n, err := near.Read(kilobyte); err != io.EOF {
			b.Fatal(n, err)
		}
		if err := near.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCostTransfer counts what a connection in use allocates for a kilobyte and for 64.
func BenchmarkCostTransfer(b *testing.B) {
	for name, size := range map[string]int{"1kB": 1000, "64kB": 64 << 10} {
		b.Run(name, func(b *testing.B) {
			x, y := costHosts(b)
			near, far := dialAndAccept(b, x, listenCost(b, y))
			bytes := make([]byte, size)
			for range 100 {
				carry(b, near, far, bytes) // fills pools and windows
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				carry(b, near, far, bytes)
			}
		})
	}
}

// BenchmarkCostDatagram counts what a datagram of a kilobyte allocates, from one socket to another.
func BenchmarkCostDatagram(b *testing.B) {
	x, y := costHosts(b)
	from, to := costSocket(b, x, 1000), costSocket(b, y, 1000)
	at := netip.MustParseAddrPort("10.0.0.2:1000")
	kilobyte := make([]byte, 1000)
	b.ReportAllocs()
	for range b.N {
		if _, err := from.WriteToAddrPort(kilobyte, at); err != nil {
			b.Fatal(err)
		}
		if _, _, err := to.ReadFromAddrPort(kilobyte); err != nil {
			b.Fatal(err)
		}
	}
}

func costSocket(b *testing.B, s *Stack, port uint16) *PacketConn {
	b.Helper()
	p := s.newPacketConn(demux.DualWildcard(port), netip.AddrPort{})
	if err := s.bindSocket(p, demux.Sharing{}); err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkCostSocket counts an idle socket of UDP.
func BenchmarkCostSocket(b *testing.B) {
	x, _ := costHosts(b)
	all := make([]*PacketConn, 0, b.N)
	before := takeFootprint()
	for range b.N {
		all = append(all, costSocket(b, x, 0))
	}
	before.report(b, b.N, "socket")
	runtime.KeepAlive(all)
}

// synFlood runs f in the dealer of a listener with a backlog, with a function that has a SYN come
// in, each from another address.
func synFlood(b *testing.B, backlog int, f func(syn func())) {
	b.Helper()
	end, _ := link.Pair(link.L3())
	s := host6(b, discardLink{end}, "2", quiet, func(c *Config) {
		c.Backlog, c.Gateways = backlog, []netip.Addr{addrC}
	})
	listenCost(b, s)
	packet := make([]byte, wire.IPv4Len+wire.TCPLen)
	n := 0
	err := s.claim(func() {
		f(func() {
			n++
			ip := wire.IPv4{Length: uint16(len(packet)), TTL: 64, Protocol: wire.ProtocolTCP,
				Src: netip.AddrFrom4([4]byte{11, byte(n >> 16), byte(n >> 8), byte(n)}), Dst: addrV}
			h := wire.TCP{SrcPort: 1000, DstPort: 80, Flags: wire.SYN, Window: 1000}
			h.Put(packet[ip.Put(packet):])
			s.inputL3(&link.Frame{Data: packet, GSO: link.GSO{Valid: true}})
			s.flush()
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	if got := s.Stats().Sent; got < uint64(n) {
		b.Errorf("%d answers to %d SYNs", got, n)
	}
}

// BenchmarkCostHalfOpen counts a half-open connection.
func BenchmarkCostHalfOpen(b *testing.B) {
	synFlood(b, b.N+1, func(syn func()) {
		before := takeFootprint()
		for range b.N {
			syn()
		}
		before.report(b, b.N, "connection")
	})
}

// BenchmarkCostCookie counts what a SYN allocates that is answered by a cookie. Nothing of it
// stays.
func BenchmarkCostCookie(b *testing.B) {
	synFlood(b, 1, func(syn func()) {
		syn() // takes the only place
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			syn()
		}
		b.StopTimer()
	})
}
