package search

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sort"
)

// A list has the places of a term: offsets in the text from the beginning of its segment, in
// ascending order. Blocks of blockLen places are read one at a time. Within a block each place but
// the first is the distance from the one before, as a varint. Before the blocks stands a table with
// the first place of each block and the end of its bytes, unless there is only one.
type list struct {
	from  io.ReaderAt
	at    int64 // of the blocks
	size  int64 // of the blocks, in bytes
	count int
	table []byte // empty: there is one block
	limit uint32 // places are less
	// The block that was read last.
	block  int
	places []uint32
	raw    []byte
}

// blockLen is in places: small enough for a page of history to read few that it does not show, and
// large enough that the table is a tenth of the list.
const (
	blockLen  = 128
	tableSize = 8 // bytes of an entry of the table
)

var errDamaged = errors.New("the file is damaged")

// appendList appends the bytes of a list.
func appendList(to []byte, places []uint32) []byte {
	blocks := (len(places) + blockLen - 1) / blockLen
	table := len(to)
	if blocks > 1 {
		to = slices.Grow(to, blocks*tableSize)[:table+blocks*tableSize]
	}
	start := len(to)
	for b := range blocks {
		part := places[b*blockLen : min(len(places), (b+1)*blockLen)]
		before := uint32(0)
		for _, p := range part {
			to = binary.AppendUvarint(to, uint64(p-before))
			before = p
		}
		if blocks > 1 {
			entry := to[table+b*tableSize:]
			binary.LittleEndian.PutUint32(entry, part[0])
			binary.LittleEndian.PutUint32(entry[4:], uint32(len(to)-start))
		}
	}
	return to
}

// open opens a list of so many places that takes size bytes of a file. It may have been open for
// another one.
func (l *list) open(from io.ReaderAt, at, size int64, count int, limit uint32) error {
	l.from, l.at, l.size, l.count, l.limit, l.block = from, at, size, count, limit, -1
	l.table = l.table[:0]
	if count < 1 || size < int64(count) {
		return errDamaged
	}
	if blocks := l.blocks(); blocks > 1 {
		n := int64(blocks) * tableSize
		if n > size {
			return errDamaged
		}
		l.table = slices.Grow(l.table, int(n))[:n]
		if _, err := from.ReadAt(l.table, at); err != nil {
			return err
		}
		l.at, l.size = at+n, size-n
	}
	return nil
}

func (l *list) blocks() int { return (l.count + blockLen - 1) / blockLen }

// first returns the first place of a block.
func (l *list) first(block int) uint32 {
	if len(l.table) == 0 {
		return 0 // it is the only block
	}
	return binary.LittleEndian.Uint32(l.table[block*tableSize:])
}

// end returns where the bytes of a block end.
func (l *list) end(block int) int64 {
	if len(l.table) == 0 {
		return l.size
	}
	return int64(binary.LittleEndian.Uint32(l.table[block*tableSize+4:]))
}

// read returns the places of a block. They are valid until the next call.
func (l *list) read(block int) ([]uint32, error) {
	if block == l.block {
		return l.places, nil
	}
	start := int64(0)
	if block > 0 {
		start = l.end(block - 1)
	}
	n, end := min(blockLen, l.count-block*blockLen), l.end(block)
	if start < 0 || end > l.size || end-start < int64(n) || end-start > int64(n)*5 {
		return nil, errDamaged
	}
	l.block = -1
	l.raw = slices.Grow(l.raw[:0], int(end-start))[:end-start]
	if _, err := l.from.ReadAt(l.raw, l.at+start); err != nil {
		return nil, err
	}
	l.places = l.places[:0]
	rest, at := l.raw, uint64(0)
	for i := range n {
		step, size := binary.Uvarint(rest)
		at += step
		if size <= 0 || step >= uint64(l.limit) || at >= uint64(l.limit) || i > 0 && step == 0 {
			return nil, errDamaged
		}
		l.places = append(l.places, uint32(at))
		rest = rest[size:]
	}
	if len(rest) > 0 || len(l.table) > 0 && l.places[0] != l.first(block) {
		return nil, errDamaged
	}
	l.block = block
	return l.places, nil
}

// blockOf returns the block that has a place, if any has it.
func (l *list) blockOf(place uint32) int {
	return max(0, sort.Search(l.blocks(), func(i int) bool { return l.first(i) > place })-1)
}

// window appends places from one on and before another to a slice: all of them, or the first or
// the last ones, at least limit if there are so many. 0 is no limit.
func (l *list) window(into []uint32, from, to uint32, limit int, newest bool) ([]uint32, error) {
	if from >= to {
		return into, nil
	}
	lo, hi := l.blockOf(from), l.blockOf(to-1)+1
	if limit > 0 {
		// All blocks are full, but the last one and the parts of the two at the ends.
		if most := limit/blockLen + 3; newest {
			lo = max(lo, hi-most)
		} else {
			hi = min(hi, lo+most)
		}
	}
	for b := lo; b < hi; b++ {
		places, err := l.read(b)
		if err != nil {
			return into, err
		}
		for _, p := range places {
			if from <= p && p < to {
				into = append(into, p)
			}
		}
	}
	return into, nil
}

// mark sets keep for those of the ascending places that are in the list.
func (l *list) mark(places []uint32, keep []bool) error {
	for i := 0; i < len(places); {
		b := l.blockOf(places[i])
		until := len(places) // of the places that may be in this block
		if b+1 < l.blocks() {
			next := l.first(b + 1)
			until = i + sort.Search(len(places)-i, func(k int) bool { return places[i+k] >= next })
		}
		have, err := l.read(b)
		if err != nil {
			return err
		}
		for k := 0; i < until; i++ {
			for k < len(have) && have[k] < places[i] {
				k++
			}
			if k < len(have) && have[k] == places[i] {
				keep[i] = true
			}
		}
	}
	return nil
}
