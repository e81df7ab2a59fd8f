package layers

import (
	"maps"
	"net/netip"
	"sync/atomic"
	"time"

	"interleave/gonet/wire"
)

const (
	arpTries    = 3
	arpInterval = time.Second // between requests (RFC 1122 section 2.3.2.1)
	arpLifetime = time.Minute // of an entry, as there
	maxStations = 256         // in the table, and requests at once; a guess
)

// station is an entry of the table.
type station struct {
	mac   wire.MAC
	since time.Time
}

// question asks for an address. The answer is closed without a value if there is none.
type question struct {
	address netip.Addr
	answer  chan<- wire.MAC
}

// arp resolves addresses of the device's network. The dealer owns the table, and publishes a copy
// after each change, which all that send read.
type arp struct {
	stack     *Stack
	in        chan frame
	questions chan question
	failed    chan netip.Addr // from requests without a reply
	table     atomic.Pointer[map[netip.Addr]station]
}

func newARP(s *Stack) *arp {
	a := &arp{stack: s, in: make(chan frame, queueLen), questions: make(chan question),
		failed: make(chan netip.Addr)}
	a.table.Store(&map[netip.Addr]station{})
	return a
}

// resolve returns the MAC of an address. It blocks until a reply has arrived, or none has in time.
func (a *arp) resolve(address netip.Addr) (mac wire.MAC, ok bool) {
	if s, found := (*a.table.Load())[address]; found && time.Since(s.since) < arpLifetime {
		return s.mac, true
	}
	answer := make(chan wire.MAC, 1)
	select {
	case a.questions <- question{address, answer}:
	case <-a.stack.done:
		return mac, false
	}
	select {
	case mac, ok = <-answer:
		return mac, ok
	case <-a.stack.done:
		return mac, false
	}
}

// request is one that is under way.
type request struct {
	answered chan struct{} // closed by the dealer
	waiting  []chan<- wire.MAC
}

// deal is the packet dealer of ARP. It owns the table and the requests.
func (a *arp) deal() {
	requests := map[netip.Addr]*request{}
	for {
		select {
		case f, ok := <-a.in:
			if !ok {
				return
			}
			a.receive(f, requests)
		case q := <-a.questions:
			r := requests[q.address]
			if r == nil && len(requests) == maxStations {
				close(q.answer)
				continue
			}
			if r == nil {
				r = &request{answered: make(chan struct{})}
				requests[q.address] = r
				a.stack.processes.Go(func() { a.ask(q.address, r.answered) })
			}
			r.waiting = append(r.waiting, q.answer)
		case address := <-a.failed:
			if r := requests[address]; r != nil {
				delete(requests, address)
				for _, w := range r.waiting {
					close(w)
				}
			}
		}
	}
}

// ask sends requests for an address until the dealer has seen a reply.
func (a *arp) ask(address netip.Addr, answered <-chan struct{}) {
	for range arpTries {
		a.send(wire.ARP{Op: wire.ARPRequest, TargetIP: address}, wire.Broadcast)
		select {
		case <-answered:
			return
		case <-a.stack.done:
			return
		case <-time.After(arpInterval):
		}
	}
	select {
	case a.failed <- address:
	case <-answered:
	case <-a.stack.done:
	}
}

// receive learns from a message, as RFC 826 has it: from one to us, and from any of a station that
// is known.
func (a *arp) receive(f frame, requests map[netip.Addr]*request) {
	m, err := wire.ParseARP(f.payload)
	if err != nil || f.port.isLocal || m.SenderMAC.IsGroup() || !m.SenderIP.IsValid() {
		return
	}
	own := a.stack.config.Address
	forUs, r := m.TargetIP == own.Addr(), requests[m.SenderIP]
	_, known := (*a.table.Load())[m.SenderIP]
	if (forUs || known || r != nil) && own.Contains(m.SenderIP) && m.SenderIP != own.Addr() {
		a.learn(m.SenderIP, m.SenderMAC)
		if r != nil {
			delete(requests, m.SenderIP)
			close(r.answered)
			for _, w := range r.waiting {
				w <- m.SenderMAC // has room for one
			}
		}
	}
	if forUs && m.Op == wire.ARPRequest {
		a.send(wire.ARP{Op: wire.ARPReply, TargetMAC: m.SenderMAC, TargetIP: m.SenderIP},
			m.SenderMAC)
	}
}

// learn publishes a table with one entry more. The oldest entry makes room.
func (a *arp) learn(address netip.Addr, mac wire.MAC) {
	table := maps.Clone(*a.table.Load())
	if _, known := table[address]; !known && len(table) == maxStations {
		oldest := address
		for k, v := range table {
			if oldest == address || v.since.Before(table[oldest].since) {
				oldest = k
			}
		}
		delete(table, oldest)
	}
	table[address] = station{mac, time.Now()}
	a.table.Store(&table)
}

// send fills in the sender of a message and sends it.
func (a *arp) send(m wire.ARP, to wire.MAC) {
	p := a.stack.ethernet.external
	m.SenderMAC, m.SenderIP = p.mac, a.stack.config.Address.Addr()
	b := make([]byte, wire.EthernetLen+wire.ARPLen)
	m.Put(b[wire.EthernetLen:])
	a.stack.ethernet.send(p, to, wire.EtherARP, b)
}
