package gonet

// timeWaits are the connections in TIME-WAIT, the oldest first. The side that closes first waits,
// so tens of thousands of clients that come and go would fill the memory for a minute each (Linux:
// tcp_max_tw_buckets). The dealer's own.
type timeWaits struct {
	all  []*Conn
	gone int // of them, at the beginning, that have been forgotten
}

// maxTimeWaits is how many wait at most: about 100 MB. The oldest is forgotten for a new one, which
// leaves its old duplicates to the checks of sequence numbers.
const maxTimeWaits = 1 << 16

// enterTimeWait notes that a connection has come to TIME-WAIT. The dealer's.
func (s *Stack) enterTimeWait(c *Conn) {
	w := &s.timeWaits
	most := s.cfg.TimeWaits
	if most == 0 {
		most = maxTimeWaits
	}
	if len(w.all)-w.gone >= most {
		s.endTimeWait(w.all[w.gone])
	}
	w.all = append(w.all, c)
}

// trim lets go of those that have been forgotten. They end in the order in which they came, but for
// a few. The dealer's.
func (w *timeWaits) trim(conns map[flow]*Conn) {
	for w.gone < len(w.all) && conns[w.all[w.gone].flow] != w.all[w.gone] {
		w.all[w.gone] = nil
		w.gone++
	}
	switch {
	case w.gone == len(w.all):
		*w = timeWaits{}
	case w.gone > len(w.all)/2:
		w.all = append(w.all[:0], w.all[w.gone:]...)
		clear(w.all[len(w.all):cap(w.all)])
		w.gone = 0
	}
}
