package gonet

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/tcp"
)

// The length of the tests of bad wires: go test ./gonet -args -seeds=400 -bytes=100000000.
var (
	faultSeeds = flag.Int("seeds", 12, "how many conversations each bad wire sees")
	faultBytes = flag.Int("bytes", 4_000_000, "how many bytes go each way through the worst wire")
)

// stream generates bytes from a seed, for the writer and for the comparison.
type stream struct {
	random *rand.ChaCha8
	left   int
}

func newStream(seed uint64, length int) *stream {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return &stream{rand.NewChaCha8(key), length}
}

func (s *stream) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, _ := s.random.Read(p[:min(len(p), s.left)]) // never fails
	s.left -= n
	return n, nil
}

// digest reads to the end, and returns the length and a hash.
func digest(r io.Reader) (string, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, r)
	return fmt.Sprintf("%d bytes %x", n, sum.Sum(nil)[:8]), err
}

// bothWays sends length bytes in each direction at once, closes each direction, and compares what
// arrives with what was sent.
func bothWays(t *testing.T, seed uint64, a, b net.Conn, length int) {
	t.Helper()
	done := make(chan error, 4)
	for i, c := range []net.Conn{a, b} {
		go func() {
			_, err := io.Copy(onlyWriter{c}, newStream(seed+uint64(i), length))
			if err == nil {
				err = c.(*Conn).CloseWrite()
			}
			done <- err
		}()
		go func() {
			want, _ := digest(newStream(seed+1-uint64(i), length))
			got, err := digest(onlyReader{c})
			if err == nil && got != want {
				err = fmt.Errorf("%s arrived, want %s", got, want)
			}
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// Only Read, or only Write, so that io.Copy uses neither ReadFrom nor WriteTo.
type (
	onlyWriter struct{ io.Writer }
	onlyReader struct{ io.Reader }
)

// connected returns both ends of a connection from x to y.
func connected(t *testing.T, x, y *Stack, address string) (near, far net.Conn) {
	t.Helper()
	l, err := y.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	// a wire with a black-out may lose all requests for a neighbour
	for try := 0; ; try++ {
		if near, err = x.Dial("tcp", net.JoinHostPort(address, port)); err == nil {
			break
		}
		if try == 20 {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second) // a failed neighbour is not resolved again at once
	}
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return near, far
}

// empty checks that the stacks have no connection left, no packet that waits, and counters of zero.
func empty(t *testing.T, seed uint64, stacks ...*Stack) {
	t.Helper()
	// an unacknowledged FIN is sent for 15 minutes, and TIME-WAIT follows
	time.Sleep(20 * time.Minute)
	synctest.Wait()
	for _, s := range stacks {
		if err := s.claim(func() {
			for _, c := range s.tcp.conns {
				t.Errorf("seed %d: %v %v -> %v is left", seed, c.machine.State(), c.localAddr(),
					c.RemoteAddr())
			}
			if n := s.tcp.remnants.Len() + s.tcp.remnants.Count(); n != 0 {
				t.Errorf("seed %d: remnants of connections are left", seed)
			}
			s.tcp.listeners.Each(func(_ netip.AddrPort, l *Listener) {
				if l.synQueue.Len() != 0 {
					t.Errorf("seed %d: %d connections count as not accepted", seed,
						l.synQueue.Len())
				}
			})
			if len(s.reassemblies) != 0 || len(s.icmp.pings) != 0 || len(s.tcp.toUpdate) != 0 {
				t.Errorf("seed %d: %d datagrams, %d pings, %d connections to update are left", seed,
					len(s.reassemblies), len(s.icmp.pings), len(s.tcp.toUpdate))
			}
		}); err != nil {
			t.Fatal(err)
		}
		if _, n := s.countNeighbours(); n != 0 {
			t.Errorf("seed %d: %d bytes wait for neighbours", seed, n)
		}
	}
}

// withFaults runs f on two hosts, with faults in each direction at the first.
func withFaults(t *testing.T, seed uint64, super bool, control string, there, back link.Fault,
	f func(t *testing.T, x, y *Stack)) {
	synctest.Test(t, func(t *testing.T) {
		var options []link.Option
		if super {
			options = append(options, link.Offload())
		}
		a, b := link.Pair(options...)
		made := func(l link.Link, n string) *Stack {
			return host6(t, l, n,
				func(c *Config) { c.TCP.Congestion, c.NoDAD, c.NoAutoconf = control, true, true })
		}
		// A super-frame to x has one fate. One from x is cut, and each piece has its own.
		f(t, made(link.NewFaults(a, seed, back, there), "1"), made(b, "2"))
	})
}

// TestManyBytesThroughAllFaults sends many bytes in both directions, of which a twentieth of the
// packets is lost, and some are late, duplicated or corrupted.
func TestManyBytesThroughAllFaults(t *testing.T) {
	length := fewer(*faultBytes, 8)
	worst := link.Fault{Loss: .05, Reorder: .05, Jitter: 2 * time.Millisecond, Duplicate: .05,
		Corrupt: .02, Delay: 2 * time.Millisecond}
	for _, address := range []string{"10.0.0.2", "2001:db8::2"} {
		for _, control := range []string{tcp.CUBIC, tcp.NewReno} {
			for _, super := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/super=%v", address, control, super), func(t *testing.T) {
					withFaults(t, 1, super, control, worst, worst, func(t *testing.T, x, y *Stack) {
						start := time.Now()
						near, far := connected(t, x, y, address)
						bothWays(t, 1, near, far, length)
						took := time.Since(start)
						t.Logf("%d bytes each way in %v, %v", length, took, near.(*Conn).Info())
						closeConns(t, near, far)
						empty(t, 1, x, y)
					})
				})
			}
		}
	}
}

func closeConns(t *testing.T, conns ...net.Conn) {
	t.Helper()
	for _, c := range conns {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
