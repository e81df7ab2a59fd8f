package gonet

import (
	"time"

	"interleave/gonet/wire"
)

// confirm has a neighbour asked whether it is still there. Any goroutine.
func (s *Stack) confirm(h *hop) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stale.Swap(false) && !h.asking {
		h.asking = true
		go s.ask(h)
	}
}

// ask is the goroutine of one request: it asks up to three times, a second apart, all stations or
// the one that is known, and hands the packets that have waited to the station that answers.
func (s *Stack) ask(h *hop) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for asked := 0; ; {
		select {
		case mac := <-h.answer:
			s.answered(h, mac)
			return
		case <-h.quit:
			s.unasked(h)
			return
		case <-timer.C:
			if asked == askTimes {
				s.unanswered(h)
				return
			}
			asked++
			if h.addr.Is4() {
				s.requestARP(h.addr, h.mac.Load())
			} else {
				s.solicit(h.addr, h.mac.Load())
			}
			timer.Reset(askInterval)
		}
	}
}

func (s *Stack) answered(h *hop, mac wire.MAC) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rest()
	h.learn(mac, true)
	s.waiting.give(h.waiting...)
	for _, frame := range h.waiting {
		// a link that fails ends the stack
		_ = s.emitBytes(mac, etherType(frame[wire.EthernetLen:]), frame[wire.EthernetLen:])
	}
	h.waiting = nil
}

// rest notes that nobody asks any more. The caller has mu.
func (h *hop) rest() {
	h.asking = false
	select {
	case <-h.answer: // a second one
	default:
	}
}

// unasked ends the asking for a neighbour that has left the table, or whose stack has ended.
// Connections ask for it again.
func (s *Stack) unasked(h *hop) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rest()
	s.waste(h)
}

// waste drops what waits for a neighbour. The caller has mu.
func (s *Stack) waste(h *hop) {
	s.stats.droppedUnresolved.Add(uint64(len(h.waiting)))
	s.waiting.give(h.waiting...)
	h.waiting = nil
}

// unanswered forgets the station of a neighbour that does not answer.
func (s *Stack) unanswered(h *hop) {
	h.mu.Lock()
	h.rest()
	h.failed = time.Now()
	h.mac.Store(nil)
	s.waste(h)
	h.mu.Unlock()
	s.missing(h)
}
