// Package dhcp is a DHCP client (RFC 2131), which gets the IPv4 address of a stack.
//
// Message is the message format. Machine is the client as a state machine without I/O, clock and
// goroutine. Client runs a Machine on a link, below the stack that uses the address:
//
//	c, err := dhcp.Acquire(ctx, tap, dhcp.Config{MAC: mac})
//	lease := c.Lease()
//	s, err := gonet.New(gonet.Config{Link: c, MAC: mac, Addresses: []netip.Prefix{lease.Address}, Gateways: []netip.Addr{lease.Router}})
package dhcp

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"time"

	"interleave/gonet/ip"
	"interleave/gonet/wire"
)

// Type is the DHCP message type (RFC 2132 section 9.6).
type Type uint8

// The message types.
const (
	Discover Type = 1
	Offer    Type = 2
	Request  Type = 3
	Decline  Type = 4
	Ack      Type = 5
	Nak      Type = 6
	Release  Type = 7
	Inform   Type = 8 // asks for the configuration without an address
)

func (t Type) String() string {
	names := [...]string{Discover: "DISCOVER", Offer: "OFFER", Request: "REQUEST",
		Decline: "DECLINE", Ack: "ACK", Nak: "NAK", Release: "RELEASE",
		Inform: "INFORM"}
	if int(t) < len(names) && names[t] != "" {
		return names[t]
	}
	return "UNKNOWN"
}

// Code is the code of an option (RFC 2132).
type Code uint8

// The options that this client uses.
const (
	optionPad       Code = 0
	OptionMask      Code = 1
	OptionRouter    Code = 3
	OptionDNS       Code = 6
	OptionHost      Code = 12
	OptionDomain    Code = 15
	OptionRequested Code = 50 // requested IP address
	OptionTime      Code = 51 // lease time, in seconds
	optionOverload  Code = 52
	OptionType      Code = 53
	OptionServer    Code = 54
	OptionWanted    Code = 55 // parameter request list
	OptionText      Code = 56 // error message of a NAK or a DECLINE
	OptionMaxSize   Code = 57
	OptionT1        Code = 58
	OptionT2        Code = 59
	OptionClient    Code = 61
	OptionRoutes    Code = 121 // classless static routes (RFC 3442)
	optionEnd       Code = 255
)

// The ports of servers and clients.
const (
	ServerPort = 67
	ClientPort = 68
)

// The length of the fixed part of a message, the offsets of its fields sname and file, and the
// least length of a message that servers accept (that of BOOTP, RFC 951). All are in bytes.
const (
	fixedLen  = 236
	nameAt    = 44
	fileAt    = 108
	minLen    = 300
	cookieLen = 4
)

// cookie is the magic cookie that precedes the options (RFC 2131 section 3).
const cookie = 0x63825363

// Message is a message of RFC 2131. An address that is not set is 0.0.0.0.
type Message struct {
	Reply     bool // sent by a server
	XID       uint32
	Secs      uint16     // seconds since the client began the exchange
	Broadcast bool       // the client cannot receive unicast yet
	Client    netip.Addr // ciaddr: the address that the client has
	Yours     netip.Addr // yiaddr: the address that the client gets
	Next      netip.Addr // siaddr: next server
	Relay     netip.Addr // giaddr: relay agent
	MAC       wire.MAC
	Options   []Option // in order, OptionType included
}

// Option is one option of a message.
type Option struct {
	Code  Code
	Value []byte
}

// The errors of Parse.
var (
	ErrShort   = errors.New("dhcp: shorter than its fixed part")
	ErrFormat  = errors.New("dhcp: not a message for Ethernet")
	ErrOptions = errors.New("dhcp: an option exceeds the message")
)

var be = binary.BigEndian

// Parse parses a message. The parts of a split option are joined (RFC 3396), also those in the
// fields sname and file.
func Parse(b []byte) (Message, error) {
	var m Message
	if len(b) < fixedLen+cookieLen {
		return m, ErrShort
	}
	if b[0] != 1 && b[0] != 2 || b[1] != 1 || b[2] != 6 || be.Uint32(b[fixedLen:]) != cookie {
		return m, ErrFormat
	}
	address := func(at int) netip.Addr { return netip.AddrFrom4([4]byte(b[at:])) }
	m = Message{
		Reply: b[0] == 2, XID: be.Uint32(b[4:]), Secs: be.Uint16(b[8:]), Broadcast: b[10]&0x80 != 0,
		Client: address(12), Yours: address(16), Next: address(20), Relay: address(24),
		MAC: wire.MAC(b[28:]),
	}
	if err := m.options(b[fixedLen+cookieLen:]); err != nil {
		return m, err
	}
	overload := m.Get(optionOverload)
	if len(overload) != 1 {
		return m, nil
	}
	if overload[0]&1 != 0 {
		if err := m.options(b[fileAt:fixedLen]); err != nil {
			return m, err
		}
	}
	if overload[0]&2 != 0 {
		return m, m.options(b[nameAt:fileAt])
	}
	return m, nil
}

