package load

// Transfers and bulk against servers that are right, and wrong ones of each kind.

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"interleave/internal/freeport"
	"interleave/internal/manifest"
)

// serveDiscard reads to the end of file and closes.
func serveDiscard(c *net.TCPConn) { io.Copy(io.Discard, c) }

// serveGenerate sends the pattern until the client has gone, but for the byte at wrong.
func serveGenerate(wrong int64) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		p := make([]byte, 251*257)
		for at := int64(0); ; at += int64(len(p)) {
			for i := range p {
				p[i] = byte((at + int64(i)) % 251)
			}
			if wrong >= at && wrong < at+int64(len(p)) {
				p[wrong-at]++
			}
			if _, err := c.Write(p); err != nil {
				return
			}
		}
	}
}

// twoPorts listens at a port and at the next, as servers of transfers do. It does not bind to port
// 0: the kernel then gives an odd port, and the even ones to clients. Nobody can listen at a
// client's port while it is in TIME-WAIT, as nearly all of them are after many connections.
func twoPorts() (a, b net.Listener, err error) {
	for range 100 {
		second := freeport.Any()
		if a, err = freeport.Listen(second - 1); err != nil {
			continue
		}
		if b, err = freeport.Listen(second); err == nil {
			return a, b, nil
		}
		a.Close()
	}
	return nil, nil, err
}

// transferProcess is a right server in a process of its own. It prints its port.
func transferProcess() int {
	in, out, err := twoPorts()
	if err != nil {
		return fail(err)
	}
	fmt.Println(in.Addr().(*net.TCPAddr).Port)
	serve := func(l net.Listener, f func(*net.TCPConn)) error {
		for {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			go func() { defer c.Close(); f(c.(*net.TCPConn)) }()
		}
	}
	go serve(out, serveGenerate(-1))
	return fail(serve(in, serveDiscard))
}

func TestTransfers(t *testing.T) {
	tests := []struct {
		connections, size int
		requests          int64
		cpus              []int
	}{{1, 1, 0, nil}, {8, 4096, 0, nil}, {3, 1_000_003, 0, nil}, {5, 4096, 50, []int{0, 0}}}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%dx%d", test.connections, test.size), func(t *testing.T) {
			var got atomic.Int64
			p := plan(manifest.Transfer, netip.AddrPort{}, manifest.Load{Shape: manifest.Transfers,
				Connections: test.connections, SizeBytes: test.size, Requests: test.requests})
			p.CPUs, p.Sources = test.cpus, LoopbackSources(1)
			if test.requests > 0 {
				p.Window = 0
			}
			r := runSteady(t, p, func(t testing.TB, p Plan) *Result {
				got.Store(0)
				p.Addr = listen(t, func(c *net.TCPConn) {
					n, _ := io.Copy(io.Discard, c)
					got.Add(n)
				})
				return runPlan(t, p)
			})
			noErrors(t, r)
			checkResult(t, &p, r)
			if want := of(r).Total * int64(test.size); got.Load() != want {
				t.Errorf("the server read %d bytes, want those of %d transfers: %d", got.Load(),
					of(r).Total, want)
			}
		})
	}
}

func TestWrongTransfers(t *testing.T) {
	l := manifest.Load{Shape: manifest.Transfers, Connections: 2, SizeBytes: 4096}
	big := manifest.Load{Shape: manifest.Transfers, Connections: 1, SizeBytes: 8 << 20}
	tests := []struct {
		name  string
		load  manifest.Load
		serve func(*net.TCPConn)
		kind  string
	}{
		{"talks", l, func(c *net.TCPConn) { io.Copy(io.Discard, c); c.Write([]byte("bye")) },
			Extra},
		{"resets", l, reset, Reset},
		{"never closes", l, readAndHold, Timeout},
		{"closes before it has all", big, func(c *net.TCPConn) {
			c.Read(make([]byte, 10))
			c.CloseWrite()
			untilClosed(c)
		}, Ended},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			finds(t, test.kind, func() (*Result, error) {
				p := wrongPlan(manifest.Transfer, listen(t, test.serve), test.load)
				if test.kind == Timeout {
					p.Limit = 5 * time.Second
				}
				return tryPlan(t, p)
			})
		})
	}
}

