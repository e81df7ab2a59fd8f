package dhcp

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"interleave/gonet/ip"
	"interleave/gonet/wire"
)

// State is a state of RFC 2131 section 4.4. Probing is the check of a new address by ARP (section
// 4.4.1, RFC 5227).
type State uint8

// The states of a client.
const (
	Init State = iota
	Selecting
	Requesting
	Rebooting
	Probing
	Bound
	Renewing
	Rebinding
)

func (s State) String() string {
	return [...]string{"INIT", "SELECTING", "REQUESTING", "REBOOTING", "PROBING", "BOUND",
		"RENEWING", "REBINDING"}[s]
}

// Config configures a client. Only MAC must be given.
type Config struct {
	MAC  wire.MAC
	Host string // the host name that the server is told; empty: none
	// Probe is the time between two ARP probes for the offered address; 0: 200 ms, negative: no
	// probes.
	Probe   time.Duration
	Seed    uint64      // seed for transaction identifiers and jitter; 0: random
	Observe func(State) // called for each new state; may be nil
	// Previous is a lease of an earlier run. Unless it has expired, the client requests the same
	// address first (INIT-REBOOT, RFC 2131 section 3.2).
	Previous Lease
}

// Lease is a lease that a server has granted.
type Lease struct {
	Address netip.Prefix
	Router  netip.Addr // invalid: none
	Routes  []ip.Route // further classless static routes (RFC 3442)
	DNS     []netip.Addr
	Domain  string
	Server  netip.Addr
	Expires time.Time // zero: never
	T1, T2  time.Time // when to renew with its server, and to rebind with any
}

// Packet is a packet to be sent: a DHCP message, or an ARP probe or announcement.
type Packet struct {
	Message  *Message   // nil: an ARP probe for Address
	Server   netip.Addr // unicast destination; invalid: broadcast
	Address  netip.Addr
	Announce bool // the ARP packet is an announcement
}

// The times of RFC 2131 sections 3.1, 4.1 and 4.4.5. The number of ARP probes and the time between
// two are a compromise: RFC 5227 waits up to seven seconds in all, most clients do not probe.
const (
	firstWait      = 4 * time.Second
	longestWait    = 64 * time.Second
	requests       = 4 // unanswered requests before the client starts again
	rebootRequests = 2 // the same in REBOOTING, as the old server may be gone; a guess
	declineWait    = 10 * time.Second
	nakWait        = time.Second // a guess: a server that always sends NAK must not be flooded
	leastRenewal   = time.Minute
	probeWait      = 200 * time.Millisecond
	probes         = 3
	shortestTime   = 2 * time.Second // least lease time that is accepted; a guess
)

// Machine is the state machine of a client. It does no I/O: after each call that may make a packet
// due, Output returns the packets to be sent.
type Machine struct {
	cfg           Config
	random        *rand.Rand
	state         State
	xid           uint32
	exchangeStart time.Time // when the current exchange began
	// when the request that an ACK answers was first sent: the lease time counts from here
	requestedAt time.Time
	tries       int
	due         time.Time // when Expire must be called; zero: never
	lease       Lease     // in Requesting and Probing: the offer
	lost        bool      // a lease that was in use has ended
	reboot      bool      // request the address of cfg.Previous first
	packets     []Packet
}

// NewMachine returns a client in INIT.
func NewMachine(cfg Config, now time.Time) *Machine {
	seed := cfg.Seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	m := &Machine{cfg: cfg, random: rand.New(rand.NewPCG(seed, uint64(be.Uint32(cfg.MAC[2:]))))}
	m.due = now
	old := &cfg.Previous
	m.reboot = old.Address.IsValid() && old.Address.Addr().Is4() && (old.Expires.IsZero() ||
		now.Before(old.Expires))
	return m
}

// State returns the state of the client.
func (m *Machine) State() State { return m.state }

// Lease returns the lease; false if it may not be used now.
func (m *Machine) Lease() (Lease, bool) { return m.lease, m.state >= Bound }

// Lost tells whether a lease that was in use may not be used any more.
func (m *Machine) Lost() bool { return m.lost }

// Deadline returns when Expire must be called; zero: never.
func (m *Machine) Deadline() time.Time { return m.due }

// Output returns the next packet to be sent, false if there is none.
func (m *Machine) Output() (Packet, bool) {
	if len(m.packets) == 0 {
		return Packet{}, false
	}
	p := m.packets[0]
	m.packets = m.packets[1:]
	return p, true
}

func (m *Machine) enter(s State) {
	if s < Bound && m.state >= Bound {
		m.lost = true
	}
	m.state, m.tries = s, 0
	if m.cfg.Observe != nil {
		m.cfg.Observe(s)
	}
}

// restart returns to INIT, and begins again after wait.
func (m *Machine) restart(wait time.Duration, now time.Time) {
	m.enter(Init)
	m.lease = Lease{}
	m.due = now.Add(wait)
}

