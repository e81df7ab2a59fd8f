package gonet

import (
	"net/netip"
	"slices"

	"interleave/gonet/wire"
)

// EchoRequest is an echo request to a foreign address.
type EchoRequest struct {
	stack   *Stack
	packet  packet // without its body
	header  wire.ICMP
	message []byte // the whole ICMP message
}

// ForwardEcho has the stack hand echo requests to foreign addresses (Config.Promiscuous) to handle,
// which is called in a goroutine of its own for each. A request that it does not answer is dropped.
// A nil handle ends the forwarder; ForwardConfig.AnswerEcho then counts again.
func (s *Stack) ForwardEcho(handle func(*EchoRequest)) error {
	return s.setForwarder(func(f *forwarder) { f.handleEcho = handle })
}

// Source returns the address of the host that has sent the request.
func (r *EchoRequest) Source() netip.Addr { return r.packet.src }

// Destination returns the foreign address.
func (r *EchoRequest) Destination() netip.Addr { return r.packet.dst }

// ID returns the identifier of the request: that of the program that pings.
func (r *EchoRequest) ID() uint16 { return r.header.ID() }

// Seq returns the sequence number of the request.
func (r *EchoRequest) Seq() uint16 { return r.header.Seq() }

// Info says how the request has arrived.
func (r *EchoRequest) Info() PacketInfo { return r.packet.info() }

// Data returns what the reply must repeat.
func (r *EchoRequest) Data() []byte { return r.message[wire.ICMPLen:] }

// Reply sends the reply, from the foreign address.
func (r *EchoRequest) Reply() error {
	src, dst := r.packet.dst, r.packet.src
	b, protocol, sum := slices.Clone(r.message), wire.ProtocolICMP, uint16(0)
	if b[0] = wire.ICMPEchoReply; dst.Is6() {
		b[0], protocol = wire.ICMPv6EchoReply, wire.ProtocolICMPv6
		sum = wire.PseudoSum(src, dst, protocol, len(b))
	}
	wire.SealICMP(b, sum)
	return r.stack.sendBytes(src, dst, protocol, b)
}

// Unreachable answers the request with an ICMP error.
func (r *EchoRequest) Unreachable(why Unreachable) {
	p := r.packet
	p.body = r.message
	s := r.stack
	_ = s.claim(func() { s.sendUnreachable(&p, why) }) // a stack that has ended sends nothing
}

// inputForeignICMP processes an ICMP message to a foreign address: an echo request, or an error
// about what was sent from there. It returns false for an echo request that the stack is to answer
// itself. Dealer only.
func (s *Stack) inputForeignICMP(p *packet, m wire.ICMP, body []byte) bool {
	f := s.forward
	echo, is4 := m.Type == wire.ICMPv6Echo, p.src.Is4()
	if is4 {
		echo = m.Type == wire.ICMPEcho
	}
	switch {
	case echo && f.handleEcho != nil:
		s.forwardEcho(p, m)
	case echo && f.limits.AnswerEcho:
		return false
	case is4 && m.Type == wire.ICMPUnreachable:
		s.inputError4(m, body)
	case !is4 && (m.Type == wire.ICMPv6Unreachable || m.Type == wire.ICMPv6PacketTooBig ||
		m.Type == wire.ICMPv6ParameterProblem):
		s.inputError6(m, body)
	default:
		s.stats.foreign.Add(1)
	}
	return true
}

// forwardEcho starts the handler for an echo request. Dealer only.
func (s *Stack) forwardEcho(p *packet, m wire.ICMP) {
	f := s.forward
	if int(f.echoHandlers.Load()) >= f.limits.Echoes {
		s.stats.droppedForwards.Add(1)
		return
	}
	f.echoHandlers.Add(1)
	r := &EchoRequest{stack: s, packet: p.quotable(), header: m,
		message: slices.Clone(p.body)}
	r.packet.body = nil
	handle := f.handleEcho
	go func() { // ends with the handler
		defer f.echoHandlers.Add(-1)
		handle(r)
	}()
}
