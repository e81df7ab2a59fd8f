package layers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// cable joins the devices of two stacks. drop tells which frames are lost, and late which come
// behind the next one.
type cable struct {
	out, in chan []byte
	closed  chan struct{}
	drop    func(frame []byte) bool
	late    func(frame []byte) bool
	held    []byte
}

func (c *cable) Receive() ([]byte, error) {
	select {
	case f := <-c.in:
		return f, nil
	case <-c.closed:
		return nil, errors.New("closed")
	}
}

func (c *cable) Send(frame []byte) error {
	switch {
	case c.drop != nil && c.drop(frame):
		return nil
	case c.late != nil && c.held == nil && c.late(frame):
		c.held = frame
		return nil
	}
	for _, f := range [][]byte{frame, c.held} {
		if f == nil {
			continue
		}
		select {
		case c.out <- f:
		default: // a full queue loses frames
		}
	}
	c.held = nil
	return nil
}

func (c *cable) MTU() int { return 1500 }

func (c *cable) Close() error {
	close(c.closed)
	return nil
}

// pair returns two hosts on one cable, for tests in a bubble of synctest. Both ends call drop and
// late, which must be safe for that.
func pair(t *testing.T, drop, late func(frame []byte) bool) (a, b *Stack) {
	t.Helper()
	to, from := make(chan []byte, 1000), make(chan []byte, 1000)
	stack := func(out, in chan []byte, address string) *Stack {
		s, err := New(Config{
			Device: &serial{turn: make(chan struct{}, 1), Device: &cable{out: out, in: in,
				closed: make(chan struct{}), drop: drop, late: late}},
			Address: netip.MustParsePrefix(address)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return stack(to, from, "10.0.0.1/24"), stack(from, to, "10.0.0.2/24")
}

// serial is a device whose frames are sent one after the other.
type serial struct {
	Device
	turn chan struct{}
}

func (s *serial) Send(frame []byte) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	return s.Device.Send(frame)
}

// inBubble runs a test in fake time. The stacks must end, or the bubble reports their goroutines.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func stop(t *testing.T, stacks ...*Stack) {
	t.Helper()
	for _, s := range stacks {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// bytesOf returns n bytes without a pattern.
func bytesOf(n int) []byte {
	b := make([]byte, n)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(b) // never fails
	return b
}

// echoing sends back what each client sends, until its end.
func echoing(l *Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(c, c) // the client sees what is missing
			_ = c.Close()
		}()
	}
}

// exchange sends data to an echo and compares the answer.
func exchange(s *Stack, to netip.AddrPort, data []byte) error {
	c, err := s.Dial(to)
	if err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() {
		_, err := c.Write(data)
		written <- errors.Join(err, c.CloseWrite())
	}()
	got, err := io.ReadAll(c)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, data) {
		return fmt.Errorf("got %d bytes, want the %d that were sent", len(got), len(data))
	}
	return errors.Join(<-written, c.Close())
}

// TestLoopbackLosesNothing: fake time stands still while anything runs, so a segment that had to be
// sent again would take a second.
func TestLoopbackLosesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, err := New(Config{TimeWait: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.Listen(7)
		if err != nil {
			t.Fatal(err)
		}
		go echoing(l)
		start := time.Now()
		results := make(chan error)
		for range 100 {
			go func() {
				var err error
				for range 10 {
					err = errors.Join(err, exchange(s, netip.MustParseAddrPort("127.0.0.1:7"),
						bytesOf(4096)))
				}
				results <- err
			}()
		}
		for range 100 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(start); took > 500*time.Millisecond {
			t.Errorf("took %v of fake time: segments were lost", took)
		}
		stop(t, s)
	})
}

func TestPaths(t *testing.T) {
	every := func(n uint64, seed uint64) func([]byte) bool {
		random := rand.New(rand.NewPCG(seed, 0))
		return func([]byte) bool { return random.Uint64N(n) == 0 }
	}
	for _, test := range []struct {
		name       string
		drop, late func([]byte) bool
		size       int
	}{
		{"good", nil, nil, 3 << 20},
		{"one byte", nil, nil, 1},
		{"nothing", nil, nil, 0},
		{"out of order", nil, every(5, 1), 1 << 20},
		{"lost", every(20, 2), nil, 300 << 10},
		{"lost and out of order", every(30, 3), every(7, 4), 300 << 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				drop, late := guard(test.drop), guard(test.late)
				a, b := pair(t, drop, late)
				l, err := b.Listen(7)
				if err != nil {
					t.Fatal(err)
				}
				go echoing(l)
				err = exchange(a, netip.MustParseAddrPort("10.0.0.2:7"), bytesOf(test.size))
				if err != nil {
					t.Error(err)
				}
				stop(t, a, b)
			})
		})
	}
}