// listenAt serves two ports, each by what it is given.
func listenAt(t *testing.T, in, out func(*net.TCPConn)) netip.AddrPort {
	t.Helper()
	a, b, err := twoPorts()
	if err != nil {
		t.Fatal(err)
	}
	listenOn(t, b, out)
	return listenOn(t, a, in)
}

// mostUnsent is the most that a socket of this machine keeps for its peer, in bytes.
func mostUnsent(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_wmem")
	if err != nil {
		t.Fatal(err)
	}
	var least, usual, most int64
	if _, err := fmt.Sscan(string(text), &least, &usual, &most); err != nil {
		t.Fatal(err)
	}
	return most
}

func TestBulk(t *testing.T) {
	for _, direction := range []string{"in", "out"} {
		for _, connections := range []int{1, 20} {
			t.Run(fmt.Sprint(direction, connections), func(t *testing.T) {
				var got atomic.Int64
				p := plan(manifest.Transfer, netip.AddrPort{}, manifest.Load{Shape: manifest.Bulk,
					Connections: connections, Direction: direction})
				r := runSteady(t, p, func(t testing.TB, p Plan) *Result {
					got.Store(0)
					p.Addr = listenAt(t.(*testing.T), func(c *net.TCPConn) {
						for buf := make([]byte, 64<<10); ; {
							n, err := c.Read(buf)
							got.Add(int64(n))
							if err != nil {
								return
							}
						}
					}, serveGenerate(-1))
					return runPlan(t, p)
				})
				noErrors(t, r)
				n := of(r)
				ours := n.BytesIn
				if direction == "in" {
					ours = n.BytesOut
					for end := time.Now().Add(patience); got.Load() < ours &&
						time.Now().Before(end); {
						time.Sleep(time.Millisecond) // the rest is in the server's buffer
					}
					if got.Load() < ours {
						t.Errorf("the server read %d bytes, less than the %d that count",
							got.Load(), ours)
					}
				}
				// Blocks count when they are written, bytes when they are acknowledged: at either
				// end of the window the sockets may be full.
				var waiting int64
				if direction == "in" {
					waiting = int64(connections) * mostUnsent(t) / manifest.BulkBlock
				}
				if blocks := ours / manifest.BulkBlock; n.Requests == 0 ||
					blocks < n.Requests/2-waiting ||
					blocks > 2*n.Requests+2*int64(connections)+waiting {
					t.Errorf("got %d blocks and %d bytes", n.Requests, ours)
				}
			})
		}
	}
}

func TestWrongBulk(t *testing.T) {
	tests := []struct {
		name, direction string
		serve           func(*net.TCPConn)
		kind            string
	}{
		{"a wrong first byte", "out", serveGenerate(0), WrongReply},
		{"a byte too many", "out",
			func(c *net.TCPConn) { c.Write([]byte{0}); serveGenerate(-1)(c) }, WrongReply},
		{"ends", "out", func(c *net.TCPConn) { c.Write([]byte{0, 1, 2}) }, Ended},
		{"resets", "in", func(c *net.TCPConn) { io.CopyN(io.Discard, c, 1<<20); c.SetLinger(0) },
			Reset},
		{"talks", "in", func(c *net.TCPConn) { c.Write([]byte("well")); io.Copy(io.Discard, c) },
			Extra},
		{"ends before", "in", func(c *net.TCPConn) { c.CloseWrite(); io.Copy(io.Discard, c) },
			Ended},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			finds(t, test.kind, func() (*Result, error) {
				l := manifest.Load{Shape: manifest.Bulk, Connections: 2, Direction: test.direction}
				return tryPlan(t, wrongPlan(manifest.Transfer, listenAt(t, test.serve, test.serve),
					l))
			})
		})
	}
}

// TestBulkAgainstNobodyWhoReads counts nothing that has only filled sockets.
func TestBulkAgainstNobodyWhoReads(t *testing.T) {
	p := plan(manifest.Transfer, listen(t, hold), manifest.Load{Shape: manifest.Bulk,
		Connections: 1, Direction: "in"})
	p.WarmUp = 200 * time.Millisecond
	r := runPlan(t, p)
	noErrors(t, r)
	if of(r).BytesOut != 0 {
		t.Errorf("got %d bytes into a server that reads none", of(r).BytesOut)
	}
}
