package tcp

import "interleave/gonet/wire"

// reassembly keeps what has arrived ahead of its turn, as runs that neither touch nor overlap, in order.
type reassembly struct {
	runs []run
	last int // the run that grew last: the first block of a SACK (RFC 2018 section 4)
}

type run struct {
	seq  Seq
	data []byte
}

func (r *run) end() Seq { return r.seq.Plus(len(r.data)) }

// maxRuns bounds the holes of one connection: an attacker who sends every second byte must not have us keep each.
const maxRuns = 1024

// len is the number of runs.
func (q *reassembly) len() int { return len(q.runs) }

// add keeps a copy of p, which stands at seq. What is there already stays as it is.
func (q *reassembly) add(seq Seq, p []byte) {
	end := seq.Plus(len(p))
	// from is the first run that ends at or after seq, to the first that starts after end: those between merge with p.
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
		q.runs[from] = run{seq, append([]byte(nil), p...)}
		return
	}
	first := &q.runs[from]
	data := first.data
	start := first.seq
	if seq.Before(start) {
		data = append(append(make([]byte, 0, len(p)+len(data)), p[:min(len(p), seq.To(start))]...), data...)
		start = seq
	}
	for _, other := range q.runs[from+1 : to] {
		at := start.Plus(len(data))
		if gap := at.To(other.seq); other.seq.After(at) {
			data = append(data, p[seq.To(at):seq.To(at)+gap]...)
		}
		data = append(data, other.data...)
	}
	if at := start.Plus(len(data)); end.After(at) {
		data = append(data, p[seq.To(at):]...)
	}
	q.runs[from] = run{start, data}
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

// blocks writes up to n blocks of a SACK: the run that grew last comes first, then the others in order.
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
