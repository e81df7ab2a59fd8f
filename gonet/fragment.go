package gonet

import (
	"bytes"
	"net/netip"
	"time"

	"interleave/gonet/ip"
	"interleave/gonet/wire"
)

// partKey is what the fragments of one datagram have in common (RFC 791 section 3.2).
type partKey struct {
	src, dst netip.Addr
	protocol wire.Protocol
	id       uint16
}

// assembler is a goroutine for each datagram that arrives in fragments, as the paper has it: it alone has the pieces, hears of more
// over a channel, gives the whole back to the dealer as a claim, and ends then or after a while. The dealer bounds their number.
type assembler struct {
	pieces chan fragment
}

type fragment struct {
	offset int
	body   []byte
	more   bool
}

// The bounds of reassembly. RFC 1122 section 3.3.2 has 60 to 120 s; Linux takes 30, and so do we, as what is not whole by then was
// lost. At most 64 KiB for each of 64 datagrams: 4 MiB.
const (
	maxAssemblers   = 64
	assemblyTime    = 30 * time.Second
	assemblerBuffer = 64 // fragments that wait for the goroutine: a datagram of 64 KiB over Ethernet is 45
)

// inputFragment hands a fragment to the goroutine of its datagram. What is full drops.
func (s *Stack) inputFragment(h *wire.IPv4, header, body []byte) {
	key := partKey{h.Src, h.Dst, h.Protocol, h.ID}
	a := s.parts[key]
	if a == nil {
		if len(s.parts) >= maxAssemblers {
			s.stats.droppedFragments.Add(1)
			return
		}
		a = &assembler{make(chan fragment, assemblerBuffer)}
		s.parts[key] = a
		go s.assemble(key, a, bytes.Clone(header))
	}
	select {
	case a.pieces <- fragment{int(h.Offset), bytes.Clone(body), h.MoreFragments}:
	default:
		s.stats.droppedFragments.Add(1)
	}
}

// assemble is the goroutine of one datagram.
func (s *Stack) assemble(key partKey, a *assembler, header []byte) {
	timer := time.NewTimer(assemblyTime)
	defer timer.Stop()
	r := ip.NewReassembly()
	for {
		select {
		case <-timer.C:
			s.stats.droppedFragments.Add(1)
			s.forget(key, nil)
			return
		case f, open := <-a.pieces:
			if !open { // the stack has ended
				return
			}
			whole, err := r.Add(f.offset, f.body, f.more)
			if err == nil && whole == nil {
				continue
			}
			if err != nil {
				s.stats.malformed.Add(1)
				// The rest of a bad datagram is dropped, too: the goroutine stays to swallow it.
				for open && err != nil {
					select {
					case _, open = <-a.pieces:
					case <-timer.C:
						err = nil
					}
				}
			}
			s.forget(key, &packet{key.src, key.dst, false, false, header, whole})
			return
		}
	}
}

// forget ends a datagram, and runs it through the layers above if it is whole.
func (s *Stack) forget(key partKey, whole *packet) {
	_ = s.post(func() { // a stack that has ended has forgotten
		delete(s.parts, key)
		if whole != nil && whole.body != nil {
			whole.group = s.isBroadcast(key.dst) || key.dst.IsMulticast()
			s.inputTransport(key.protocol, whole)
		}
	})
}
