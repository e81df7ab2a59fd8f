package hall

import (
	"bytes"
	"context"
	"io"
	"math"
	"slices"
	"sort"

	"interleave/papaya/irc"
)

// Histories and searches read the text in another goroutine than that which owns the hall, so that
// nobody else waits for them. The hall says where to look and what the client may see, and sends
// the answer when it has come.

// A Reading is a command whose answer is in the text. Run reads it and uses nothing of the hall, so
// any goroutine may call it. Hall.Answer sends what it has found.
type Reading interface {
	Run(ctx context.Context)
	answer(h *Hall, c *Client)
}

// read starts a reading of a client. Without another goroutine it ends at once.
func (h *Hall) read(c *Client, r Reading) {
	if h.config.Read == nil {
		r.Run(context.Background())
		h.Answer(c, r)
		return
	}
	c.later = true
	h.config.Read(c, r)
}

// Answer sends what a reading has found, if the client is still there.
func (h *Hall) Answer(c *Client, r Reading) {
	if !c.closed && c.user != nil {
		r.answer(h, c)
	}
}

// A question asks for messages of a room, or of a conversation.
type question struct {
	target string
	pages  *pages   // which the questions of one reading share
	chunks []uint32 // those of the text that may have such messages
	want   func(said) bool
	since  uint64 // see Hall.since
	short  bool   // ctx ended before everything was read
	// removals is how many messages had been removed when it was asked.
	removals uint64
}

// question returns a question about a target; false if the client may not read it.
func (h *Hall) question(c *Client, p *pages, target string) (question, bool) {
	want := h.readable(c, target, c.caps)
	if want == nil {
		return question{}, false
	}
	q := h.about(p, target, h.chunksFor(c.user, irc.Lower(target)), want)
	q.since = h.since(c, target)
	return q, true
}

// about returns a question about messages of some chunks.
func (h *Hall) about(p *pages, target string, chunks []uint32, want func(said) bool) question {
	return question{target: target, pages: p, chunks: chunks, want: want, removals: h.removals}
}

// frozen returns the pages of the text as it is now.
func (h *Hall) frozen() *pages {
	text := h.whole()
	text.lines = bytes.Clone(text.lines)
	return &pages{text: text}
}

// chunksFor returns the chunks that may have messages of a folded room, or of a user's conversation
// with a folded nick.
func (h *Hall) chunksFor(u *user, target string) []uint32 {
	if irc.IsRoom(target) {
		return h.chunksOf([]string{target})
	}
	own := u.ownNicks()
	var names []string
	for _, nick := range own {
		names = append(names, conversation(nick, target))
	}
	list := h.chunksOf(names)
	if h.conversationsFrom == 0 {
		return list
	}
	older := h.chunksOf(append(own, target))
	i := sort.Search(len(older),
		func(i int) bool { return uint64(older[i])<<chunkBits >= h.conversationsFrom })
	list = append(slices.Clone(older[:i]), list...)
	slices.Sort(list)
	return slices.Compact(list)
}

// readable returns a filter for what a client with capabilities sees of a target, or nil if the
// client may not read it. The filter uses nothing of the hall.
func (h *Hall) readable(c *Client, target string, has caps) func(said) bool {
	folded := irc.Lower(target)
	if irc.IsRoom(target) {
		r := h.rooms[folded]
		in := c.user.in(r)
		if in == nil {
			return nil
		}
		since, now := r.since, in.standing()
		return func(s said) bool {
			status, name := irc.SplitStatus(s.target)
			return s.at >= since && name == folded && now.hears(status) && s.shown(has)
		}
	}
	u := c.user
	if !u.lasting() || target == "" {
		return nil
	}
	names := slices.Clone(u.names)
	return func(s said) bool {
		return s.shown(has) && (hadNick(names, s.target, s.at) && s.nick() == folded ||
			s.target == folded && hadNick(names, s.nick(), s.at))
	}
}

// since returns the offset from which on the client may read messages of a target. It tells a room
// from a later room of the same name.
func (h *Hall) since(c *Client, target string) uint64 {
	if r := h.rooms[irc.Lower(target)]; r != nil {
		return r.since
	}
	if u := c.user; u.lasting() && len(u.names) > 0 {
		return u.names[0].from
	}
	return 0
}

// readableStill says whether the client may still read what it has asked for.
func (h *Hall) readableStill(c *Client, q *question) bool {
	return h.readable(c, q.target, c.caps) != nil && h.since(c, q.target) == q.since
}

// unremoved returns the messages that were not removed while they were read.
func (h *Hall) unremoved(q *question, lines []said) []said {
	if q.removals == h.removals {
		return lines
	}
	return slices.DeleteFunc(lines, func(s said) bool {
		now, _, there := h.messageAt(s.at)
		return !there || now.command != s.command
	})
}

// find returns the first of the chunks that may have messages after a bound. For a time it reads
// some of them. Times rise with offsets, except where a clock was set back.
func (q *question) find(b bound) int {
	return sort.Search(len(q.chunks), func(i int) bool {
		if !b.byTime {
			return (uint64(q.chunks[i])+1)<<chunkBits > b.at
		}
		newest := int64(math.MinInt64)
		q.pages.each(q.chunks[i], 0, func(s said) { newest = max(newest, s.time) })
		return newest >= b.time
	})
}

// forward returns the first messages between two bounds.
func (q *question) forward(ctx context.Context, from, to bound, limit int) (out []said) {
	i := 0
	if from != first {
		i = q.find(from)
	}
	for n := 0; i < len(q.chunks) && n < maxChunks && len(out) < limit && q.goesOn(ctx); n++ {
		q.pages.each(q.chunks[i], 0, func(s said) {
			if len(out) < limit && q.want(s) && from.before(s) && to.after(s) {
				out = append(out, s.own())
			}
		})
		i++
	}
	return out
}

// backward returns the last messages between two bounds, the oldest first.
func (q *question) backward(ctx context.Context, from, to bound, limit int) (out []said) {
	i := len(q.chunks) - 1
	if to != last {
		i = min(i, q.find(to))
	}
	for n := 0; i >= 0 && n < maxChunks && len(out) < limit && q.goesOn(ctx); n++ {
		var here []said
		q.pages.each(q.chunks[i], 0, func(s said) {
			if q.want(s) && from.before(s) && to.after(s) {
				here = append(here, s.own())
			}
		})
		out = append(here, out...)
		i--
	}
	return out[max(0, len(out)-limit):]
}

// goesOn says whether there is still time.
func (q *question) goesOn(ctx context.Context) bool {
	q.short = q.short || ctx.Err() != nil
	return !q.short
}

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

// pages reads the chunks of a text, one at a time.
type pages struct {
	text   Text
	buffer []byte
}

// each calls do with every message of a chunk whose offset is from or more. The message is valid
// until do returns.
func (p *pages) each(n uint32, from uint64, do func(said)) {
	if p.buffer == nil {
		p.buffer = make([]byte, chunkBuffer)
	}
	messagesIn(p.text.ReadAt, p.text.Begin(), n, p.buffer, func(text []byte, at uint64) {
		if at >= from {
			if s, ok := parseSaid(text, at); ok {
				do(s)
			}
		}
	})
}
