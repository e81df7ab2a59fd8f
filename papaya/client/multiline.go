package client

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"interleave/papaya/irc"
)

// Messages of several lines (draft/multiline of IRCv3) are batches, in which each line of the text
// is a PRIVMSG or NOTICE. A tag joins a line to the one before it, where a line is too long.

const (
	multilineCap = "draft/multiline"
	concatTag    = "draft/multiline-concat"
)

// maxAtOnce bounds how many messages one text may become. maxLinesAtOnce bounds it where each line
// is a message. Both are guesses; servers slow down clients that send more.
const (
	maxAtOnce      = 10
	maxLinesAtOnce = 50
)

// limits are those of a message: in bytes of text with an LF between lines, and in lines.
type limits struct{ bytes, lines int }

// parseLimits parses the value of draft/multiline. What is missing or absurd gets a default.
func parseLimits(value string) limits {
	l := limits{4096, 32}
	for word := range strings.SplitSeq(value, ",") {
		key, number, _ := strings.Cut(word, "=")
		n, err := strconv.Atoi(number)
		switch {
		case err != nil:
		case key == "max-bytes" && n >= irc.MaxLine:
			l.bytes = min(n, 1<<16)
		case key == "max-lines" && n >= 1:
			l.lines = min(n, 256)
		}
	}
	return l
}

// A part is a line on the wire. It may go on in the same line of the text as the one before it.
type part struct {
	text string
	same bool
}

// compose divides a text into messages of several lines. size bounds the bytes of one line on the
// wire. It returns nil if a character does not fit.
func compose(text string, size int, most limits) [][]part {
	var out [][]part
	var now []part
	bytes := 0
	for line := range strings.SplitSeq(trimLines(text), "\n") {
		for i, piece := range exactly(line, size) {
			if piece == "" && i > 0 {
				return nil
			}
			more := len(piece) + 1
			if len(now) > 0 && (len(now) == most.lines || bytes+more > most.bytes) {
				out, now, bytes = appendMessage(out, now), nil, 0
			}
			now, bytes = append(now, part{piece, i > 0 && len(now) > 0}), bytes+more
		}
	}
	return appendMessage(out, now)
}

// appendMessage appends a message, unless it has no text.
func appendMessage(all [][]part, one []part) [][]part {
	for _, p := range one {
		if p.text != "" {
			return append(all, one)
		}
	}
	return all
}

// trimLines makes all ends of lines LF, and removes empty lines around the text.
func trimLines(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	lines := strings.Split(text, "\n")
	for len(lines) > 1 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n ")
}

// exactly cuts a line into pieces of at most size bytes, behind blanks if possible, so that all
// pieces together are the line. The last piece is empty if a character does not fit.
func exactly(line string, size int) []string {
	var out []string
	for len(line) > size {
		end := max(size, 0)
		for end > 0 && !utf8.RuneStart(line[end]) {
			end--
		}
		if end == 0 {
			return append(out, line[:0], "")
		}
		if blank := strings.LastIndexByte(line[:end], ' '); blank > end/2 {
			end = blank + 1
		}
		out = append(out, line[:end])
		line = line[end:]
	}
	return append(out, line)
}

// joined returns the text of a message of several lines.
func joined(parts []part) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 && !p.same {
			b.WriteByte('\n')
		}
		b.WriteString(p.text)
	}
	return b.String()
}

// several says whether the server takes messages of several lines.
func (s *Session) several() bool { return s.caps[multilineCap] && s.caps["batch"] }

// sendBatch sends a message of several lines. Its label, if it has one, is at the first line.
func (s *Session) sendBatch(command, target string, parts []part) (opening int) {
	s.sent++
	ref := "l" + strconv.Itoa(s.sent)
	opening = len(s.out)
	s.send("BATCH", "+"+ref, multilineCap, target)
	for _, p := range parts {
		s.send(command, target, p.text)
		tags := map[string]string{"batch": ref}
		if p.same {
			tags[concatTag] = ""
		}
		s.out[len(s.out)-1].Tags = tags
	}
	s.send("BATCH", "-"+ref)
	return opening
}

// assemble makes one line of a batch: its tags are those of the line that opened the batch, and its
// text has LF between the lines. It returns false if nobody has said anything.
func (b *batch) assemble() (irc.Message, bool) {
	if len(b.lines) == 0 {
		return irc.Message{}, false
	}
	var parts []part
	first := b.lines[0]
	for _, l := range b.lines {
		_, same := l.Tags[concatTag]
		parts = append(parts, part{l.Param(1), same})
	}
	return irc.Message{Tags: b.tags, Source: b.source, Command: first.Command,
			Params: []string{b.target, joined(parts)}}, first.Command == "PRIVMSG" ||
			first.Command == "NOTICE"
}
