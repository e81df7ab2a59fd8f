package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sort"
	"sync/atomic"
)

// A segment is the index of some chunks of the text, in a file or in memory. It never changes. The
// layout of its bytes:
//
//	lists of the names, lists of the words      see list.go
//	for names and then words: the terms in ascending order, each between two LF;
//	for each of them, and for their end, a record: where its list begins, and how many places
//	the newest time in each chunk, in milliseconds since 1970
//	the footer, with a CRC-32C of all bytes before it and its own
//
// All numbers are little-endian.
type segment struct {
	from   uint32 // the first chunk
	chunks uint32
	first  uint64 // no message of it begins before this offset of the text
	names  dictionary
	words  dictionary
	newest []int64 // by chunk
	size   int64

	bytes io.ReaderAt
	file  *os.File // nil: it is in memory
	users atomic.Int32
}

// A dictionary has the terms of a segment, and where their lists are.
type dictionary struct {
	lists, end int64 // where its lists begin and end
	at, size   int64 // its terms
	records    int64
	count      int
	// Names are kept in memory, since a segment has few of them. nil: they are read.
	terms, places []byte
	starts        []uint32 // where each name begins in terms, and the end behind the last one
}

// recordSize is in bytes: the beginning of a list from the beginning of all lists of the
// dictionary, and the number of its places.
const recordSize = 8

// magic names the format. Files of another one are removed, and made again. In format 1 later texts
// of messages had no name of their own.
const (
	magic      = magicBegin + "2\n"
	magicBegin = "papaya search "
)

// footerSize is in bytes: the magic, the segment's place, two dictionaries, and two sums.
const footerSize = len(magic) + 3*8 + 2*5*8 + 2*4

// errFormat is of a file that is whole, but has another format.
var errFormat = errors.New("it has the format of another version of Papaya")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// base returns the offset in the text from which places count.
func (s *segment) base() uint64 { return uint64(s.from) << ChunkBits }

// end returns the chunk after the last one.
func (s *segment) end() uint32 { return s.from + s.chunks }

// limit bounds the places.
func (s *segment) limit() uint32 { return s.chunks << ChunkBits }

// dictionary returns one of the two, ofNames or ofWords.
func (s *segment) dictionary(of int) *dictionary {
	if of == ofNames {
		return &s.names
	}
	return &s.words
}

// use and release count who reads the segment. The last one closes its file.
func (s *segment) use() { s.users.Add(1) }

func (s *segment) release() {
	if s.users.Add(-1) == 0 && s.file != nil {
		s.file.Close()
	}
}

// appendFooter appends the footer of a segment whose bytes before it have a sum.
func (s *segment) appendFooter(to []byte, sum uint32) []byte {
	start := len(to)
	to = append(to, magic...)
	word := func(n uint64) { to = binary.LittleEndian.AppendUint64(to, n) }
	word(uint64(s.from))
	word(uint64(s.chunks))
	word(s.first)
	for _, d := range []*dictionary{&s.names, &s.words} {
		word(uint64(d.lists))
		word(uint64(d.end))
		word(uint64(d.at))
		word(uint64(d.size))
		word(uint64(d.count))
	}
	to = binary.LittleEndian.AppendUint32(to, sum)
	return binary.LittleEndian.AppendUint32(to, crc32.Checksum(to[start:], castagnoli))
}

// openFile opens the file of a segment, after all of its bytes were compared with their sum.
func openFile(path string) (*segment, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	s, err := readSegment(f, info.Size())
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.file = f
	return s, nil
}

// readSegment reads what is kept in memory of a segment.
func readSegment(from io.ReaderAt, size int64) (*segment, error) {
	if size < int64(footerSize) {
		return nil, errDamaged
	}
	footer, body := make([]byte, footerSize), size-int64(footerSize)
	if _, err := from.ReadAt(footer, body); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	s := &segment{bytes: from, size: size}
	s.users.Store(1)
	sum, err := s.parseFooter(footer, body)
	if err != nil {
		return nil, err
	}
	got := crc32.New(castagnoli)
	if _, err := io.Copy(got, io.NewSectionReader(from, 0, body)); err != nil {
		return nil, err
	}
	if got.Sum32() != sum {
		return nil, errDamaged
	}
	if err := s.loadNames(); err != nil {
		return nil, err
	}
	times := make([]byte, int64(s.chunks)*8)
	if _, err := from.ReadAt(times, body-int64(len(times))); err != nil {
		return nil, err
	}
	for ; len(times) > 0; times = times[8:] {
		s.newest = append(s.newest, int64(binary.LittleEndian.Uint64(times)))
	}
	return s, nil
}

