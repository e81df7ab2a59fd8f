package tcp

import (
	"time"

	"interleave/gonet/wire"
)

// A SYN cookie is an initial sequence number that holds what a listener must remember of a SYN, so
// that a flood of SYNs costs no memory (RFC 4987 section 3.6). It has 5 bits of a slow clock, 3 of
// the MSS, and 24 of a keyed hash. If the peer sends timestamps, the other options are kept in the
// low bits of our timestamp, which its acknowledgement echoes, as in Linux. Those bits are not
// authenticated: a peer that changes them harms only its own connection.

// cookieTick is one tick of the slow clock. A cookie is valid in its own tick and in the next.
const cookieTick = 64 * time.Second

// cookieMSS lists the MSS values that a cookie can hold, in bytes: the usual ones. Another value is
// rounded down.
var cookieMSS = [8]uint16{216, 536, 1024, 1220, 1400, 1440, 1460, 8960}

// Keyed is a keyed hash that nobody outside the stack can compute: of the flow, the peer's initial
// sequence number, and part.
type Keyed func(part uint32) uint32

// Cookie returns the initial sequence number that answers a SYN.
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

// AcceptCookie makes the connection for a segment that acknowledges a valid cookie; it returns nil
// for another segment. now is when the segment arrived. The caller then gives the segment to Input.
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
		restoreOptions(&syn, h)
	}
	c.takeSyn(&syn, now)
	c.send.una, c.send.next = Seq(h.Ack), Seq(h.Ack)
	c.receive.advertise(cfg.MSS, false)
	return c
}

// CookieAnswer returns the SYN-ACK that answers a SYN with a cookie.
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
	// The timestamp must not be ahead of the clock, as the connection's next timestamp must not be
	// older.
	o.TSVal = (stamp-cookieBits)&^cookieBits | bits
	return h
}

// The low bits of a cookie's timestamp: the peer's window scale, and which options both ends may
// use.
const (
	cookieNoScale = 0x0f
	cookieSACK    = 0x10
	cookieECN     = 0x20
	cookieBits    = 0x3f
)

// restoreOptions sets the options of a SYN from the timestamp that h echoes.
func restoreOptions(syn, h *wire.TCP) {
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
