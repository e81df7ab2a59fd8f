package tcp

import "sync"

// scoreboard is the retransmission queue of RFC 9293: it lists the pieces of the stream that were
// sent and are not acknowledged, in order, with the state of each (RFC 6675). A piece is what was
// sent at once, up to a whole burst. It is cut where a SACK block or a retransmission ends within
// it.
type scoreboard struct {
	flights  []flight  // in first, in a list of the pool, or in a longer one
	first    [2]flight // a short exchange needs no more
	inFlight int       // bytes that are neither sacked nor lost: pipe of RFC 6675
	sacked   int       // bytes that SACK blocks report as arrived
	lost     int       // bytes that must be retransmitted
}

// flight is a piece of the stream that was sent. SYN and FIN take a sequence number each.
type flight struct {
	seq, end     Seq
	at           Time // time of the last transmission
	resent       bool // it was retransmitted
	sacked, lost bool
}

func (f *flight) len() int { return f.seq.To(f.end) }

// count adds n times the flight's length to the sum of its state; n is 1 or -1.
func (b *scoreboard) count(f *flight, n int) {
	switch {
	case f.sacked:
		b.sacked += n * f.len()
	case f.lost:
		b.lost += n * f.len()
	default:
		b.inFlight += n * f.len()
	}
}

// sent appends a new piece.
func (b *scoreboard) sent(seq, end Seq, now Time) {
	f := flight{seq: seq, end: end, at: now}
	b.count(&f, 1)
	if b.flights == nil {
		b.flights = b.first[:0]
	}
	b.grow()
	b.flights = append(b.flights, f)
}

// grow takes a list of the pool when first is full.
func (b *scoreboard) grow() {
	if n := len(b.flights); n == len(b.first) && n == cap(b.flights) {
		longer := lists.Get().(*[listLen]flight)[:n]
		copy(longer, b.flights)
		b.flights = longer
	}
}

// resent notes that up to n bytes of the lost flight i are retransmitted.
func (b *scoreboard) resent(i, n int, now Time) {
	b.cut(i, b.flights[i].seq.Plus(n))
	f := &b.flights[i]
	b.count(f, -1)
	f.lost, f.resent, f.at = false, true, now
	b.count(f, 1)
}

// markLost marks a flight as lost.
func (b *scoreboard) markLost(f *flight) {
	b.count(f, -1)
	f.lost = true
	b.count(f, 1)
}

// cut splits flight i at a sequence number within it.
func (b *scoreboard) cut(i int, at Seq) {
	f := b.flights[i]
	if !at.After(f.seq) || !at.Before(f.end) {
		return
	}
	b.grow()
	b.flights = append(b.flights, flight{})
	copy(b.flights[i+1:], b.flights[i:])
	b.flights[i].end, b.flights[i+1].seq = at, at
}

// acked removes what is before ack, and calls seen for each removed piece.
func (b *scoreboard) acked(ack Seq, seen func(*flight)) {
	n := 0
	for n < len(b.flights) && b.flights[n].seq.Before(ack) {
		b.cut(n, ack)
		f := &b.flights[n]
		b.count(f, -1)
		seen(f)
		n++
	}
	if n == len(b.flights) {
		b.free()
		return
	}
	b.flights = append(b.flights[:0], b.flights[n:]...)
}

// lists is a pool of lists, so that an idle connection has none. A longer list is allocated when it
// is needed and not kept.
var lists = sync.Pool{New: func() any { return new([listLen]flight) }}

// listLen is the capacity of a pooled list: 64 KiB in segments of Ethernet.
const listLen = 64

// free removes all pieces.
func (b *scoreboard) free() {
	if cap(b.flights) == listLen {
		lists.Put((*[listLen]flight)(b.flights[:listLen]))
	}
	*b = scoreboard{}
}

// sack marks the bytes from left up to right as arrived, and calls seen for each newly marked
// piece.
func (b *scoreboard) sack(left, right Seq, seen func(*flight)) {
	for i := 0; i < len(b.flights) && b.flights[i].seq.Before(right); i++ {
		if !b.flights[i].end.After(left) || b.flights[i].sacked {
			continue
		}
		if b.flights[i].seq.Before(left) {
			b.cut(i, left)
			continue
		}
		b.cut(i, right)
		f := &b.flights[i]
		seen(f)
		b.count(f, -1)
		f.lost, f.sacked = false, true
		b.count(f, 1)
	}
}

// repairing returns how many bytes were retransmitted and are in flight.
func (b *scoreboard) repairing() (n int) {
	for i := range b.flights {
		if f := &b.flights[i]; f.resent && !f.sacked && !f.lost {
			n += f.len()
		}
	}
	return n
}

// firstLost returns the index of the first lost piece, or -1.
func (b *scoreboard) firstLost() int {
	if b.lost == 0 {
		return -1
	}
	for i := range b.flights {
		if b.flights[i].lost {
			return i
		}
	}
	return -1
}

// markAllLost marks all pieces as lost, as a time-out does. keepSacked is false if the peer may
// have discarded data that it had reported in a SACK (RFC 2018 section 8).
func (b *scoreboard) markAllLost(keepSacked bool) {
	for i := range b.flights {
		f := &b.flights[i]
		if f.sacked && keepSacked {
			continue
		}
		b.count(f, -1)
		f.sacked, f.lost = false, true
		b.count(f, 1)
	}
}
