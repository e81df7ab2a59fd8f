package hall

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"time"

	"interleave/papaya/irc"
)

// A line of the text is TIME :SOURCE COMMAND TARGET :TEXT. Before the source it may have tags, as
// lines of IRC have them: those that a client has given its message, or one of the next two, which
// no client can give. They mark the second and later lines of a message of several lines, which
// follow the first at once and have its time.
const (
	moreTag = "draft/multiline"
	sameTag = "draft/multiline-concat" // the text goes on without the end of a line
)

// stampLen is in bytes: the time of a line, and the blank after it.
const stampLen = len(clockForm) + 1

// maxStored bounds a message in the text, in bytes: its tags, and for each of its lines the time,
// a tag, and a line of IRC without the text, which is bounded for all of them together.
const maxStored = irc.MaxClientTags + len(";"+botTag) + maxLinesBytes +
	maxLines*(stampLen+len("@"+sameTag+" ")+irc.MaxLine/2) + irc.MaxLine

// said is a message in the text.
type said struct {
	at      uint64
	time    int64
	source  string
	command string
	target  string   // folded
	body    []byte   // from the colon of the source on
	more    []joined // its other lines
	tags    string   // the client's own
	edited  int64    // the time of its text, in milliseconds since 1970; 0: its own text
}

// parseSaid parses a message in the text, whose lines are separated by LF.
func parseSaid(text []byte, at uint64) (said, bool) {
	line, rest, several := bytes.Cut(text, []byte("\n"))
	when, tags, body, ok := parseStored(line)
	if !ok {
		return said{}, false
	}
	words := strings.SplitN(string(body[1:]), " ", 4)
	if len(words) < 4 {
		return said{}, false
	}
	s := said{at: at, time: when.UnixMilli(), source: words[0], command: words[1],
		target: irc.Lower(words[2]), body: body, tags: tags}
	for several {
		line, rest, several = bytes.Cut(rest, []byte("\n"))
		_, tag, body, ok := parseStored(line)
		if !ok {
			return said{}, false
		}
		s.more = append(s.more, joined{body, tag == sameTag})
	}
	return s, true
}

// parseStored cuts a line of the text into its time, its tags, and the rest from the source on.
func parseStored(line []byte) (when time.Time, tags string, body []byte, ok bool) {
	clock, body, ok := bytes.Cut(line, []byte(" "))
	when, err := time.Parse(clockForm, string(clock))
	if !ok || err != nil {
		return when, "", nil, false
	}
	if len(body) > 0 && body[0] == '@' {
		var word []byte
		word, body, _ = bytes.Cut(body[1:], []byte(" "))
		tags = string(word)
	}
	return when, tags, body, len(body) > 0 && body[0] == ':'
}

func (s said) nick() string {
	nick, _, _ := irc.SplitMask(s.source)
	return irc.Lower(nick)
}

// shown says whether a client sees the message in histories: what users have said, what they have
// removed or changed if the client knows that, and if it has requested other events, topics, what
// is said by tags alone, and other names of rooms if the client knows those.
func (s said) shown(to caps) bool {
	_, edit := s.edits()
	switch {
	case edit:
		return to&knowsEdits == knowsEdits
	case s.command == "REDACT":
		return to&redaction != 0 && (!s.isPreview() || to&previews != 0)
	case s.isPreview():
		return to&(previews|messageTags) == previews|messageTags
	}
	switch s.command {
	case "TOPIC":
		return to&eventPlayback != 0
	case "RENAME":
		return to&(eventPlayback|channelRename) == eventPlayback|channelRename
	case "TAGMSG":
		return to&(eventPlayback|messageTags) == eventPlayback|messageTags
	}
	return s.spoken()
}

// spoken says whether a user has said the message to others.
func (s said) spoken() bool { return s.command == "PRIVMSG" || s.command == "NOTICE" }

