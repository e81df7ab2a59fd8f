// Package search is an index of the text: it tells where the messages of a room or a conversation
// are, and those that may contain some words. It is a cache. All of it is made from the text, what
// it lacks is read from the text, and each message that it names is read there, too, so neither a
// message that it lacks nor one that it has too many makes an answer wrong.
//
// The index is made of segments, each for a number of chunks of the text. A segment of one chunk is
// made as soon as the chunk is full, and kept in memory. Several neighbours are merged into one
// segment in a file, and files into larger ones. Docs/decisions/0016 says why.
package search

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// ChunkBits is the size of a chunk of the text as a power of two, in bytes.
const ChunkBits = 16

// levels are the sizes of segments in chunks: 64 KiB of the text in memory, and 1, 8, 64 and 512
// MiB in files. A segment begins at a multiple of its size. Guesses: a larger one makes searches
// faster, and the removal of one message slower, which writes its segment again.
var levels = [...]uint32{1, 16, 128, 1024, 8192}

// An Index is the index of one text, in a folder of its own. Run makes it; any goroutine may call
// all other methods, of which those that readers call may be called for nil, too.
type Index struct {
	folder string
	source Source
	logger *slog.Logger

	// making is held while segments are made, so that Change can keep that from happening.
	making sync.Mutex
	loaded bool         // under making: the files of an earlier run were opened
	step   func(string) // set by a test, which ends the process in it

	mostTerms int64 // see maxTermBytes; a test sets another one

	mu       sync.Mutex
	segments []*segment // without overlaps, by their places
	removed  []uint64   // offsets of messages that were removed and may be in segments
	lacks    uint64     // bytes of the text, when it was last looked at

	changed chan struct{} // has one when there may be something to do
	failing bool          // of Run: a failure was logged
}

// New returns the index of a text, which is empty until Run. The folder is made when it is needed.
func New(folder string, source Source, logger *slog.Logger) *Index {
	return &Index{folder: folder, source: source, logger: logger, mostTerms: maxTermBytes,
		lacks: source.End() - source.Begin(), changed: make(chan struct{}, 1)}
}

// Remove removes the files of an index that is not used.
func Remove(folder string) error {
	names, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range names {
		if isOurs(e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(folder, e.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("removing the index of the messages: %w", err)
	}
	_ = os.Remove(folder) // unless somebody has put a file there
	return nil
}

// Grown says that the text has become longer, from one offset to another. It does not block.
func (x *Index) Grown(from, to uint64) {
	if x != nil && from>>ChunkBits != to>>ChunkBits {
		x.wake()
	}
}

// Cut says that the text begins later than before. What is gone leaves the files soon. It does not
// block.
func (x *Index) Cut() {
	if x != nil {
		x.wake()
	}
}

// wake has Run look for something to do.
func (x *Index) wake() {
	select {
	case x.changed <- struct{}{}:
	default: // there is one already
	}
}

// Removed says that a message was removed from the text. Its words leave the files soon. It does
// not block.
func (x *Index) Removed(at uint64) {
	if x == nil {
		return
	}
	x.mu.Lock()
	x.removed = append(x.removed, at)
	x.mu.Unlock()
	x.wake()
}

// Usage returns the size of the files and of what is in memory, and how much of the text is not in
// the index, all in bytes.
func (x *Index) Usage() (files, memory, lacks uint64) {
	if x == nil {
		return 0, 0, 0
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range x.segments {
		if s.file != nil {
			files += uint64(s.size)
			n := &s.names
			memory += uint64(len(n.terms) + len(n.places) + 4*len(n.starts) + 8*len(s.newest))
		} else {
			memory += uint64(s.size)
		}
	}
	return files, memory, x.lacks
}

// A View is the index at one time. One goroutine uses it, and closes it.
type View struct {
	index    *Index
	segments []*segment
}

// View returns the index as it is now.
func (x *Index) View() *View {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	v := &View{index: x, segments: slices.Clone(x.segments)}
	for _, s := range v.segments {
		s.use()
	}
	return v
}

// Close ends a view; nil is one.
func (v *View) Close() {
	if v == nil {
		return
	}
	for _, s := range v.segments {
		s.release()
	}
	v.segments = nil
}

// A Part is the index of some chunks: all from From on and before To.
type Part struct {
	From, To uint32
	view     *View
	s        *segment
}

// Part returns the part with a chunk; false if the index lacks it.
func (v *View) Part(chunk uint32) (Part, bool) {
	if v == nil {
		return Part{}, false
	}
	i, ok := slices.BinarySearchFunc(v.segments, chunk, func(s *segment, chunk uint32) int {
		switch {
		case s.end() <= chunk:
			return -1
		case s.from > chunk:
			return 1
		}
		return 0
	})
	if !ok {
		return Part{}, false
	}
	s := v.segments[i]
	return Part{From: s.from, To: s.end(), view: v, s: s}, true
}

// Newest returns the newest time in one of the part's chunks, in milliseconds since 1970, and the
// least number if there is no message.
func (p Part) Newest(chunk uint32) int64 { return p.s.newest[chunk-p.From] }

// Offsets returns the offsets of messages of some names from one offset on and before another, in
// ascending order: the first ones or the newest, limit at most. After an error the part is gone
// from the index, and its chunks must be read.
func (p Part) Offsets(names []string, from, to uint64, limit int, newest bool) ([]uint64, error) {
	out, err := p.s.offsets(names, from, to, limit, newest)
	return out, p.check(err)
}

// Query begins a query for messages of some names with all of some words, which are in lower case,
// from one offset on and before another. Its errors are as those of Offsets.
func (p Part) Query(names, words []string, from, to uint64) (*Query, error) {
	q, err := p.s.query(names, words, from, to)
	return q, p.check(err)
}

// Next is Query.Next.
func (p Part) Next(q *Query) ([]uint64, bool, error) {
	out, more, err := q.Next()
	return out, more, p.check(err)
}

// check removes the part from the index if it could not be read.
func (p Part) check(err error) error {
	if err != nil {
		x := p.view.index
		x.logger.Warn("a part of the index of the messages could not be read: it is made again",
			"reason", err)
		x.drop(p.s)
		p.view.segments = slices.DeleteFunc(p.view.segments, func(s *segment) bool {
			if s == p.s {
				s.release()
			}
			return s == p.s
		})
		x.wake()
	}
	return err
}

// drop removes segments, and their files. Views keep what they have.
func (x *Index) drop(gone ...*segment) { x.replace(nil, gone) }

// replace puts a segment in the place of others; nil puts none.
func (x *Index) replace(fresh *segment, others []*segment) {
	x.mu.Lock()
	var gone []*segment // those that nobody else has dropped meanwhile
	x.segments = slices.DeleteFunc(x.segments, func(s *segment) bool {
		if !slices.Contains(others, s) {
			return false
		}
		gone = append(gone, s)
		return true
	})
	if fresh != nil {
		i, _ := slices.BinarySearchFunc(x.segments, fresh.from,
			func(s *segment, from uint32) int { return cmp.Compare(s.from, from) })
		x.segments = slices.Insert(x.segments, i, fresh)
	}
	x.mu.Unlock()
	for _, s := range gone {
		replaced := fresh != nil && fresh.from == s.from && fresh.chunks == s.chunks
		if s.file != nil && !replaced {
			// What cannot be removed is on a disk on which the text cannot be changed either.
			_ = os.Remove(x.path(s.from, s.chunks))
		}
		s.release()
	}
}
