package socks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"interleave/gonet/relay"
)

// A Server serves SOCKS5 to the clients of a listener: CONNECT, and UDP ASSOCIATE if ListenPacket
// is set. It resolves no names itself: Dial and Lookup get them as the clients have sent them.
type Server struct {
	// Dial connects to "host:port", where host is an address or a name. network is "tcp". Its
	// context ends after 30 s.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ListenPacket opens a socket from which the datagrams of one client are sent; nil: UDP
	// ASSOCIATE is refused. Addresses of the socket's peers are *net.UDPAddr.
	ListenPacket func() (net.PacketConn, error)
	// Lookup returns the address of a name; nil: datagrams to names are dropped.
	Lookup func(ctx context.Context, name string) (netip.Addr, error)
	// Login is what clients have to give; the zero value: nothing.
	Login relay.Login
	// MaxClients bounds the clients that are served at once; 0 is 1024. Further clients wait for
	// 30 s at most, and are refused then.
	MaxClients int
	// Log is called with each client that has failed, and with each destination; nil: no log.
	Log func(format string, args ...any)
}

const (
	defaultClients = 1024 // a guess
	// maxPending bounds the clients that have not sent their request yet, or that wait because
	// MaxClients are served. One more closes the oldest of them: a handshake takes milliseconds, so
	// the oldest is probably silent. A guess: a browser or a crawler may open hundreds at once.
	maxPending = 1024
	// The time that a client has for its handshake, and a dial. Guesses.
	handshakeTime = 10 * time.Second
	dialTime      = 30 * time.Second
	// slotTime is how long a client waits for a slot. A guess: clients that keep their connections
	// for later requests may never free one.
	slotTime = 30 * time.Second
	// closeTime is how long a refused client may take to close its connection, and maxUnread how
	// many bytes it may send until then.
	closeTime = time.Second
	maxUnread = 1 << 16
)

// service is a server at one listener.
type service struct {
	*Server
	slots   chan struct{} // one element for each client that is served
	pending pending
}

// Serve serves the clients of a listener of package net until the context ends. It closes the
// listener and all connections, and returns when their goroutines have ended. An error is one of
// the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	v := &service{Server: s, slots: make(chan struct{}, cmp.Or(s.MaxClients, defaultClients))}
	return relay.Serve(ctx, l, func(ctx context.Context, c net.Conn) {
		if err := v.client(ctx, c); err != nil && ctx.Err() == nil {
			v.log("%v: %v", c.RemoteAddr(), err)
		}
	})
}

func (s *Server) log(format string, args ...any) {
	if s.Log != nil {
		s.Log(format, args...)
	}
}

// pending are the clients that have no slot, the oldest first.
type pending struct {
	mu  sync.Mutex
	all []*pendingClient
}

type pendingClient struct{ cancel context.CancelFunc }

// add adds a client. If there are too many, the oldest is cancelled.
func (p *pending) add(c *pendingClient) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, c)
	if len(p.all) > maxPending {
		p.all[0].cancel()
		p.all = slices.Delete(p.all, 0, 1)
	}
}

// remove removes a client, if it is still there.
func (p *pending) remove(c *pendingClient) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.all, c); i >= 0 {
		p.all = slices.Delete(p.all, i, i+1)
	}
}

// client serves one connection to its end.
func (v *service) client(ctx context.Context, c net.Conn) error {
	request, err := v.admit(ctx, c)
	if err != nil {
		return err
	}
	defer func() { <-v.slots }()
	switch {
	case request.Command == Connect:
		return v.connect(ctx, c, request.Address)
	case request.Command == Associate && v.ListenPacket != nil:
		return v.associate(ctx, c, request.Address)
	}
	refuse(c, CommandNotSupported)
	return fmt.Errorf("socks: command %d: %w", request.Command, CommandNotSupported)
}

var (
	errPushedOut = errors.New("socks: closed before it was served: too many clients wait")
	errBusy      = errors.New("socks: refused: too many clients are served")
)

