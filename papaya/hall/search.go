package hall

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"interleave/papaya/irc"
	"interleave/papaya/search"
)

// Limits of one search: messages in its answer, and words in its question. Both are guesses.
const (
	maxHits  = 50
	maxWords = 16
)

// A Search is a SEARCH for words.
type Search struct {
	question
	label string
	words []string // in lower case
	hits  []said
	more  bool // there are older matches
}

// search starts a search in a room of the client, or in its conversation with a nick.
func (h *Hall) search(c *Client, m *irc.Message) Entry {
	target, words := m.Params[0], strings.Fields(strings.ToLower(strings.Join(m.Params[1:], " ")))
	q, ok := h.question(c, h.frozen(), target)
	switch {
	case h.config.Read == nil:
		h.fail(c, "SEARCH", "TEMPORARILY_UNAVAILABLE", middle(target), "This server has no search")
	case len(words) == 0 || len(words) > maxWords:
		h.fail(c, "SEARCH", "INVALID_PARAMS", middle(target), "Invalid parameters")
	case !ok:
		h.fail(c, "SEARCH", "INVALID_TARGET", middle(target), "You may not read that")
	case c.searching:
		h.fail(c, "SEARCH", "TEMPORARILY_UNAVAILABLE", middle(target), "One search at a time")
	default:
		c.searching = true
		// What is searched for is in later texts, too, and in no event.
		q.names = h.indexNames(c.user, irc.Lower(target), knowsEdits)
		q.want = h.readable(c, target, c.caps|knowsEdits)
		h.read(c, &Search{question: q, label: m.Tags["label"], words: words})
	}
	return Entry{}
}

// Run searches the text, the newest messages first, until ctx ends.
func (q *Search) Run(ctx context.Context) {
	defer q.pages.open()()
	maybe := prefilter(q.words)
	for i := len(q.chunks) - 1; i >= 0 && len(q.hits) <= maxHits && q.goesOn(ctx); {
		n := q.chunks[i]
		if part, there := q.pages.view.Part(n); there && q.runIn(ctx, part, n, maybe) {
			i = q.before(part)
			continue
		}
		var here []said
		q.pages.eachRaw(n, q.since, func(raw []byte, at uint64) {
			if s, ok := q.hit(raw, at, maybe); ok {
				here = append(here, s.own())
			}
		})
		q.hits = append(here, q.hits...)
		i--
	}
	if n := len(q.hits) - maxHits; n > 0 {
		q.hits, q.more = q.hits[n:], true
	}
	q.hits = q.pages.standing(q.hits)
}

// runIn searches a part of the index up to a chunk. After a failure of the index it returns false,
// and the text must be read.
func (q *Search) runIn(ctx context.Context, part search.Part, until uint32,
	maybe func([]byte) bool) bool {
	end := min((uint64(until)+1)<<chunkBits, q.pages.text.end)
	query, err := part.Query(q.names, q.words, q.since, end)
	if err != nil {
		return false
	}
	var found []said // the newest first
	enough := func() bool { return len(q.hits)+len(found) > maxHits }
	for more := true; more && !enough() && q.goesOn(ctx); {
		var offsets []uint64
		if offsets, more, err = part.Next(query); err != nil {
			return false
		}
		for i, at := range slices.Backward(offsets) {
			if enough() || i%64 == 0 && !q.goesOn(ctx) {
				break
			}
			raw, there := q.pages.raw(at)
			if !there {
				continue
			}
			if s, ok := q.hit(raw, at, maybe); ok {
				found = append(found, s.own())
			}
		}
	}
	slices.Reverse(found)
	q.hits = append(found, q.hits...)
	return true
}

// hit returns a message of the text if it is what was searched for.
func (q *Search) hit(raw []byte, at uint64, maybe func([]byte) bool) (said, bool) {
	if !maybe(raw) {
		return said{}, false
	}
	s, ok := parseSaid(raw, at)
	return s, ok && s.spoken() && q.want(s) && q.match(s)
}

// match says whether a message contains all words.
func (q *Search) match(s said) bool {
	text := strings.ToLower(s.text())
	return !slices.ContainsFunc(q.words, func(w string) bool { return !strings.Contains(text, w) })
}

// text returns the text of a message, with all of its lines.
func (s said) text() string {
	_, text, _ := strings.Cut(string(s.body[1:]), " :")
	for _, l := range s.more {
		_, more, _ := strings.Cut(string(l.body[1:]), " :")
		if !l.same {
			text += "\n"
		}
		text += more
	}
	return text
}

// prefilter returns a cheap first test: whether a message in the text may contain the words. Bytes
// beyond ASCII are left to match.
func prefilter(words []string) func([]byte) bool {
	low := make([]byte, 0, 2*irc.MaxLine)
	return func(line []byte) bool {
		if bytes.Contains(line, []byte("@"+sameTag)) {
			return true // a word may begin in one line and end in the next
		}
		low = low[:0]
		for _, b := range line {
			if b >= utf8.RuneSelf {
				return true
			}
			if 'A' <= b && b <= 'Z' {
				b += 'a' - 'A'
			}
			low = append(low, b)
		}
		return !slices.ContainsFunc(words,
			func(w string) bool { return !bytes.Contains(low, []byte(w)) })
	}
}

// sendHits sends the matches as a batch. A client without batches would take them for new messages,
// so it gets notices of the server.
func (h *Hall) sendHits(c *Client, q *Search) {
	if c.caps&inBatch != 0 {
		h.sendBatch(c, "papaya/search", q.target, q.hits)
		return
	}
	for _, s := range q.hits {
		nick, _, _ := irc.SplitMask(s.source)
		for l := range strings.Lines(s.text()) {
			h.say(c, "NOTICE "+c.Nick()+" :"+clock(s.time)+" "+middle(q.target)+" <"+nick+"> "+
				strings.TrimSuffix(l, "\n"))
		}
	}
	if len(q.hits) == 0 {
		h.say(c, "NOTICE "+c.Nick()+" :nothing was found in "+middle(q.target))
	}
}

// answer answers a search that has run.
func (q *Search) answer(h *Hall, c *Client) {
	c.searching = false
	h.labelled(c, q.label, func() {
		if !h.readableStill(c, &q.question) {
			h.fail(c, "SEARCH", "INVALID_TARGET", middle(q.target), "You may not read that")
			return
		}
		q.hits = h.unremoved(&q.question, q.hits)
		h.sendHits(c, q)
		switch {
		case q.short:
			h.say(c, "NOTE SEARCH NOT_ALL "+middle(q.target)+
				" :It took too long: older messages were not searched")
		case q.more:
			h.say(c, "NOTE SEARCH MORE "+middle(q.target)+" :There are older matches")
		}
	})
}
