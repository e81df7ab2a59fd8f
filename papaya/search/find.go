package search

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
)

// maxTerms is how many terms may contain a piece of a word. A piece with more is in most messages,
// so reading these finds them sooner. A guess.
const maxTerms = 4096

// oneMessage is in places of lists: reading a message takes about as long as reading so many. It
// is the ratio of a microsecond to the two nanoseconds that a varint takes.
const oneMessage = 512

// maxSorted is in places: with more of them, the lists of several terms are not sorted into one.
// They only thin out the messages of the names. A guess.
const maxSorted = 32 << 10

// The first part of a segment that a query looks at, and the last, in chunks. Frequent words are
// found in the first, and the memory of a query is bounded by the last. Guesses.
const (
	firstStep = 16
	lastStep  = 1024
)

// A Query finds the messages of some names that may contain some words, the newest first.
type Query struct {
	s     *segment
	names []*list
	words []narrowing // the rarest first
	to    uint32      // places before it were not looked at yet
	from  uint32
	step  uint32 // in chunks
}

// A narrowing has the lists of all terms that contain a piece of a word.
type narrowing struct {
	lists []*list
	count int // of all places in them
}

// query begins a query for messages between two offsets. The words are in lower case.
func (s *segment) query(names, words []string, from, to uint64) (*Query, error) {
	q := &Query{s: s, step: firstStep}
	q.from, q.to = s.place(from), s.place(to)
	for _, name := range names {
		l, err := s.list(name)
		if err != nil {
			return nil, err
		}
		if l != nil {
			q.names = append(q.names, l)
		}
	}
	if len(q.names) == 0 {
		q.to = 0
		return q, nil
	}
	if err := q.lookUp(words); err != nil {
		return nil, err
	}
	slices.SortFunc(q.words, func(a, b narrowing) int { return cmp.Compare(a.count, b.count) })
	return q, nil
}

// place returns the place of an offset, or of the segment's begin or end if it lies beyond.
func (s *segment) place(at uint64) uint32 {
	if at <= s.base() {
		return 0
	}
	return uint32(min(at-s.base(), uint64(s.limit())))
}

// termBuffers are for the terms of a segment while a query looks at them.
var termBuffers = sync.Pool{New: func() any { return new([]byte) }}

// lookUp finds the terms of all words. If a piece of a word is in none, the query ends.
func (q *Query) lookUp(words []string) error {
	buffer := termBuffers.Get().(*[]byte)
	defer termBuffers.Put(buffer)
	list, err := q.s.readTerms(&q.s.words, *buffer)
	if err != nil {
		return err
	}
	*buffer = list
	for _, w := range words {
		for _, p := range pieces(w) {
			found := containing(list, []byte(p))
			if len(found) == 0 {
				q.to = 0
				return nil
			}
			if len(found) > maxTerms {
				continue
			}
			n, err := q.s.narrow(found)
			if err != nil {
				return err
			}
			q.words = append(q.words, n)
		}
	}
	return nil
}

// containing returns the numbers of the terms that contain a piece, but of no more than one beyond
// maxTerms.
func containing(terms, piece []byte) (found []int) {
	n, at := 0, 0
	for len(found) <= maxTerms {
		i := bytes.Index(terms[at:], piece)
		if i < 0 {
			break
		}
		n += bytes.Count(terms[at:at+i], []byte("\n"))
		found = append(found, n-1)
		end := bytes.IndexByte(terms[at+i:], '\n')
		if end < 0 {
			break
		}
		at += i + end
	}
	return found
}

// fewTerms is how many records are read one at a time.
const fewTerms = 64

// narrow opens the lists of some words.
func (s *segment) narrow(terms []int) (n narrowing, err error) {
	d := &s.words
	if terms[0] < 0 || terms[len(terms)-1] >= d.count {
		return n, errDamaged
	}
	var all []byte
	if len(terms) > fewTerms {
		if all, err = s.readRecords(d, 0, d.count); err != nil {
			return n, err
		}
	}
	for _, t := range terms {
		var records []byte
		if all != nil {
			records = all[t*recordSize:]
		} else if records, err = s.readRecords(d, t, t+1); err != nil {
			return n, err
		}
		l, err := s.open(d, records)
		if err != nil {
			return n, err
		}
		n.lists = append(n.lists, l)
		n.count += l.count
	}
	return n, nil
}

// Next returns the offsets of further messages, which are older than those before, in ascending
// order. It returns false when there are no more. Only the text tells whether the messages contain
// the words.
func (q *Query) Next() (offsets []uint64, more bool, err error) {
	if q.to <= q.from {
		return nil, false, nil
	}
	from := q.from
	if width := q.step << ChunkBits; q.to-q.from > width {
		from = q.to - width
	}
	places, err := q.find(from, q.to)
	if err != nil {
		return nil, false, err
	}
	q.to, q.step = from, min(q.step*4, lastStep)
	for _, p := range places {
		offsets = append(offsets, q.s.base()+uint64(p))
	}
	return offsets, true, nil
}

// find finds the places between two of them. It begins with what has the fewest, and leaves out
// those that were not seen by another list, until reading the messages that are left is cheaper.
func (q *Query) find(from, to uint32) (places []uint32, err error) {
	rest := slices.Clone(q.words)
	named := narrowing{lists: q.names}
	for _, l := range q.names {
		named.count += l.count
	}
	if len(rest) > 0 && rest[0].count < named.count &&
		(len(rest[0].lists) == 1 || rest[0].count <= maxSorted) {
		places, err = union(rest[0].lists, from, to)
		rest = append([]narrowing{named}, rest[1:]...)
	} else {
		places, err = union(q.names, from, to)
	}
	for _, n := range rest {
		if err != nil {
			return nil, err
		}
		// The lists' places are spread over all of the segment.
		cost := int(float64(n.count) * float64(to-from) / float64(q.s.limit()))
		if len(places)*oneMessage <= cost {
			continue
		}
		keep := make([]bool, len(places))
		for _, l := range n.lists {
			if err := l.mark(places, keep); err != nil {
				return nil, err
			}
		}
		kept := places[:0]
		for i, p := range places {
			if keep[i] {
				kept = append(kept, p)
			}
		}
		places = kept
	}
	return places, err
}

// union returns the places of lists between two of them, in ascending order.
func union(lists []*list, from, to uint32) (places []uint32, err error) {
	for _, l := range lists {
		if places, err = l.window(places, from, to, 0, false); err != nil {
			return nil, err
		}
	}
	return sorted(places, len(lists)), nil
}

// sorted sorts places that come from so many lists.
func sorted(places []uint32, lists int) []uint32 {
	if lists < 2 {
		return places
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// offsets returns the offsets of messages of some names from one offset on and before another, in
// ascending order: the first ones or the last ones, limit at most.
func (s *segment) offsets(names []string, from, to uint64, limit int,
	newest bool) (out []uint64, err error) {
	var places []uint32
	lists := 0
	for _, name := range names {
		l, err := s.list(name)
		if err != nil {
			return nil, err
		}
		if l == nil {
			continue
		}
		lists++
		if places, err = l.window(places, s.place(from), s.place(to), limit, newest); err != nil {
			return nil, err
		}
	}
	places = sorted(places, lists)
	if newest {
		places = places[max(0, len(places)-limit):]
	} else {
		places = places[:min(len(places), limit)]
	}
	for _, p := range places {
		out = append(out, s.base()+uint64(p))
	}
	return out, nil
}
