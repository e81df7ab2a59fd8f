package gonet

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/tcp"
)

// talker is the handler of a connection that sends a stream, closes its direction, and receives
// another stream. It sends and takes random parts, and lets its timer or another goroutine resume.
type talker struct {
	out    *stream
	rest   []byte // read from out, and not sent
	random *rand.Rand
	sum    hash.Hash
	got    int
	done   chan<- error
	want   string // the digest of what is to be received
	ended  int    // calls of Finished
}

func newTalker(seed, wants uint64, length int, done chan<- error) *talker {
	digested, _ := digest(newStream(wants, length))
	return &talker{out: newStream(seed, length), random: rand.New(rand.NewPCG(seed, 1)),
		sum: sha256.New(), done: done, want: digested}
}

func (t *talker) Connected(c *AsyncConn) { t.Writable(c) }

// Writable sends until there is no room, or nothing left.
func (t *talker) Writable(c *AsyncConn) {
	for {
		if len(t.rest) == 0 {
			b := make([]byte, 1+t.random.IntN(10_000))
			n, err := t.out.Read(b)
			if err == io.EOF {
				_ = c.CloseWrite() // the peer checks
				return
			}
			t.rest = b[:n]
		}
		n, err := c.Send(t.rest)
		if t.rest = t.rest[n:]; err != nil || len(t.rest) > 0 {
			return
		}
	}
}

func (t *talker) Received(c *AsyncConn, data []byte) int {
	n := len(data)
	switch t.random.IntN(4) {
	case 0:
		n = t.random.IntN(n + 1)
		c.SetTimer(time.Duration(1 + t.random.IntN(3_000_000)))
	case 1:
		n = t.random.IntN(n + 1)
		time.AfterFunc(time.Duration(t.random.IntN(3_000_000)), c.Resume)
	}
	_, _ = t.sum.Write(data[:n]) // never fails
	t.got += n
	return n
}

func (t *talker) Timer(c *AsyncConn) { c.Resume() }

func (t *talker) Finished(*AsyncConn) { t.ended++ }

func (t *talker) Closed(_ *AsyncConn, err error) {
	got := fmt.Sprintf("%d bytes %x", t.got, t.sum.Sum(nil)[:8])
	if err == nil && (got != t.want || t.ended != 1) {
		err = fmt.Errorf("%s arrived and %d ends, want %s", got, t.ended, t.want)
	}
	t.done <- err
}

// talkBlocking does with a Conn what a talker does.
func talkBlocking(c net.Conn, seed, wants uint64, length int, done chan<- error) {
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(onlyWriter{c}, newStream(seed, length))
		if err == nil {
			err = c.(*Conn).CloseWrite()
		}
		sent <- err
	}()
	want, _ := digest(newStream(wants, length))
	got, err := digest(onlyReader{c})
	if err == nil && got != want {
		err = fmt.Errorf("%s arrived, want %s", got, want)
	}
	if failed := <-sent; err == nil {
		err = failed
	}
	if closed := c.Close(); err == nil {
		err = closed
	}
	done <- err
}

// pairing connects x with y, and has both ends talk, each with callbacks or with calls that block.
func pairing(t *testing.T, x, y *Stack, address string, nearAsync, farAsync bool, length int) {
	t.Helper()
	const there, back = 1, 2 // seeds
	done := make(chan error, 2)
	var to netip.AddrPort
	if farAsync {
		l, err := y.ListenAsync("tcp", net.JoinHostPort(address, "0"),
			func(*AsyncConn) AsyncHandler { return newTalker(back, there, length, done) })
		if err != nil {
			t.Fatal(err)
		}
		to = l.Addr()
	} else {
		l, err := y.Listen("tcp", net.JoinHostPort(address, "0"))
		if err != nil {
			t.Fatal(err)
		}
		to = l.Addr().(*net.TCPAddr).AddrPort()
		go func() {
			c, err := l.Accept()
			if err != nil {
				done <- err
				return
			}
			talkBlocking(c, back, there, length, done)
		}()
	}
	if nearAsync {
		dialAsync(t, x, to, newTalker(there, back, length, done))
	} else {
		c, err := x.Dial("tcp", to.String())
		if err != nil {
			t.Fatal(err)
		}
		go talkBlocking(c, there, back, length, done)
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestAsyncPairings has callbacks and calls that block talk to each other in all pairings, over
// wires that lose, reorder, duplicate and corrupt.
func TestAsyncPairings(t *testing.T) {
	length := fewer(1_000_000, 8)
	for name, fault := range map[string]link.Fault{
		"clean": {Delay: time.Millisecond},
		"lossy": {Loss: .05, Delay: 2 * time.Millisecond},
		"worst": {Loss: .05, Reorder: .1, Jitter: 2 * time.Millisecond, Duplicate: .05,
			Corrupt: .02, Delay: 2 * time.Millisecond},
	} {
		for i, ends := range [][2]bool{{true, false}, {false, true}, {true, true}} {
			for _, super := range []bool{false, true} {
				address := []string{"10.0.0.2", "2001:db8::2"}[i%2]
				t.Run(fmt.Sprintf("%s/%v-%v/super=%v", name, ends[0], ends[1], super),
					func(t *testing.T) {
						withFaults(t, uint64(i), super, tcp.CUBIC, fault, fault,
							func(t *testing.T, x, y *Stack) {
								pairing(t, x, y, address, ends[0], ends[1], length)
								empty(t, 0, x, y)
							})
					})
			}
		}
	}
}

// TestAsyncLoopback has the pairings within one stack, where no link carries the packets and
// segments have 64 KiB.
func TestAsyncLoopback(t *testing.T) {
	for _, address := range []string{"127.0.0.1", "::1"} {
		for _, ends := range [][2]bool{{true, false}, {false, true}, {true, true}, {false, false}} {
			end := link.Loopback()
			s := host6(t, end, "2", quiet)
			pairing(t, s, s, address, ends[0], ends[1], fewer(4_000_000, 8))
			if n := s.Stats().DroppedLoop; n > 0 {
				t.Logf("%d packets found the loopback queue full", n)
			}
		}
	}
}

// TestSegmentsToOurselves holds that a connection within a stack has segments of 64 KiB, and that
// it goes on when the address of its peer is removed: then the segments are those of the link.
func TestSegmentsToOurselves(t *testing.T) {
	a, b := link.Pair()
	s := host6(t, a, "1", quiet)
	near, far := connected(t, s, s, "10.0.0.1")
	if mss := near.(*Conn).Info().MSS; mss < 60_000 {
		t.Errorf("the MSS is %d", mss)
	}
	frames := make(chan int, 1000)
	go func() {
		batch := make([]link.Frame, 32)
		for {
			n, err := b.Read(batch)
			if err != nil {
				close(frames)
				return
			}
			for _, f := range batch[:n] {
				select {
				case frames <- len(f.Data):
				default:
				}
			}
		}
	}()
	if err := s.Configure([]netip.Prefix{netip.MustParsePrefix("10.0.0.9/24")}, nil); err != nil {
		t.Fatal(err)
	}
	s.pinStation(netip.MustParseAddr("10.0.0.1"), s.MAC())
	if _, err := near.Write(make([]byte, 50_000)); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(time.Minute)
	for long := 0; long < 3; {
		select {
		case n := <-frames:
			if n > 1514 {
				t.Fatalf("a frame of %d bytes", n)
			}
			if n == 1514 {
				long++
			}
		case <-deadline:
			t.Fatal("no full segment was sent to the link")
		}
	}
	_ = far.Close() // the stack's end matters
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