// admit reads a client's request, and waits for a slot. Until then the client is pending.
func (v *service) admit(outer context.Context, c net.Conn) (Request, error) {
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	// Only a pending client is closed by cancel, which is called at the end of each.
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	me := &pendingClient{cancel}
	v.pending.add(me)
	defer v.pending.remove(me)
	if err := c.SetDeadline(time.Now().Add(handshakeTime)); err != nil {
		return Request{}, err
	}
	request, err := v.handshake(c)
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if err != nil {
		if ctx.Err() != nil && outer.Err() == nil {
			err = errPushedOut
		}
		return Request{}, err
	}
	busy := time.NewTimer(slotTime)
	defer busy.Stop()
	select {
	case v.slots <- struct{}{}:
	case <-busy.C:
		refuse(c, GeneralFailure)
		return Request{}, errBusy
	case <-ctx.Done():
		return Request{}, errPushedOut
	}
	if !stop() { // it was pushed out in this moment
		<-v.slots
		return Request{}, errPushedOut
	}
	return request, nil
}

var (
	errMethods = errors.New("socks: the client offers no method of authentication that is wanted")
	errLogin   = errors.New("socks: a wrong user name or password")
)

// handshake negotiates the method of authentication, and reads the request.
func (s *Server) handshake(c net.Conn) (Request, error) {
	offered, err := ReadGreeting(c)
	if err != nil {
		return Request{}, err
	}
	method := MethodNone
	if s.Login.Required() {
		method = MethodPassword
	}
	if !slices.Contains(offered, method) {
		farewell(c, AppendMethod(nil, MethodRefused))
		return Request{}, errMethods
	}
	if _, err := c.Write(AppendMethod(nil, method)); err != nil {
		return Request{}, err
	}
	if method == MethodPassword {
		user, password, err := ReadPassword(c)
		if err != nil {
			return Request{}, err
		}
		if !s.Login.Matches(user, password) {
			farewell(c, AppendPasswordReply(nil, false))
			return Request{}, errLogin
		}
		if _, err := c.Write(AppendPasswordReply(nil, true)); err != nil {
			return Request{}, err
		}
	}
	request, err := ReadRequest(c)
	if code := Code(0); errors.As(err, &code) {
		refuse(c, code)
	}
	return request, err
}

// refuse sends the reply to a request that has failed.
func refuse(c net.Conn, code Code) {
	if b, err := (Reply{Code: code}).Append(nil); err == nil {
		farewell(c, b)
	}
}

// farewell sends the last message to a client, and waits a moment for the client to close. What the
// client sends until then is read: the kernel would reset a connection with unread data, and the
// client might not see the message.
func farewell(c net.Conn, b []byte) {
	if c.SetDeadline(time.Now().Add(closeTime)) != nil {
		return
	}
	if _, err := c.Write(b); err != nil {
		return
	}
	if w, ok := c.(interface{ CloseWrite() error }); ok && w.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, c, maxUnread) // the connection is closed next
	}
}

// connect serves CONNECT.
func (v *service) connect(ctx context.Context, c net.Conn, to Address) error {
	dialing, cancel := context.WithTimeout(ctx, dialTime)
	far, err := v.Dial(dialing, "tcp", to.String())
	cancel()
	if err != nil {
		refuse(c, codeOf(err))
		return err
	}
	defer func() { _ = far.Close() }() // it may be closed already
	if err := succeed(c, far.LocalAddr()); err != nil {
		return err
	}
	v.log("%v: connected to %v", c.RemoteAddr(), to)
	return relay.Join(ctx, c, far)
}

// succeed tells a client that its request has succeeded, and at which address.
func succeed(c net.Conn, bound net.Addr) error {
	b, err := Reply{Succeeded, AddressOf(addrPort(bound))}.Append(nil)
	if err != nil {
		return err
	}
	_, err = c.Write(b)
	return err
}

// addrPort returns the address of a socket, or an invalid one if it has none.
func addrPort(a net.Addr) netip.AddrPort {
	switch a := a.(type) {
	case *net.TCPAddr:
		return a.AddrPort()
	case *net.UDPAddr:
		return a.AddrPort()
	}
	return netip.AddrPort{}
}

// codeOf returns the code with which a failed dial is reported.
func codeOf(err error) Code {
	var code Code
	var name *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &code):
		return code // of another SOCKS server behind this one
	case errors.As(err, &name):
		return HostUnreachable
	case errors.As(err, &timeout) && timeout.Timeout():
		return TTLExpired
	}
	for _, e := range dialErrors {
		if errors.Is(err, e.err) {
			return e.code
		}
	}
	return GeneralFailure
}