// backoff returns how long to wait for the next answer: 4 s, doubled for each try, plus or minus a
// second.
func (m *Machine) backoff() time.Duration {
	wait := min(firstWait<<min(m.tries, 8), longestWait)
	return wait + time.Duration(m.random.Int64N(int64(2*time.Second))) - time.Second
}

// Expire runs the timer if it is due at now.
func (m *Machine) Expire(now time.Time) {
	if m.due.IsZero() || now.Before(m.due) {
		return
	}
	switch m.state {
	case Init:
		m.xid, m.exchangeStart = m.random.Uint32(), now
		if m.reboot {
			m.reboot, m.lease, m.requestedAt = false, m.cfg.Previous, now
			m.enter(Rebooting)
			m.request(now)
			return
		}
		m.enter(Selecting)
		m.discover(now)
	case Selecting:
		m.discover(now)
	case Requesting, Rebooting:
		if m.tries == requests || m.state == Rebooting && m.tries == rebootRequests {
			m.restart(0, now)
			m.Expire(now)
			return
		}
		m.request(now)
	case Probing:
		m.probe(now)
	case Bound:
		m.xid, m.exchangeStart, m.requestedAt = m.random.Uint32(), now, now
		m.enter(Renewing)
		m.renew(now)
	case Renewing, Rebinding:
		m.renew(now)
	}
}

// message returns a message of the client with the fields that all have.
func (m *Machine) message(t Type, now time.Time) *Message {
	secs := min(now.Sub(m.exchangeStart)/time.Second, 0xffff)
	out := &Message{XID: m.xid, Secs: uint16(secs), MAC: m.cfg.MAC}
	out.Set(OptionType, byte(t))
	out.Set(OptionClient, append([]byte{1}, m.cfg.MAC[:]...)...)
	if t == Discover || t == Request {
		out.Set(OptionMaxSize, 0x05, 0xdc) // 1500 bytes
		out.Set(OptionWanted, byte(OptionMask), byte(OptionRoutes), byte(OptionRouter),
			byte(OptionDNS), byte(OptionDomain),
			byte(OptionTime), byte(OptionT1), byte(OptionT2))
		if m.cfg.Host != "" {
			out.Set(OptionHost, []byte(m.cfg.Host[:min(len(m.cfg.Host), 255)])...)
		}
	}
	return out
}

func (m *Machine) discover(now time.Time) {
	m.packets = append(m.packets, Packet{Message: m.message(Discover, now)})
	m.due = now.Add(m.backoff())
	m.tries++
}

// request sends a DHCPREQUEST for the offered address, or for that of the previous lease, which any
// server may answer.
func (m *Machine) request(now time.Time) {
	out := m.message(Request, now)
	out.SetAddr(OptionRequested, m.lease.Address.Addr())
	if m.state == Requesting {
		out.SetAddr(OptionServer, m.lease.Server)
	}
	m.packets = append(m.packets, Packet{Message: out})
	m.due = now.Add(m.backoff())
	m.tries++
}

// renew requests an extension of the lease: from its server until T2, then from any. It is sent
// again after half of the remaining time.
func (m *Machine) renew(now time.Time) {
	l := &m.lease
	if !now.Before(l.Expires) {
		m.restart(0, now)
		m.Expire(now)
		return
	}
	end := l.T2
	if m.state == Rebinding || !now.Before(l.T2) {
		end = l.Expires
		if m.state == Renewing {
			m.enter(Rebinding)
		}
	}
	out := m.message(Request, now)
	out.Client = l.Address.Addr()
	p := Packet{Message: out}
	if m.state == Renewing {
		p.Server = l.Server
	}
	m.packets = append(m.packets, p)
	m.due = now.Add(max(end.Sub(now)/2, leastRenewal))
	if m.due.After(end) {
		m.due = end
	}
}

// probe sends the next ARP probe for the new address. After the last one without an answer it
// announces the address and binds it.
func (m *Machine) probe(now time.Time) {
	a := m.lease.Address.Addr()
	wait := m.cfg.Probe
	if wait == 0 {
		wait = probeWait
	}
	if m.tries == probes || wait < 0 {
		m.packets = append(m.packets, Packet{Address: a, Announce: true})
		m.bind()
		return
	}
	m.packets = append(m.packets, Packet{Address: a})
	m.tries++
	m.due = now.Add(wait)
}

// bind enters BOUND with a new or an extended lease.
func (m *Machine) bind() {
	m.enter(Bound)
	m.due = m.lease.T1
}

// Conflict reports that another station has address a.
func (m *Machine) Conflict(a netip.Addr, now time.Time) {
	if m.state != Probing || a != m.lease.Address.Addr() {
		return // the stack defends an address in use (RFC 5227 section 2.4)
	}
	out := m.message(Decline, now)
	out.SetAddr(OptionRequested, a)
	out.SetAddr(OptionServer, m.lease.Server)
	m.packets = append(m.packets, Packet{Message: out})
	m.restart(declineWait, now)
}

