package search

import (
	"context"
	"errors"
	"slices"
	"time"

	"interleave/papaya/log"
)

// The index follows the text in one goroutine, in steps of at most some seconds. In this order:
// messages that were removed leave the segments; so do those before a new beginning of the text;
// neighbours are merged; and the newest chunk that is lacking becomes a segment. So no file has the
// line that says that a message was removed, while an older file still has the message: a crash
// cannot make that forgotten. No file is needed: after a failure the text is read instead.

// retryEvery is the pause after a failure, such as a full disk. maxInMemory bounds the segments
// that wait in memory for files that cannot be written: 4 MiB of the text. Guesses.
const (
	retryEvery  = 30 * time.Second
	maxInMemory = 64
)

// reserve is in bytes: files of the index leave so much of the disk to the messages, or a sixteenth
// of a smaller disk. A guess.
const reserve = 256 << 20

// maxTermBytes bounds the terms of a segment with their records, in bytes. A search has those of
// one segment in memory, and a merge those of all that it merges. Text that is no language, such as
// keys or pictures in base64, has more bytes of terms than of text, so its segments stay small. A
// guess: 512 MiB of a language have a tenth of it.
const maxTermBytes = 128 << 20

// Run keeps the index until ctx ends. It logs a failure once, and that it is over.
func (x *Index) Run(ctx context.Context) {
	defer x.close()
	for ctx.Err() == nil {
		begun := time.Now()
		did, err := x.work(ctx)
		if ctx.Err() == nil {
			x.tell(err)
		}
		var again <-chan time.Time
		changed := x.changed
		switch {
		case did: // it leaves half of a core to others
			again, changed = time.After(time.Since(begun)), nil
		case err != nil:
			again = time.After(retryEvery)
		}
		select {
		case <-ctx.Done():
		case <-again:
		case <-changed:
		}
	}
}

// close leaves the files to views that still read them.
func (x *Index) close() {
	x.making.Lock()
	defer x.making.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range x.segments {
		s.release()
	}
	x.segments, x.loaded = nil, false
}

// tell logs a failure, unless it was logged already.
func (x *Index) tell(err error) {
	failing := err != nil
	switch {
	case failing && !x.failing:
		x.logger.Warn("the index of the messages cannot be completed: searches and histories "+
			"read the text where it is lacking, which takes longer", "reason", err)
	case !failing && x.failing:
		x.logger.Info("the index of the messages is completed again")
	}
	x.failing = failing
}

// list returns the segments as they are now.
func (x *Index) list() []*segment {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.segments)
}

// testStep calls the step of a test, which may end the process.
func (x *Index) testStep(step string) {
	if x.step != nil {
		x.step(step)
	}
}

// work does one step. did is false if there is nothing to do, or nothing that can be done.
func (x *Index) work(ctx context.Context) (did bool, err error) {
	x.making.Lock()
	defer x.making.Unlock()
	if err := x.load(); err != nil {
		return false, err
	}
	v := x.View() // so that no reader closes the files of this step
	defer v.Close()
	if x.removeSome(ctx) || x.cutSome(ctx) {
		return true, nil
	}
	// A failure of one of the others does not keep the last from being done.
	did, err = x.mergeSome(ctx)
	if did && err == nil {
		return true, nil
	}
	did, other := x.addOne()
	return did, errors.Join(err, other)
}

// removeSome writes the segments again that have messages which were removed. It returns false if
// no message was. If ctx ends, the next start sees the removal in the end of the text, which is in
// no file yet.
func (x *Index) removeSome(ctx context.Context) bool {
	x.mu.Lock()
	removed := slices.Clone(x.removed)
	x.mu.Unlock()
	if len(removed) == 0 {
		return false
	}
	n := len(removed)
	slices.Sort(removed)
	gone := func(at uint64) bool {
		_, found := slices.BinarySearch(removed, at)
		return found
	}
	for _, s := range x.list() {
		i, _ := slices.BinarySearch(removed, s.base())
		for ; i < len(removed) && removed[i] < s.base()+uint64(s.limit()); i++ {
			if has, err := s.has(removed[i]); has || err != nil {
				x.rewrite(ctx, s, s.first, gone)
				break
			}
		}
	}
	if ctx.Err() != nil {
		return true
	}
	x.mu.Lock()
	x.removed = slices.Clone(x.removed[n:])
	x.mu.Unlock()
	return true
}

