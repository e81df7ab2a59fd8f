package gonet

import (
	"time"

	"interleave/gonet/wire"
)

// confirm starts a request that checks whether a stale neighbour is still there. Any goroutine.
func (s *Stack) confirm(nb *neighbour) {
	nb.mu.Lock()
	defer nb.mu.Unlock()
	if nb.stale.Swap(false) && !nb.resolving {
		nb.resolving = true
		go s.resolveNeighbour(nb)
	}
}

// resolveNeighbour is the goroutine of one address resolution. It sends up to three requests, a
// second apart: to the known station, or by broadcast or multicast if none is known. The packets
// that wait are sent to the station that answers.
func (s *Stack) resolveNeighbour(nb *neighbour) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for asked := 0; ; {
		select {
		case mac := <-nb.answer:
			s.neighbourResolved(nb, mac)
			return
		case <-nb.quit:
			s.resolutionCancelled(nb)
			return
		case <-timer.C:
			if asked == maxSolicitations {
				s.neighbourFailed(nb)
				return
			}
			asked++
			if nb.addr.Is4() {
				s.requestARP(nb.addr, nb.mac.Load())
			} else {
				s.solicit(nb.addr, nb.mac.Load())
			}
			timer.Reset(solicitationInterval)
		}
	}
}

func (s *Stack) neighbourResolved(nb *neighbour, mac wire.MAC) {
	nb.mu.Lock()
	defer nb.mu.Unlock()
	nb.endResolving()
	nb.learn(mac, true)
	s.waitingBytes.release(nb.waiting...)
	for _, frame := range nb.waiting {
		// the dealer sees a failed link
		_ = s.emitBytes(mac, etherType(frame[wire.EthernetLen:]), frame[wire.EthernetLen:])
	}
	nb.waiting = nil
}

// endResolving notes that no address resolution is under way. The caller holds mu.
func (nb *neighbour) endResolving() {
	nb.resolving = false
	select {
	case <-nb.answer: // a second answer
	default:
	}
}

// resolutionCancelled ends the resolution for a neighbour that was evicted, or whose stack has
// ended. A connection that still needs the neighbour starts a new one.
func (s *Stack) resolutionCancelled(nb *neighbour) {
	nb.mu.Lock()
	defer nb.mu.Unlock()
	nb.endResolving()
	s.dropWaitingPackets(nb)
}

// dropWaitingPackets drops the packets that wait for a neighbour. The caller holds mu.
func (s *Stack) dropWaitingPackets(nb *neighbour) {
	s.stats.droppedUnresolved.Add(uint64(len(nb.waiting)))
	s.waitingBytes.release(nb.waiting...)
	nb.waiting = nil
}

// neighbourFailed forgets the MAC of a neighbour that has not answered, and has its connections
// told.
func (s *Stack) neighbourFailed(nb *neighbour) {
	nb.mu.Lock()
	nb.endResolving()
	nb.failed = time.Now()
	nb.mac.Store(nil)
	s.dropWaitingPackets(nb)
	nb.mu.Unlock()
	s.noteUnreachable(nb)
}
