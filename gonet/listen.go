package gonet

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"interleave/gonet/tcp"
)

// Listener takes connections: a net.Listener.
type Listener struct {
	stack  *Stack
	local  netip.AddrPort
	ready  chan *Conn // the backlog: connections that are established and wait for Accept
	once   sync.Once
	closed chan struct{}
	fail   error
	// flooded is until when cookies are taken: the dealer's own.
	flooded tcp.Time
	half    atomic.Int32 // connections in the table that came by this listener and are not accepted
}

var _ net.Listener = (*Listener)(nil)

// defaultBacklog is in connections.
const defaultBacklog = 1024

// Listen takes connections at an address: network is "tcp", which takes both families, "tcp4" or
// "tcp6", address as for net.Listen.
func (s *Stack) Listen(network, address string) (*Listener, error) {
	local, err := s.parseOurs(network, "tcp", address)
	if err == nil {
		backlog := s.cfg.Backlog
		if backlog == 0 {
			backlog = defaultBacklog
		}
		l := &Listener{stack: s, ready: make(chan *Conn, backlog), closed: make(chan struct{})}
		var failed error
		err = s.claim(func() {
			local, failed = s.freePort(local,
				func(a netip.AddrPort) bool { return isFree(s.listeners, a) })
			if failed == nil {
				l.local = local
				s.listeners[local] = l
			}
		})
		if err = errors.Join(err, failed); err == nil {
			return l, nil
		}
	}
	return nil, &net.OpError{Op: "listen", Net: network, Addr: tcpAddr(local), Err: err}
}

// Accept is net.Listener's.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, l.failure()
	default:
	}
	select {
	case c := <-l.ready:
		c.uncount()
		return c, nil
	case <-l.closed:
		return nil, l.failure()
	}
}

func (l *Listener) failure() error {
	return &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: l.fail}
}

// uncount notes that a connection does not wait for Accept any more, or never will. Any goroutine:
// for the dealer to be asked would cost it a wake-up for each connection.
func (c *Conn) uncount() {
	if c.listener != nil && !c.counted.Swap(true) {
		c.listener.half.Add(-1)
	}
}

// Addr is net.Listener's.
func (l *Listener) Addr() net.Addr { return tcpAddr(l.local) }

// Close is net.Listener's. Connections that wait for Accept are reset.
func (l *Listener) Close() error {
	if !l.shut(errClosed) {
		return &net.OpError{Op: "close", Net: "tcp", Addr: l.Addr(), Err: errClosed}
	}
	s := l.stack
	_ = s.claim(func() { // a stack that has ended has forgotten it
		delete(s.listeners, l.local)
		for _, c := range s.conns {
			if c.listener == l && !c.counted.Load() && !c.handed {
				s.discard(c)
			}
		}
	})
	for {
		select {
		case c := <-l.ready:
			_ = c.Abort() // it may have ended
		default:
			return nil
		}
	}
}

// discard resets a connection that nobody will accept. The dealer's.
func (s *Stack) discard(c *Conn) {
	c.mu.Lock()
	c.machine.Abort()
	c.mu.Unlock()
	s.touch(c)
}

func (l *Listener) shut(err error) (first bool) {
	l.once.Do(func() {
		first, l.fail = true, err
		close(l.closed)
	})
	return first
}

// deliver puts an established connection in the backlog. The dealer's.
func (l *Listener) deliver(c *Conn) {
	select {
	case <-l.closed:
	default:
		select {
		case l.ready <- c:
			c.handed = true
			return
		default:
		}
	}
	l.stack.stats.droppedBacklog.Add(1)
	l.stack.discard(c)
}
