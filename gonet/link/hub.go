package link

import (
	"net/netip"
	"slices"
	"sync"

	"interleave/gonet/wire"
)

// Hub is a switch in memory: a link of any number of ports, which come and go while others run. It
// learns which station is behind which port from the source addresses of frames. A frame for a
// group, or for a station that it does not know, goes to all other ports. With the option L3 the
// addresses are those of IP.
type Hub struct {
	features Features
	mu       sync.RWMutex
	ports    []*Port
	stations map[station]*Port
}

// station is the address of a station: a MAC, or on an L3 hub an IP address. The zero value is
// none.
type station [16]byte

// maxStations bounds what a hub learns, as a sender may forge any source address. A guess.
const maxStations = 4096

// NewHub makes a hub without ports.
func NewHub(options ...Option) *Hub {
	f := Features{MTU: 1500}
	for _, o := range options {
		o(&f)
	}
	return &Hub{features: f, stations: map[station]*Port{}}
}

// Port is one port of a hub: a Link.
type Port struct {
	hub *Hub
	end End // reads what the hub delivers
}

var _ Link = (*Port)(nil)

// Port adds a port. Its Close removes it again: frames for it are lost from then on, and nobody is
// told, as when a machine crashes. A station that comes back takes a new port.
func (h *Hub) Port() *Port {
	p := &Port{hub: h, end: End{in: newQueue(), features: h.features}}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ports = append(h.ports, p)
	return p
}

// Read implements Link.
func (p *Port) Read(batch []Frame) (int, error) { return p.end.Read(batch) }

// Interrupt implements Link.
func (p *Port) Interrupt() { p.end.Interrupt() }

// Features implements Link.
func (p *Port) Features() Features { return p.end.features }

// Dropped returns the number of frames that found the queue of this port full.
func (p *Port) Dropped() uint64 { return p.end.Dropped() }

// Close implements Link: it removes the port.
func (p *Port) Close() error {
	h := p.hub
	h.mu.Lock()
	h.ports = slices.DeleteFunc(h.ports, func(other *Port) bool { return other == p })
	for s, at := range h.stations {
		if at == p {
			delete(h.stations, s)
		}
	}
	h.mu.Unlock()
	return p.end.Close()
}

// Write implements Link. A frame without a whole header is dropped.
func (p *Port) Write(gso GSO, pieces ...[]byte) error {
	if p.end.closed.Load() {
		return ErrClosed
	}
	var header [wire.IPv6Len]byte // the longer of the two
	n := 0
	for _, b := range pieces {
		n += copy(header[n:], b)
	}
	addresses := ethernetAddresses
	if p.end.features.L3 {
		addresses = ipAddresses
	}
	if src, dst, ok := addresses(header[:n]); ok {
		p.hub.learn(src, p)
		p.hub.forward(p, dst, gso, pieces)
	}
	return nil
}

// ethernetAddresses returns the addresses of a frame. A source that is a group is none.
func ethernetAddresses(b []byte) (src, dst station, ok bool) {
	e, _, err := wire.ParseEthernet(b)
	if !e.Src.IsGroup() {
		copy(src[:], e.Src[:])
	}
	copy(dst[:], e.Dst[:])
	return src, dst, err == nil
}

// ipAddresses returns the addresses of an IP packet. A source that is a group is none.
func ipAddresses(b []byte) (src, dst station, ok bool) {
	var from, to netip.Addr
	switch {
	case len(b) >= wire.IPv4Len && b[0]>>4 == 4:
		from, to = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	case len(b) >= wire.IPv6Len && b[0]>>4 == 6:
		from, to = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	default:
		return src, dst, false
	}
	if !from.IsMulticast() && !from.IsUnspecified() {
		src = from.As16()
	}
	return src, to.As16(), true
}

// learn notes that a station is behind a port.
func (h *Hub) learn(s station, p *Port) {
	h.mu.RLock()
	known := h.stations[s]
	h.mu.RUnlock()
	if known == p || s == (station{}) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if (known != nil || len(h.stations) < maxStations) && slices.Contains(h.ports, p) {
		h.stations[s] = p
	}
}

func (h *Hub) forward(from *Port, to station, gso GSO, pieces [][]byte) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if p := h.stations[to]; p != nil {
		if p != from { // a switch does not send a frame back
			_ = p.end.in.put(gso, pieces) // a dropped frame is counted there
		}
		return
	}
	for _, p := range h.ports {
		if p != from {
			_ = p.end.in.put(gso, pieces) // a dropped frame is counted there
		}
	}
}
