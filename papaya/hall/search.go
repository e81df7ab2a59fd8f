package hall

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"interleave/papaya/irc"
)

// Limits of one search: messages in its answer, and words. Both are guesses.
const (
	maxHits  = 50
	maxWords = 16
)

// A Query is a search that a client may make. Run reads the text beside the goroutine that calls
// the hall; it needs nothing of the hall's.
type Query struct {
	target string
	label  string
	words  []string // in small letters
	chunks []uint32 // of the text, in which there may be something
	want   func(said) bool
	since  uint64

	hits  []said
	more  bool // there are more than these
	short bool // it was ended before all was read
}

// search begins a search in what the client may read: its rooms, and what was said between it
// and somebody else.
func (h *Hall) search(c *Client, m *irc.Message) Entry {
	target, words := m.Params[0], strings.Fields(strings.ToLower(strings.Join(m.Params[1:], " ")))
	keys, want := h.readable(c, target)
	switch {
	case h.config.Search == nil:
		h.fail(c, "SEARCH", "TEMPORARILY_UNAVAILABLE", shown(target), "This server has no search")
	case len(words) == 0 || len(words) > maxWords:
		h.fail(c, "SEARCH", "INVALID_PARAMS", shown(target), "Nothing is asked so")
	case keys == nil:
		h.fail(c, "SEARCH", "INVALID_TARGET", shown(target), "You may not read that")
	case c.searching:
		h.fail(c, "SEARCH", "TEMPORARILY_UNAVAILABLE", shown(target), "One search at a time")
	default:
		c.searching = true
		h.config.Search(c, &Query{target: target, label: m.Tags["label"], words: words,
			chunks: h.chunksOf(keys), want: want, since: h.since(c, target)})
	}
	return Entry{}
}

// since is where what the client may read of a target begins; a later room of the same name
// begins elsewhere.
func (h *Hall) since(c *Client, target string) uint64 {
	if r := h.rooms[irc.Lower(target)]; r != nil {
		return r.since
	}
	if k := h.known[irc.Lower(c.user.nick)]; k != nil {
		return k.since
	}
	return 0
}

// Run looks through the text, the newest first, until ctx ends.
func (q *Query) Run(ctx context.Context, text Text) {
	buffer, maybe := make([]byte, chunkBuffer), glance(q.words)
	for i := len(q.chunks) - 1; i >= 0 && len(q.hits) <= maxHits; i-- {
		if ctx.Err() != nil {
			q.short = true
			break
		}
		var here []said
		linesIn(text.ReadAt, text.Begin(), q.chunks[i], buffer, func(line []byte, at uint64) {
			if at < q.since || !maybe(line) {
				return
			}
			if s, ok := parseSaid(line, at); ok && q.want(s) && q.match(s) {
				here = append(here, s.own())
			}
		})
		q.hits = append(here, q.hits...)
	}
	if n := len(q.hits) - maxHits; n > 0 {
		q.hits, q.more = q.hits[n:], true
	}
}

// match says whether all words stand in what was said.
func (q *Query) match(s said) bool {
	_, text, _ := strings.Cut(string(s.body[1:]), " :")
	text = strings.ToLower(text)
	return !slices.ContainsFunc(q.words, func(w string) bool { return !strings.Contains(text, w) })
}

// glance is a first look at a line that is cheap: whether it may hold the words. Lines and words
// beyond ASCII are left to match.
func glance(words []string) func([]byte) bool {
	low := make([]byte, 0, 2*irc.MaxLine)
	return func(line []byte) bool {
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

// sendHits sends what was found as a batch; who does not know batches would take it for said now,
// and gets it as notices of the server.
func (h *Hall) sendHits(c *Client, q *Query) {
	if c.caps&inBatch != 0 {
		h.sendBatch(c, "papaya/search", q.target, q.hits)
		return
	}
	for _, s := range q.hits {
		_, text, _ := strings.Cut(string(s.body[1:]), " :")
		nick, _, _ := irc.SplitMask(s.source)
		h.say(c, "NOTICE "+c.Nick()+" :"+clock(s.time)+" "+shown(q.target)+" <"+nick+"> "+text)
	}
	if len(q.hits) == 0 {
		h.say(c, "NOTICE "+c.Nick()+" :nothing was found in "+shown(q.target))
	}
}

// Found answers a search that has run, if the client may still read what it asked for.
func (h *Hall) Found(c *Client, q *Query) {
	c.searching = false
	if c.closed || c.user == nil {
		return
	}
	h.labelled(c, q.label, func() {
		if keys, _ := h.readable(c, q.target); keys == nil || h.since(c, q.target) != q.since {
			h.fail(c, "SEARCH", "INVALID_TARGET", shown(q.target), "You may not read that")
			return
		}
		h.sendHits(c, q)
		switch {
		case q.short:
			h.say(c, "NOTE SEARCH NOT_ALL "+shown(q.target)+
				" :It took too long: what is older was not looked at")
		case q.more:
			h.say(c, "NOTE SEARCH MORE "+shown(q.target)+" :There is more, which is older")
		}
	})
}
