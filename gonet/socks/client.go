package socks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Dialer connects through a SOCKS5 server. Names are sent to the server, which resolves them.
type Dialer struct {
	Server string // its "host:port"
	// User and Password are offered to the server if User is not empty (RFC 1929).
	User, Password string
	// Dial connects to the server: network is "tcp", and for the datagrams of an Association "udp";
	// nil: a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// DialContext connects to "host:port" with the command CONNECT. network is "tcp", "tcp4" or "tcp6";
// which family a name gets is up to the server. The function fits http.Transport and the like.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	to, err := ParseAddress(address)
	switch {
	case err != nil:
	case network != "tcp" && network != "tcp4" && network != "tcp6":
		err = net.UnknownNetworkError(network)
	default:
		return d.Connect(ctx, to)
	}
	return nil, d.fail(to, err)
}

// ParseAddress parses "host:port", where host is an address or a name.
func ParseAddress(address string) (Address, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return Address{}, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return Address{}, &net.AddrError{Err: "invalid port", Addr: address}
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return AddressOf(netip.AddrPortFrom(ip, uint16(number))), nil
	}
	if !isName(host) {
		return Address{}, errName
	}
	return Address{Name: host, Port: uint16(number)}, nil
}

// Connect is DialContext for a parsed address. The connection is the one to the server, as Dial has
// made it. If the server reports a failure, the error wraps its Code.
func (d *Dialer) Connect(ctx context.Context, to Address) (net.Conn, error) {
	c, _, err := d.request(ctx, Request{Connect, to})
	if err != nil {
		return nil, d.fail(to, err)
	}
	return c, nil
}

func (d *Dialer) fail(to Address, err error) error {
	return fmt.Errorf("socks: %v through %s: %w", to, d.Server, err)
}

// Check connects to the server, authenticates, and asks for nothing. A program can so tell its user
// at the start what every connection would fail with.
func (d *Dialer) Check(ctx context.Context) error {
	c, err := d.converse(ctx, func(net.Conn) error { return nil })
	if err != nil {
		return fmt.Errorf("socks: %s: %w", d.Server, err)
	}
	return c.Close()
}

// request connects to the server, sends a request, and returns the connection and the address of
// the reply.
func (d *Dialer) request(ctx context.Context, q Request) (net.Conn, Address, error) {
	var p Reply
	c, err := d.converse(ctx, func(c net.Conn) (err error) {
		p, err = d.ask(c, q)
		return err
	})
	if err != nil {
		return nil, Address{}, err
	}
	return c, p.Address, nil
}

// converse connects to the server and authenticates, and goes on with f. All that has the context's
// time.
func (d *Dialer) converse(ctx context.Context, f func(net.Conn) error) (net.Conn, error) {
	c, err := d.dial(ctx, "tcp", d.Server)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(longAgo) }) // ends the handshake
	if err = d.authenticate(c); err == nil {
		err = f(c)
	}
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		_ = c.Close() // the error says more
		return nil, err
	}
	return c, nil
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

func (d *Dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if d.Dial != nil {
		return d.Dial(ctx, network, address)
	}
	var direct net.Dialer
	return direct.DialContext(ctx, network, address)
}

// errMethod is the error of a server that accepts none of the methods that were offered.
var errMethod = errors.New("the server wants another authentication")

// authenticate negotiates the method of authentication, and authenticates.
func (d *Dialer) authenticate(c net.Conn) error {
	methods := []Method{MethodNone}
	var password []byte
	if d.User != "" {
		var err error
		if password, err = AppendPassword(nil, d.User, d.Password); err != nil {
			return err
		}
		methods = append(methods, MethodPassword)
	}
	if _, err := c.Write(AppendGreeting(nil, methods...)); err != nil {
		return err
	}
	m, err := ReadMethod(c)
	switch {
	case err != nil:
		return err
	case !slices.Contains(methods, m):
		return errMethod
	case m == MethodNone:
		return nil
	}
	if _, err := c.Write(password); err != nil {
		return err
	}
	ok, err := ReadPasswordReply(c)
	if err == nil && !ok {
		err = errors.New("the server does not accept the user or the password")
	}
	return err
}

// ask sends a request and reads its reply. A reply that reports a failure is the error.
func (d *Dialer) ask(c net.Conn, q Request) (Reply, error) {
	b, err := q.Append(nil)
	if err != nil {
		return Reply{}, err
	}
	if _, err := c.Write(b); err != nil {
		return Reply{}, err
	}
	p, err := ReadReply(c)
	if p.Code != Succeeded {
		return p, p.Code // whatever address follows
	}
	return p, err
}

// Association sends and receives datagrams through a server: UDP ASSOCIATE (RFC 1928 section 7).
// All its methods may be called at once.
type Association struct {
	control net.Conn // the association lives as long as this connection does
	data    net.Conn
	once    sync.Once
	mu      sync.Mutex
	packet  []byte // the datagram that is being sent; guarded by mu
}

// Associate makes an association. The context bounds the handshake.
func (d *Dialer) Associate(ctx context.Context) (*Association, error) {
	control, relay, err := d.request(ctx, Request{Command: Associate})
	if err != nil {
		return nil, d.fail(Address{}, err)
	}
	if !relay.IP.IsValid() || relay.IP.IsUnspecified() {
		// The server means its own address, as the client knows it.
		host, _, err := net.SplitHostPort(control.RemoteAddr().String())
		if ip, bad := netip.ParseAddr(host); relay.Name == "" && err == nil && bad == nil {
			relay.IP = ip.Unmap()
		}
	}
	data, err := d.dial(ctx, "udp", relay.String())
	if err != nil {
		_ = control.Close() // the error says more
		return nil, d.fail(relay, err)
	}
	a := &Association{control: control, data: data}
	go a.watch()
	return a, nil
}

// watch is the goroutine that closes the association when the server closes the connection, which
// it never writes to.
func (a *Association) watch() {
	var b [1]byte
	_, _ = a.control.Read(b[:]) // whatever comes is the end
	_ = a.Close()               // it may be closed already
}

// Send sends a datagram.
func (a *Association) Send(data []byte, to Address) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, err := AppendDatagram(a.packet[:0], to)
	if err != nil {
		return err
	}
	a.packet = append(b, data...)
	_, err = a.data.Write(a.packet)
	if cap(a.packet) > keptPacket {
		a.packet = nil
	}
	return err
}

// keptPacket is the largest buffer in bytes that an association keeps between two datagrams: one
// for those that need no fragments.
const keptPacket = 4 << 10

// Receive waits for a datagram, reads it into b, and returns its data, a view of b, and who has
// sent it. What cannot be parsed is skipped, as are fragments. A datagram that exceeds b is cut.
func (a *Association) Receive(b []byte) ([]byte, Address, error) {
	for {
		n, err := a.data.Read(b)
		if err != nil {
			return nil, Address{}, err
		}
		if from, data, err := ParseDatagram(b[:n]); err == nil {
			return data, from, nil
		}
	}
}

// Close ends the association. A Receive that waits fails with net.ErrClosed.
func (a *Association) Close() error {
	err := net.ErrClosed
	a.once.Do(func() { err = errors.Join(a.control.Close(), a.data.Close()) })
	return err
}
