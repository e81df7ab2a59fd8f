package layers

import "interleave/gonet/wire"

const (
	// repliers answer pings beside each other; 8 is a guess. There are more of them than cores,
	// since one may wait for an address.
	repliers = 8
	// pingQueue is in pings that wait for a replier. 1000 pingers may send at once.
	pingQueue = 1024
)

// icmp is the layer of ICMP: a dealer, behind it that of pings, and behind that the repliers.
type icmp struct {
	stack *Stack
	in    chan datagram
	pings chan echo
	reply chan echo
}

// echo is a request that has arrived, and its body, which begins with identifier and number.
type echo struct {
	datagram
	header wire.ICMP
	body   []byte
}

func newICMP(s *Stack) *icmp {
	return &icmp{s, make(chan datagram, queueLen), make(chan echo, queueLen),
		make(chan echo, pingQueue)}
}

func (i *icmp) start() {
	i.stack.processes.Go(i.deal)
	i.stack.processes.Go(i.dealPings)
	for range repliers {
		i.stack.processes.Go(i.replyToPings)
	}
}

// deal is the packet dealer of ICMP. Only pings are for anybody here.
func (i *icmp) deal() {
	for d := range i.in {
		h, body, err := wire.ParseICMP(d.payload, 0)
		if err == nil && h.Type == wire.ICMPEcho && h.Code == 0 {
			i.pings <- echo{d, h, body}
		}
	}
	close(i.pings)
}

// dealPings is the packet dealer of pings. A ping without a place in the queue is lost: the layers
// below do not wait for the repliers.
func (i *icmp) dealPings() {
	for e := range i.pings {
		select {
		case i.reply <- e:
		default:
		}
	}
	close(i.reply)
}

// replyToPings answers one ping after the other.
func (i *icmp) replyToPings() {
	for e := range i.reply {
		b := make([]byte, headroom+wire.ICMPLen+len(e.body))
		message := b[headroom:]
		h := wire.Echo(wire.ICMPEchoReply, e.header.ID(), e.header.Seq())
		h.Put(message)
		copy(message[wire.ICMPLen:], e.body)
		wire.SealICMP(message, 0)
		i.stack.ip.send(e.dst, e.src, wire.ProtocolICMP, b)
	}
}
