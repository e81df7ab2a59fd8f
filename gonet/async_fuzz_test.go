package gonet

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/tcp"
)

// actor is the handler of one end of the fuzzer's connections. In each call it does what its script
// says, and checks what it is told. The dealer and the timers of the test share the script.
type actor struct {
	t  *testing.T
	s  *Stack
	to netip.AddrPort // where it dials again
	// The fields below are guarded by mu.
	mu     sync.Mutex
	script script
	within bool // a call runs
	conns  map[*AsyncConn]*acted
	dials  int
}

// acted is what an actor knows of one connection.
type acted struct {
	sent, got                   int // bytes of pattern
	connected, finished, closed bool
	deaf                        bool // Close, CloseRead or Abort was called
}

// patternByte is byte i of the stream that each end sends.
func patternByte(i int) byte { return byte(i * 7 % 251) }

// enter begins a call, and returns what is known of its connection.
func (a *actor) enter(c *AsyncConn, call string) *acted {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.conns[c]
	if x == nil {
		x = new(acted)
		a.conns[c] = x
	}
	if a.within {
		a.t.Errorf("%s within another call", call)
	}
	if x.closed {
		a.t.Errorf("%s after Closed", call)
	}
	if !x.connected && call != "Connected" && call != "Closed" && call != "Timer" {
		a.t.Errorf("%s before Connected", call)
	}
	a.within = true
	return x
}

func (a *actor) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.within = false
}

func (a *actor) number(below int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.script.number(below)
}

// act does up to three things with a connection. What fails shows in the calls that follow.
func (a *actor) act(c *AsyncConn, x *acted) {
	for range a.number(4) {
		switch a.number(16) {
		case 0, 1, 2, 3, 4:
			b := make([]byte, 1<<a.number(18))
			a.mu.Lock()
			for i := range b {
				b[i] = patternByte(x.sent + i)
			}
			n, _ := c.Send(b)
			x.sent += n
			a.mu.Unlock()
		case 5, 6:
			c.Resume()
		case 7:
			c.SetTimer(time.Duration(a.number(100)) * time.Millisecond)
		case 8, 9:
			time.AfterFunc(time.Duration(a.number(100))*time.Millisecond, func() { a.act(c, x) })
		case 10:
			_ = c.CloseWrite()
		case 11:
			a.mu.Lock()
			x.deaf = c.CloseRead() == nil || x.deaf
			a.mu.Unlock()
		case 12:
			a.mu.Lock()
			x.deaf = true
			a.mu.Unlock()
			if a.number(2) == 0 {
				_ = c.Close()
			} else {
				_ = c.Abort()
			}
		case 13:
			_ = c.SetReadBuffer(1 + a.number(256)*100)
		case 14:
			_ = c.SetWriteBuffer(1 + a.number(256)*100)
		case 15:
			a.dial()
		}
	}
}

// dial opens another connection, a few times.
func (a *actor) dial() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dials++; a.dials > 10 {
		return
	}
	c, err := a.s.DialAsync(netip.AddrPort{}, a.to, a)
	if err == nil && a.conns[c] == nil {
		a.conns[c] = new(acted)
	}
}

func (a *actor) Connected(c *AsyncConn) {
	x := a.enter(c, "Connected")
	defer a.leave()
	if x.connected {
		a.t.Error("Connected twice")
	}
	x.connected = true
	a.act(c, x)
}

func (a *actor) Received(c *AsyncConn, data []byte) int {
	x := a.enter(c, "Received")
	defer a.leave()
	a.mu.Lock()
	if len(data) == 0 || x.finished {
		a.t.Errorf("%d bytes, finished %v", len(data), x.finished)
	}
	for i, b := range data {
		if b != patternByte(x.got+i) {
			a.t.Errorf("byte %d is %d, want %d", x.got+i, b, patternByte(x.got+i))
			break
		}
	}
	n := len(data)
	if a.script.number(3) == 0 {
		n = min(n, a.script.number(256))
	}
	x.got += n
	a.mu.Unlock()
	a.act(c, x)
	return n
}

