package tcp

import "interleave/gonet/wire"

// reassembly keeps what has arrived ahead of its turn, as runs that neither touch nor
// overlap, in order.
type reassembly struct {
	runs []run
	last int // the run that grew last: the first block of a SACK (RFC 2018 section 4)
}

type run struct {
	seq  Seq
	data []byte
	room []byte // whose end data is: what comes from behind has its place before it
}

func (r *run) end() Seq { return r.seq.Plus(len(r.data)) }

// prepend puts p before the run. Room is made for as much again, so that who sends a byte at a time
// from behind does not have us copy all each time.
func (r *run) prepend(p []byte) {
	if len(p) == 0 {
		return
	}
	front := max(len(r.room)-len(r.data), 0)
	if front < len(p) {
		front = len(p) + len(r.data)
		r.room = append(make([]byte, front, front+len(r.data)*3/2), r.data...)
	}
	front -= len(p)
	copy(r.room[front:], p)
	r.data, r.seq = r.room[front:], r.seq.Plus(-len(p))
}

// extend puts p behind the run.
func (r *run) extend(p []byte) {
	if len(p) == 0 {
		return
	}
	if r.room == nil {
		r.room = r.data
	}
	front := len(r.room) - len(r.data)
	r.room = append(r.room, p...)
	r.data = r.room[front:]
}

// maxRuns bounds the holes of one connection: an attacker who sends every second byte must not
// have us keep each.
const maxRuns = 1024

// len is the number of runs.
func (q *reassembly) len() int { return len(q.runs) }

// add keeps a copy of p, which stands at seq. What is there already stays as it is.
func (q *reassembly) add(seq Seq, p []byte) {
	end := seq.Plus(len(p))
	// from is the first run that ends at or after seq, to the first that starts after end: those
	// between merge with p.
	from := 0
	for from < len(q.runs) && q.runs[from].end().Before(seq) {
		from++
	}
	to := from
	for to < len(q.runs) && !q.runs[to].seq.After(end) {
		to++
	}
	q.last = from
	if from == to {
		if len(q.runs) == maxRuns {
			q.last = 0
			return // the peer sends it again
		}
		q.runs = append(q.runs, run{})
		copy(q.runs[from+1:], q.runs[from:])
		q.runs[from] = run{seq: seq, data: append([]byte(nil), p...)}
		return
	}
	// The longest stays where it is: a byte that joins two costs no copy of what is long.
	longest := from
	for i := from; i < to; i++ {
		if len(q.runs[i].data) > len(q.runs[longest].data) {
			longest = i
		}
	}
	r := q.runs[longest]
	part := func(from, to Seq) []byte { // of p
		if !to.After(from) {
			return nil
		}
		return p[seq.To(from):seq.To(to)]
	}
	for i := longest - 1; i >= from; i-- {
		r.prepend(part(q.runs[i].end(), r.seq))
		r.prepend(q.runs[i].data)
	}
	r.prepend(part(seq, r.seq))
	for i := longest + 1; i < to; i++ {
		r.extend(part(r.end(), q.runs[i].seq))
		r.extend(q.runs[i].data)
	}
	r.extend(part(r.end(), end))
	q.runs[from] = r
	q.runs = append(q.runs[:from+1], q.runs[to:]...)
}

// take removes and returns what stands at next, nil if that is missing.
func (q *reassembly) take(next Seq) []byte {
	for len(q.runs) > 0 && !q.runs[0].seq.After(next) {
		r := q.runs[0]
		q.runs = append(q.runs[:0], q.runs[1:]...)
		q.last = max(q.last-1, 0)
		if len(q.runs) == 0 {
			q.runs = nil
		}
		if r.end().After(next) {
			return r.data[r.seq.To(next):]
		}
	}
	return nil
}

// blocks writes up to n blocks of a SACK: the run that grew last comes first, then the
// others in order.
func (q *reassembly) blocks(o *wire.TCPOptions, n int) {
	put := func(r *run) {
		if int(o.SACKCount) < n {
			o.SACK[o.SACKCount] = wire.SACKBlock{Left: uint32(r.seq), Right: uint32(r.end())}
			o.SACKCount++
		}
	}
	if q.last < len(q.runs) {
		put(&q.runs[q.last])
	}
	for i := range q.runs {
		if i != q.last {
			put(&q.runs[i])
		}
	}
}
