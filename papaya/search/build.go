package search

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
)

// everything is the name that all messages have.
const everything = ""

// Events returns the name in the index of what happens under a name without being said: changes of
// the topic, removals, tags. No room and no nick ends with a blank.
func Events(name string) string { return name + " " }

// Edits returns the name in the index of later texts of messages that were said under a name. A
// room may have thousands of them, and a reader who does not want them passes over all at once.
func Edits(name string) string { return name + "  " }

// A Message is one of the text, as the index reads it.
type Message struct {
	At   uint64 // the offset of its beginning
	Time int64  // milliseconds since 1970
	// Name is the room of the message, or the conversation.
	Name string
	Said bool   // a user has said it; else it is an event
	Edit bool   // of what was said: it is a later text of another message
	Text string // of what was said
	// Removes says that the message removes another, which begins at Removed.
	Removes bool
	Removed uint64
}

// A Source is the text. Any goroutine may call it.
type Source interface {
	Begin() uint64
	End() uint64
	// Messages calls do with every message that begins in a chunk, in their order. It returns the
	// beginning of the text at that time, or an error if not all of the chunk could be read.
	Messages(chunk uint32, do func(Message)) (begin uint64, err error)
}

// build makes the segment of one chunk. It also returns the offsets of the messages that messages
// of this chunk have removed.
func build(source Source, chunk uint32) (s *segment, removed []uint64, err error) {
	base := uint64(chunk) << ChunkBits
	newest := int64(math.MinInt64)
	var lists [2]map[string][]uint32
	for of := range lists {
		lists[of] = map[string][]uint32{}
	}
	add := func(of int, term string, place uint32) {
		have := lists[of][term]
		if len(have) == 0 || have[len(have)-1] != place {
			lists[of][term] = append(have, place)
		}
	}
	begin, err := source.Messages(chunk, func(m Message) {
		place := uint32(m.At - base)
		newest = max(newest, m.Time)
		add(ofNames, everything, place)
		switch {
		case !m.Said:
			add(ofNames, Events(m.Name), place)
		case m.Edit:
			add(ofNames, Edits(m.Name), place)
		default:
			add(ofNames, m.Name, place)
		}
		if m.Said {
			terms(m.Text, func(term string) { add(ofWords, term, place) })
		}
		if m.Removes {
			removed = append(removed, m.Removed)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	s, err = inMemory(chunk, 1, max(base, begin), func(w *writer) error {
		for of := range lists {
			for _, term := range slices.Sorted(maps.Keys(lists[of])) {
				w.add(of, []byte(term), lists[of][term])
			}
		}
		return w.finish([]int64{newest})
	})
	return s, removed, err
}

// merge writes the segment of several neighbours, in ascending order. It leaves out messages before
// the segment's first offset, and those of drop; nil drops none.
func merge(ctx context.Context, w *writer, from []*segment, drop func(at uint64) bool) error {
	for of := range w.parts {
		if err := mergeTerms(ctx, w, of, from, drop); err != nil {
			return err
		}
	}
	newest := make([]int64, w.chunks)
	for i := range newest {
		newest[i] = math.MinInt64
	}
	for _, s := range from {
		copy(newest[s.from-w.from:], s.newest)
	}
	return w.finish(newest)
}

// unreadable is an error of a segment that was to be merged.
type unreadable struct {
	s *segment
	error
}

func (u *unreadable) Unwrap() error { return u.error }

// A walk goes through the terms of a segment.
type walk struct {
	s              *segment
	d              *dictionary
	terms, records []byte // those that follow
	term           []byte
	list           list
	from           *readAhead
}

// readAhead reads a file whose parts are asked for one after the other.
type readAhead struct {
	from io.ReaderAt
	at   int64
	have []byte
}

// aheadSize is in bytes. A guess.
const aheadSize = 64 << 10

// ReadAt implements io.ReaderAt.
func (r *readAhead) ReadAt(p []byte, at int64) (int, error) {
	if len(p) > aheadSize {
		return r.from.ReadAt(p, at)
	}
	if at < r.at || at+int64(len(p)) > r.at+int64(len(r.have)) {
		if r.have == nil {
			r.have = make([]byte, aheadSize)
		}
		n, err := r.from.ReadAt(r.have[:aheadSize], at)
		r.at, r.have = at, r.have[:n]
		if n < len(p) {
			return copy(p, r.have), err
		}
	}
	return copy(p, r.have[at-r.at:]), nil
}

// next goes to the next term. It returns false behind the last one.
func (k *walk) next() bool {
	end := bytes.IndexByte(k.terms, '\n')
	if end < 0 || len(k.records) < 2*recordSize {
		return false
	}
	k.term, k.terms = k.terms[:end], k.terms[end+1:]
	return true
}

// places appends the places of the term, counted from an offset, and goes on to the next.
func (k *walk) places(into []uint32, base uint64) ([]uint32, error) {
	at, size, count, err := k.d.locate(k.records)
	if err != nil {
		return into, err
	}
	l := &k.list
	if err := l.open(k.from, at, size, count, k.s.limit()); err != nil {
		return into, err
	}
	k.records = k.records[recordSize:]
	start, by := len(into), uint32(k.s.base()-base)
	if into, err = l.window(into, 0, l.limit, 0, false); err != nil {
		return into, err
	}
	for i := range into[start:] {
		into[start+i] += by
	}
	return into, nil
}

func startWalk(s *segment, of int) (*walk, error) {
	d := s.dictionary(of)
	list, err := s.readTerms(d, nil)
	if err != nil {
		return nil, err
	}
	records, err := s.readRecords(d, 0, d.count)
	return &walk{s: s, d: d, terms: list[1:], records: records,
		from: &readAhead{from: s.bytes}}, err
}

func mergeTerms(ctx context.Context, w *writer, of int, from []*segment,
	drop func(at uint64) bool) error {
	var walks []*walk
	for _, s := range from {
		k, err := startWalk(s, of)
		if err != nil {
			return &unreadable{s, err}
		}
		if k.next() {
			walks = append(walks, k)
		}
	}
	base := w.base()
	gone := func(place uint32) bool {
		at := base + uint64(place)
		return at < w.first || drop != nil && drop(at)
	}
	var places []uint32
	var term []byte
	for len(walks) > 0 {
		term = term[:0]
		for i, k := range walks {
			if i == 0 || bytes.Compare(k.term, term) < 0 {
				term = append(term[:0], k.term...)
			}
		}
		places = places[:0]
		for i := 0; i < len(walks); {
			k := walks[i]
			if !bytes.Equal(k.term, term) {
				i++
				continue
			}
			var err error
			if places, err = k.places(places, base); err != nil {
				return &unreadable{k.s, err}
			}
			if k.next() {
				i++
			} else {
				walks = slices.Delete(walks, i, i+1)
			}
		}
		w.add(of, term, slices.DeleteFunc(places, gone))
		if err := ctx.Err(); w.err != nil || err != nil {
			return errors.Join(w.err, err)
		}
	}
	return nil
}
