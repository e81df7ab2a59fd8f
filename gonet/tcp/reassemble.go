package tcp

import "interleave/gonet/wire"

// reassembly is the reassembly queue: data that has arrived out of order, as sorted runs that
// neither touch nor overlap.
type reassembly struct {
	runs []run
	last int // the run that grew last: the first SACK block (RFC 2018 section 4)
}

type run struct {
	seq    Seq
	data   []byte
	buffer []byte // data is its tail; the front is free for prepend
}

func (r *run) end() Seq { return r.seq.Plus(len(r.data)) }

// prepend puts p before the run. When it runs out of room, it makes room for as much again, so that
// a sender that sends single bytes in reverse order does not cause a copy of the run for each.
func (r *run) prepend(p []byte) {
	if len(p) == 0 {
		return
	}
	front := max(len(r.buffer)-len(r.data), 0)
	if front < len(p) {
		front = len(p) + len(r.data)
		r.buffer = append(make([]byte, front, front+len(r.data)*3/2), r.data...)
	}
	front -= len(p)
	copy(r.buffer[front:], p)
	r.data, r.seq = r.buffer[front:], r.seq.Plus(-len(p))
}

// extend appends p to the run.
func (r *run) extend(p []byte) {
	if len(p) == 0 {
		return
	}
	if r.buffer == nil {
		r.buffer = r.data
	}
	front := len(r.buffer) - len(r.data)
	r.buffer = append(r.buffer, p...)
	r.data = r.buffer[front:]
}

// maxRuns bounds the runs of one connection, since an attacker may send every second byte.
const maxRuns = 1024

// len returns the number of runs, none for nil.
func (q *reassembly) len() int {
	if q == nil {
		return 0
	}
	return len(q.runs)
}

// add stores a copy of p, whose first byte has the sequence number seq. Bytes that are there
// already are not overwritten.
func (q *reassembly) add(seq Seq, p []byte) {
	end := seq.Plus(len(p))
	// The runs from the first one that ends at or after seq, up to the first one that starts after
	// end, merge with p.
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
			return // the peer retransmits it
		}
		q.runs = append(q.runs, run{})
		copy(q.runs[from+1:], q.runs[from:])
		q.runs[from] = run{seq: seq, data: append([]byte(nil), p...)}
		return
	}
	// The longest run keeps its memory, so a byte that joins two runs does not cause a copy of the
	// long one.
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

// overlap returns the first part of the bytes from left up to right that is there already. It
// returns two equal numbers if none is.
func (q *reassembly) overlap(left, right Seq) (Seq, Seq) {
	for i := range q.runs {
		if r := &q.runs[i]; r.seq.Before(right) && r.end().After(left) {
			return later(r.seq, left), earlier(r.end(), right)
		}
	}
	return left, left
}

// take removes and returns the data at next, or nil if it is missing.
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

// blocks writes up to n SACK blocks: first the run that grew last, then the others in order.
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
