package handshake

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"
)

// A conn is below a connection with TLS. A turn begins when the client's hello has come, so that
// nobody waits for a client that says nothing. It ends when the answer is about to be written: the
// keys are then agreed on, and the rest costs little. After longest it ends in any case, so that
// nothing that waits in a handshake keeps all others out.
type conn struct {
	net.Conn
	turns *Turns
	has   atomic.Bool
	late  *time.Timer // ends the turn
}

// longest is the longest turn. A guess: a handshake needs half a millisecond of a core.
const longest = 2 * time.Second

// Wrap returns a connection for tls.Server, whose handshake takes a turn.
func (t *Turns) Wrap(c net.Conn) net.Conn { return &conn{Conn: c, turns: t} }

func (c *conn) begin(ctx context.Context) error {
	if err := c.turns.take(ctx, c.RemoteAddr()); err != nil {
		return err
	}
	c.late = time.AfterFunc(longest, c.end)
	c.has.Store(true)
	c.turns.slow(ctx)
	return nil
}

// end ends the turn, if there is one.
func (c *conn) end() {
	if c.has.Load() && c.has.CompareAndSwap(true, false) {
		c.late.Stop()
		c.turns.give()
	}
}

func (c *conn) Read(p []byte) (int, error) {
	c.end()
	return c.Conn.Read(p)
}

func (c *conn) Write(p []byte) (int, error) {
	c.end()
	return c.Conn.Write(p)
}

func (c *conn) Close() error {
	c.end()
	return c.Conn.Close()
}

// A listener wraps the connections that it accepts.
type listener struct {
	net.Listener
	turns *Turns
}

// Listener returns a listener for tls.NewListener, whose handshakes take turns.
func (t *Turns) Listener(l net.Listener) net.Listener { return listener{l, t} }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.turns.Wrap(c), nil
}

// Config returns the configuration for tls.Server and tls.NewListener. It is to be made once: each
// has tickets of its own for clients that come again.
func (t *Turns) Config(config *tls.Config) *tls.Config {
	inner, certificate := config.GetConfigForClient, config.GetCertificate
	config = config.Clone()
	// It is called when the client's hello was read, before anything is computed.
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		ready := error(nil)
		if certificate != nil {
			// It may wait for an authority, and the authority for another handshake. When the
			// handshake asks again, it is there.
			_, ready = certificate(hello)
		}
		if c, ok := hello.Conn.(*conn); ok && ready == nil {
			if err := c.begin(hello.Context()); err != nil {
				return nil, err
			}
		}
		if inner != nil {
			return inner(hello)
		}
		return nil, nil // the configuration stays as it is
	}
	return config
}

// Client does the handshake of a client, which takes a turn until it has sent its hello. After an
// error the connection is closed.
func (t *Turns) Client(ctx context.Context, raw net.Conn, config *tls.Config) (*tls.Conn, error) {
	c := &conn{Conn: raw, turns: t}
	if err := c.begin(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	secure := tls.Client(c, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return secure, nil
}
