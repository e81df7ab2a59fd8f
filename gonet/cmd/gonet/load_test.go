package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// loaded is what a load has measured. It is printed as JSON.
type loaded struct {
	Bytes  int64         `json:"bytes"`  // that have arrived
	Events int64         `json:"events"` // connections
	Took   time.Duration `json:"took"`
	Median time.Duration `json:"median"` // of a connect
}

// load is the program at both ends of what the benchmark measures. `load serve ADDRESS` serves TCP
// and UDP at a port. At the next port connections end at once, and at the one behind that it sends
// without end, and does not read. `load send KIND ADDRESS FLOWS TIME PATIENCE` sends to one, and
// `load many ADDRESS CONNECTIONS AT` opens connections to it. `load bridge SOCKET MTU` brings a
// guest to gvproxy.
func load() {
	switch os.Args[1] {
	case "serve":
		serveLoad(netip.MustParseAddrPort(os.Args[2]))
		return
	case "bridge":
		bridge(os.Args[2], os.Args[3])
		return
	case "many":
		many(os.Args[2], os.Args[3], os.Args[4])
		return
	}
	kind, to := os.Args[2], netip.MustParseAddrPort(os.Args[3])
	flows, err := strconv.Atoi(os.Args[4])
	fail(err)
	lasts, err := time.ParseDuration(os.Args[5])
	fail(err)
	loadPatience, err = time.ParseDuration(os.Args[6])
	fail(err)
	end := time.Now().Add(lasts)
	start := time.Now()
	var l loaded
	switch kind {
	case "tcp":
		l.Bytes, start = sendTCP(to.String(), flows, lasts)
	case "udp":
		l.Bytes = sendUDP(to, flows, end, false)
	case "super":
		l.Bytes = sendUDP(to, flows, end, true)
	case "stall":
		l.Events = stall(netip.AddrPortFrom(to.Addr(), to.Port()+2).String(), flows, end)
	case "connect":
		l.Events, l.Median = connects(netip.AddrPortFrom(to.Addr(), to.Port()+1).String(), end)
	default:
		fail(fmt.Errorf("no load %q", kind))
	}
	l.Took = time.Since(start)
	fail(json.NewEncoder(os.Stdout).Encode(l))
}

// serveLoad serves until the process ends.
func serveLoad(at netip.AddrPort) {
	sink, err := net.Listen("tcp", at.String())
	fail(err)
	next, err := net.Listen("tcp", netip.AddrPortFrom(at.Addr(), at.Port()+1).String())
	fail(err)
	flood, err := net.Listen("tcp", netip.AddrPortFrom(at.Addr(), at.Port()+2).String())
	fail(err)
	echo, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	fail(err)
	merge(echo)
	fmt.Println("ready")
	go accept(sink, func(c *net.TCPConn) {
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c},
			make([]byte, 256<<10))
		if err == nil { // else the sender misses the count
			_, _ = c.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
		}
	})
	go accept(next, func(*net.TCPConn) {})
	go accept(flood, floodUnread)
	b, control := make([]byte, 65536), make([]byte, 64)
	for {
		n, length, _, from, err := echo.ReadMsgUDPAddrPort(b, control)
		if errors.Is(err, unix.ECONNREFUSED) {
			continue // a client has gone
		}
		fail(err)
		_, _, _ = echo.WriteMsgUDPAddrPort(b[:n], cut(mergedSize(control[:length])), from)
	}
}

// accept handles connections, and closes each when its handler returns.
func accept(l net.Listener, handle func(*net.TCPConn)) {
	for {
		c, err := l.Accept()
		fail(err)
		go func() {
			defer c.Close()
			handle(c.(*net.TCPConn))
		}()
	}
}

// zeros is what is sent on connections that nobody reads.
var zeros = make([]byte, 64<<10)

// floodUnread sends until the connection ends, and does not read. The kernel's buffers are small:
// what is in between is to be filled.
func floodUnread(c *net.TCPConn) {
	err := errors.Join(c.SetReadBuffer(4<<10), c.SetWriteBuffer(4<<10))
	for err == nil {
		_, err = c.Write(zeros)
	}
}

// stall opens connections on which both ends send and none reads, and holds them until a time. It
// returns how many there were: a program may let fewer in.
func stall(to string, connections int, end time.Time) int64 {
	var sum atomic.Int64
	var running sync.WaitGroup
	d := net.Dialer{Deadline: end}
	for range connections {
		running.Go(func() {
			c, err := d.Dial("tcp", to)
			if err != nil {
				return
			}
			defer c.Close()
			sum.Add(1)
			fail(c.SetDeadline(end))
			floodUnread(c.(*net.TCPConn))
		})
	}
	running.Wait()
	return sum.Load()
}

// many opens connections to a server, so many at once, and prints their number. Those of a round
// are all open when each sends some bytes and its end. The server counts the bytes and closes.
func many(to, connections, at string) {
	total, err := strconv.Atoi(connections)
	fail(err)
	width, err := strconv.Atoi(at)
	fail(err)
	opened := 0
	for opened < total {
		round := make([]*net.TCPConn, min(width, total-opened))
		inParallel(len(round), func(i int) {
			c, err := net.DialTimeout("tcp", to, testTimeout)
			fail(err)
			round[i] = c.(*net.TCPConn)
		})
		inParallel(len(round), func(i int) {
			c, size := round[i], 1+(opened+i)%1000
			fail(c.SetDeadline(time.Now().Add(testTimeout)))
			_, err := c.Write(zeros[:size])
			fail(errors.Join(err, c.CloseWrite()))
			answer, err := io.ReadAll(c)
			if err != nil || len(answer) != 8 || binary.BigEndian.Uint64(answer) != uint64(size) {
				fail(fmt.Errorf("connection %d: of %d bytes %x have arrived, %v", opened+i, size,
					answer, err))
			}
			fail(c.Close())
		})
		opened += len(round)
	}
	fmt.Println(opened, "connections")
}

