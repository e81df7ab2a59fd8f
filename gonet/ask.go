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

// ask is the goroutine of one request: it asks up to three times, a second apart, all stations or the one that is known, and hands the
// packets that have waited to the station that answers.
func (s *Stack) ask(h *hop) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for asked := 0; ; {
		select {
		case mac := <-h.answer:
			s.answered(h, mac)
			return
		case <-h.quit:
			s.unanswered(h)
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
	for _, frame := range h.waiting {
		_ = s.emitBytes(mac, etherType(frame[wire.EthernetLen:]), frame[wire.EthernetLen:]) // a link that fails ends the stack
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

// unanswered forgets the station, and tells connections, and the dealer if the neighbour is a router: there may be another.
func (s *Stack) unanswered(h *hop) {
	h.mu.Lock()
	h.rest()
	h.failed = time.Now()
	h.mac.Store(nil)
	s.stats.droppedUnresolved.Add(uint64(len(h.waiting)))
	h.waiting = nil
	h.mu.Unlock()
	_ = s.post(func() { // a stack that has ended tells its connections itself
		s.avoidRouter(h.addr)
		for _, c := range s.conns {
			c.mu.Lock()
			ours := c.hop == h
			if ours {
				c.machine.Unreachable(errUnreachableHost, true)
			}
			c.mu.Unlock()
			if ours {
				s.touch(c)
			}
		}
	})
}
