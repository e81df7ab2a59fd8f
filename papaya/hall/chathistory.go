package hall

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"interleave/papaya/irc"
)

// A bound is an offset or a time. A message at the bound is not included.
type bound struct {
	at     uint64
	time   int64
	byTime bool
}

var (
	first = bound{time: math.MinInt64, byTime: true}
	last  = bound{time: math.MaxInt64, byTime: true}
)

func (b bound) before(s said) bool {
	if b.byTime {
		return b.time < s.time
	}
	return b.at < s.at
}

func (b bound) after(s said) bool {
	if b.byTime {
		return b.time > s.time
	}
	return b.at > s.at
}

// parseBound parses msgid=, timestamp= or *.
func (h *Hall) parseBound(word string, star bound) (bound, bool) {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "*":
		return star, value == ""
	case "msgid":
		at, ok := h.ids.parse(value)
		return bound{at: at}, ok
	case "timestamp":
		t, err := time.Parse(time.RFC3339Nano, value)
		return bound{time: t.UnixMilli(), byTime: true}, err == nil
	}
	return bound{}, false
}

// A history is a CHATHISTORY of one target.
type history struct {
	question
	verb, label string
	from, to    bound
	limit       int
	lines       []said
}

// chathistory answers CHATHISTORY: with messages of a room that the client is in, or with its
// conversation with a nick. The latter needs an account, since a guest's nick may have had other
// users before. The client's further lines wait for the answer.
func (h *Hall) chathistory(c *Client, m *irc.Message) Entry {
	verb, target := strings.ToUpper(m.Param(0)), m.Param(1)
	if verb == "TARGETS" {
		h.targets(c, m)
		return Entry{}
	}
	limit, err := strconv.Atoi(m.Last())
	from, ok := h.parseBound(m.Param(2), last)
	to := last
	if verb == "BETWEEN" {
		ok2 := false
		to, ok2 = h.parseBound(m.Param(3), last)
		ok = ok && ok2 && len(m.Params) >= 5
	}
	if err != nil || limit < 1 || !ok || m.Param(2) == "*" && verb != "LATEST" {
		h.fail(c, "CHATHISTORY", "INVALID_PARAMS", middle(verb)+" "+middle(target),
			"Invalid parameters")
		return Entry{}
	}
	if m.Param(2) == "*" {
		from = first
	}
	q, ok := h.question(c, h.frozen(), target)
	switch {
	case !ok:
		h.failHistory(c, "INVALID_TARGET", verb, target)
	case !slices.Contains([]string{"LATEST", "BEFORE", "AFTER", "BETWEEN", "AROUND"}, verb):
		h.fail(c, "CHATHISTORY", "UNKNOWN_COMMAND", middle(verb), "Unknown command")
	default:
		c.reading = true
		h.read(c, &history{question: q, verb: verb, label: m.Tags["label"], from: from, to: to,
			limit: min(limit, maxHistory)})
	}
	return Entry{}
}

func (h *Hall) failHistory(c *Client, code, verb, target string) {
	h.fail(c, "CHATHISTORY", code, middle(verb)+" "+middle(target),
		"Messages could not be retrieved")
}

// Run reads the messages.
func (q *history) Run(ctx context.Context) {
	defer q.pages.open()()
	switch q.verb {
	case "LATEST":
		q.lines = q.backward(ctx, q.from, last, q.limit)
	case "BEFORE":
		q.lines = q.backward(ctx, first, q.from, q.limit)
	case "AFTER":
		q.lines = q.forward(ctx, q.from, last, q.limit)
	case "BETWEEN":
		q.lines = q.between(ctx)
	case "AROUND":
		q.lines = q.around(ctx)
	}
	q.lines = q.pages.revise(q.lines)
}

// between goes from the first bound to the second, forward or backward, and keeps the messages
// nearest to the first.
func (q *history) between(ctx context.Context) []said {
	if a, b := q.from, q.to; a.byTime == b.byTime && (a.time > b.time || a.at > b.at) {
		return q.backward(ctx, b, a, q.limit)
	}
	return q.forward(ctx, q.from, q.to, q.limit)
}

// around keeps half of the messages from before the bound.
func (q *history) around(ctx context.Context) []said {
	lines := q.backward(ctx, first, q.from, q.limit/2)
	next := q.from // the message at the bound is one of the others
	switch {
	case next.byTime:
		next.time--
	case next.at == 0:
		next = first
	default:
		next.at--
	}
	return append(lines, q.forward(ctx, next, last, q.limit-len(lines))...)
}

func (q *history) answer(h *Hall, c *Client) {
	c.reading = false
	h.labelled(c, q.label, func() {
		switch {
		case !h.readableStill(c, &q.question):
			h.failHistory(c, "INVALID_TARGET", q.verb, q.target)
		case q.short:
			h.failHistory(c, "MESSAGE_ERROR", q.verb, q.target)
		default:
			h.sendBatch(c, "chathistory", q.target, h.unremoved(&q.question, q.lines))
		}
	})
}

// sendBatch sends messages as a batch if the client understands batches.
func (h *Hall) sendBatch(c *Client, kind, target string, lines []said) {
	name := ""
	if c.caps&inBatch != 0 {
		name = c.batchName()
		h.say(c, "BATCH +"+name+" "+kind+" "+middle(target))
	}
	r := h.rooms[irc.Lower(target)]
	for _, s := range lines {
		if r != nil {
			s = r.under(s)
		}
		h.outOf(s, name).to(c)
	}
	if name != "" {
		h.say(c, "BATCH -"+name)
	}
}
