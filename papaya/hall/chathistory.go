package hall

import (
	"math"
	"slices"
	"sort"
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
func parseBound(word string, star bound) (bound, bool) {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "*":
		return star, value == ""
	case "msgid":
		at, err := strconv.ParseUint(value, 36, 64)
		return bound{at: at}, err == nil
	case "timestamp":
		t, err := time.Parse(time.RFC3339Nano, value)
		return bound{time: t.UnixMilli(), byTime: true}, err == nil
	}
	return bound{}, false
}

// chathistory answers CHATHISTORY: with messages of a room that the client is in, or with its
// conversation with a nick. The latter needs an account, since a guest's nick may have had other
// users before.
func (h *Hall) chathistory(c *Client, m *irc.Message) Entry {
	verb, target := strings.ToUpper(m.Param(0)), m.Param(1)
	if verb == "TARGETS" {
		h.targets(c, m)
		return Entry{}
	}
	limit, err := strconv.Atoi(m.Last())
	from, ok := parseBound(m.Param(2), last)
	to := last
	if verb == "BETWEEN" {
		ok2 := false
		to, ok2 = parseBound(m.Param(3), last)
		ok = ok && ok2 && len(m.Params) >= 5
	}
	if err != nil || limit < 1 || !ok || m.Param(2) == "*" && verb != "LATEST" {
		h.fail(c, "CHATHISTORY", "INVALID_PARAMS", middle(verb), "Invalid parameters")
		return Entry{}
	}
	keys, want := h.readable(c, target)
	if keys == nil {
		h.fail(c, "CHATHISTORY", "INVALID_TARGET", middle(verb)+" "+middle(target),
			"Messages could not be retrieved")
		return Entry{}
	}
	limit = min(limit, maxHistory)
	var lines []said
	switch verb {
	case "LATEST":
		after := from
		if m.Param(2) == "*" {
			after = first
		}
		lines = h.backward(keys, after, last, limit, want)
	case "BEFORE":
		lines = h.backward(keys, first, from, limit, want)
	case "AFTER":
		lines = h.forward(keys, from, last, limit, want)
	case "BETWEEN":
		lines = h.between(keys, from, to, limit, want)
	case "AROUND":
		lines = h.backward(keys, first, from, limit/2, want)
		next := from
		switch {
		case next.byTime:
			next.time--
		case next.at == 0:
			next = first
		default:
			next.at--
		}
		lines = append(lines, h.forward(keys, next, last, limit-len(lines), want)...)
	default:
		h.fail(c, "CHATHISTORY", "UNKNOWN_COMMAND", middle(verb), "Unknown command")
		return Entry{}
	}
	h.sendHistory(c, target, lines)
	return Entry{}
}

// between goes from the first bound to the second, forward or backward, and keeps the messages
// nearest to the first.
func (h *Hall) between(keys []string, from, to bound, limit int, want func(said) bool) []said {
	if from.byTime == to.byTime && (from.time > to.time || from.at > to.at) {
		return h.backward(keys, to, from, limit, want)
	}
	return h.forward(keys, from, to, limit, want)
}

// readable returns the lists of the index that have messages to a target, and a filter for them. It
// returns nil if the client may not read them.
func (h *Hall) readable(c *Client, target string) ([]string, func(said) bool) {
	folded, redacts := irc.Lower(target), c.caps&redaction != 0
	if strings.HasPrefix(target, "#") {
		r := h.rooms[folded]
		if c.user.in(r) == nil {
			return nil, nil
		}
		since := r.since
		return []string{folded}, func(s said) bool {
			return s.at >= since && s.target == folded && s.shown(redacts)
		}
	}
	u := c.user
	if !u.lasting() || target == "" {
		return nil, nil
	}
	names := slices.Clone(u.names) // a search reads them in another goroutine
	return append(u.ownNicks(), folded), func(s said) bool {
		return s.shown(redacts) && (hadNick(names, s.target, s.at) && s.nick() == folded ||
			s.target == folded && hadNick(names, s.nick(), s.at))
	}
}

