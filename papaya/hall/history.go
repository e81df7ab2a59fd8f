package hall

import (
	"bytes"
	"errors"
	"io"
	"sort"
	"strings"
	"time"

	"interleave/papaya/irc"
)

// chunk is in bits of a place: the index knows in which 64 KiB of the text something was said to
// a name. A guess.
const (
	chunkBits = 16
	chunkSize = 1 << chunkBits
)

// maxChunks bounds what one answer to CHATHISTORY reads.
const maxChunks = 64

// noted adds a place to the index.
func (h *Hall) noted(name string, at uint64) {
	list, n := h.index[name], uint32(at>>chunkBits)
	if len(list) == 0 || list[len(list)-1] != n {
		h.index[name] = append(list, n)
	}
}

// said is a message as it stands in the text.
type said struct {
	at      uint64
	time    int64
	source  string
	command string
	target  string // folded
	body    []byte // from the colon before the source on
}

func parseSaid(line []byte, at uint64) (said, bool) {
	clock, body, ok := bytes.Cut(line, []byte(" "))
	when, err := time.Parse(clockForm, string(clock))
	if !ok || err != nil || len(body) == 0 || body[0] != ':' {
		return said{}, false
	}
	words := strings.SplitN(string(body[1:]), " ", 4)
	if len(words) < 4 {
		return said{}, false
	}
	return said{at: at, time: when.UnixMilli(), source: words[0], command: words[1],
		target: irc.Lower(words[2]), body: body}, true
}

func (s said) nick() string {
	nick, _, _ := irc.SplitMask(s.source)
	return irc.Lower(nick)
}

// readAt reads the text, and what of it is not written yet.
func (h *Hall) readAt(p []byte, at uint64) (int, error) {
	if written := h.at - uint64(len(h.text)); at >= written {
		if at >= h.at {
			return 0, io.EOF
		}
		return copy(p, h.text[at-written:]), nil
	}
	return h.config.Text.ReadAt(p, at)
}

// eachIn calls do for every message that begins in a chunk of the text, at from or later.
func (h *Hall) eachIn(n uint32, from uint64, do func(said)) {
	linesIn(h.readAt, h.config.Text.Begin(), n, make([]byte, chunkBuffer), func(line []byte,
		at uint64) {
		if at >= from {
			if s, ok := parseSaid(line, at); ok {
				do(s)
			}
		}
	})
}

// chunkBuffer is in bytes: a chunk, the end of the line before it, and what its last line may
// have behind it.
const chunkBuffer = chunkSize + 1 + 2*irc.MaxLine

// linesIn calls do for every line that begins in a chunk of a text. It reads on behind the chunk to
// the end of its last line.
func linesIn(read func(p []byte, at uint64) (int, error), begin uint64, n uint32, buffer []byte,
	do func(line []byte, at uint64)) {
	start, end := uint64(n)<<chunkBits, (uint64(n)+1)<<chunkBits
	// a line that begins here is known to be one only if an end of line stands before it
	inside := start
	if start > 0 {
		start--
	}
	if start < begin {
		start, inside = begin, begin
	}
	if start >= end {
		return
	}
	p := buffer[:end-start+2*irc.MaxLine]
	have := 0
	for have < len(p) {
		n, err := read(p[have:], start+uint64(have))
		have += n
		if n == 0 || err != nil && !errors.Is(err, io.EOF) {
			break
		}
	}
	p = p[:have]
	at := start
	if start < inside {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			return
		}
		at, p = at+uint64(i)+1, p[i+1:]
	}
	for at < end {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			return
		}
		do(p[:i], at)
		at, p = at+uint64(i)+1, p[i+1:]
	}
}

// A catch is a room, or the inbox, of which a client is being given what it has missed.
type catch struct {
	member *member // nil: the inbox
	name   string  // folded; * for the inbox
	key    string  // in the index
	cursor uint64
}

// waitsFor says whether a client still has to get what it has missed in a room, or in its inbox.
func (c *Client) waitsFor(m *member) bool {
	for _, k := range c.catching {
		if k.member == m {
			return true
		}
	}
	return false
}

// catchUp begins to give a client what it has missed in a room.
func (h *Hall) catchUp(c *Client, in *member) {
	if !in.mark.lag {
		return
	}
	folded := irc.Lower(in.room.name)
	in.behind = true
	h.begin(c, &catch{member: in, name: folded, key: folded, cursor: in.mark.at})
}

// greet begins to give a client what was said to its nick while it was away.
func (h *Hall) greet(u *user) {
	if u.inbox.lag {
		h.begin(u.client, &catch{name: "*", key: irc.Lower(u.nick), cursor: u.inbox.at})
	}
}

func (h *Hall) begin(c *Client, k *catch) {
	if c.asked != 0 {
		c.askedLag = append(c.askedLag, lag{k.name, k.cursor})
	}
	c.catching = append(c.catching, k)
	h.behind[c] = true
	for h.behind[c] && c.sink.Waiting() < maxCatching {
		h.step(c)
	}
}

// Step gives the clients that are behind some more of what they have missed, those that read; it
// returns how many are left.
func (h *Hall) Step() int {
	for c := range h.behind {
		if c.sink.Waiting() < maxCatching {
			h.step(c)
		}
	}
	return len(h.behind)
}

// step gives one client one chunk of the text.
func (h *Hall) step(c *Client) {
	if len(c.catching) == 0 {
		delete(h.behind, c)
		return
	}
	k := c.catching[0]
	list := h.index[k.key]
	i := sort.Search(len(list),
		func(i int) bool { return (uint64(list[i])+1)<<chunkBits > k.cursor })
	if i == len(list) || c.user == nil {
		if k.member != nil {
			k.member.behind = false
		}
		c.catching = c.catching[1:]
		return
	}
	self := irc.Lower(c.user.nick)
	h.eachIn(list[i], k.cursor, func(s said) {
		if s.target == k.key && s.command != "TOPIC" && s.nick() != self {
			o := &out{body: append(bytes.Clone(s.body), '\r', '\n'), time: s.time, kept: true,
				at: s.at}
			o.to(c)
			c.sent = h.at
		}
	})
	k.cursor = min(h.at, (uint64(list[i])+1)<<chunkBits)
	if i == len(list)-1 && k.cursor == h.at { // it has had all that there is
		if k.member != nil {
			k.member.behind = false
		}
		c.catching = c.catching[1:]
	}
}

// uncatch stops giving what was missed in a room that a client has left, or, for nil, in the inbox
// of a nick that it no longer has.
func (h *Hall) uncatch(c *Client, m *member) {
	for i, k := range c.catching {
		if k.member == m {
			c.catching = append(c.catching[:i:i], c.catching[i+1:]...)
			return
		}
	}
}