func (a *actor) Finished(c *AsyncConn) {
	x := a.enter(c, "Finished")
	defer a.leave()
	if x.finished {
		a.t.Error("Finished twice")
	}
	x.finished = true
	a.act(c, x)
}

func (a *actor) Writable(c *AsyncConn) {
	x := a.enter(c, "Writable")
	defer a.leave()
	a.act(c, x)
}

func (a *actor) Timer(c *AsyncConn) {
	x := a.enter(c, "Timer")
	defer a.leave()
	a.act(c, x)
}

func (a *actor) Closed(c *AsyncConn, err error) {
	x := a.enter(c, "Closed")
	defer a.leave()
	a.mu.Lock()
	x.closed = true
	if err == nil && !x.finished && !x.deaf {
		a.t.Error("closed in order without an end of the peer's stream")
	}
	a.mu.Unlock()
	a.act(c, x)
}

// FuzzAsync holds that handlers are told of each event once and in order, whatever they do in their
// calls and beside them, over wires that lose and reorder; that streams are whole; and that nothing
// is left in the end.
func FuzzAsync(f *testing.F) {
	f.Add([]byte{0, 15, 1, 0, 3, 10, 2, 0, 12, 1, 10, 2, 7, 50, 1, 5})
	f.Add([]byte{1, 3, 0, 17, 0, 16, 10, 3, 8, 20, 5, 5, 2, 0, 9, 1, 12, 0, 3, 15, 15, 15})
	f.Add([]byte{2, 3, 15, 0, 14, 13, 1, 3, 5, 0, 12, 2, 7, 1, 11, 3, 8, 1, 12, 1, 0, 3, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) <= 4096 {
			playAsync(t, b)
		}
	})
}

func playAsync(t *testing.T, b []byte) {
	synctest.Test(t, func(t *testing.T) {
		all := script{b}
		kind := all.byte()
		fault := link.Fault{Loss: float64(kind%4) / 20, Reorder: float64(kind/4%4) / 20,
			Jitter: 2 * time.Millisecond, Delay: time.Millisecond}
		near, far := link.Pair()
		few := func(c *Config) {
			c.Backlog, c.TimeWaits = 3, 3
			if kind&128 != 0 {
				c.TCP = tcp.Config{ReceiveBuffer: 3000, SendBuffer: 3000}
			}
			c.TCP.UserTimeout = time.Minute
		}
		x := host6(t, link.NewFaults(near, uint64(kind), fault, fault), "1", quiet, few)
		y := host6(t, far, "2", quiet, few)
		at, half := netip.AddrPortFrom(addrV, 80), len(all.b)/2
		ends := []*actor{
			{t: t, s: x, to: at, script: script{all.b[:half]}, conns: map[*AsyncConn]*acted{}},
			{t: t, s: y, to: at, script: script{all.b[half:]}, conns: map[*AsyncConn]*acted{}},
		}
		if _, err := y.ListenAsync("tcp", ":80", func(c *AsyncConn) AsyncHandler {
			if ends[1].number(16) == 1 {
				return nil
			}
			return ends[1]
		}); err != nil {
			t.Fatal(err)
		}
		for range 1 + kind%3 {
			ends[0].dial()
		}
		time.Sleep(time.Hour)
		for i, a := range ends {
			a.abortAll()
			time.Sleep(time.Hour)
			synctest.Wait()
			for c, x := range a.conns {
				if !x.closed {
					t.Errorf("end %d: %v was not told of its end", i, c.Info())
				}
			}
		}
		empty(t, 0, x, y)
	})
}

// abortAll ends what the handlers have left open.
func (a *actor) abortAll() {
	a.mu.Lock()
	a.dials = 100
	var all []*AsyncConn
	for c, x := range a.conns {
		if !x.closed {
			x.deaf = true
			all = append(all, c)
		}
	}
	a.mu.Unlock()
	for _, c := range all {
		_ = c.Abort() // it may be ending
	}
}

// TestAsyncAtRandom plays scripts that are random, for a `go test` without the fuzzer.
func TestAsyncAtRandom(t *testing.T) {
	for seed := range uint64(fewer(200, 4)) {
		b := make([]byte, 400)
		_, _ = newStream(seed, len(b)).Read(b)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { playAsync(t, b) })
	}
}
