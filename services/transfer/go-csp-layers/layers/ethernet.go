package layers

import (
	"sync"

	"interleave/gonet/wire"
)

// stationMAC is the host's address on its device, a locally administered one.
var stationMAC = wire.MAC{0x02, 0, 0, 0, 0, 2}

// port is a device with the host's address on it. A loopback does not lose or change a bit, so no
// checksum of a transport protocol is computed for it, as in the kernel.
type port struct {
	device  Device
	mac     wire.MAC
	isLocal bool
}

// frame is one that has arrived, without its header.
type frame struct {
	port    *port
	payload []byte
}

// ethernet is the layer of frames. Protocols are bound to an EtherType before it starts.
type ethernet struct {
	local, external *port // external: nil without a device
	ports           []*port
	frames          chan frame // whole ones, from the readers
	bound           map[wire.EtherType]chan<- frame
}

func newEthernet(device Device) *ethernet {
	e := &ethernet{
		local:  &port{device: newLoopback(), isLocal: true},
		frames: make(chan frame, queueLen),
		bound:  map[wire.EtherType]chan<- frame{},
	}
	e.ports = []*port{e.local}
	if device != nil {
		e.external = &port{device: device, mac: stationMAC}
		e.ports = append(e.ports, e.external)
	}
	return e
}

// start starts a reader for each device, and the dealer.
func (e *ethernet) start(s *Stack) {
	var readers sync.WaitGroup
	for _, p := range e.ports {
		readers.Go(func() { e.read(s, p) })
	}
	s.processes.Go(func() {
		readers.Wait()
		close(e.frames)
	})
	s.processes.Go(e.deal)
}

// read passes on the frames of one device. It ends when the device is closed, or broken.
func (e *ethernet) read(s *Stack, p *port) {
	for {
		b, err := p.device.Receive()
		if err != nil {
			select {
			case <-s.done:
			case s.failed <- err:
			default: // another device has failed
			}
			return
		}
		e.frames <- frame{p, b}
	}
}

// deal is the packet dealer of frames: it hands each to the protocol that is bound to its type.
func (e *ethernet) deal() {
	for f := range e.frames {
		h, payload, err := wire.ParseEthernet(f.payload)
		if err != nil || h.Tagged || h.Dst != f.port.mac && !h.Dst.IsGroup() {
			continue
		}
		if to := e.bound[h.Type]; to != nil {
			to <- frame{f.port, payload}
		}
	}
	for _, to := range e.bound {
		close(to)
	}
}

// send writes the header into the first bytes of b, and passes b to the device. A frame that the
// device refuses is lost, as on any Ethernet.
func (e *ethernet) send(p *port, dst wire.MAC, kind wire.EtherType, b []byte) {
	h := wire.Ethernet{Dst: dst, Src: p.mac, Type: kind}
	h.Put(b)
	_ = p.device.Send(b) // lost: TCP sends it again, and ICMP does not promise to arrive
}
