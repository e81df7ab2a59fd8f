package search

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"interleave/papaya/log"
)

// A Change is a time in which lines are removed from the middle of the text, while the index stands
// still. The files that have such messages are named in another one before. If that is there at the
// next start, nobody knows whether the words have left them, so they are made again.
type Change struct {
	view  *View
	at    []uint64   // offsets of messages that are removed
	stale []*segment // those that are named
	err   error      // of opening the files, which nobody then can name
}

// Change begins a change. The caller must call Done. nil has no index to change.
func (x *Index) Change() *Change {
	if x == nil {
		return nil
	}
	x.making.Lock()
	err := x.load()
	return &Change{view: x.View(), err: err}
}

// Remove says that the message at an offset is about to be removed from the text. After an error it
// must not be.
func (c *Change) Remove(at uint64) error {
	if c == nil {
		return nil
	}
	if c.err != nil {
		return c.err
	}
	c.at = append(c.at, at)
	p, there := c.view.Part(uint32(at >> ChunkBits))
	if !there || p.s.file == nil || slices.Contains(c.stale, p.s) {
		return nil
	}
	if has, err := p.s.has(at); err == nil && !has {
		return nil
	}
	c.stale = append(c.stale, p.s)
	var names strings.Builder
	for _, s := range c.stale {
		names.WriteString(fileName(s.from, s.chunks) + "\n")
	}
	return log.Replace(filepath.Join(c.view.index.folder, staleName), []byte(names.String()))
}

// Done ends a change, with the error of removing the lines. Then the words are not in the files any
// more.
func (c *Change) Done(err error) {
	if c == nil {
		return
	}
	x := c.view.index
	if err == nil {
		x.mu.Lock()
		x.removed = append(x.removed, c.at...)
		x.mu.Unlock()
		x.testStep("removed")
		x.removeSome(context.Background())
	} else {
		c.drop() // the lines may be there or not
	}
	if len(c.stale) > 0 {
		err := log.SyncFolder(x.folder)
		if err == nil {
			err = os.Remove(filepath.Join(x.folder, staleName))
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			x.logger.Warn("parts of the index of the messages are made again at the next start",
				"reason", err)
		}
	}
	c.view.Close()
	x.making.Unlock()
	x.wake()
}

// drop drops all segments that may have one of the messages.
func (c *Change) drop() {
	x := c.view.index
	for _, at := range c.at {
		if p, there := c.view.Part(uint32(at >> ChunkBits)); there {
			x.drop(p.s)
		}
	}
}

// Refilled says that a part of the text has got lines which it lacked before. What the index has of
// that part is made again. The old files of it are gone when Refilled returns.
func (x *Index) Refilled(from, to uint64) error {
	if x == nil {
		return nil
	}
	x.making.Lock()
	defer x.making.Unlock()
	if err := x.load(); err != nil {
		return err
	}
	stale := slices.DeleteFunc(x.list(), func(s *segment) bool {
		return s.base()+uint64(s.limit()) <= from || s.base() >= to
	})
	x.drop(stale...)
	x.wake()
	return log.SyncFolder(x.folder)
}