func (m *Message) options(b []byte) error {
	for len(b) > 0 && Code(b[0]) != optionEnd {
		if Code(b[0]) == optionPad {
			b = b[1:]
			continue
		}
		if len(b) < 2 || len(b) < 2+int(b[1]) {
			return ErrOptions
		}
		code, value := Code(b[0]), b[2:2+int(b[1])]
		b = b[2+len(value):]
		joined := false
		for i := range m.Options {
			if o := &m.Options[i]; o.Code == code {
				o.Value = append(o.Value[:len(o.Value):len(o.Value)], value...)
				joined = true
			}
		}
		if !joined {
			m.Options = append(m.Options, Option{code, value})
		}
	}
	return nil
}

// Append appends the message to b.
func (m *Message) Append(b []byte) []byte {
	start := len(b)
	b = append(b, make([]byte, fixedLen)...)
	f := b[start:]
	f[0], f[1], f[2] = 1, 1, 6
	if m.Reply {
		f[0] = 2
	}
	be.PutUint32(f[4:], m.XID)
	be.PutUint16(f[8:], m.Secs)
	if m.Broadcast {
		f[10] = 0x80
	}
	for i, a := range []netip.Addr{m.Client, m.Yours, m.Next, m.Relay} {
		if a.Is4() {
			raw := a.As4()
			copy(f[12+4*i:], raw[:])
		}
	}
	copy(f[28:], m.MAC[:])
	b = be.AppendUint32(b, cookie)
	for _, o := range m.Options {
		for v := o.Value; ; {
			n := min(len(v), 255)
			b = append(append(b, byte(o.Code), byte(n)), v[:n]...)
			if v = v[n:]; len(v) == 0 {
				break
			}
		}
	}
	b = append(b, byte(optionEnd))
	if n := len(b) - start; n < minLen {
		b = append(b, make([]byte, minLen-n)...)
	}
	return b
}

// Get returns the value of an option, nil if there is none.
func (m *Message) Get(c Code) []byte {
	for _, o := range m.Options {
		if o.Code == c {
			return o.Value
		}
	}
	return nil
}

// Set adds an option.
func (m *Message) Set(c Code, value ...byte) { m.Options = append(m.Options, Option{c, value}) }

// SetAddr adds an option whose value is an address.
func (m *Message) SetAddr(c Code, a netip.Addr) {
	raw := a.As4()
	m.Set(c, raw[:]...)
}

// SetTime adds an option whose value is a duration in seconds.
func (m *Message) SetTime(c Code, d time.Duration) {
	m.Set(c, be.AppendUint32(nil, uint32(d/time.Second))...)
}

// Type returns the message type, 0 if there is none.
func (m *Message) Type() Type {
	if v := m.Get(OptionType); len(v) == 1 {
		return Type(v[0])
	}
	return 0
}

// Addrs returns the addresses that an option lists.
func (m *Message) Addrs(c Code) (list []netip.Addr) {
	for v := m.Get(c); len(v) >= 4; v = v[4:] {
		list = append(list, netip.AddrFrom4([4]byte(v)))
	}
	return list
}

// Addr returns the first address of an option, invalid if there is none.
func (m *Message) Addr(c Code) netip.Addr {
	if v := m.Get(c); len(v) >= 4 {
		return netip.AddrFrom4([4]byte(v))
	}
	return netip.Addr{}
}

// Routes returns the classless static routes. It returns false if there are none, or if one cannot
// be parsed: then OptionRouter counts (RFC 3442). Via is invalid if the network is on the link.
func (m *Message) Routes() (list []ip.Route, ok bool) {
	v := m.Get(OptionRoutes)
	for len(v) > 0 {
		bits, n := int(v[0]), (int(v[0])+7)/8
		if bits > 32 || len(v) < 1+n+4 {
			return nil, false
		}
		var network [4]byte
		copy(network[:], v[1:1+n])
		r := ip.Route{Network: netip.PrefixFrom(netip.AddrFrom4(network), bits).Masked()}
		if via := netip.AddrFrom4([4]byte(v[1+n:])); !via.IsUnspecified() {
			r.Via = via
		}
		list, v = append(list, r), v[1+n+4:]
	}
	return list, len(list) > 0
}

// Forever is the lease time of a lease that does not end.
const Forever = time.Duration(0xffffffff) * time.Second

// Time returns an option whose value is in seconds, 0 if there is none.
func (m *Message) Time(c Code) time.Duration {
	if v := m.Get(c); len(v) == 4 {
		return time.Duration(be.Uint32(v)) * time.Second
	}
	return 0
}
