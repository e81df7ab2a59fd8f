package slirp

import (
	"net/netip"
	"time"

	"interleave/gonet/dhcp"
	"interleave/gonet/wire"
)

// leases is the server of DHCP (RFC 2131): a table of a fixed size, without I/O and clock.
type leases struct {
	network Network
	noDNS   bool
	all     [leaseCount]lease // in the order of the addresses
}

// lease is an address that was offered or leased to a client, or that a client has declined.
type lease struct {
	mac   wire.MAC
	state leaseState
	until time.Time // after which the address is free
}

type leaseState uint8

const (
	leaseFree leaseState = iota
	leaseOffered
	leaseBound
	leaseDeclined
)

// The number of addresses, and the times for which a client may use one, for which it is held for a
// client that an offer was sent to, and for which one is left alone that a client has found in use.
// The first two are libslirp's, the others guesses.
const (
	leaseCount  = 16
	leaseTime   = 24 * time.Hour
	offerTime   = time.Minute
	declineTime = 10 * time.Minute
)

func newLeases(network Network, noDNS bool) leases {
	return leases{network: network, noDNS: noDNS}
}

// address returns the address of a lease.
func (l *leases) address(i int) netip.Addr {
	return place(l.network.Prefix, placeLeases+uint32(i))
}

// find returns the lease of an address, or -1.
func (l *leases) find(a netip.Addr) int {
	for i := range l.all {
		if l.address(i) == a {
			return i
		}
	}
	return -1
}

// answer returns the answer to a message of a client, and false if there is none.
func (l *leases) answer(m *dhcp.Message, now time.Time) (reply dhcp.Message, ok bool) {
	server := m.Addr(dhcp.OptionServer)
	if m.Reply || isSet(m.Relay) || m.MAC.IsGroup() ||
		server.IsValid() && server != l.network.Gateway {
		if m.Type() == dhcp.Request { // the client has chosen another server
			l.free(m.MAC, leaseOffered)
		}
		return reply, false
	}
	l.expire(now)
	switch m.Type() {
	case dhcp.Discover:
		return l.offer(m, now)
	case dhcp.Request:
		return l.bind(m, now), true
	case dhcp.Inform:
		if !l.network.isGuest(m.Client) {
			return reply, false
		}
		return l.reply(m, dhcp.Ack, netip.Addr{}), true
	case dhcp.Decline:
		if i := l.find(m.Addr(dhcp.OptionRequested)); i >= 0 && l.all[i].mac == m.MAC {
			l.all[i] = lease{state: leaseDeclined, until: now.Add(declineTime)}
		}
	case dhcp.Release:
		l.free(m.MAC, leaseBound)
	}
	return reply, false
}

// expire frees the addresses whose time is over.
func (l *leases) expire(now time.Time) {
	for i := range l.all {
		if x := &l.all[i]; x.state != leaseFree && !x.until.After(now) {
			*x = lease{}
		}
	}
}

// free frees the address of a client in a state.
func (l *leases) free(mac wire.MAC, state leaseState) {
	for i := range l.all {
		if x := &l.all[i]; x.state == state && x.mac == mac {
			*x = lease{}
		}
	}
}

// offer answers a DISCOVER. Without an address for the client there is no answer.
func (l *leases) offer(m *dhcp.Message, now time.Time) (dhcp.Message, bool) {
	i := l.choose(m.MAC, m.Addr(dhcp.OptionRequested))
	if i < 0 {
		return dhcp.Message{}, false
	}
	if x := &l.all[i]; x.state != leaseBound {
		*x = lease{mac: m.MAC, state: leaseOffered, until: now.Add(offerTime)}
	}
	return l.reply(m, dhcp.Offer, l.address(i)), true
}

// choose returns the lease for a client: its own, else that of the address that it wants, a free
// one, or the one whose offer is the oldest. It returns -1 if all are bound.
func (l *leases) choose(mac wire.MAC, wanted netip.Addr) int {
	free, oldest := -1, -1
	for i := range l.all {
		switch x := &l.all[i]; {
		case (x.state == leaseOffered || x.state == leaseBound) && x.mac == mac:
			return i
		case x.state == leaseFree && (free < 0 || l.address(i) == wanted):
			free = i
		case x.state == leaseOffered && (oldest < 0 || x.until.Before(l.all[oldest].until)):
			oldest = i
		}
	}
	if free >= 0 {
		return free
	}
	return oldest
}

// bind answers a REQUEST: by an ACK if the address is the client's, or free.
func (l *leases) bind(m *dhcp.Message, now time.Time) dhcp.Message {
	wanted := m.Addr(dhcp.OptionRequested)
	if !wanted.IsValid() {
		wanted = m.Client // it renews
	}
	i := l.find(wanted)
	if i < 0 || l.all[i].state != leaseFree && l.all[i].mac != m.MAC ||
		l.all[i].state == leaseDeclined {
		return l.reply(m, dhcp.Nak, netip.Addr{})
	}
	l.free(m.MAC, leaseBound) // a client has one address
	l.free(m.MAC, leaseOffered)
	l.all[i] = lease{mac: m.MAC, state: leaseBound, until: now.Add(leaseTime)}
	return l.reply(m, dhcp.Ack, wanted)
}

// reply makes a message to a client. yours is its address; invalid: none.
func (l *leases) reply(m *dhcp.Message, kind dhcp.Type, yours netip.Addr) dhcp.Message {
	r := dhcp.Message{Reply: true, XID: m.XID, Broadcast: m.Broadcast, Yours: yours, MAC: m.MAC}
	r.Set(dhcp.OptionType, byte(kind))
	r.SetAddr(dhcp.OptionServer, l.network.Gateway)
	if kind == dhcp.Nak {
		return r
	}
	if kind == dhcp.Ack {
		r.Client = m.Client
	}
	if yours.IsValid() { // else the answer to an INFORM, which has no times
		r.SetTime(dhcp.OptionTime, leaseTime)
	}
	r.SetAddr(dhcp.OptionMask, mask(l.network.Prefix))
	r.SetAddr(dhcp.OptionRouter, l.network.Gateway)
	if !l.noDNS {
		r.SetAddr(dhcp.OptionDNS, l.network.DNS)
	}
	return r
}

// mask returns the subnet mask of a network.
func mask(prefix netip.Prefix) netip.Addr { return addr4(^uint32(0) << (32 - prefix.Bits())) }