// Release gives the address back to the server. The machine does nothing afterwards.
func (m *Machine) Release(now time.Time) {
	if m.state >= Bound {
		m.xid = m.random.Uint32()
		out := m.message(Release, now)
		out.Client = m.lease.Address.Addr()
		out.SetAddr(OptionServer, m.lease.Server)
		m.packets = append(m.packets, Packet{Message: out, Server: m.lease.Server})
	}
	m.enter(Init)
	m.due = time.Time{}
}

// Input processes a message of a server.
func (m *Machine) Input(in *Message, now time.Time) {
	if !in.Reply || in.XID != m.xid || in.MAC != m.cfg.MAC {
		return
	}
	switch t := in.Type(); {
	case t == Offer && m.state == Selecting:
		l, ok := m.read(in, now)
		if !ok || !l.Server.IsValid() {
			return
		}
		m.lease, m.requestedAt = l, now
		m.enter(Requesting)
		m.request(now)
	case t == Ack && (m.state == Requesting || m.state == Rebooting || m.state == Renewing ||
		m.state == Rebinding):
		m.acked(in, now)
	case t == Nak && (m.state == Requesting && in.Addr(OptionServer) == m.lease.Server ||
		m.state == Rebooting || m.state == Renewing || m.state == Rebinding):
		m.restart(nakWait, now)
	}
}

func (m *Machine) acked(in *Message, now time.Time) {
	fresh := m.state == Requesting || m.state == Rebooting
	l, ok := m.read(in, m.requestedAt)
	if !ok || fresh && l.Address.Addr() != m.lease.Address.Addr() {
		return
	}
	if !l.Server.IsValid() {
		l.Server = m.lease.Server
	}
	if fresh {
		m.lease = l
		m.enter(Probing)
		m.probe(now)
		return
	}
	if l.Address != m.lease.Address || l.Router != m.lease.Router ||
		!slices.Equal(l.Routes, m.lease.Routes) {
		m.restart(0, now) // the network must not change under open connections
		return
	}
	m.lease = l
	m.bind()
}

// read returns the lease of an OFFER or an ACK, with a lease time that counts from an instant. It
// returns false for a lease that cannot be used.
func (m *Machine) read(in *Message, from time.Time) (Lease, bool) {
	bits, ok := 0, false
	if mask := in.Addr(OptionMask); mask.IsValid() {
		bits, ok = maskBits(mask)
	} else {
		bits, ok = classBits(in.Yours), true
	}
	a, duration := in.Yours, in.Time(OptionTime)
	if !ok || a.IsUnspecified() || a.IsMulticast() || a.IsLoopback() || a.As4()[0] >= 240 ||
		duration < shortestTime {
		return Lease{}, false
	}
	l := Lease{Address: netip.PrefixFrom(a, bits), DNS: in.Addrs(OptionDNS),
		Domain: string(in.Get(OptionDomain)), Server: in.Addr(OptionServer)}
	if routes, ok := in.Routes(); ok {
		l.addRoutes(routes)
	} else if router := in.Addr(OptionRouter); l.onLink(router) {
		l.Router = router
	}
	if duration == Forever {
		return l, true
	}
	t1, t2 := in.Time(OptionT1), in.Time(OptionT2)
	if t2 <= 0 || t2 >= duration {
		t2 = duration * 7 / 8
	}
	if t1 <= 0 || t1 >= t2 {
		if t1 = duration / 2; t1 >= t2 {
			t1 = t2 / 2
		}
	}
	l.Expires, l.T1, l.T2 = from.Add(duration), from.Add(t1), from.Add(t2)
	return l, true
}

// onLink tells whether a may be a router of the lease: another host of its network.
func (l *Lease) onLink(a netip.Addr) bool {
	return a.IsValid() && l.Address.Contains(a) && a != l.Address.Addr()
}

// addRoutes adds the routes that are usable: through a router of our network, or on the link. A
// default route among them replaces Router (RFC 3442).
func (l *Lease) addRoutes(routes []ip.Route) {
	for _, r := range routes {
		switch {
		case r.Via.IsValid() && !l.onLink(r.Via):
		case r.Network.Bits() > 0:
			l.Routes = append(l.Routes, r)
		case !l.Router.IsValid():
			l.Router = r.Via
		}
	}
}

// maskBits returns the prefix length of a mask; false if the mask is not contiguous.
func maskBits(mask netip.Addr) (int, bool) {
	raw := mask.As4()
	v, bits := be.Uint32(raw[:]), 0
	for ; v&0x80000000 != 0; v <<= 1 {
		bits++
	}
	return bits, v == 0
}

// classBits returns the prefix length of an address's class (RFC 950), for servers that send no
// mask.
func classBits(a netip.Addr) int {
	switch first := a.As4()[0]; {
	case first < 128:
		return 8
	case first < 192:
		return 16
	}
	return 24
}