// guard makes a function with state one for two senders.
func guard(f func([]byte) bool) func([]byte) bool {
	if f == nil {
		return nil
	}
	turn := make(chan struct{}, 1)
	return func(frame []byte) bool {
		turn <- struct{}{}
		defer func() { <-turn }()
		return f(frame)
	}
}

func TestRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a, b := pair(t, nil, nil)
		if _, err := a.Dial(netip.MustParseAddrPort("10.0.0.2:7")); !errors.Is(err, errRefused) {
			t.Errorf("got %v, want %v", err, errRefused)
		}
		stop(t, a, b)
	})
}

// TestNobody: no station has the address, so the SYN cannot be sent, and all tries fail.
func TestNobody(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a, b := pair(t, nil, nil)
		start := time.Now()
		_, err := a.Dial(netip.MustParseAddrPort("10.0.0.9:7"))
		if !errors.Is(err, syscall.ETIMEDOUT) {
			t.Errorf("got %v, want %v", err, syscall.ETIMEDOUT)
		}
		if took := time.Since(start); took < 30*time.Second || took > 3*time.Minute {
			t.Errorf("gave up after %v, want about a minute", took)
		}
		stop(t, a, b)
	})
}

// connected returns both ends of a connection from a to b.
func connected(t *testing.T, a, b *Stack) (client, server *Conn) {
	t.Helper()
	l, err := b.Listen(7)
	if err != nil {
		t.Fatal(err)
	}
	if client, err = a.Dial(netip.MustParseAddrPort("10.0.0.2:7")); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return client, server
}

// TestSlowReader: a closed window stops the writer, is probed, and opens again.
func TestSlowReader(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a, b := pair(t, nil, nil)
		client, server := connected(t, a, b)
		data := bytesOf(1 << 20)
		written := make(chan error, 1)
		go func() {
			_, err := client.Write(data)
			written <- errors.Join(err, client.Close())
		}()
		time.Sleep(10 * time.Minute)
		select {
		case err := <-written:
			t.Fatalf("written before it was read: %v", err)
		default:
		}
		got, err := io.ReadAll(server)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("got %d bytes and %v, want %d", len(got), err, len(data))
		}
		if err := <-written; err != nil {
			t.Error(err)
		}
		stop(t, a, b)
	})
}

// TestPeerVanishes: the writer gives up after minutes, and no goroutine stays.
func TestPeerVanishes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		gone := make(chan struct{})
		a, b := pair(t, func([]byte) bool {
			select {
			case <-gone:
				return true
			default:
				return false
			}
		}, nil)
		client, _ := connected(t, a, b)
		close(gone)
		if _, err := client.Write([]byte("anybody?")); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, syscall.ETIMEDOUT) {
			t.Errorf("got %v, want %v", err, syscall.ETIMEDOUT)
		}
		if took := time.Since(start); took < 100*time.Second || took > 10*time.Minute {
			t.Errorf("gave up after %v, want some minutes (RFC 9293: 100 s at least)", took)
		}
		if _, err := client.Write(bytesOf(10)); !errors.Is(err, syscall.ETIMEDOUT) {
			t.Errorf("Write: got %v, want %v", err, syscall.ETIMEDOUT)
		}
		stop(t, a, b)
	})
}

// TestResetOfUnread: a peer that sends to an end that has left gets a reset.
func TestResetOfUnread(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a, b := pair(t, nil, nil)
		client, server := connected(t, a, b)
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(client); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Write([]byte("too late")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := client.Write([]byte("still")); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("got %v, want %v", err, syscall.ECONNRESET)
		}
		stop(t, a, b)
	})
}

// TestTimeWait: the end that has closed first keeps its flow for the time of TIME-WAIT, and the
// other one does not.
func TestTimeWait(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a, b := pair(t, nil, nil)
		client, server := connected(t, a, b)
		for _, c := range []*Conn{client, server} {
			if err := c.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if c == server {
				break
			}
			if _, err := io.ReadAll(server); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.ReadAll(client); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		ended := func(c *Conn) bool {
			select {
			case <-c.done:
				return true
			default:
				return false
			}
		}
		if ended(client) || !ended(server) {
			t.Errorf("client ended: %v, server ended: %v; want TIME-WAIT at the client only",
				ended(client), ended(server))
		}
		time.Sleep(timeWait + time.Second)
		if !ended(client) {
			t.Error("the client is still in TIME-WAIT")
		}
		stop(t, a, b)
	})
}
