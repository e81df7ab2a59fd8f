package hall

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"interleave/papaya/irc"
)

// A client may send a message of several lines as a batch (draft/multiline of IRCv3). Its server
// gathers the lines, and logs the message as one entry when the batch ends.

// Limits of such a message, in lines, and in bytes of text with an LF between lines. Clients are
// told them. Ergo has the same.
const (
	maxLines      = 32
	maxLinesBytes = 4096
)

// A gathered message is a batch that the client has not ended yet.
type gathered struct {
	ref, target string
	label, tags string // those of its BATCH
	edit        bool   // it changes the message of
	of          string // a msgid
	command     string
	lines       []spoken
	bytes       int
	failed      bool // the client was told, and the rest is ignored
}

// A spoken line is a line of a message of several lines.
type spoken struct {
	text string
	same bool // it goes on in the same line (draft/multiline-concat)
}

// gathers says whether a line is a part of a batch that the client is sending.
func (c *Client) gathers(m *irc.Message) bool {
	if c.caps&multiline == 0 {
		return false
	}
	_, part := m.Tags["batch"]
	return part || m.Command == "BATCH"
}

// gather takes a line of a batch. If it ends the batch, gather returns the entry of the message.
func (h *Hall) gather(c *Client, m *irc.Message) Entry {
	sign, ref := "", m.Param(0)
	if ref != "" {
		sign, ref = ref[:1], ref[1:]
	}
	switch {
	case m.Command != "BATCH":
		h.gatherLine(c, m)
	case sign == "+":
		h.openBatch(c, ref, m)
	case sign == "-":
		return h.endBatch(c, ref)
	default:
		h.failBatch(c, "MULTILINE_INVALID", "", "A batch begins with + and ends with -")
	}
	return Entry{}
}

// failBatch answers a batch that cannot become a message. The client is told once.
func (h *Hall) failBatch(c *Client, code, words, why string) {
	label := ""
	if b := c.gathered; b != nil {
		if b.failed {
			return
		}
		*b = gathered{ref: b.ref, label: b.label, failed: true}
		label = b.label
	}
	h.labelled(c, label, func() { h.fail(c, "BATCH", code, words, why) })
}

func (h *Hall) openBatch(c *Client, ref string, m *irc.Message) {
	kind, target := m.Param(1), m.Param(2)
	switch {
	case c.gathered != nil:
		h.failBatch(c, "MULTILINE_INVALID", "", "A batch is open already")
		return
	case ref == "" || strings.Contains(ref, " "):
		h.failBatch(c, "MULTILINE_INVALID", "", "The batch has no name")
		return
	}
	c.gathered = &gathered{ref: ref, target: target, label: m.Tags["label"], tags: ownTags(m.Tags)}
	if h.isEdit(m) {
		b := c.gathered
		b.edit, b.of, b.tags = true, m.Tags[editTag], otherTags(m.Tags)
	}
	switch {
	case kind != "draft/multiline":
		h.failBatch(c, "UNKNOWN_TYPE", middle(kind), "Clients send batches draft/multiline only")
	case !irc.IsRoom(target) && !irc.IsNick(target):
		h.failBatch(c, "MULTILINE_INVALID_TARGET", middle(target)+" "+middle(target),
			"A message of several lines has one target")
	}
}

func (h *Hall) gatherLine(c *Client, m *irc.Message) {
	b := c.gathered
	if b == nil || m.Tags["batch"] != b.ref {
		h.failBatch(c, "MULTILINE_INVALID", "", "The line is of no batch that is open")
		return
	}
	text := m.Param(1)
	_, same := m.Tags[sameTag]
	size := len(text)
	if len(b.lines) > 0 && !same {
		size++ // an LF
	}
	switch {
	case b.failed:
	case m.Command != "PRIVMSG" && m.Command != "NOTICE" || b.command != "" &&
		m.Command != b.command:
		h.failBatch(c, "MULTILINE_INVALID", "", "All lines are PRIVMSG, or all are NOTICE")
	case irc.Lower(m.Param(0)) != irc.Lower(b.target):
		h.failBatch(c, "MULTILINE_INVALID_TARGET", middle(b.target)+" "+middle(m.Param(0)),
			"All lines have the target of the batch")
	case same && text == "":
		h.failBatch(c, "MULTILINE_INVALID", "", "A line that goes on has a text")
	case len(b.lines) >= maxLines:
		h.failBatch(c, "MULTILINE_MAX_LINES", strconv.Itoa(maxLines), "There are too many lines")
	case b.bytes+size > maxLinesBytes:
		h.failBatch(c, "MULTILINE_MAX_BYTES", strconv.Itoa(maxLinesBytes), "The text is too long")
	default:
		b.command, b.bytes = m.Command, b.bytes+size
		b.lines = append(b.lines, spoken{text, same && len(b.lines) > 0})
	}
}