// inParallel runs a function for each number below n at once, and waits for all.
func inParallel(n int, f func(i int)) {
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { f(i) })
	}
	running.Wait()
}

// loadPatience bounds what a load waits for beyond its time. A program that takes longer fails.
var loadPatience time.Duration

// sendTCP opens connections, and writes to each until the time is over. It returns how many bytes
// the server has counted, and when the writing began.
func sendTCP(to string, flows int, lasts time.Duration) (int64, time.Time) {
	all := make([]*net.TCPConn, flows)
	for i := range all {
		c, err := net.DialTimeout("tcp", to, loadPatience)
		fail(err)
		fail(c.SetDeadline(time.Now().Add(lasts + loadPatience)))
		all[i] = c.(*net.TCPConn)
		if flows > 1 { // what waits in all buffers must arrive, too
			fail(all[i].SetWriteBuffer(64 << 10))
		}
	}
	start := time.Now()
	var sum atomic.Int64
	var running sync.WaitGroup
	for _, c := range all {
		running.Go(func() {
			b := make([]byte, 128<<10)
			for time.Since(start) < lasts {
				_, err := c.Write(b)
				fail(err)
			}
			fail(c.CloseWrite())
			_, err := io.ReadFull(c, b[:8])
			fail(err)
			sum.Add(int64(binary.BigEndian.Uint64(b)))
		})
	}
	running.Wait()
	return sum.Load(), start
}

// The datagrams of a load: their size in bytes, as of QUIC, how many of all flows are on their way
// at once, and how long a flow waits for those that were lost.
const (
	datagramSize = 1200
	outstanding  = 32
	lostAfter    = 100 * time.Millisecond
)

// sendUDP sends datagrams to a server that sends them back, by flows until a time. With super each
// call sends and receives many. It returns how many bytes have come back.
func sendUDP(to netip.AddrPort, flows int, end time.Time, super bool) int64 {
	var sum atomic.Int64
	var running sync.WaitGroup
	for range flows {
		running.Go(func() {
			c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
			fail(err)
			defer c.Close()
			window, size, control := max(1, outstanding/flows), datagramSize, []byte(nil)
			if super {
				merge(c)
				size, window, control = outstanding*datagramSize, 1, cut(datagramSize)
			}
			b := make([]byte, 65536)
			for time.Now().Before(end) {
				for range window {
					_, _, _ = c.WriteMsgUDPAddrPort(b[:size], control, netip.AddrPort{})
				}
				fail(c.SetReadDeadline(time.Now().Add(lostAfter)))
				for missing := window * size; missing > 0; {
					n, err := c.Read(b)
					if err != nil {
						break
					}
					missing -= n
					sum.Add(int64(n))
				}
			}
		})
	}
	running.Wait()
	return sum.Load()
}

// connects opens connections one after the other until a time, and returns how many there were, and
// the median of the time that one takes.
func connects(to string, end time.Time) (int64, time.Duration) {
	var took []time.Duration
	ctx, cancel := context.WithDeadline(context.Background(), end.Add(loadPatience))
	defer cancel()
	var d net.Dialer
	for b := make([]byte, 1); time.Now().Before(end) || took == nil; {
		start := time.Now()
		c, err := d.DialContext(ctx, "tcp", to)
		fail(err)
		took = append(took, time.Since(start))
		fail(c.SetDeadline(end.Add(loadPatience)))
		if _, err := c.Read(b); err != io.EOF { // so the server has the port in TIME-WAIT
			fail(fmt.Errorf("the end of a connection: %w", err))
		}
		_ = c.Close() // it has ended
	}
	slices.Sort(took)
	return int64(len(took)), took[len(took)/2]
}

// merge has the kernel hand over many datagrams at once (UDP_GRO).
func merge(c *net.UDPConn) {
	raw, err := c.SyscallConn()
	fail(err)
	fail(raw.Control(func(fd uintptr) {
		fail(unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_GRO, 1))
	}))
}

// mergedSize returns the size of the datagrams that were handed over at once, or 0 for one.
func mergedSize(control []byte) int {
	messages, err := unix.ParseSocketControlMessage(control)
	fail(err)
	for _, m := range messages {
		if m.Header.Level == unix.IPPROTO_UDP && m.Header.Type == unix.UDP_GRO {
			return int(binary.NativeEndian.Uint32(m.Data))
		}
	}
	return 0
}

// cut returns the control message that has the kernel cut what is sent into datagrams; nil for 0.
func cut(size int) []byte {
	if size == 0 {
		return nil
	}
	b := make([]byte, unix.CmsgSpace(2))
	native := binary.NativeEndian
	if unix.SizeofPtr == 8 {
		native.PutUint64(b, uint64(unix.CmsgLen(2)))
	} else {
		native.PutUint32(b, uint32(unix.CmsgLen(2)))
	}
	native.PutUint32(b[unix.SizeofPtr:], unix.IPPROTO_UDP)
	native.PutUint32(b[unix.SizeofPtr+4:], unix.UDP_SEGMENT)
	native.PutUint16(b[unix.CmsgLen(0):], uint16(size))
	return b
}
