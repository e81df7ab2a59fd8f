package packetdrill

import (
	"math"
	"strings"

	"interleave/gonet/wire"
)

// packet takes a segment of TCP or an ICMP message.
func (p *parser) packet() Action {
	out := p.take().text == ">"
	s := &Segment{Out: out}
	p.ipInfo(s)
	switch {
	case p.accept("icmp"):
		return p.icmp(out)
	case p.is("udp"), p.is("ipv4"), p.is("ipv6"), p.is("gre"), p.is("GREv0"), p.is("mpls"):
		p.fail("packets of %v are not read", p.peek())
		return s
	case p.is("encap"):
		p.fail("encapsulation in PSP is not read")
		return s
	}
	if p.peek().kind == integer && p.second().text == ">" {
		p.integer(math.MaxUint16)
		p.take()
		p.integer(math.MaxUint16)
		s.Foreign = append(s.Foreign, "ports")
	}
	h := &s.Header
	p.flags(s)
	h.Seq, s.Len = p.sequence()
	if p.accept("ack") {
		h.Ack = uint32(p.integer(math.MaxUint32))
	}
	if p.accept("win") {
		h.Window, s.HasWindow = uint16(p.integer(math.MaxUint16)), true
	}
	if p.accept("urg") {
		h.Urgent = uint16(p.integer(math.MaxUint16))
	}
	if p.accept("<") {
		p.options(s)
	}
	return s
}

// ipInfo takes what a script says of the IP header, in brackets of either form.
func (p *parser) ipInfo(s *Segment) {
	closing := ""
	switch {
	case p.accept("["):
		closing = "]"
	case p.accept("("):
		closing = ")"
	default:
		return
	}
	for {
		switch t := p.take(); t.text {
		case "noecn", "ect0", "ect1", "ce", "ect01":
			s.ECN = t.text
		case "tos", "flowlabel", "ttl":
			p.integer(math.MaxUint32)
			if s.Out {
				s.Foreign = append(s.Foreign, t.text)
			}
		default:
			p.fail("%v is nothing of the IP header", t)
		}
		if !p.accept(",") {
			p.expect(closing)
			return
		}
	}
}

func (p *parser) icmp(out bool) *ICMP {
	m := &ICMP{Out: out, Type: p.word()}
	if p.peek().kind == word && !p.is("mtu") && !p.is("id") {
		m.Code = p.word()
	}
	if p.accept("mtu") {
		m.MTU = int(p.integer(math.MaxUint16))
	}
	if p.accept("id") {
		p.integer(math.MaxUint16)
	}
	if p.accept("[") {
		m.Seq, _ = p.sequence()
		p.expect("]")
	}
	return m
}

// flagLetters are the letters of the flags, in the order of their bits.
const flagLetters = "FSRP.UEW"

func (p *parser) flags(s *Segment) {
	switch t := p.peek(); {
	case p.accept("-"):
		return
	case p.accept("."):
		s.Header.Flags = wire.ACK
		return
	case t.kind == floating: // .5 is a count of AccECN
	case t.kind != word:
		p.fail("expected flags, found %v", t)
		return
	default:
		p.take()
		for _, letter := range t.text {
			i := strings.IndexRune(flagLetters, letter)
			switch {
			case letter == 'A':
				s.Foreign = append(s.Foreign, "AccECN")
			case i < 0:
				p.fail("%c is not a flag", letter)
				return
			default:
				s.Header.Flags |= 1 << i
			}
		}
	}
	if p.accept(".") {
		s.Header.Flags |= wire.ACK
	} else if p.peek().kind == floating {
		p.take()
		s.Header.Flags |= wire.ACK
		s.Foreign = append(s.Foreign, "AccECN")
	}
}

// sequence takes the sequence numbers of a segment and returns the first, and the length.
func (p *parser) sequence() (uint32, int) {
	first := p.integer(math.MaxUint32)
	p.expect(":")
	behind := p.integer(math.MaxUint32)
	p.expect("(")
	n := p.integer(math.MaxUint16)
	p.expect(")")
	if uint32(first)+uint32(n) != uint32(behind) {
		p.fail("%d:%d are not %d bytes", first, behind, n)
	}
	return uint32(first), int(n)
}

// options takes the options of TCP up to the closing bracket.
func (p *parser) options(s *Segment) {
	if p.peek().kind == ellipsis {
		p.take()
		p.expect(">")
		s.AnyOptions = true
		return
	}
	for {
		p.option(s)
		if !p.accept(",") {
			p.expect(">")
			return
		}
	}
}

func (p *parser) option(s *Segment) {
	o := &s.Header.Options
	switch name := p.word(); name {
	case "nop", "eol":
	case "mss":
		o.MSS = uint16(p.integer(math.MaxUint16))
	case "wscale":
		o.HasWindowScale, o.WindowScale = true, uint8(p.integer(math.MaxUint8))
	case "sackOK":
		o.SACKPermitted = true
	case "TS":
		p.expect("val")
		o.HasTimestamp, o.TSVal = true, uint32(p.integer(math.MaxUint32))
		p.expect("ecr")
		o.TSEcr = uint32(p.integer(math.MaxUint32))
	case "sack":
		p.blocks(o)
	case "md5", "FO", "FOEXP":
		s.Foreign = append(s.Foreign, name)
		if k := p.peek().kind; k == word || k == integer {
			p.take()
		}
	case "ECN":
		s.Foreign = append(s.Foreign, "AccECN")
		for p.accept("e0b") || p.accept("e1b") || p.accept("ceb") {
			p.integer(1<<24 - 1)
		}
	default:
		p.fail("%s is no option of TCP", name)
	}
}

// blocks takes the blocks of a SACK option.
func (p *parser) blocks(o *wire.TCPOptions) {
	for p.peek().kind == integer {
		left := p.integer(math.MaxUint32)
		p.expect(":")
		right := p.integer(math.MaxUint32)
		if int(o.SACKCount) == len(o.SACK) {
			p.fail("a header has no room for more than %d SACK blocks", len(o.SACK))
			return
		}
		o.SACK[o.SACKCount] = wire.SACKBlock{Left: uint32(left), Right: uint32(right)}
		o.SACKCount++
	}
}
