package hall

import (
	"bytes"
	"context"
	"math"
	"slices"
	"sort"

	"interleave/papaya/irc"
	"interleave/papaya/search"
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
	room   *room    // of the target; nil: it is a conversation
	pages  *pages   // which the questions of one reading share
	chunks []uint32 // those of the text that may have such messages
	names  []string // those that such messages may have in the index
	edits  bool     // later texts of messages are wanted
	want   func(said) bool
	since  uint64 // see Hall.since
	short  bool   // ctx ended before everything was read
	// removals is how many messages had been removed when it was asked.
	removals uint64
	// revisions is how many texts had been changed then.
	revisions uint64
}

// question returns a question about a target; false if the client may not read it.
func (h *Hall) question(c *Client, p *pages, target string) (question, bool) {
	want := h.readable(c, target, c.caps)
	if want == nil {
		return question{}, false
	}
	folded := irc.Lower(target)
	q := h.about(p, target, h.chunksFor(c.user, folded), want)
	q.room, q.since = h.rooms[folded], h.since(c, target)
	q.names, q.edits = h.indexNames(c.user, folded, c.caps), c.knowsEdits()
	return q, true
}

// about returns a question about messages of some chunks.
func (h *Hall) about(p *pages, target string, chunks []uint32, want func(said) bool) question {
	return question{target: target, pages: p, chunks: chunks, want: want, removals: h.removals,
		revisions: h.revisions}
}

