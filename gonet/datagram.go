package gonet

import (
	"net/netip"
	"slices"
	"sync"
)

// datagram is a UDP datagram that waits to be read, or an ICMP error.
type datagram struct {
	from netip.AddrPort
	info PacketInfo
	body []byte
	err  error // set for an ICMP error: what Read returns
}

// clone returns the datagram with a body of its own.
func (d datagram) clone() datagram {
	d.body = slices.Clone(d.body)
	return d
}

// PacketInfo says how a datagram has arrived, or how it is to be sent: what the control messages
// IP_PKTINFO, IP_TTL, IP_TOS and UDP_SEGMENT say for sockets of Linux.
type PacketInfo struct {
	// Local is the address to which a datagram was sent, which may be that of a group. The zero
	// address lets the route choose the source of a datagram that is sent.
	Local netip.Addr
	TTL   uint8 // or the hop limit of IPv6; 0: that of the socket
	TOS   uint8 // or the traffic class of IPv6, with the bits of ECN; 0: that of the socket
	// Segment has what is written sent as many datagrams, each of so many bytes but the last, which
	// may be shorter, as UDP_SEGMENT does for sockets of Linux. A link with Features.UDP gets them
	// in frames of up to 64. 0: one datagram. It is 0 for one that has arrived.
	Segment int
}

// socketLen bounds the datagrams that wait in a socket, unless SetReadBuffer or Config.SocketBuffer
// sets another bound. 256 is a guess.
const socketLen = 256

// datagramSize is what a datagram without a body counts in a buffer of bytes.
const datagramSize = 64

// datagramQueue holds the datagrams that wait in a socket. The dealer puts, any goroutine takes.
type datagramQueue struct {
	mu      sync.Mutex
	waiting []datagram
	bytes   int
	limit   int           // in bytes; 0: socketLen datagrams
	more    chan struct{} // capacity 1: has a signal while datagrams wait
}

func makeDatagramQueue(limit int) datagramQueue {
	return datagramQueue{limit: limit, more: make(chan struct{}, 1)}
}

// put appends a datagram. It returns false if the queue is full. An empty queue takes any datagram.
func (q *datagramQueue) put(d datagram) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	size := datagramSize + len(d.body)
	full := q.bytes+size > q.limit
	if q.limit == 0 {
		full = len(q.waiting) >= socketLen
	}
	if full && len(q.waiting) > 0 {
		return false
	}
	q.waiting, q.bytes = append(q.waiting, d), q.bytes+size
	signal(q.more)
	return true
}

// take removes the first datagram, and returns false if there is none. If more wait, it leaves a
// signal for the next reader.
func (q *datagramQueue) take() (d datagram, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return d, false
	}
	d, q.waiting[0] = q.waiting[0], datagram{}
	if q.waiting = q.waiting[1:]; len(q.waiting) == 0 {
		q.waiting = nil
	} else {
		signal(q.more)
	}
	q.bytes -= datagramSize + len(d.body)
	return d, true
}

// takeBodies removes the datagrams that wait before the first ICMP error, at most len(bodies), and
// returns how many there were.
func (q *datagramQueue) takeBodies(bodies [][]byte) (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for n < len(bodies) && n < len(q.waiting) && q.waiting[n].err == nil {
		bodies[n] = q.waiting[n].body
		q.bytes -= datagramSize + len(bodies[n])
		q.waiting[n] = datagram{}
		n++
	}
	if q.waiting = q.waiting[n:]; len(q.waiting) == 0 {
		q.waiting = nil
	}
	return n
}

// wait takes the first datagram, and waits for one if there is none: until the deadline has passed,
// or until closed is closed, and then returns *fail.
func (q *datagramQueue) wait(by *deadline, closed <-chan struct{}, fail *error) (datagram, error) {
	for {
		if by.expired() {
			return datagram{}, errDeadline
		}
		select {
		case <-closed:
			return datagram{}, *fail
		default:
		}
		if d, ok := q.take(); ok {
			return d, d.err
		}
		select {
		case <-q.more:
		case <-by.wait():
		case <-closed:
		}
	}
}

func (q *datagramQueue) setLimit(bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limit = bytes
}
