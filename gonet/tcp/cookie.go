package tcp

import (
	"time"

	"interleave/gonet/wire"
)

// A SYN cookie is an initial sequence number that holds all that a listener must know of a SYN, so
// that a flood of them costs no memory (RFC 4987 section 3.6): 5 bits of a slow clock, 3 of the
// MSS, 24 of a keyed hash. Of the other options the peer keeps what counts, where it sends
// timestamps: the low bits of ours come back with its acknowledgement, as Linux has it. They are
// not signed: who changes them harms its own connection only.

// cookieTick is how long the slow clock stands, and a cookie is good for two of them.
const cookieTick = 64 * time.Second

// cookieMSS are the sizes in bytes that a cookie can hold, the usual ones; a larger one
// is rounded down.
var cookieMSS = [8]uint16{216, 536, 1024, 1220, 1400, 1440, 1460, 8960}

// Keyed is a hash that only this stack can make: of the flow, the peer's first sequence number,
// and what is given.
type Keyed func(part uint32) uint32

// Cookie is the initial sequence number that answers a SYN.
func Cookie(hash Keyed, syn *wire.TCP, now Time) uint32 {
	index := 0
	for i, mss := range cookieMSS {
		if mss <= max(syn.Options.MSS, cookieMSS[0]) {
			index = i
		}
	}
	part := cookiePart(now, 0)&0x1f<<3 | uint32(index)
	return part<<24 | hash(part)&0xffffff
}

func cookiePart(now Time, age Time) uint32 { return uint32(now/Time(cookieTick) - age) }

// AcceptCookie makes the connection of a segment that acknowledges a cookie, nil if it does not.
// now is when it came; the segment is to be given to Input.
func AcceptCookie(cfg *Config, hash Keyed, h *wire.TCP, now Time) *Conn {
	cookie := h.Ack - 1
	part := cookie >> 24
	if part>>3 != cookiePart(now, 0)&0x1f && part>>3 != cookiePart(now, 1)&0x1f ||
		hash(part)&0xffffff != cookie&0xffffff {
		return nil
	}
	c := newConn(cfg, Seq(cookie), now)
	c.passive, c.state = true, Established
	syn := wire.TCP{Seq: h.Seq - 1, Window: h.Window,
		Options: wire.TCPOptions{MSS: cookieMSS[part&7]}}
	if h.Options.HasTimestamp {
		unpack(&syn, h)
	}
	c.takeSyn(&syn, now)
	c.send.una, c.send.next = Seq(h.Ack), Seq(h.Ack)
	c.receive.advertise(cfg.MSS, false)
	return c
}

// CookieAnswer is the segment that answers a SYN with a cookie.
func CookieAnswer(cfg *Config, cookie uint32, syn *wire.TCP, now Time) wire.TCP {
	h := wire.TCP{
		Seq: cookie, Ack: syn.Seq + 1, Flags: wire.SYN | wire.ACK,
		Window: uint16(min(initialReceive, orElse(cfg.ReceiveBuffer, defaultReceiveBuffer),
			0xffff)),
		Options: wire.TCPOptions{MSS: uint16(min(cfg.MSS, 0xffff))},
	}
	o, theirs := &h.Options, &syn.Options
	if !theirs.HasTimestamp || cfg.NoTimestamps {
		return h
	}
	bits := uint32(cookieNoScale)
	if theirs.HasWindowScale && !cfg.NoScale {
		bits = uint32(theirs.WindowScale)
		o.HasWindowScale, o.WindowScale = true,
			scaleOf(orElse(cfg.ReceiveBuffer, defaultReceiveBuffer))
	}
	if theirs.SACKPermitted && !cfg.NoSACK {
		bits |= cookieSACK
		o.SACKPermitted = true
	}
	if echoes(syn.Flags) == wire.ECE|wire.CWR {
		bits |= cookieECN
		h.Flags |= wire.ECE
	}
	o.HasTimestamp, o.TSEcr = true, theirs.TSVal
	stamp := cfg.Clock + uint32(time.Duration(now)/time.Millisecond)
	// Never ahead of the clock, which the connection goes on with.
	o.TSVal = (stamp-cookieBits)&^cookieBits | bits
	return h
}

// What the low bits of a cookie's timestamp say: the peer's scale, and what both may use.
const (
	cookieNoScale = 0x0f
	cookieSACK    = 0x10
	cookieECN     = 0x20
	cookieBits    = 0x3f
)

// unpack writes in a SYN what the timestamp that h echoes says of it.
func unpack(syn, h *wire.TCP) {
	o, bits := &syn.Options, h.Options.TSEcr
	o.HasTimestamp, o.TSVal = true, h.Options.TSVal
	o.SACKPermitted = bits&cookieSACK != 0
	if scale := bits & cookieNoScale; scale != cookieNoScale {
		o.HasWindowScale, o.WindowScale = true, uint8(scale)
	}
	if bits&cookieECN != 0 {
		syn.Flags = wire.ECE | wire.CWR
	}
}