// chunksOf merges lists of the index.
func (h *Hall) chunksOf(keys []string) []uint32 {
	var list []uint32
	for _, k := range keys {
		list = append(list, h.index[k]...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// find returns the first chunk of a list that may have messages after a bound. For a time it reads
// some chunks. Times rise with offsets, except where a clock was set back.
func (h *Hall) find(list []uint32, b bound) int {
	return sort.Search(len(list), func(i int) bool {
		if !b.byTime {
			return (uint64(list[i])+1)<<chunkBits > b.at
		}
		newest := int64(math.MinInt64)
		h.eachIn(list[i], 0, func(s said) { newest = max(newest, s.time) })
		return newest >= b.time
	})
}

func (h *Hall) forward(keys []string, from, to bound, limit int, want func(said) bool) []said {
	list := h.chunksOf(keys)
	i := 0
	if from != first {
		i = h.find(list, from)
	}
	var out []said
	for n := 0; i < len(list) && n < maxChunks && len(out) < limit; i, n = i+1, n+1 {
		h.eachIn(list[i], 0, func(s said) {
			if len(out) < limit && want(s) && from.before(s) && to.after(s) {
				out = append(out, s.own())
			}
		})
	}
	return out
}

func (h *Hall) backward(keys []string, from, to bound, limit int, want func(said) bool) []said {
	list := h.chunksOf(keys)
	i := len(list) - 1
	if to != last {
		i = min(i, h.find(list, to))
	}
	var out []said
	for n := 0; i >= 0 && n < maxChunks && len(out) < limit; i, n = i-1, n+1 {
		var chunk []said
		h.eachIn(list[i], 0, func(s said) {
			if want(s) && from.before(s) && to.after(s) {
				chunk = append(chunk, s.own())
			}
		})
		out = append(chunk, out...)
	}
	return out[max(0, len(out)-limit):]
}

func (h *Hall) sendHistory(c *Client, target string, lines []said) {
	h.sendBatch(c, "chathistory", target, lines)
}

// sendBatch sends messages as a batch if the client understands batches.
func (h *Hall) sendBatch(c *Client, kind, target string, lines []said) {
	name := ""
	if c.caps&inBatch != 0 {
		name = h.batchName()
		h.say(c, "BATCH +"+name+" "+kind+" "+middle(target))
	}
	for _, s := range lines {
		s.out(name).to(c)
	}
	if name != "" {
		h.say(c, "BATCH -"+name)
	}
}

// targets answers CHATHISTORY TARGETS: the client's rooms and conversations whose last message is
// between two times, and the time of that message, the oldest first.
func (h *Hall) targets(c *Client, m *irc.Message) {
	a, ok1 := parseBound(m.Param(1), last)
	b, ok2 := parseBound(m.Param(2), last)
	limit, err := strconv.Atoi(m.Last())
	if !ok1 || !ok2 || err != nil || !a.byTime || !b.byTime {
		h.fail(c, "CHATHISTORY", "INVALID_PARAMS", "TARGETS", "Invalid parameters")
		return
	}
	if a.time > b.time {
		a, b = b, a
	}
	name := h.batchName()
	if c.caps&inBatch != 0 {
		h.say(c, "BATCH +"+name+" draft/chathistory-targets")
	}
	all := h.talks(c, a, b)
	for _, t := range all[:max(0, min(len(all), limit, maxHistory))] {
		tag := ""
		if c.caps&inBatch != 0 {
			tag = "@batch=" + name + " "
		}
		c.write([]byte(tag + ":" + h.config.Name + " CHATHISTORY TARGETS " + t.name + " " +
			clock(t.time) + "\r\n"))
	}
	if c.caps&inBatch != 0 {
		h.say(c, "BATCH -"+name)
	}
}
