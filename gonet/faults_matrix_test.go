package gonet

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/tcp"
)

// badWires are the faults of the matrix, in each direction.
var badWires = map[string]struct{ there, back link.Fault }{
	"clean": {link.Fault{Delay: time.Millisecond}, link.Fault{Delay: time.Millisecond}},
	"long": {link.Fault{Delay: 150 * time.Millisecond},
		link.Fault{Delay: 150 * time.Millisecond}},
	"heavy loss": {link.Fault{Loss: .2, Delay: 5 * time.Millisecond},
		link.Fault{Loss: .2, Delay: 5 * time.Millisecond}},
	"one way lossy": {link.Fault{Loss: .3, Delay: 5 * time.Millisecond},
		link.Fault{Delay: 5 * time.Millisecond}},
	"answers lossy": {link.Fault{Delay: 5 * time.Millisecond},
		link.Fault{Loss: .3, Delay: 5 * time.Millisecond}},
	"jitter": {link.Fault{Delay: 5 * time.Millisecond, Jitter: 20 * time.Millisecond},
		link.Fault{Delay: 5 * time.Millisecond, Jitter: 20 * time.Millisecond}},
	"narrow": {link.Fault{Bandwidth: 200_000, Queue: 10_000, Delay: 20 * time.Millisecond},
		link.Fault{Bandwidth: 200_000, Queue: 10_000, Delay: 20 * time.Millisecond}},
	"asymmetric": {link.Fault{Bandwidth: 5_000_000, Delay: 30 * time.Millisecond},
		link.Fault{Bandwidth: 20_000, Queue: 3000, Delay: 300 * time.Millisecond}},
	// The periods are in step neither with the doubling of time-outs nor with keep-alive, of which
	// nine probes in a row would fall into the dark.
	"blackouts": {
		link.Fault{Delay: 10 * time.Millisecond, Loss: .01, Light: 2400 * time.Millisecond,
			Dark: 913 * time.Millisecond},
		link.Fault{Delay: 10 * time.Millisecond, Loss: .01, Light: 2111 * time.Millisecond,
			Dark: 717 * time.Millisecond},
	},
	"all": {
		link.Fault{Loss: .08, Duplicate: .1, Corrupt: .05, Reorder: .1,
			Jitter: 10 * time.Millisecond, Delay: 10 * time.Millisecond, Bandwidth: 1_000_000},
		link.Fault{Loss: .08, Duplicate: .1, Corrupt: .05, Reorder: .1,
			Jitter: 10 * time.Millisecond, Delay: 10 * time.Millisecond, Bandwidth: 300_000},
	},
}

// talks are the ways in which two users use a connection.
var talks = map[string]func(t *testing.T, seed uint64, r *rand.Rand, near, far net.Conn){
	"both at once": func(t *testing.T, seed uint64, r *rand.Rand, near, far net.Conn) {
		bothWays(t, seed, near, far, r.IntN(60_000))
	},
	"half-close":      halfClose,
	"slow reader":     slowReader,
	"reset in middle": resetInTheMiddle,
	"close in middle": closeInTheMiddle,
}

// conversations is the number of conversations.
func conversations() uint64 { return uint64(max(1, fewer(*faultSeeds, 4))) }

// TestMatrixOfFaults runs each talk over each wire. The seeds also choose the family, the
// congestion control, the sizes of buffers and the MTU.
func TestMatrixOfFaults(t *testing.T) {
	for wire, faults := range badWires {
		for talk, f := range talks {
			t.Run(wire+"/"+talk, func(t *testing.T) {
				for seed := range conversations() {
					r := rand.New(rand.NewPCG(seed, 3))
					cfg := tcp.Config{Congestion: []string{tcp.CUBIC, tcp.NewReno}[r.IntN(2)],
						Delay: r.IntN(4) == 0, QuickAck: r.IntN(4) == 0}
					cfg.NoSACK, cfg.NoTimestamps, cfg.NoScale = r.IntN(4) == 0, r.IntN(4) == 0,
						r.IntN(4) == 0
					if r.IntN(2) == 0 {
						cfg.ReceiveBuffer, cfg.SendBuffer = 1+r.IntN(20_000), 1+r.IntN(20_000)
					}
					to := []string{"10.0.0.2", "2001:db8::2"}[r.IntN(2)]
					options := []link.Option{link.MTU([]int{1280, 1500, 9000}[r.IntN(3)])}
					if r.IntN(2) == 0 {
						options = append(options, link.Offload())
					}
					if seed%3 == 2 {
						options = append(options, link.L3())
					}
					synctest.Test(t, func(t *testing.T) {
						a, b := link.Pair(options...)
						made := func(l link.Link, n string) *Stack {
							return host6(t, l, n,
								func(c *Config) { c.TCP, c.NoDAD, c.NoAutoconf = cfg, true, true })
						}
						x, y := made(link.NewFaults(a, seed, faults.back, faults.there), "1"),
							made(b, "2")
						if r.IntN(2) == 0 {
							x, y = y, x
							to = map[string]string{"10.0.0.2": "10.0.0.1",
								"2001:db8::2": "2001:db8::1"}[to]
						}
						near, far := connected(t, x, y, to)
						f(t, seed, r, near, far)
						empty(t, seed, x, y)
					})
					if t.Failed() {
						t.Fatalf("seed %d: %+v to %s", seed, cfg, to)
					}
				}
			})
		}
	}
}

