package link

import (
	"slices"
	"sync"

	"interleave/gonet/wire"
)

// Hub is a switch in memory: a link of any number of ports, which come and go while others run. It
// learns which station is behind which port from the source addresses of frames. A frame for a
// group, or for a station that it does not know, goes to all other ports.
type Hub struct {
	features Features
	mu       sync.RWMutex
	ports    []*Port
	stations map[wire.MAC]*Port
}

// maxStations bounds what a hub learns, as a sender may forge any source address. A guess.
const maxStations = 4096

// NewHub makes a hub without ports.
func NewHub(options ...Option) *Hub {
	f := Features{MTU: 1500}
	for _, o := range options {
		o(&f)
	}
	return &Hub{features: f, stations: map[wire.MAC]*Port{}}
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
	for mac, at := range h.stations {
		if at == p {
			delete(h.stations, mac)
		}
	}
	h.mu.Unlock()
	return p.end.Close()
}

// Write implements Link. A frame without a whole Ethernet header is dropped.
func (p *Port) Write(gso GSO, pieces ...[]byte) error {
	if p.end.closed.Load() {
		return ErrClosed
	}
	var header [wire.EthernetLen]byte
	n := 0
	for _, b := range pieces {
		n += copy(header[n:], b)
	}
	if e, _, err := wire.ParseEthernet(header[:n]); err == nil {
		p.hub.learn(e.Src, p)
		p.hub.forward(p, e.Dst, gso, pieces)
	}
	return nil
}

// learn notes that a station is behind a port.
func (h *Hub) learn(mac wire.MAC, p *Port) {
	h.mu.RLock()
	known := h.stations[mac]
	h.mu.RUnlock()
	if known == p || mac.IsGroup() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if (known != nil || len(h.stations) < maxStations) && slices.Contains(h.ports, p) {
		h.stations[mac] = p
	}
}

func (h *Hub) forward(from *Port, to wire.MAC, gso GSO, pieces [][]byte) {
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
