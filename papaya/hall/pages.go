package hall

import (
	"io"

	"interleave/papaya/search"
)

// A whole is the text with the lines behind it that are not written yet.
type whole struct {
	Text
	lines     []byte
	from, end uint64 // of the lines
}

// whole returns the text as it is now. Its lines are valid until the next entry.
func (h *Hall) whole() whole {
	return whole{h.config.Text, h.text, h.at - uint64(len(h.text)), h.at}
}

// ReadAt is that of Text. It ends where the text did, though that goes on.
func (w whole) ReadAt(p []byte, at uint64) (int, error) {
	switch {
	case at >= w.end:
		return 0, io.EOF
	case at >= w.from:
		return copy(p, w.lines[at-w.from:]), nil
	}
	return w.Text.ReadAt(p[:min(uint64(len(p)), w.from-at)], at)
}

// pages reads messages of a text: those of a chunk, or single ones.
type pages struct {
	text     whole
	index    *search.Index // nil: there is none
	view     *search.View  // nil: the index is not used
	buffer   []byte
	versions versions // later texts of messages
	// The part of the text that was read for single messages.
	window   []byte
	windowAt uint64
}

// open begins to use the index. The caller must call close.
func (p *pages) open() (close func()) {
	p.view = p.index.View()
	return func() {
		p.view.Close()
		p.view = nil
	}
}

// each calls do with every message of a chunk whose offset is from or more. The message is valid
// until do returns.
func (p *pages) each(n uint32, from uint64, do func(said)) {
	p.eachRaw(n, from, func(raw []byte, at uint64) {
		if s, ok := parseSaid(raw, at); ok {
			do(s)
		}
	})
}

// eachRaw is each for messages that are not parsed yet.
func (p *pages) eachRaw(n uint32, from uint64, do func(raw []byte, at uint64)) {
	if p.buffer == nil {
		p.buffer = make([]byte, chunkBuffer)
	}
	messagesIn(p.text.ReadAt, p.text.Begin(), n, p.buffer, func(raw []byte, at uint64) {
		if at >= from {
			do(raw, at)
		}
	})
}

// windowSize is in bytes: a page of the history of a room in which others seldom write reads few
// that it does not need, and one of a busy room few windows. A guess.
const windowSize = 8 << 10

// lookAhead is in bytes: how much of the next line says whether it belongs to the same message.
const lookAhead = stampLen + len("@"+moreTag)

// raw returns the message that begins at an offset, without its last LF. It is valid until the next
// call. The index names only offsets at which a message has begun; it may be gone.
func (p *pages) raw(at uint64) (raw []byte, ok bool) {
	if raw, ok = p.inWindow(at); ok {
		return raw, true
	}
	// Messages are mostly asked for from the newest to the oldest.
	p.load(max(at&^(windowSize/2-1), p.text.Begin()), windowSize)
	if raw, ok = p.inWindow(at); ok {
		return raw, true
	}
	p.load(at, maxStored+lookAhead)
	end := messageEnd(p.window)
	if end < 0 {
		return nil, false
	}
	return p.window[:end], true
}

func (p *pages) load(at uint64, size int) {
	if cap(p.window) < size {
		p.window = make([]byte, size)
	}
	p.window, p.windowAt = fill(p.text.ReadAt, p.window[:size], at), at
}

// inWindow returns a message if all of it is in the window, and the beginning of the next one.
func (p *pages) inWindow(at uint64) ([]byte, bool) {
	if at < p.windowAt || at-p.windowAt >= uint64(len(p.window)) {
		return nil, false
	}
	rest := p.window[at-p.windowAt:]
	end := messageEnd(rest)
	// The window may end within the next line, or within another line of this message.
	if end < 0 || end+1+lookAhead > len(rest) || isMore(rest[end+1:]) {
		return nil, false
	}
	return rest[:end], true
}

// message returns the message that begins at an offset. It is valid until the next call.
func (p *pages) message(at uint64) (said, bool) {
	raw, ok := p.raw(at)
	if !ok {
		return said{}, false
	}
	return parseSaid(raw, at)
}
