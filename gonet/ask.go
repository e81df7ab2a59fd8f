package gonet

import (
	"time"

	"interleave/gonet/wire"
)

// confirm has a neighbour asked whether it is still there. Any goroutine.
func (s *Stack) confirm(nb *neighbour) {
	nb.mu.Lock()
	defer nb.mu.Unlock()
	if nb.stale.Swap(false) && !nb.asking {
		nb.asking = true
		go s.ask(nb)
	}
}

// ask is the goroutine of one request: it asks up to three times, a second apart, all stations or
// the one that is known, and hands the packets that have waited to the station that answers.
func (s *Stack) ask(nb *neighbour) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for asked := 0; ; {
		select {
		case mac := <-nb.answer:
			s.answered(nb, mac)
			return
		case <-nb.quit:
			s.unasked(nb)
			return
		case <-timer.C:
			if asked == askTimes {
				s.unanswered(nb)
				return
			}
			asked++
			if nb.addr.Is4() {
				s.requestARP(nb.addr, nb.mac.Load())
			} else {
				s.solicit(nb.addr, nb.mac.Load())
			}
			timer.Reset(askInterval)
		}
	}
}

func (s *Stack) answered(nb *neighbour, mac wire.MAC) {
	nb.mu.Lock()
	defer nb.mu.Unlock()
	nb.endAsking()
	nb.learn(mac, true)
	s.waiting.give(nb.waiting...)
	for _, frame := range nb.waiting {
		// a link that fails ends the stack
		_ = s.emitBytes(mac, etherType(frame[wire.EthernetLen:]), frame[wire.EthernetLen:])
	}
	nb.waiting = nil
}

// endAsking notes that no request is under way any more. The caller has mu.
func (nb *neighbour) endAsking() {
	nb.asking = false
	select {
	case <-nb.answer: // a second one
	default:
	}
}

// unasked ends the asking for a neighbour that has left the cache, or whose stack has ended.
// Connections ask for it again.
func (s *Stack) unasked(nb *neighbour) {
	nb.mu.Lock()
	defer nb.mu.Unlock()
	nb.endAsking()
	s.dropWaiting(nb)
}

// dropWaiting drops what waits for a neighbour. The caller has mu.
func (s *Stack) dropWaiting(nb *neighbour) {
	s.stats.droppedUnresolved.Add(uint64(len(nb.waiting)))
	s.waiting.give(nb.waiting...)
	nb.waiting = nil
}

// unanswered forgets the station of a neighbour that does not answer.
func (s *Stack) unanswered(nb *neighbour) {
	nb.mu.Lock()
	nb.endAsking()
	nb.failed = time.Now()
	nb.mac.Store(nil)
	s.dropWaiting(nb)
	nb.mu.Unlock()
	s.noteUnreachable(nb)
}
