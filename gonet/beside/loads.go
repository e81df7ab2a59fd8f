package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"interleave/gonet/beside/host"
)

// port is that of every server here: each is alone in its stack, or in its network namespace.
const port = 5001

// A pair is two hosts between which loads run.
type pair struct {
	near, far host.Host
	// cpu returns the processor time so far, of what is measured.
	cpu func() (time.Duration, error)
}

// traffic is what a load has done in a window of time.
type traffic struct {
	count     int64 // bytes, or connections
	took, cpu time.Duration
}

// gbits returns the rate of bytes in Gbit/s.
func (w traffic) gbits() float64 { return float64(w.count) * 8 / 1e9 / w.took.Seconds() }

// rate returns the rate of what was counted, in 1/s.
func (w traffic) rate() float64 { return float64(w.count) / w.took.Seconds() }

// cpuFor returns the processor time that n of what was counted take, in seconds.
func (w traffic) cpuFor(n float64) float64 { return w.cpu.Seconds() * n / float64(w.count) }

// window counts for a while, after a quarter of that time, in which windows and pools grow. On a
// busy machine it lasts longer: until there is something to count. A load that has ended before the
// window closes is an error.
func (p *pair) window(lasts time.Duration, count *atomic.Int64,
	ended <-chan error) (w traffic, err error) {
	time.Sleep(lasts / 4)
	if err := awaitMore(count, 0); err != nil {
		return w, err
	}
	used, err := p.cpu()
	if err != nil {
		return w, err
	}
	began, first := time.Now(), count.Load()
	time.Sleep(lasts)
	if err := awaitMore(count, first); err != nil {
		return w, err
	}
	w.count, w.took = count.Load()-first, time.Since(began)
	total, err := p.cpu()
	if err != nil {
		return w, err
	}
	w.cpu = total - used
	select {
	case err := <-ended:
		return w, fmt.Errorf("a connection has ended: %w", err)
	default:
		return w, nil
	}
}

// awaitMore waits until a counter has more than a number.
func awaitMore(count *atomic.Int64, than int64) error {
	for end := time.Now().Add(patience); count.Load() <= than; {
		if time.Now().After(end) {
			return fmt.Errorf("nothing has arrived within %v", patience)
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// conns are the ends of connections between the hosts of a pair.
type conns struct {
	listener  net.Listener
	near, far []net.Conn
}

// Close closes all. What ends may have ended already.
func (c *conns) Close() {
	_ = c.listener.Close()
	for i := range c.far {
		_, _ = c.near[i].Close(), c.far[i].Close()
	}
}

func (p *pair) listen() (*conns, error) {
	l, err := p.far.Listen(port)
	return &conns{listener: l}, err
}

// dial opens a connection from the near host to the far one.
func (p *pair) dial(ctx context.Context) (net.Conn, error) {
	return p.near.Dial(ctx, netip.AddrPortFrom(p.far.Addr, port))
}

// open opens n more connections, over each of which a kilobyte goes in both directions.
func (p *pair) open(ctx context.Context, c *conns, n int) error {
	kilobyte := make([]byte, 1000)
	for range n {
		near, err := p.dial(ctx)
		if err != nil {
			return err
		}
		far, err := c.listener.Accept()
		if err != nil {
			_ = near.Close()
			return err
		}
		c.near, c.far = append(c.near, near), append(c.far, far)
		if err := errors.Join(carry(near, far, kilobyte), carry(far, near, kilobyte)); err != nil {
			return err
		}
	}
	return nil
}

// carry writes bytes to one end of a connection and reads them at the other.
func carry(from, to net.Conn, bytes []byte) error {
	if _, err := from.Write(bytes); err != nil {
		return err
	}
	_, err := io.ReadFull(to, bytes)
	return err
}

// chunk is the size in bytes of each write and read of a bulk load.
const chunk = 64 << 10

// bulk has n connections carry bytes from the near host to the far one, or in the other direction.
func (p *pair) bulk(ctx context.Context, n int, inward bool,
	lasts time.Duration) (w traffic, err error) {
	c, err := p.listen()
	if err != nil {
		return w, err
	}
	defer c.Close()
	if err := p.open(ctx, c, n); err != nil {
		return w, err
	}
	var received atomic.Int64
	ended := make(chan error, 2*n)
	for i := range n {
		from, to := c.near[i], c.far[i]
		if inward {
			from, to = to, from
		}
		go func() { // until the connection is closed
			b := make([]byte, chunk)
			for {
				if _, err := from.Write(b); err != nil {
					ended <- err
					return
				}
			}
		}()
		go func() { // likewise
			b := make([]byte, chunk)
			for {
				n, err := to.Read(b)
				received.Add(int64(n))
				if err != nil {
					ended <- err
					return
				}
			}
		}()
	}
	return p.window(lasts, &received, ended)
}

// pageSize is the size in bytes of the body of each response of HTTP.
const pageSize = 100_000

// pages has clients get pages from a server of HTTP, each over a connection that it keeps, and
// counts the bytes of the bodies.
func (p *pair) pages(clients int, lasts time.Duration) (w traffic, err error) {
	l, err := p.far.Listen(port)
	if err != nil {
		return w, err
	}
	body := make([]byte, pageSize)
	server := http.Server{ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(body) // a client that has gone needs no page
		})}
	go func() { _ = server.Serve(l) }() // until Close
	defer func() { _ = server.Close() }()
	url := fmt.Sprintf("http://%v/", netip.AddrPortFrom(p.far.Addr, port))
	var received atomic.Int64
	ended := make(chan error, clients)
	for range clients {
		client := http.Client{Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return p.dial(ctx)
			}}}
		defer client.CloseIdleConnections()
		go func() { // until the server is closed
			for {
				if err := getPage(&client, url, &received); err != nil {
					ended <- err
					return
				}
			}
		}()
	}
	return p.window(lasts, &received, ended)
}

