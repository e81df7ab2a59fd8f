package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"net"

	"github.com/pires/go-proxyproto"
	"github.com/pires/go-proxyproto/tlvparse"
)

// A Conn is a client's connection behind a proxy that says by the PROXY protocol (HAProxy's
// proxy-protocol.txt, versions 1 and 2) whose it is.
type Conn struct {
	net.Conn
	client net.Addr
	unread []byte // what was read together with the header
	secure bool
}

// tlsHandshake is the first byte of a TLS connection: the type of its first record.
const tlsHandshake = 22

// Unwrap reads the header that begins a connection, and the client's first byte. The caller sets a
// deadline, and closes the connection after an error.
func Unwrap(c net.Conn) (*Conn, error) {
	in := bufio.NewReader(c)
	header, err := proxyproto.Read(in)
	if err != nil {
		return nil, fmt.Errorf("the header of the PROXY protocol: %w", err)
	}
	behind := &Conn{Conn: c, client: c.RemoteAddr(), secure: overTLS(header)}
	// A health check of the proxy is LOCAL or of an unknown protocol: it comes from the proxy.
	if from, ok := header.SourceAddr.(*net.TCPAddr); ok && !header.Command.IsLocal() {
		behind.client = from
	}
	if _, err := in.Peek(1); err != nil {
		return nil, fmt.Errorf("the client's first byte: %w", err)
	}
	unread, _ := in.Peek(in.Buffered()) // what is buffered can be read without an error
	behind.unread = append(behind.unread, unread...)
	return behind, nil
}

// overTLS says whether the proxy ends the client's TLS and says so (PP2_CLIENT_SSL).
func overTLS(header *proxyproto.Header) bool {
	fields, err := header.TLVs()
	if err != nil {
		return false
	}
	ssl, ok := tlvparse.FindSSL(fields)
	return ok && ssl.ClientSSL()
}

// Read reads what the client has sent.
func (c *Conn) Read(p []byte) (int, error) {
	if len(c.unread) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.unread)
	if c.unread = c.unread[n:]; len(c.unread) == 0 {
		c.unread = nil
	}
	return n, nil
}

// CloseWrite ends what this side sends, if the connection can be closed by halves.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// RemoteAddr is the client's address.
func (c *Conn) RemoteAddr() net.Addr { return c.client }

// Secure says that the client's connection to the proxy is encrypted.
func (c *Conn) Secure() bool { return c.secure }

// TLS says that the proxy passes on the client's TLS: a handshake follows.
func (c *Conn) TLS() bool { return len(c.unread) > 0 && c.unread[0] == tlsHandshake }