// halfClose sends a request and closes the sending direction; then the response is sent.
func halfClose(t *testing.T, seed uint64, r *rand.Rand, near, far net.Conn) {
	ask, answer := r.IntN(30_000), r.IntN(30_000)
	served := make(chan error)
	go func() {
		want, _ := digest(newStream(seed, ask))
		got, err := digest(onlyReader{far})
		if err == nil && got != want {
			err = fmt.Errorf("asked %s, want %s", got, want)
		}
		if err == nil {
			_, err = io.Copy(onlyWriter{far}, newStream(seed+1, answer))
		}
		served <- errors.Join(err, far.Close())
	}()
	if _, err := io.Copy(onlyWriter{near}, newStream(seed, ask)); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	if err := near.(*Conn).CloseWrite(); err != nil {
		t.Error(err)
	}
	want, _ := digest(newStream(seed+1, answer))
	got, err := digest(onlyReader{near})
	if err != nil || got != want {
		t.Errorf("seed %d: answered %s, %v, want %s", seed, got, err, want)
	}
	if err := errors.Join(<-served, near.Close()); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
}

// slowReader closes the peer's window again and again, for up to 40 s.
func slowReader(t *testing.T, seed uint64, r *rand.Rand, near, far net.Conn) {
	size := r.IntN(150_000)
	// a peer that gives up reports it
	if err := far.SetDeadline(time.Now().Add(100 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	go func() {
		if _, err := io.Copy(onlyWriter{near}, newStream(seed, size)); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if err := near.Close(); err != nil { // the written bytes are still sent
			t.Error(err)
		}
	}()
	want, _ := digest(newStream(seed, size))
	pause := time.Millisecond
	got, err := digest(readerFunc(func(p []byte) (int, error) {
		time.Sleep(pause)
		if pause = pause * 3 / 2; pause > 40*time.Second {
			pause = time.Millisecond
		}
		if r.IntN(3) == 0 {
			p = p[:1+r.IntN(100)]
		}
		return far.Read(p)
	}))
	if err != nil || got != want {
		t.Errorf("seed %d: %s, %v, want %s", seed, got, err, want)
	}
	closeConns(t, far)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// resetInTheMiddle aborts one end while both send: the other gets a reset, or times out.
func resetInTheMiddle(t *testing.T, seed uint64, r *rand.Rand, near, far net.Conn) {
	// the test may have ended
	time.AfterFunc(time.Duration(r.Int64N(int64(2*time.Second))),
		func() { _ = near.(*Conn).Abort() })
	sendUntilReset(t, seed, near, far)
}

// closeInTheMiddle closes one end while both send: the other gets a reset, as nobody reads its
// data.
func closeInTheMiddle(t *testing.T, seed uint64, r *rand.Rand, near, far net.Conn) {
	time.AfterFunc(time.Duration(r.Int64N(int64(2*time.Second))), func() { _ = near.Close() })
	sendUntilReset(t, seed, near, far)
}

// sendUntilReset sends without end in both directions, until the connection is reset. The received
// bytes must be a prefix of the sent ones.
func sendUntilReset(t *testing.T, seed uint64, conns ...net.Conn) {
	done := make(chan error, 4)
	for i, c := range conns {
		if err := c.SetDeadline(time.Now().Add(30 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		sent := newStream(seed+uint64(i), math.MaxInt)
		go func() {
			_, err := io.CopyBuffer(onlyWriter{c}, readerFunc(func(p []byte) (int, error) {
				time.Sleep(time.Millisecond) // lets fake time advance
				return sent.Read(p)
			}), make([]byte, 3000))
			done <- err
		}()
		go func() {
			sent, p, q := newStream(seed+1-uint64(i), math.MaxInt), make([]byte, 5000),
				make([]byte, 5000)
			for {
				n, err := c.Read(p)
				if _, _ = sent.Read(q[:n]); string(p[:n]) != string(q[:n]) {
					t.Errorf("seed %d: what arrives is not what was sent", seed)
				}
				if err != nil {
					if errors.Is(err, io.EOF) {
						err = nil
					}
					done <- err
					return
				}
			}
		}()
	}
	for range 4 {
		err := <-done
		if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, syscall.ECONNRESET) &&
			!errors.Is(err, syscall.ETIMEDOUT) &&
			!errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.EHOSTUNREACH) {
			t.Errorf("seed %d: heard %v", seed, err)
		}
	}
	for _, c := range conns {
		_ = c.Close() // the connection has ended
	}
}
