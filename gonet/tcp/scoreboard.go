package tcp

import "sync"

// scoreboard has what was sent and has not been acknowledged, in order, with the fate of each piece
// (RFC 6675). Pieces are as they were sent, up to a whole burst, and are cut where a SACK or a
// retransmission ends within one.
type scoreboard struct {
	flights  []flight
	inFlight int // bytes that are neither sacked nor lost: RFC 6675's pipe
	sacked   int // bytes that a SACK says have arrived
	lost     int // bytes that are to be sent again
}

// flight is a piece of the stream on its way. SYN and FIN take their place in it.
type flight struct {
	seq, end     Seq
	at           Time // when it was sent last
	again        bool // it was sent more than once
	sacked, lost bool
}

func (f *flight) len() int { return f.seq.To(f.end) }

// count adds n, 1 or -1, times the flight's length to the sum that it belongs to.
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

// sent notes a new piece, which stands behind all others.
func (b *scoreboard) sent(seq, end Seq, now Time) {
	f := flight{seq: seq, end: end, at: now}
	b.count(&f, 1)
	if b.flights == nil {
		b.flights = lists.Get().(*[listLen]flight)[:0]
	}
	b.flights = append(b.flights, f)
}

// resent notes that the lost flight i, up to n bytes of it, goes out again.
func (b *scoreboard) resent(i, n int, now Time) {
	b.cut(i, b.flights[i].seq.Plus(n))
	f := &b.flights[i]
	b.count(f, -1)
	f.lost, f.again, f.at = false, true, now
	b.count(f, 1)
}

// lose marks a flight as lost.
func (b *scoreboard) lose(f *flight) {
	b.count(f, -1)
	f.lost = true
	b.count(f, 1)
}

// cut makes two of flight i, if at stands within.
func (b *scoreboard) cut(i int, at Seq) {
	f := b.flights[i]
	if !at.After(f.seq) || !at.Before(f.end) {
		return
	}
	b.flights = append(b.flights, flight{})
	copy(b.flights[i+1:], b.flights[i:])
	b.flights[i].end, b.flights[i+1].seq = at, at
}

// acked takes off what stands before ack, and shows each piece.
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

// lists holds lists for those who send: an idle connection has none. Longer ones are made as they
// are needed, and not kept.
var lists = sync.Pool{New: func() any { return new([listLen]flight) }}

// listLen is how many pieces the usual list has room for: 64 KiB in segments of Ethernet.
const listLen = 64

// free forgets all pieces.
func (b *scoreboard) free() {
	if cap(b.flights) == listLen {
		lists.Put((*[listLen]flight)(b.flights[:listLen]))
	}
	*b = scoreboard{}
}

// sack marks what stands from left up to right as arrived, and shows each piece that is news.
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

// firstLost is the index of the first piece that is to be sent again, -1 if there is none.
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

// loseAll marks all that is on its way as lost, as a time-out does. keepSacked is false when the
// peer may have thrown away what it had reported (RFC 2018 section 8).
func (b *scoreboard) loseAll(keepSacked bool) {
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
