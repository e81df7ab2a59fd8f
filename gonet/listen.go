package gonet

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"interleave/gonet/tcp"
)

// Listener accepts TCP connections: a net.Listener.
type Listener struct {
	stack *Stack
	local netip.AddrPort
	// accept is called with each established connection; nil: they wait in the accept queue.
	accept  func(*AsyncConn) AsyncHandler
	backlog int          // bound on unaccepted
	options *connOptions // of its connections; nil: the stack's
	sharing sharing      // see ListenConfig.SharePort
	// acceptQueue has the established connections that wait for Accept. The half-open ones are in
	// the SYN queue: see synqueue.go.
	acceptQueue chan *Conn
	once        sync.Once
	closed      chan struct{}
	fail        error
	// cookiesUntil is the end of the time in which cookies are accepted. Dealer only.
	cookiesUntil tcp.Time
	evictedAt    tcp.Time // see evictHalfOpen; dealer only
	// connections of this listener in the table that Accept has not returned
	unaccepted atomic.Int32
}

var _ net.Listener = (*Listener)(nil)

// defaultBacklog bounds the connections that wait for Accept, unless Config.Backlog is set. A
// guess.
const defaultBacklog = 1024

// Listen listens at an address, which is written as for net.Listen. network is "tcp" for both
// families, "tcp4" or "tcp6".
func (s *Stack) Listen(network, address string) (*Listener, error) {
	return ListenConfig{Stack: s}.Listen(network, address)
}

func (s *Stack) newListener(accept func(*AsyncConn) AsyncHandler) *Listener {
	backlog := s.cfg.Backlog
	if backlog == 0 {
		backlog = defaultBacklog
	}
	return &Listener{stack: s, accept: accept, backlog: backlog, closed: make(chan struct{})}
}

// listen has the dealer put a listener in its table.
func (l *Listener) listen(network, address string) error {
	s := l.stack
	local, err := s.parseOurs(network, "tcp", address)
	if err == nil {
		var failed error
		err = s.claim(func() {
			chosen := local.Port() != 0
			local, failed = s.freePort(local, func(a netip.AddrPort) bool {
				return s.listeners.isFree(a, chosen && l.sharing.on)
			})
			if failed == nil {
				l.local = local
				s.listeners.add(local, l)
			}
		})
		err = errors.Join(err, failed)
	}
	if err != nil {
		return &net.OpError{Op: "listen", Net: network, Addr: tcpAddr(local), Err: err}
	}
	return nil
}

// newConn makes a connection for a SYN. Dealer only.
func (l *Listener) newConn(local, remote netip.AddrPort) (*Conn, error) {
	var c *Conn
	if l.accept == nil {
		made, err := l.stack.makeConn(remote)
		if err != nil {
			return nil, err
		}
		c = made
	} else {
		a, err := l.stack.makeAsync(remote)
		if err != nil {
			return nil, err
		}
		c = &a.conn
	}
	if o := l.options; o != nil {
		c.configure(&o.tcp)
		c.ttl, c.tos = o.ttl, o.tos
	}
	c.bind(local)
	return c, nil
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, l.failure()
	default:
	}
	select {
	case c := <-l.acceptQueue:
		c.leaveBacklog()
		return c, nil
	case <-l.closed:
		return nil, l.failure()
	}
}

func (l *Listener) failure() error {
	return &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: l.fail}
}

// leaveBacklog takes a connection out of its listener's count, because Accept has returned it or it
// was removed. Any goroutine: a claim would wake the dealer for each connection.
func (c *Conn) leaveBacklog() {
	if c.listener != nil && !c.leftBacklog.Swap(true) {
		c.listener.unaccepted.Add(-1)
	}
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return tcpAddr(l.local) }

// Close implements net.Listener. Connections that wait for Accept are reset.
func (l *Listener) Close() error {
	if !l.closeWith(errClosed) {
		return &net.OpError{Op: "close", Net: "tcp", Addr: l.Addr(), Err: errClosed}
	}
	s := l.stack
	_ = s.claim(func() { // a stack that has ended has no listeners
		s.listeners.remove(l.local, l)
		for _, c := range s.conns {
			if c.listener == l && !c.leftBacklog.Load() && !c.dealer.inAcceptQueue {
				s.abortConn(c)
			}
		}
	})
	for {
		select {
		case c := <-l.acceptQueue:
			_ = c.Abort() // the connection may have ended
		default:
			return nil
		}
	}
}

// abortConn resets a connection that its user has closed or will not get. Dealer only.
func (s *Stack) abortConn(c *Conn) {
	c.mu.Lock()
	c.machine.Abort()
	c.mu.Unlock()
	s.queueUpdate(c)
}

func (l *Listener) closeWith(err error) (first bool) {
	l.once.Do(func() {
		first, l.fail = true, err
		close(l.closed)
	})
	return first
}

// deliver puts an established connection in the accept queue. If the queue is full, the connection
// is reset. Dealer only.
func (l *Listener) deliver(c *Conn) {
	select {
	case <-l.closed:
	default:
		select {
		case l.acceptQueue <- c:
			c.dealer.inAcceptQueue = true
			return
		default:
		}
	}
	l.stack.stats.droppedBacklog.Add(1)
	l.stack.abortConn(c)
}
