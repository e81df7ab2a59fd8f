package gonet

import (
	"errors"
	"net"
	"net/netip"
)

// AsyncListener hands new connections to a function: see Stack.ListenAsync.
type AsyncListener struct{ listener *Listener }

// ListenAsync listens at an address, which is written as for Listen. accept is called with each
// connection whose handshake has ended, in the same goroutine and under the same rules as all
// handlers are. It returns the handler of the connection, whose Connected is called next. If it
// returns nil, the connection is reset.
//
// The stack sets no bound on the connections that are open at once: accept may, by returning nil.
func (s *Stack) ListenAsync(network, address string,
	accept func(c *AsyncConn) AsyncHandler) (*AsyncListener, error) {
	if accept == nil {
		return nil, errors.New("gonet: ListenAsync without a function")
	}
	l := s.newListener(accept)
	if err := l.listen(network, address); err != nil {
		return nil, err
	}
	return &AsyncListener{l}, nil
}

// Addr returns the address at which the listener listens.
func (l *AsyncListener) Addr() netip.AddrPort { return displayed(l.listener.local) }

// Close ends the listener. Connections that were accepted stay. It waits for the dealer, so a
// handler must not call it.
func (l *AsyncListener) Close() error { return l.listener.Close() }

// DialAsync connects to an address from a local one; the zero local is chosen by the route, and a
// port of 0 is any that is free. It does not wait for the handshake: the handler's Connected is
// called when that has ended, or Closed if it fails. If DialAsync returns an error, the handler is
// not called.
func (s *Stack) DialAsync(local, remote netip.AddrPort, h AsyncHandler) (*AsyncConn, error) {
	d := Dialer{Stack: s}
	if local.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(local)
	}
	return d.DialAsync(remote, h)
}

// DialAsync is Stack.DialAsync from LocalAddr, with the options of connections. It connects to an
// address, and so uses neither Resolver nor FallbackDelay.
func (d Dialer) DialAsync(remote netip.AddrPort, h AsyncHandler) (*AsyncConn, error) {
	to := dialedAddr(netip.AddrPortFrom(remote.Addr().Unmap().WithZone(""), remote.Port()))
	a, err := d.dialAsync(to, h)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Source: d.LocalAddr, Addr: tcpAddr(to),
			Err: translate(err)}
	}
	return a, nil
}

func (d Dialer) dialAsync(to netip.AddrPort, h AsyncHandler) (*AsyncConn, error) {
	if h == nil {
		return nil, errors.New("no handler")
	}
	s := d.Stack
	src, err := s.sourceOf(d.LocalAddr, "tcp", to.Addr())
	if err != nil {
		return nil, err
	}
	if !s.canBeDialed(to) {
		return nil, errUnreachable
	}
	a, err := s.makeAsync(to)
	if err != nil {
		return nil, err
	}
	a.handler, a.queued = h, true
	a.conn.setOptions(s.connOptions(d.TCP, d.TTL, d.TOS))
	a.conn.flow.SetLocal(src)
	if !s.addAsync(a) {
		return nil, s.dealer.fail
	}
	return a, nil
}

// makeAsync makes a connection to a peer that has no local address yet.
func (s *Stack) makeAsync(remote netip.AddrPort) (*AsyncConn, error) {
	a := new(AsyncConn)
	a.conn.async = a
	if err := s.initConn(&a.conn, remote); err != nil {
		return nil, err
	}
	return a, nil
}

// dial gives a connection a port, and sends its SYN with the next update. Dealer only; the caller
// holds mu.
func (a *AsyncConn) dial() {
	c, s := &a.conn, a.conn.stack
	if a.grantWishes(s.dealer.now); a.failure != nil {
		return
	}
	local, err := s.portTo(c.flow.Ends())
	if err != nil {
		a.failure = err
		return
	}
	c.startDial(local)
}

// close closes a connection of either kind. Any goroutine.
func (c *Conn) close() error {
	if c.async != nil {
		return c.async.Close()
	}
	return c.Close()
}