// getPage gets a page, and counts its bytes.
func getPage(client *http.Client, url string, received *atomic.Int64) error {
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	received.Add(n)
	if err == nil && n != pageSize {
		err = fmt.Errorf("a page of %d bytes, not %d", n, pageSize)
	}
	return err
}

// visits has clients open connections one after the other, over each of which a byte goes in both
// directions, and counts the connections. The server closes first, so that no port of a client has
// to wait.
func (p *pair) visits(ctx context.Context, clients int,
	lasts time.Duration) (w traffic, err error) {
	c, err := p.listen()
	if err != nil {
		return w, err
	}
	go func() { // until the listener is closed
		for {
			far, err := c.listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.CopyN(far, far, 1) // the client looks at what comes back
				_ = far.Close()
			}()
		}
	}()
	defer c.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var visited atomic.Int64
	ended := make(chan error, clients)
	for range clients {
		go func() { // until ctx ends, or a visit has failed
			for {
				err := p.visit(ctx)
				if err != nil {
					ended <- err
					return
				}
				visited.Add(1)
			}
		}()
	}
	return p.window(lasts, &visited, ended)
}

// visitTime bounds a visit, which takes milliseconds.
const visitTime = 2 * time.Minute

func (p *pair) visit(ctx context.Context) error {
	near, err := p.dial(ctx)
	if err != nil {
		return err
	}
	defer near.Close()
	if err := near.SetDeadline(time.Now().Add(visitTime)); err != nil {
		return err
	}
	if _, err := near.Write([]byte{1}); err != nil {
		return err
	}
	b, err := io.ReadAll(near)
	if err == nil && len(b) != 1 {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// idle opens n connections, and returns the memory of each, with both ends, in bytes.
func (p *pair) idle(ctx context.Context, c *conns, n int) (float64, error) {
	if err := p.open(ctx, c, 1); err != nil { // fills the pools
		return 0, err
	}
	before := heap()
	if err := p.open(ctx, c, n); err != nil {
		return 0, err
	}
	return (heap() - before) / float64(n), nil
}
