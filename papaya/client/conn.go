package client

import (
	"bufio"
	"cmp"
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

// Times of a connection. All are guesses.
const (
	// the pause before the first attempt to reconnect, unless Conn.Pause is another
	firstWait   = time.Second
	longestWait = 30 * time.Second // the longest such pause
	dialWait    = 20 * time.Second
	writeWait   = 20 * time.Second
	askAfter    = 30 * time.Second // silence after which the client sends a PING
	lostAfter   = 60 * time.Second // silence after which the connection counts as lost
)

// outLen is how many lines may wait to be sent. A user cannot type that many; a full queue means
// that the connection is stuck.
const outLen = 256

// maxRead is the longest line of a server, with its tags.
const maxRead = irc.MaxServerTags + irc.MaxLine

// A Dialer connects to the server.
type Dialer func(ctx context.Context) (net.Conn, error)

// Plain connects without encryption.
func Plain(addr string) Dialer {
	return func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
}

// TLS connects with TLS. The certificate must be on record in pins, or be trusted by the system.
func TLS(addr, host string, pins *Pins) Dialer {
	return func(ctx context.Context) (net.Conn, error) {
		d := tls.Dialer{Config: pins.config(addr, host)}
		return d.DialContext(ctx, "tcp", addr)
	}
}

// The events of a connection, in order.
type (
	// Opened is told when a connection was made.
	Opened struct{}
	// Line is a line that the server has sent.
	Line struct{ irc.Message }
	// Lost is told when the connection has ended, and will be tried again.
	Lost struct {
		Err error
		In  time.Duration
	}
)

// Conn keeps a connection until its context ends. It dials again after a loss, with longer and
// longer pauses.
type Conn struct {
	Dial Dialer
	Tell func(any) // called with Opened, Line and Lost by one goroutine
	// Pause is that before the first attempt to reconnect; 0 is a second. It is doubled for each
	// next one.
	Pause time.Duration

	mu   sync.Mutex
	out  chan irc.Message // of the current connection; nil if there is none
	drop context.CancelFunc
	calm bool // the next pause is the shortest again
}

// ErrStuck means that the server does not take what the client sends.
var ErrStuck = errors.New("the server does not read")

// Send queues a line. Without a connection it drops the line; the session marks what was not sent.
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

// Steady says that the session is established, so the next loss is followed by a short pause again.
func (c *Conn) Steady() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calm = true
}

// Drop closes the connection. Another is made after a pause.
func (c *Conn) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.drop != nil {
		c.drop()
	}
}

// Run connects again and again, until the context ends or the server's certificate is not the one
// on record.
func (c *Conn) Run(ctx context.Context) error {
	first := cmp.Or(c.Pause, firstWait)
	wait := first
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
			wait, c.calm = first, false
		}
		c.mu.Unlock()
		// The clients of a restarted server must not all connect at the same time.
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

// once makes one connection and serves it to its end.
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
		defer conn.Close() // ends the reader
		write(ctx, conn, out)
	}()
	c.Tell(Opened{})
	err = c.read(conn)
	stop()
	<-written
	return err
}

// write sends lines until the context ends, and a PING after a silence. At the end it sends the
// lines that still wait, for QUIT.
func write(ctx context.Context, conn net.Conn, out <-chan irc.Message) {
	ticks := time.NewTicker(askAfter)
	defer ticks.Stop()
	send := func(m irc.Message) error {
		// A connection that has ended makes the write fail.
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

// read reports the server's lines until the connection ends.
func (c *Conn) read(conn net.Conn) error {
	lines := bufio.NewReaderSize(conn, maxRead)
	for {
		// a connection that has ended makes the read fail
		_ = conn.SetReadDeadline(time.Now().Add(lostAfter))
		text, err := lines.ReadSlice('\n')
		if err != nil {
			if errors.Is(err, bufio.ErrBufferFull) {
				return fmt.Errorf("the server sent a line of more than %d bytes", maxRead)
			}
			return err
		}
		m, err := irc.Parse(strings.TrimRight(string(text), "\r\n"))
		if err != nil {
			continue // an empty or invalid line
		}
		c.Tell(Line{m})
	}
}
