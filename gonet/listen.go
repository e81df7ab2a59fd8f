package gonet

import (
	"errors"
	"net"
	"net/netip"
	"sync"

	"interleave/gonet/internal/demux"
	"interleave/gonet/internal/synqueue"
)

// Listener accepts TCP connections: a net.Listener.
type Listener struct {
	stack *Stack
	local netip.AddrPort
	// accept is called with each established connection; nil: they wait in the accept queue.
	accept  func(*AsyncConn) AsyncHandler
	options *connOptions  // of its connections; nil: the stack's
	sharing demux.Sharing // see ListenConfig.SharePort
	// acceptQueue has the established connections that wait for Accept.
	acceptQueue chan *Conn
	once        sync.Once
	closed      chan struct{}
	fail        error
	// synQueue counts the connections of this listener that Accept has not returned: half-open
	// ones, and those of the accept queue.
	synQueue synqueue.Queue
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
	l := &Listener{stack: s, accept: accept, closed: make(chan struct{})}
	l.synQueue.SetLimit(backlog)
	return l
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
				return s.tcp.listeners.IsFree(a, chosen && l.sharing.On)
			})
			if failed == nil {
				l.local = local
				s.tcp.listeners.Add(local, l, l.sharing)
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
	c.setOptions(l.options)
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
		c.listener.synQueue.Leave()
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
		s.tcp.listeners.Remove(l.local, l)
		for _, c := range s.tcp.conns {
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