// frozen returns the pages of the text as it is now.
func (h *Hall) frozen() *pages {
	text := h.whole()
	text.lines = bytes.Clone(text.lines)
	return &pages{text: text, index: h.config.Index, versions: h.versions}
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
		names, now := r.tenures(), in.standing()
		return func(s said) bool {
			status, name := irc.SplitStatus(s.target)
			return hadNick(names, name, s.at) && now.hears(status) && s.shown(has)
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

// readableStill says whether the client may still read what it has asked for. A room that has got
// another name meanwhile is the target under that.
func (h *Hall) readableStill(c *Client, q *question) bool {
	if q.room != nil {
		if irc.Lower(q.target) != irc.Lower(q.room.name) {
			q.target = q.room.name
		}
		return c.user.in(q.room) != nil
	}
	return h.readable(c, q.target, c.caps) != nil && h.since(c, q.target) == q.since
}

// unremoved returns the messages that were not removed while they were read, with their texts of
// now.
func (h *Hall) unremoved(q *question, lines []said) []said {
	lines = h.unrevised(q, lines)
	if q.removals == h.removals {
		return lines
	}
	return slices.DeleteFunc(lines, func(s said) bool {
		now, _, there := h.messageAt(s.at)
		return !there || now.command != s.command
	})
}

// find returns the first of the chunks that may have messages after a bound. For a time it reads
// some of those that the index lacks. Times rise with offsets, except where a clock was set back.
func (q *question) find(b bound) int {
	return sort.Search(len(q.chunks), func(i int) bool {
		n := q.chunks[i]
		if !b.byTime {
			return (uint64(n)+1)<<chunkBits > b.at
		}
		if part, there := q.pages.view.Part(n); there {
			return part.Newest(n) >= b.time
		}
		newest := int64(math.MinInt64)
		q.pages.each(n, 0, func(s said) { newest = max(newest, s.time) })
		return newest >= b.time
	})
}

// within returns the first and the last of the chunks that may have messages between two bounds.
func (q *question) within(from, to bound) (lo, hi int) {
	hi = len(q.chunks) - 1
	if from != first {
		lo = q.find(from)
	}
	if to != last {
		hi = min(hi, q.find(to))
	}
	return lo, hi
}

// forward returns the first messages between two bounds.
func (q *question) forward(ctx context.Context, from, to bound, limit int) (out []said) {
	i, hi := q.within(from, to)
	for n := 0; i <= hi && n < maxChunks && len(out) < limit && q.goesOn(ctx); n++ {
		if part, there := q.pages.view.Part(q.chunks[i]); there {
			span := q.spanOf(part, q.chunks[i], q.chunks[hi], from, to)
			if here, ok := q.read(ctx, span, limit-len(out), false); ok {
				out = append(out, here...)
				i, _ = slices.BinarySearch(q.chunks, part.To)
				continue
			}
		}
		q.each(q.chunks[i], func(s said) {
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
	lo, i := q.within(from, to)
	for n := 0; i >= lo && n < maxChunks && len(out) < limit && q.goesOn(ctx); n++ {
		if part, there := q.pages.view.Part(q.chunks[i]); there {
			span := q.spanOf(part, q.chunks[lo], q.chunks[i], from, to)
			if here, ok := q.read(ctx, span, limit-len(out), true); ok {
				out = append(here, out...)
				i = q.before(part)
				continue
			}
		}
		var here []said
		q.each(q.chunks[i], func(s said) {
			if q.want(s) && from.before(s) && to.after(s) {
				here = append(here, s.own())
			}
		})
		out = append(here, out...)
		i--
	}
	return out[max(0, len(out)-limit):]
}

// each calls do with every message of a chunk, but not with later texts if these are not wanted.
func (q *question) each(n uint32, do func(said)) {
	q.pages.eachRaw(n, 0, func(raw []byte, at uint64) {
		if !q.edits && isLater(raw) {
			return
		}
		if s, ok := parseSaid(raw, at); ok {
			do(s)
		}
	})
}

// laterMark begins the tags of a later text.
var laterMark = []byte("@" + storedEdit + "=")

// isLater says whether a message of the text is a later text of another, without parsing it, which
// takes most of the time. Some that are are not recognized. A line REDACT may have the same tag.
func isLater(raw []byte) bool {
	return len(raw) > stampLen && bytes.HasPrefix(raw[stampLen:], laterMark) &&
		!bytes.Contains(raw, []byte(" REDACT "))
}

// before returns the last of the chunks before a part of the index.
func (q *question) before(part search.Part) int {
	i, _ := slices.BinarySearch(q.chunks, part.From)
	return i - 1
}

// A span is a part of the text whose messages the index knows, and the bounds of those that are
// wanted.
type span struct {
	part     search.Part
	at, end  uint64
	from, to bound
}

// spanOf returns what lies in a part of the index, from one chunk to another and between bounds.
func (q *question) spanOf(part search.Part, lo, hi uint32, from, to bound) span {
	s := span{part: part, from: from, to: to,
		at:  max(uint64(max(part.From, lo))<<chunkBits, q.since),
		end: min(uint64(min(part.To, hi+1))<<chunkBits, q.pages.text.end)}
	if !from.byTime {
		s.at = max(s.at, from.at+1)
	}
	if !to.byTime {
		s.end = min(s.end, to.at)
	}
	return s
}

// minOffsets is how many messages of the index are looked at together, at least: some of them may
// not be for the client. A guess.
const minOffsets = 32

// read returns the first or the last messages of a span, in ascending order. After a failure of the
// index the text must be read.
func (q *question) read(ctx context.Context, s span, limit int, newest bool) (out []said, ok bool) {
	for n := 0; n < maxChunks && s.at < s.end && len(out) < limit && q.goesOn(ctx); n++ {
		offsets, err := s.part.Offsets(q.names, s.at, s.end, limit+minOffsets, newest)
		if err != nil {
			return nil, false
		}
		if len(offsets) == 0 {
			break
		}
		if newest {
			s.end = offsets[0]
			slices.Reverse(offsets)
		} else {
			s.at = offsets[len(offsets)-1] + 1
		}
		for _, at := range offsets {
			if m, there := q.pages.message(at); there && q.want(m) && s.from.before(m) &&
				s.to.after(m) && len(out) < limit {
				out = append(out, m.own())
			}
		}
	}
	if newest {
		slices.Reverse(out)
	}
	return out, true
}

// goesOn says whether there is still time.
func (q *question) goesOn(ctx context.Context) bool {
	q.short = q.short || ctx.Err() != nil
	return !q.short
}