// rewrite writes a segment again, without some messages and what lies before an offset. If it
// cannot be written, it is dropped: the words must leave the files in any case.
func (x *Index) rewrite(ctx context.Context, s *segment, first uint64,
	drop func(at uint64) bool) {
	err := x.make(ctx, s.from, s.chunks, first, []*segment{s}, drop)
	if err != nil && ctx.Err() == nil {
		x.logger.Debug("a part of the index of the messages is dropped", "reason", err)
		x.drop(s)
	}
}

// cutSome drops what lies before the beginning of the text.
func (x *Index) cutSome(ctx context.Context) (did bool) {
	begin := x.source.Begin()
	for _, s := range x.list() {
		if s.first >= begin {
			continue
		}
		did = true
		if s.base()+uint64(s.limit()) > begin {
			x.rewrite(ctx, s, begin, nil)
			continue
		}
		x.drop(s)
	}
	return did
}

// mergeSome makes one segment of neighbours that fill a larger one.
func (x *Index) mergeSome(ctx context.Context) (did bool, err error) {
	list, begin := x.list(), x.source.Begin()
	for _, size := range levels[1:] {
		for i := 0; i < len(list); {
			group, j := list[i].from/size*size, i
			for j < len(list) && list[j].from < group+size {
				j++
			}
			if list[i].chunks < size && termBytes(list[i:j]) <= x.mostTerms &&
				fills(list[i:j], group, size, uint32(begin>>ChunkBits)) {
				first := max(uint64(group)<<ChunkBits, begin)
				return true, x.make(ctx, group, size, first, list[i:j], nil)
			}
			i = j
		}
	}
	return false, nil
}

// termBytes returns the size of the terms of segments, with their records.
func termBytes(list []*segment) (bytes int64) {
	for _, s := range list {
		for _, d := range []*dictionary{&s.names, &s.words} {
			bytes += d.size + int64(d.count+1)*recordSize
		}
	}
	return bytes
}

// fills says whether segments have all chunks of a group. Nothing lies before the chunk in which
// the text begins.
func fills(list []*segment, group, size, begin uint32) bool {
	next := max(group, begin)
	for _, s := range list {
		if s.from > next {
			return false
		}
		next = max(next, s.end())
	}
	return next >= group+size
}

// make makes a segment of others, which it replaces.
func (x *Index) make(ctx context.Context, from, chunks uint32, first uint64, of []*segment,
	drop func(at uint64) bool) (err error) {
	size := 0
	for _, s := range of {
		size += int(s.size)
	}
	var fresh *segment
	write := func(w *writer) error { return merge(ctx, w, of, drop) }
	if chunks == levels[0] {
		fresh, err = inMemory(from, chunks, first, write)
	} else if err = log.Space(x.folder, reserve, size); err == nil {
		fresh, err = x.inFile(from, chunks, first, write)
	}
	if bad, ok := errors.AsType[*unreadable](err); ok {
		x.logger.Warn("a part of the index of the messages is damaged: it is made again",
			"reason", bad)
		x.drop(bad.s)
		return nil
	}
	if err != nil {
		return err
	}
	x.replace(fresh, of)
	return nil
}

// addOne makes the segment of the newest full chunk that is lacking.
func (x *Index) addOne() (did bool, err error) {
	begin, end := x.source.Begin(), x.source.End()
	chunk := uint32(end >> ChunkBits) // this one is not full
	lacks, inMemory, next := end-uint64(chunk)<<ChunkBits, 0, uint32(0)
	look := func(until uint32) { // the chunks from until on and before chunk are lacking
		if until < chunk {
			lacks += uint64(chunk-until) << ChunkBits
			next = max(next, chunk)
		}
	}
	for _, s := range slices.Backward(x.list()) {
		look(s.end())
		chunk = min(chunk, s.from)
		if s.file == nil {
			inMemory++
		}
	}
	look(uint32(begin >> ChunkBits))
	x.mu.Lock()
	x.lacks = lacks
	x.mu.Unlock()
	if next == 0 || inMemory >= maxInMemory {
		return false, nil
	}
	s, removed, err := build(x.source, next-1)
	if err != nil {
		return false, err
	}
	x.mu.Lock()
	x.removed = append(x.removed, removed...)
	x.mu.Unlock()
	x.replace(s, nil)
	return true, nil
}
