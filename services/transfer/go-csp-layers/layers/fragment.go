package layers

import (
	"net/netip"
	"slices"
	"time"

	"interleave/gonet/wire"
)

const (
	// assemblyTime is how long a datagram waits for its fragments (RFC 791 suggests 15 s).
	assemblyTime  = 15 * time.Second
	maxAssemblers = 64    // datagrams at once; a guess
	maxFragments  = 128   // that wait for an assembler: a whole datagram's at an MTU of 576 bytes
	maxDatagram   = 65515 // bytes: the longest packet without its header
)

// fragmentKey tells which fragments belong together (RFC 791 section 3.2).
type fragmentKey struct {
	src, dst netip.Addr
	id       uint16
}

// fragment is a piece of a datagram.
type fragment struct {
	offset int
	data   []byte
	more   bool
}

// assembly is a datagram that an assembler has put together, or none if it has given up.
type assembly struct {
	key     fragmentKey
	payload []byte
	port    *port
}

// ipReader checks the packets of one protocol and passes on their payload. Each fragmented datagram
// is put together by a goroutine of its own, as in the paper; the reader owns the table of those.
type ipReader struct {
	stack      *Stack
	in         chan frame
	out        chan<- datagram
	assembled  chan assembly
	assemblers map[fragmentKey]chan<- fragment
}

func (r *ipReader) read() {
	defer close(r.out)
	for {
		select {
		case f, ok := <-r.in:
			if !ok {
				return
			}
			r.readOne(f)
		case a := <-r.assembled:
			delete(r.assemblers, a.key)
			if a.payload != nil {
				r.out <- datagram{a.key.src, a.key.dst, a.payload, a.port.isLocal}
			}
		}
	}
}

func (r *ipReader) readOne(f frame) {
	h, payload, err := wire.ParseIPv4(f.payload)
	if err != nil || !r.stack.owns(h.Dst) || !f.port.isLocal && h.Dst.IsLoopback() {
		return
	}
	if sourceRoute, err := wire.CheckIPv4Options(h.Options); err != nil || sourceRoute {
		return
	}
	if !h.IsFragment() {
		r.out <- datagram{h.Src, h.Dst, payload, f.port.isLocal}
		return
	}
	key := fragmentKey{h.Src, h.Dst, h.ID}
	to := r.assemblers[key]
	if to == nil {
		if len(r.assemblers) == maxAssemblers {
			return
		}
		fragments := make(chan fragment, maxFragments)
		to = fragments
		r.assemblers[key] = to
		r.stack.processes.Go(func() { r.assemble(key, f.port, fragments) })
	}
	select {
	case to <- fragment{int(h.Offset), payload, h.MoreFragments}:
	default: // it has ended, or gets more than a datagram can have
	}
}

// assemble puts one datagram together. It owns the fragments, and ends with the whole datagram,
// with a fragment that contradicts the others, or after a time.
func (r *ipReader) assemble(key fragmentKey, p *port, fragments <-chan fragment) {
	a := assembly{key, collect(fragments, r.stack.done), p}
	select {
	case r.assembled <- a:
	case <-r.stack.done:
	}
}

// collect returns the datagram of the fragments, or nil if it cannot be put together.
func collect(fragments <-chan fragment, done <-chan struct{}) []byte {
	patience := time.NewTimer(assemblyTime)
	defer patience.Stop()
	var d reassembly
	for {
		select {
		case f := <-fragments:
			if !d.add(f) {
				return nil
			}
			if whole := d.whole(); whole != nil {
				return whole
			}
		case <-patience.C:
			return nil
		case <-done:
			return nil
		}
	}
}

// reassembly holds the fragments of a datagram in the order of their offsets. They do not overlap.
type reassembly struct {
	pieces []fragment
	held   int // bytes
	total  int // bytes of the datagram; 0: the last fragment is missing
}

// add takes a fragment. It returns false if the fragment cannot belong to the datagram: overlapping
// fragments are an attack, or a mistake (RFC 8200 section 4.5 says so of IPv6).
func (d *reassembly) add(f fragment) bool {
	end := f.offset + len(f.data)
	switch {
	case len(f.data) == 0 || end > maxDatagram || f.more && len(f.data)%8 != 0:
		return false
	case !f.more && d.total != 0 && d.total != end:
		return false
	case d.total != 0 && end > d.total:
		return false
	}
	at, found := slices.BinarySearchFunc(d.pieces, f, func(a, b fragment) int {
		return a.offset - b.offset
	})
	if found && len(d.pieces[at].data) == len(f.data) {
		return true // once more
	}
	if found || at > 0 && d.pieces[at-1].offset+len(d.pieces[at-1].data) > f.offset ||
		at < len(d.pieces) && d.pieces[at].offset < end {
		return false
	}
	if !f.more {
		if at < len(d.pieces) {
			return false // something follows the last fragment
		}
		d.total = end
	}
	d.pieces = slices.Insert(d.pieces, at, f)
	d.held += len(f.data)
	return true
}

// whole returns the datagram if nothing is missing, or else nil.
func (d *reassembly) whole() []byte {
	if d.total == 0 || d.held < d.total {
		return nil
	}
	b := make([]byte, 0, d.total)
	for _, p := range d.pieces {
		b = append(b, p.data...)
	}
	return b
}