// own copies the message, so that it stays valid.
func (s said) own() said {
	s.body = bytes.Clone(s.body)
	more := s.more
	s.more = nil
	for _, l := range more {
		s.more = append(s.more, joined{bytes.Clone(l.body), l.same})
	}
	return s
}

// outOf returns a message as it is sent, in a batch if its name is not empty. It changes the
// message, which must be a copy.
func (h *Hall) outOf(s said, batch string) *out {
	switch s.command {
	case "TAGMSG":
		s.body = bytes.TrimSuffix(s.body, []byte(" :"))
	case "REDACT":
		s.body = h.ids.redactLine(s.body)
	}
	o := &out{body: append(s.body, '\r', '\n'), tags: h.ids.wireTags(s), time: s.time, batch: batch,
		account: h.accountAt(s.nick(), s.at), more: s.more}
	h.keep(o, s.at)
	for i := range o.more {
		o.more[i].body = append(o.more[i].body, '\r', '\n')
	}
	return o
}

// fill reads as much of the text from an offset on as there is and as p holds.
func fill(read func(p []byte, at uint64) (int, error), p []byte, at uint64) []byte {
	have := 0
	for have < len(p) {
		n, err := read(p[have:], at+uint64(have))
		have += n
		if n == 0 || err != nil && !errors.Is(err, io.EOF) {
			break
		}
	}
	return p[:have]
}

// chunkBuffer is in bytes: a chunk, the byte before it, and the end of its last message.
const chunkBuffer = chunkSize + 1 + maxStored

// messagesIn calls do with every message that begins in a chunk of a text, without its last LF. It
// reads beyond the chunk to the end of the last one.
func messagesIn(read func(p []byte, at uint64) (int, error), begin uint64, n uint32, buffer []byte,
	do func(text []byte, at uint64)) {
	start, end := uint64(n)<<chunkBits, (uint64(n)+1)<<chunkBits
	// The byte before the chunk tells whether a line begins at its start.
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
	p, at := fill(read, buffer[:end-start+uint64(maxStored)], start), start
	skip := func() bool {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			return false
		}
		at, p = at+uint64(i)+1, p[i+1:]
		return true
	}
	if start < inside && !skip() {
		return
	}
	for isMore(p) { // of a message that begins before the chunk
		if !skip() {
			return
		}
	}
	for at < end {
		i := messageEnd(p)
		if i < 0 {
			return
		}
		do(p[:i], at)
		at, p = at+uint64(i)+1, p[i+1:]
	}
}

// isMore says whether a line of the text belongs to the message before it.
func isMore(line []byte) bool {
	return len(line) > stampLen && line[stampLen-1] == ' ' &&
		bytes.HasPrefix(line[stampLen:], []byte("@"+moreTag))
}

// messageEnd returns the place of the LF that ends the message at the beginning of a text, with all
// of its lines; -1 if there is none.
func messageEnd(p []byte) int {
	end := bytes.IndexByte(p, '\n')
	for end >= 0 && isMore(p[end+1:]) {
		i := bytes.IndexByte(p[end+1:], '\n')
		if i < 0 {
			break
		}
		end += 1 + i
	}
	return end
}

// messageAt returns the message that begins at an offset, and its size in the text.
func (h *Hall) messageAt(at uint64) (s said, size int, ok bool) {
	begin := h.config.Text.Begin()
	if at < begin || at >= h.at {
		return said{}, 0, false
	}
	from := at
	if at > begin {
		from-- // a line begins behind the end of another
	}
	p := fill(h.whole().ReadAt, make([]byte, maxStored+1), from)
	if from < at {
		if len(p) == 0 || p[0] != '\n' {
			return said{}, 0, false
		}
		p = p[1:]
	}
	end := messageEnd(p)
	if end < 0 || isMore(p) {
		return said{}, 0, false
	}
	s, ok = parseSaid(p[:end], at)
	return s, end + 1, ok
}
