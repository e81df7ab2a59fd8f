package layers

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"interleave/gonet/wire"
)

const (
	// buffer is in bytes that a connection holds for its user in either direction: the largest
	// window without scaling.
	buffer = 65535
	// defaultMSS is that of a peer that does not tell its own (RFC 9293 section 3.7.1).
	defaultMSS = 536
	// maxFlights is in segments that are not acknowledged, each with its goroutine: a window of an
	// Ethernet's, which are 45, and some more.
	maxFlights = 64
	// inbox is in segments that wait for the receiver: twice as many, for the peer's segments and
	// its acknowledgements of ours.
	inbox = 128
)

// errGivenUp is of a connection whose peer has not answered for minutes.
var errGivenUp = &net.OpError{Op: "write", Net: "tcp", Err: syscall.ETIMEDOUT}

// Conn is a connection of TCP: two goroutines, the receiver and the sender, and the channels
// between them and the user. One goroutine at a time may read, and one may write.
type Conn struct {
	stack *Stack
	flow  flow
	in    chan *segment // from the dealer, which closes it when the stack ends

	news   chan news     // receiver -> sender; a mailbox, where the latest replaces what is unread
	sent   chan *flight  // sender -> receiver: segments to be acknowledged
	late   chan *flight  // retransmitters -> sender: segments whose time is over
	gaveUp chan struct{} // closed by the sender

	writes   chan []byte   // user -> sender
	finished chan struct{} // closed by CloseWrite
	left     chan struct{} // closed by Close
	reads    chan [][]byte // receiver -> user; closed at the end of the peer's bytes
	unread   [][]byte      // of the user: what was received and not read

	open    chan struct{} // closed by the receiver after the handshake
	done    chan struct{} // closed by the receiver at the end
	err     error         // may be read when done is closed
	readErr error         // may be read when reads is closed; nil at the peer's FIN

	finish, leave sync.Once
}

// flight is a segment that was sent and is not acknowledged. tries is the sender's.
type flight struct {
	seq, end   uint32
	flags      wire.Flags
	data       []byte
	acked      chan struct{} // closed by the receiver
	tries      int
	isPeerDone bool // the peer's FIN had come before this one, so no TIME-WAIT follows
}

// news is what the sender learns from the receiver.
type news struct {
	isOpen   bool
	una      uint32 // the peer has acknowledged up to here
	window   int    // of the peer, in bytes
	mss      int    // of the peer, in bytes
	next     uint32 // what to acknowledge
	free     uint16 // the window to tell
	ack      bool   // an acknowledgement is due
	copies   int    // that are due of the last one: what arrived was not the next in order
	peerDone bool   // the peer's FIN has come
	reset    bool   // the connection is to be reset
}

func newConn(s *Stack, f flow) *Conn {
	return &Conn{stack: s, flow: f, in: make(chan *segment, inbox),
		news: make(chan news, 1), sent: make(chan *flight, maxFlights), late: make(chan *flight),
		gaveUp: make(chan struct{}), writes: make(chan []byte), finished: make(chan struct{}),
		left: make(chan struct{}), reads: make(chan [][]byte), open: make(chan struct{}),
		done: make(chan struct{})}
}

// start starts both goroutines. syn is the one that was received, or nil if ours is the first.
func (c *Conn) start(syn *segment, l *Listener) {
	iss := rand.Uint32() // ChaCha8, which nobody can guess (RFC 6528)
	s := &sender{Conn: c, una: iss, next: iss}
	r := &receiver{Conn: c, una: iss, sentEnd: iss, listener: l}
	first := news{una: iss, mss: defaultMSS}
	if syn != nil {
		s.isAnswering = true
		r.synchronize(syn)
		first = r.report()
	}
	s.hear(first)
	c.stack.processes.Go(r.run)
	c.stack.processes.Go(s.run)
}

// Read reads what has arrived, and waits if there is nothing. At the peer's end it returns io.EOF.
func (c *Conn) Read(b []byte) (n int, err error) {
	if len(c.unread) == 0 {
		chunks, ok := <-c.reads
		if !ok && c.readErr != nil {
			return 0, c.readErr
		}
		if !ok {
			return 0, io.EOF
		}
		c.unread = chunks
	}
	for len(c.unread) > 0 && n < len(b) {
		m := copy(b[n:], c.unread[0])
		n += m
		if c.unread[0] = c.unread[0][m:]; len(c.unread[0]) == 0 {
			c.unread = c.unread[1:]
		}
	}
	return n, nil
}

// Write hands a copy of b to the sender, in pieces, and waits while the sender holds enough.
func (c *Conn) Write(b []byte) (n int, err error) {
	for n < len(b) {
		select {
		case <-c.finished:
			return n, net.ErrClosed
		default:
		}
		piece := slices.Clone(b[n:min(len(b), n+buffer)])
		select {
		case c.writes <- piece:
			n += len(piece)
		case <-c.done:
			if c.err == nil {
				return n, net.ErrClosed
			}
			return n, c.err
		}
	}
	return n, nil
}

// CloseWrite sends FIN after all bytes.
func (c *Conn) CloseWrite() error {
	c.finish.Do(func() { close(c.finished) })
	return nil
}

// Close sends FIN after all bytes, and gives up what arrives from now on.
func (c *Conn) Close() error {
	c.leave.Do(func() { close(c.left) })
	return c.CloseWrite()
}

// errReset is of a connection that the peer has reset.
var errReset = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}

// errRefused is of a Dial that the peer has reset.
var errRefused = errors.New("connection refused")

// less compares sequence numbers, which wrap around (RFC 9293 section 3.4).
func less(a, b uint32) bool { return int32(a-b) < 0 }

// atMost is less or equal.
func atMost(a, b uint32) bool { return int32(a-b) <= 0 }

// retransmit is the goroutine of one segment that was sent: it waits for the acknowledgement, and
// has the sender send the segment again when its time is over, each time for twice as long (RFC
// 6298 section 5.5).
func (c *Conn) retransmit(f *flight, timeout time.Duration) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		select {
		case <-f.acked:
			return
		case <-c.done:
			return
		case <-timer.C:
		}
		select {
		case c.late <- f:
		case <-f.acked:
			return
		case <-c.done:
			return
		}
		timeout = min(2*timeout, maxRTO)
		timer.Reset(timeout)
	}
}
