package layers

import "net"

// Device carries frames of Ethernet.
type Device interface {
	// Receive waits for a frame, which is the caller's.
	Receive() ([]byte, error)
	// Send takes a frame over.
	Send(frame []byte) error
	// MTU is the most bytes of a frame behind its header.
	MTU() int
	// Close ends a waiting Receive.
	Close() error
}

// loopbackMTU is the largest packet of IPv4.
const loopbackMTU = 65535

// loopback is a device whose frames come back: a channel.
type loopback struct {
	frames chan []byte
	closed chan struct{}
}

func newLoopback() *loopback {
	return &loopback{make(chan []byte, queueLen), make(chan struct{})}
}

func (l *loopback) Receive() ([]byte, error) {
	select {
	case f := <-l.frames:
		return f, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Send waits while the channel is full. It is always emptied: no layer waits for a connection.
func (l *loopback) Send(frame []byte) error {
	select {
	case l.frames <- frame:
		return nil
	case <-l.closed:
		return net.ErrClosed
	}
}

func (l *loopback) MTU() int { return loopbackMTU }

// Close is called once, by the stack.
func (l *loopback) Close() error {
	close(l.closed)
	return nil
}
