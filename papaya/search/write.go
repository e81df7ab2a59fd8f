package search

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"interleave/papaya/log"
)

// A writer writes the bytes of a segment in their order: lists as they come, and at the end what
// says where they are.
type writer struct {
	segment
	out    io.Writer
	sum    uint32
	n      int64
	err    error // the first one; nothing is written after it
	parts  [2]struct{ terms, records []byte }
	places []byte // used again for each list
}

// The dictionaries of a segment, in the order of writing.
const (
	ofNames = iota
	ofWords
)

func newWriter(out io.Writer, from, chunks uint32, first uint64) *writer {
	return &writer{segment: segment{from: from, chunks: chunks, first: first}, out: out}
}

func (w *writer) write(p []byte) {
	if w.err != nil {
		return
	}
	w.sum = crc32.Update(w.sum, castagnoli, p)
	_, w.err = w.out.Write(p)
	w.n += int64(len(p))
}

// add writes the list of a term. The names come first, and each dictionary's terms in ascending
// order. A list without places is left out.
func (w *writer) add(of int, term []byte, places []uint32) {
	if len(places) == 0 {
		return
	}
	part, d := &w.parts[of], w.dictionary(of)
	if part.terms == nil {
		part.terms, d.lists = append(part.terms, '\n'), w.n
	}
	part.terms = append(append(part.terms, term...), '\n')
	part.records = binary.LittleEndian.AppendUint32(part.records, uint32(w.n-d.lists))
	part.records = binary.LittleEndian.AppendUint32(part.records, uint32(len(places)))
	d.count++
	w.places = appendList(w.places[:0], places)
	w.write(w.places)
	d.end = w.n
}

// finish writes the rest. newest has the newest time of each chunk.
func (w *writer) finish(newest []int64) error {
	at := w.names.end
	for of := range w.parts {
		part, d := &w.parts[of], w.dictionary(of)
		if part.terms == nil { // there is no term
			part.terms, d.lists, d.end = []byte{'\n'}, at, at
		}
		at = d.end
		part.records = binary.LittleEndian.AppendUint32(part.records, uint32(d.end-d.lists))
		part.records = binary.LittleEndian.AppendUint32(part.records, 0)
	}
	for of := range w.parts {
		part, d := &w.parts[of], w.dictionary(of)
		d.at, d.size = w.n, int64(len(part.terms))
		w.write(part.terms)
		w.write(part.records)
	}
	times := make([]byte, 0, len(newest)*8)
	for _, ms := range newest {
		times = binary.LittleEndian.AppendUint64(times, uint64(ms))
	}
	w.write(times)
	w.write(w.appendFooter(nil, w.sum))
	return w.err
}

// inMemory makes a segment that has no file.
func inMemory(from, chunks uint32, first uint64, write func(*writer) error) (*segment, error) {
	var out bytes.Buffer
	if err := write(newWriter(&out, from, chunks, first)); err != nil {
		return nil, err
	}
	return readSegment(bytes.NewReader(out.Bytes()), int64(out.Len()))
}

// A steady writer syncs a file again and again, since the log syncs its own files before anybody is
// answered, and would wait for all that others have written.
type steady struct {
	file    *os.File
	written int // since the last sync
}

// syncAfter is in bytes: some tens of milliseconds of a slow disk. A guess.
const syncAfter = 4 << 20

func (w *steady) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	if w.written += n; err == nil && w.written > syncAfter {
		w.written = 0
		err = w.file.Sync()
	}
	return n, err
}

// inFile makes a segment in a file, which replaces one of the same name. A crash leaves the old one
// or the new one, and a file with freshName at most.
func (x *Index) inFile(from, chunks uint32, first uint64,
	write func(*writer) error) (*segment, error) {
	fresh := filepath.Join(x.folder, freshName)
	f, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(&steady{file: f}, 256<<10)
	if err = write(newWriter(out, from, chunks, first)); err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	var s *segment
	if err == nil {
		s, err = openFile(fresh)
	}
	x.testStep("written")
	if err == nil {
		if err = os.Rename(fresh, x.path(from, chunks)); err == nil {
			err = log.SyncFolder(x.folder)
		}
	}
	x.testStep("renamed")
	if err != nil {
		if s != nil {
			s.release()
		}
		_ = os.Remove(fresh) // room for others
		return nil, err
	}
	return s, nil
}