// parseFooter takes a footer that follows so many bytes, and returns their sum. All parts lie
// within these bytes, in their order.
func (s *segment) parseFooter(footer []byte, body int64) (sum uint32, err error) {
	own := len(footer) - 4
	if !bytes.HasPrefix(footer, []byte(magicBegin)) ||
		binary.LittleEndian.Uint32(footer[own:]) != crc32.Checksum(footer[:own], castagnoli) {
		return 0, errDamaged
	}
	if !bytes.HasPrefix(footer, []byte(magic)) {
		return 0, errFormat
	}
	rest := footer[len(magic):]
	word := func() int64 {
		n := binary.LittleEndian.Uint64(rest)
		rest = rest[8:]
		return int64(n)
	}
	from, chunks := word(), word()
	s.first = uint64(word())
	if from < 0 || from > 1<<32-1 || chunks < 1 || chunks > int64(levels[len(levels)-1]) ||
		from+chunks > 1<<32-1 {
		return 0, errDamaged
	}
	s.from, s.chunks = uint32(from), uint32(chunks)
	at := int64(0)
	for _, d := range []*dictionary{&s.names, &s.words} {
		d.lists, d.end, d.at, d.size = word(), word(), word(), word()
		count := word()
		if d.lists != at || d.end < d.lists || d.end > body || count < 0 || count > d.size {
			return 0, errDamaged
		}
		d.count, at = int(count), d.end
	}
	for _, d := range []*dictionary{&s.names, &s.words} {
		d.records = d.at + d.size
		if d.at != at || d.size < 1 || d.size > body {
			return 0, errDamaged
		}
		at = d.records + int64(d.count+1)*recordSize
	}
	if at+chunks*8 != body {
		return 0, errDamaged
	}
	return binary.LittleEndian.Uint32(footer[own-4:]), nil
}

// loadNames keeps the names in memory.
func (s *segment) loadNames() (err error) {
	d := &s.names
	if d.terms, err = s.readTerms(d, nil); err != nil {
		return err
	}
	for i, b := range d.terms {
		if b == '\n' {
			d.starts = append(d.starts, uint32(i+1))
		}
	}
	if len(d.starts) != d.count+1 {
		return errDamaged
	}
	d.places, err = s.readRecords(d, 0, d.count)
	return err
}

// readTerms reads all terms of a dictionary into a buffer, if that is large enough.
func (s *segment) readTerms(d *dictionary, buffer []byte) ([]byte, error) {
	if d.terms != nil {
		return d.terms, nil
	}
	if int64(cap(buffer)) < d.size {
		buffer = make([]byte, d.size)
	}
	buffer = buffer[:d.size]
	_, err := s.bytes.ReadAt(buffer, d.at)
	if err == nil && (buffer[0] != '\n' || buffer[d.size-1] != '\n') {
		err = errDamaged
	}
	return buffer, err
}

// readRecords reads the records of some terms, and the one after them.
func (s *segment) readRecords(d *dictionary, from, to int) ([]byte, error) {
	if d.places != nil {
		return d.places[from*recordSize : (to+1)*recordSize], nil
	}
	records := make([]byte, (to+1-from)*recordSize)
	_, err := s.bytes.ReadAt(records, d.records+int64(from)*recordSize)
	return records, err
}

// locate returns where the list of a term is, by its record and the next one.
func (d *dictionary) locate(records []byte) (at, size int64, count int, err error) {
	start := int64(binary.LittleEndian.Uint32(records))
	next := int64(binary.LittleEndian.Uint32(records[recordSize:]))
	places := int64(binary.LittleEndian.Uint32(records[4:]))
	if next < start || d.lists+next > d.end || places > next-start {
		return 0, 0, 0, errDamaged
	}
	return d.lists + start, next - start, int(places), nil
}

// open opens the list of a term by its record and the next one.
func (s *segment) open(d *dictionary, records []byte) (*list, error) {
	at, size, count, err := d.locate(records)
	if err != nil {
		return nil, err
	}
	l := &list{}
	return l, l.open(s.bytes, at, size, count, s.limit())
}

// list returns the places of a name; nil if it has none.
func (s *segment) list(name string) (*list, error) {
	d, want := &s.names, []byte(name)
	i, found := sort.Find(d.count, func(i int) int {
		return bytes.Compare(want, d.terms[d.starts[i]:d.starts[i+1]-1])
	})
	if !found {
		return nil, nil
	}
	return s.open(d, d.places[i*recordSize:])
}

// has says whether a message that begins at an offset is in the segment.
func (s *segment) has(at uint64) (bool, error) {
	if at < s.base() || at >= s.base()+uint64(s.limit()) {
		return false, nil
	}
	all, err := s.list(everything)
	if all == nil || err != nil {
		return false, err
	}
	there := make([]bool, 1)
	err = all.mark([]uint32{uint32(at - s.base())}, there)
	return there[0], err
}