func (h *Hall) endBatch(c *Client, ref string) Entry {
	b := c.gathered
	switch {
	case b == nil || b.ref != ref:
		h.failBatch(c, "MULTILINE_INVALID", "", "There is no such batch")
		return Entry{}
	case !slices.ContainsFunc(b.lines, func(l spoken) bool { return l.text != "" }):
		h.failBatch(c, "MULTILINE_INVALID", "", "The message has no text")
	}
	c.gathered = nil
	if b.failed {
		return Entry{}
	}
	it := speech{b.command, b.lines[0].text, b.tags, b.lines[1:]}
	if b.edit {
		var e Entry
		h.labelled(c, b.label, func() { e = h.edit(c, b.target, b.of, it) })
		e.Label = b.label
		return e
	}
	first := irc.Message{Command: b.command, Params: []string{b.target, b.lines[0].text}}
	if h.isToNobody(&irc.Message{Command: b.command, Params: []string{b.target, "x"}}) {
		var e Entry
		h.labelled(c, b.label, func() { e = h.toNobody(c, &first) })
		e.Label = b.label
		return e
	}
	return Entry{Kind: Lines, Data: it.data(b.target), Label: b.label}
}

// data returns what was said as an entry has it, which parseLines reads.
func (it *speech) data(target string) []byte {
	first := irc.Message{Command: it.command, Params: []string{target, it.text}}
	data := []byte(first.String())
	if it.tags != "" {
		data = append([]byte("@"+it.tags+" "), data...)
	}
	for _, l := range it.more {
		data = append(data, '\n')
		if l.same {
			data = append(data, '+')
		} else {
			data = append(data, '-')
		}
		data = append(data, l.text...)
	}
	return data
}

// parseLines parses the data of a message of several lines: its first line, as the client could
// have sent it alone, and each other one after LF and + or -. With + it goes on in the same line.
func parseLines(data []byte) (first irc.Message, more []spoken) {
	head, rest, several := bytes.Cut(data, []byte("\n"))
	first, err := irc.Parse(string(head))
	if err != nil || first.Command != "PRIVMSG" && first.Command != "NOTICE" {
		return irc.Message{}, nil
	}
	for several {
		var l []byte
		l, rest, several = bytes.Cut(rest, []byte("\n"))
		if len(l) == 0 || l[0] != '+' && l[0] != '-' || bytes.ContainsAny(l, "\x00\r") ||
			len(more) == maxLines-1 {
			return irc.Message{}, nil
		}
		more = append(more, spoken{string(l[1:]), l[0] == '+'})
	}
	return first, more
}

// LinesTarget returns the target of an entry of the kind Lines or Edit.
func LinesTarget(e Entry) string {
	if e.Kind == Edit {
		_, target, _, _ := parseEdit(e.Data)
		return target
	}
	first, _ := parseLines(e.Data)
	return first.Param(0)
}

// sayLines applies a message of several lines.
func (h *Hall) sayLines(s *session, data []byte) {
	m, more := parseLines(data)
	if m.Param(0) == "" {
		return // another program has logged it
	}
	c := s.client
	if m.Command == "NOTICE" {
		c = nil
	}
	h.messageTo(s, c, m.Param(0), speech{m.Command, m.Param(1), ownTags(m.Tags), more})
}
