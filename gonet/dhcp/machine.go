package dhcp

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"interleave/gonet/ip"
	"interleave/gonet/wire"
)

// State is one of RFC 2131 section 4.4; Probing is the check of a new address by ARP (section
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

// Config is what a client needs to know. Only MAC must be given.
type Config struct {
	MAC  wire.MAC
	Host string // the name that the server is told; empty: none
	// between questions whether others have the address; 0: 200 ms, negative: do not ask
	Probe   time.Duration
	Seed    uint64      // of transaction identifiers and of jitter; 0: drawn
	Observe func(State) // is told of each new state; nil: nobody
	// Previous is a lease that was had before: it is asked for first (INIT-REBOOT, RFC 2131 section
	// 3.2), unless its time is over.
	Previous Lease
}

// Lease is what a server has granted.
type Lease struct {
	Address netip.Prefix
	Router  netip.Addr // invalid: none
	Routes  []ip.Route // beside those of the network and of Router (RFC 3442)
	DNS     []netip.Addr
	Domain  string
	Server  netip.Addr
	Expires time.Time // zero: never
	T1, T2  time.Time // when it is renewed with its server, and with any
}

// Packet is what a machine has to send: a message, or a question of ARP.
type Packet struct {
	Message  *Message   // nil: ask by ARP who has Address
	Server   netip.Addr // unicast to it; invalid: to all
	Address  netip.Addr
	Announce bool // of ARP: we have it
}

// The times of RFC 2131 sections 3.1, 4.1 and 4.4.5. How often and how fast ARP asks is a
// compromise: RFC 5227 waits up to seven seconds in all, most clients not at all.
const (
	firstWait    = 4 * time.Second
	longestWait  = 64 * time.Second
	requests     = 4 // that are not answered, and then it begins anew
	reboots      = 2 // the same for the lease of before: its server may be another's now. A guess
	declineWait  = 10 * time.Second
	nakWait      = time.Second // a guess: a server that always says no must not be flooded
	leastRenewal = time.Minute
	probeWait    = 200 * time.Millisecond
	probes       = 3
	shortestTime = 2 * time.Second // of a lease that is worth having; a guess
)

// Machine is a client. It does no I/O: Output has what is to be sent, after whatever may have
// made something due.
type Machine struct {
	cfg    Config
	random *rand.Rand
	state  State
	xid    uint32
	began  time.Time // when this exchange was
	// when the request that an ACK answers was sent first: the lease counts from there
	asked   time.Time
	tries   int
	due     time.Time // when Expire is to be called
	lease   Lease     // in Requesting and Probing: what was offered
	lost    bool      // a lease that was used has ended
	reboot  bool      // the lease of before is to be asked for
	packets []Packet
}

// NewMachine makes a client that has just begun.
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

// State tells where the client is.
func (m *Machine) State() State { return m.state }

// Lease is what may be used now; false if there is nothing.
func (m *Machine) Lease() (Lease, bool) { return m.lease, m.state >= Bound }

// Lost tells that a lease which was used may not be used any more.
func (m *Machine) Lost() bool { return m.lost }

// Deadline is when Expire is to be called; zero: never.
func (m *Machine) Deadline() time.Time { return m.due }

// Output returns the next packet that is due, false when there is none.
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

// restart begins anew after a while.
func (m *Machine) restart(wait time.Duration, now time.Time) {
	m.enter(Init)
	m.lease = Lease{}
	m.due = now.Add(wait)
}

// backoff is how long the next answer is waited for: 4 s, doubled each time, give or take a second.
func (m *Machine) backoff() time.Duration {
	wait := min(firstWait<<min(m.tries, 8), longestWait)
	return wait + time.Duration(m.random.Int64N(int64(2*time.Second))) - time.Second
}

// Expire does what is due at now.
func (m *Machine) Expire(now time.Time) {
	if m.due.IsZero() || now.Before(m.due) {
		return
	}
	switch m.state {
	case Init:
		m.xid, m.began = m.random.Uint32(), now
		if m.reboot {
			m.reboot, m.lease, m.asked = false, m.cfg.Previous, now
			m.enter(Rebooting)
			m.request(now)
			return
		}
		m.enter(Selecting)
		m.discover(now)
	case Selecting:
		m.discover(now)
	case Requesting, Rebooting:
		if m.tries == requests || m.state == Rebooting && m.tries == reboots {
			m.restart(0, now)
			m.Expire(now)
			return
		}
		m.request(now)
	case Probing:
		m.probe(now)
	case Bound:
		m.xid, m.began, m.asked = m.random.Uint32(), now, now
		m.enter(Renewing)
		m.renew(now)
	case Renewing, Rebinding:
		m.renew(now)
	}
}

// message makes one of ours.
func (m *Machine) message(t Type, now time.Time) *Message {
	secs := min(now.Sub(m.began)/time.Second, 0xffff)
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

// request asks for what was offered, or for what was had before: then any server may
// answer that knows.
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

// renew asks for more time: the server that granted the lease until T2, then any; again after half
// of the time that is left.
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

// probe asks whether anybody has the new address, and takes it when nobody has said so.
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

// bind begins the use of the lease, or its use for longer.
func (m *Machine) bind() {
	m.enter(Bound)
	m.due = m.lease.T1
}

// Conflict says that another station has the address.
func (m *Machine) Conflict(a netip.Addr, now time.Time) {
	if m.state != Probing || a != m.lease.Address.Addr() {
		return // the stack defends what is in use (RFC 5227 section 2.4)
	}
	out := m.message(Decline, now)
	out.SetAddr(OptionRequested, a)
	out.SetAddr(OptionServer, m.lease.Server)
	m.packets = append(m.packets, Packet{Message: out})
	m.restart(declineWait, now)
}

// Release gives the address back; the machine does nothing more.
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

// Input takes a message of a server.
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
		m.lease, m.asked = l, now
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
	l, ok := m.read(in, m.asked)
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
		m.restart(0, now) // what is in use cannot be changed under its connections
		return
	}
	m.lease = l
	m.bind()
}

// read makes a lease of an offer or an acknowledgement, which counts from an instant; false if it
// cannot be used.
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
		l.take(routes)
	} else if router := in.Addr(OptionRouter); l.near(router) {
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

// near tells whether a may be a router for the lease: another host of its network.
func (l *Lease) near(a netip.Addr) bool {
	return a.IsValid() && l.Address.Contains(a) && a != l.Address.Addr()
}

// take keeps the routes that can be: through a router of our network, or over the link itself. The
// one to everywhere is the router's, whatever else the server says of it (RFC 3442).
func (l *Lease) take(routes []ip.Route) {
	for _, r := range routes {
		switch {
		case r.Via.IsValid() && !l.near(r.Via):
		case r.Network.Bits() > 0:
			l.Routes = append(l.Routes, r)
		case !l.Router.IsValid():
			l.Router = r.Via
		}
	}
}

// maskBits is the length of the network that a mask means; false for one with holes.
func maskBits(mask netip.Addr) (int, bool) {
	raw := mask.As4()
	v, bits := be.Uint32(raw[:]), 0
	for ; v&0x80000000 != 0; v <<= 1 {
		bits++
	}
	return bits, v == 0
}

// classBits is what a network was before there were masks (RFC 950): for servers that give none.
func classBits(a netip.Addr) int {
	switch first := a.As4()[0]; {
	case first < 128:
		return 8
	case first < 192:
		return 16
	}
	return 24
}
