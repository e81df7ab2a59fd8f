package gonet

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/tcp"
)

// How long the tests of bad wires run: go test ./gonet -args -seeds=400 -bytes=100000000.
var (
	faultSeeds = flag.Int("seeds", 12, "how many conversations each bad wire sees")
	faultBytes = flag.Int("bytes", 4_000_000, "how many bytes go each way through the worst wire")
)

// stream is bytes that a seed makes, of a length, for a writer and for who compares.
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

// digest reads all, and tells how much and what it was.
func digest(r io.Reader) (string, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, r)
	return fmt.Sprintf("%d bytes %x", n, sum.Sum(nil)[:8]), err
}

// bothWays sends length bytes each way at once, closes each direction, and holds what arrives
// against what was sent.
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

// What io.Copy sees of a connection: no ReadFrom or WriteTo.
type (
	onlyWriter struct{ io.Writer }
	onlyReader struct{ io.Reader }
)

// connected is a connection from x to y, both ends.
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
	// a wire that loses all of some seconds may lose all requests for a neighbour
	for try := 0; ; try++ {
		if near, err = x.Dial("tcp", net.JoinHostPort(address, port)); err == nil {
			break
		}
		if try == 20 {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second) // a neighbour that has not answered is not asked at once
	}
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return near, far
}

// empty holds that two stacks have forgotten all connections, and that nothing waits or was lost
// in the counting.
func empty(t *testing.T, seed uint64, stacks ...*Stack) {
	t.Helper()
	// a FIN that nobody acknowledges any more goes again for 15, and TIME-WAIT
	time.Sleep(20 * time.Minute)
	synctest.Wait()
	for _, s := range stacks {
		if err := s.claim(func() {
			for _, c := range s.conns {
				t.Errorf("seed %d: %v %v -> %v is left", seed, c.machine.State(), c.local, c.remote)
			}
			for _, l := range s.listeners {
				if l.half.Load() != 0 {
					t.Errorf("seed %d: %d connections count as not accepted", seed, l.half.Load())
				}
			}
			if len(s.parts) != 0 || len(s.pings) != 0 || len(s.touched) != 0 {
				t.Errorf("seed %d: %d datagrams, %d pings, %d touched are left", seed, len(s.parts),
					len(s.pings), len(s.touched))
			}
		}); err != nil {
			t.Fatal(err)
		}
		if n := s.waiting.Load(); n != 0 {
			t.Errorf("seed %d: %d bytes wait for neighbours", seed, n)
		}
	}
}

// spoiled runs f on two hosts, with faults on what comes and what goes at each.
func spoiled(t *testing.T, seed uint64, super bool, control string, there, back link.Fault,
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
		// What comes to x in super-frames shares a fate; what goes from it is cut, each
		// piece with its own.
		f(t, made(link.NewFaults(a, seed, back, there), "1"), made(b, "2"))
	})
}

// TestManyBytesThroughAllFaults: what was sent arrives, though on both ways at once a twentieth is
// lost, and some is late, twice there, or changed.
func TestManyBytesThroughAllFaults(t *testing.T) {
	length := *faultBytes
	if underRace { // a quarter: the detector takes ten times as long
		length /= 4
	}
	worst := link.Fault{Loss: .05, Reorder: .05, Jitter: 2 * time.Millisecond, Duplicate: .05,
		Corrupt: .02, Delay: 2 * time.Millisecond}
	for _, address := range []string{"10.0.0.2", "2001:db8::2"} {
		for _, control := range []string{tcp.CUBIC, tcp.NewReno} {
			for _, super := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/super=%v", address, control, super), func(t *testing.T) {
					spoiled(t, 1, super, control, worst, worst, func(t *testing.T, x, y *Stack) {
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
