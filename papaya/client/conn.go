package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"interleave/papaya/irc"
)

// Times of a connection; guesses that people find neither hasty nor slow.
const (
	firstWait   = time.Second      // after a connection was lost; twice as long each time
	longestWait = 30 * time.Second // the longest of these
	dialWait    = 20 * time.Second
	writeWait   = 20 * time.Second
	askAfter    = 30 * time.Second // of silence, after which the server is asked
	lostAfter   = 60 * time.Second // of silence, after which it is lost
)

// outLen is how many lines wait to be sent. A user cannot type more; a full queue means that the
// connection is stuck.
const outLen = 256

// maxRead is the longest line of a server: tags and all.
const maxRead = irc.MaxServerTags + irc.MaxLine

// A Dialer connects to the server.
type Dialer func(ctx context.Context) (net.Conn, error)

// Plain dials without encryption.
func Plain(addr string) Dialer {
	return func(ctx context.Context) (net.Conn,
		error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
}

// TLS dials with a certificate that the pins know or the system trusts.
func TLS(addr, host string, pins *Pins) Dialer {
	return func(ctx context.Context) (net.Conn, error) {
		d := tls.Dialer{Config: pins.config(addr, host)}
		return d.DialContext(ctx, "tcp", addr)
	}
}

// What a connection tells, in order.
type (
	// Opened is a connection that was made.
	Opened struct{}
	// Line is what the server said.
	Line struct{ irc.Message }
	// Lost is a connection that is no more, and when the next is tried.
	Lost struct {
		Err error
		In  time.Duration
	}
)

// Conn keeps a connection: it dials again when one is lost, with longer and longer waits between,
// until its context ends.
type Conn struct {
	Dial Dialer
	Tell func(any) // Opened, Line or Lost; called by one goroutine

	mu   sync.Mutex
	out  chan irc.Message // of the connection there is; nil without one
	drop context.CancelFunc
	calm bool // the next wait is the first again
}

// ErrStuck is a connection that does not take what we send.
var ErrStuck = errors.New("the server does not read")

// Send queues a line. It is dropped without a connection: what was not sent is marked
// by the session.
func (c *Conn) Send(m irc.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out == nil {
		return
	}
	select {
	case c.out <- m:
	default:
		c.drop()
	}
}

// Steady says that all is well: the next loss is followed by a short wait again.
func (c *Conn) Steady() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calm = true
}

// Drop gives the connection up; the next is made in a while.
func (c *Conn) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.drop != nil {
		c.drop()
	}
}

// Run connects, and again, until the context ends or the server's certificate is not the one
// that was pinned.
func (c *Conn) Run(ctx context.Context) error {
	wait := firstWait
	for {
		err := c.once(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, changed := errors.AsType[*PinError](err); changed {
			return err
		}
		c.mu.Lock()
		if c.calm {
			wait, c.calm = firstWait, false
		}
		c.mu.Unlock()
		// not all clients of a server that was restarted at once
		in := time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64()))
		wait = min(2*wait, longestWait)
		c.Tell(Lost{err, in})
		select {
		case <-time.After(in):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// once is one connection, from dialling to its end.
func (c *Conn) once(ctx context.Context) error {
	dialing, stopDialing := context.WithTimeout(ctx, dialWait)
	defer stopDialing()
	conn, err := c.Dial(dialing)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	out := make(chan irc.Message, outLen)
	c.mu.Lock()
	c.out, c.drop = out, stop
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.out, c.drop = nil, nil
		c.mu.Unlock()
	}()
	written := make(chan struct{})
	go func() {
		defer close(written)
		defer conn.Close() // wakes the reader
		write(ctx, conn, out)
	}()
	c.Tell(Opened{})
	err = c.read(conn)
	stop()
	<-written
	return err
}

// write sends lines until the context ends, and says PING in silence; then it sends what still
// waits, for QUIT.
func write(ctx context.Context, conn net.Conn, out <-chan irc.Message) {
	ticks := time.NewTicker(askAfter)
	defer ticks.Stop()
	send := func(m irc.Message) error {
		// a connection that has ended says so at the write
		_ = conn.SetWriteDeadline(time.Now().Add(writeWait))
		_, err := fmt.Fprintf(conn, "%s\r\n", m)
		return err
	}
	for {
		var err error
		select {
		case m := <-out:
			err = send(m)
		case <-ticks.C:
			err = send(irc.Message{Command: "PING", Params: []string{"papaya"}})
		case <-ctx.Done():
			for len(out) > 0 && err == nil {
				err = send(<-out)
			}
			return
		}
		if err != nil {
			return
		}
	}
}

// read tells the lines of the server until there are no more.
func (c *Conn) read(conn net.Conn) error {
	lines := bufio.NewReaderSize(conn, maxRead)
	for {
		_ = conn.SetReadDeadline(time.Now().Add(lostAfter)) // as for writing
		text, err := lines.ReadSlice('\n')
		if err != nil {
			if errors.Is(err, bufio.ErrBufferFull) {
				return fmt.Errorf("the server sent a line of more than %d bytes", maxRead)
			}
			return err
		}
		m, err := irc.Parse(strings.TrimRight(string(text), "\r\n"))
		if err != nil {
			continue // an empty line, or one that nobody can read
		}
		c.Tell(Line{m})
	}
}
