package hall

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"interleave/papaya/irc"
)

// A message may have previews of the links in it. The server that has logged the message tells
// Config.Preview of it, which fetches the pages, and later orders each preview (AddPreview), so
// that all servers have it. It is stored as a TAGMSG of the message's author that replies to the
// message, with a tag that no client can give. Only clients with the capability are sent it.
//
// A preview goes with its message: an entry REDACT names the places of both in the text. Its author
// may also remove the preview alone, by REDACT with the preview's own msgid.

// PreviewTag is the name of the tag that has a preview, and of the capability. A user or a room
// whose metadata has the value previewOff under this key gets no previews.
const (
	PreviewTag = "papaya/preview"
	previewOff = "off"
	replyTag   = "+draft/reply"
)

// Bounds of a preview. A later one, or one that is farther from its message, is dropped: so REDACT
// finds a preview near its message. All are guesses.
const (
	previewWithin = int64(2 * 60 * 1000) // ms after its message
	previewSpan   = 1 << 20              // bytes of the text behind it
	// MaxPreview is in bytes, as the value of a tag, with its escapes. The tags of a line have 4094
	// bytes of a server at most (IRCv3, message-tags).
	MaxPreview = 3500
)

// Linked is a message that may have links.
type Linked struct {
	Target  string // the room, or the nick of who it was said to
	Room    bool
	Source  string // nick!user@host
	Account string // of its author; empty for a guest
	At      uint64 // its offset in the text, which names it
	Time    int64  // milliseconds since 1970
	Text    string // its lines are separated by LF
}

// Order returns the words of the order AddPreview.
func (l Linked) Order(preview string) []string {
	return []string{l.Target, l.Source, l.Account, string(appendPlace(nil, l.At)),
		strconv.FormatInt(l.Time, 10), preview}
}

// linked tells Config.Preview of a message. r is nil for a private one. Programs say links to each
// other, so those of bots, notices and CTCP have no previews.
func (h *Hall) linked(u *user, r *room, target string, it speech, o *out) {
	if h.config.Preview == nil || h.from.server != h.config.Server || it.command != "PRIVMSG" ||
		it.hasCTCP() || u.styles['B'] || u.facts[PreviewTag] == previewOff ||
		r != nil && r.facts[PreviewTag] == previewOff {
		return
	}
	text := it.text
	for _, l := range it.more {
		if !l.same {
			text += "\n"
		}
		text += l.text
	}
	if strings.Contains(text, "://") {
		h.config.Preview(Linked{target, r != nil, u.source, u.account, o.at, o.time, text})
	}
}

// A nearby is a preview, or a removal, of the last minutes. It is saved, since it decides what
// becomes of entries that have crossed each other on their way to the log.
type nearby struct {
	of   uint64 // the message
	time int64  // of the entry, in milliseconds since 1970
	span Span   // of the preview; empty: the message was removed
}

// maxNearby bounds how many of them are kept. A guess.
const maxNearby = 10_000

// note notes a preview or a removal, and forgets old ones.
func (h *Hall) note(n nearby) {
	list := h.nearby
	for len(list) > 0 && (h.now-list[0].time > 2*previewWithin || len(list) >= maxNearby) {
		list = list[1:]
	}
	h.nearby = append(list, n)
}

// addPreview obeys AddPreview: TARGET SOURCE ACCOUNT PLACE TIME PREVIEW.
func (h *Hall) addPreview(words []string) {
	if len(words) < 6 {
		return
	}
	of, ok := parsePlace(words[3])
	when, err := strconv.ParseInt(words[4], 10, 64)
	value := irc.Escape(words[5])
	if !ok || err != nil || of >= h.at || h.at-of > previewSpan || value == "" ||
		len(value) > MaxPreview || h.now-when > previewWithin || h.wasRemoved(of) {
		return
	}
	source, account := words[1], words[2]
	nick, _, host := irc.SplitMask(source)
	if nick == "" || host == "" || strings.Contains(source, " ") {
		return
	}
	u := h.holder(irc.Lower(nick))
	if u != nil && !u.hadNick(irc.Lower(nick), of) {
		u = nil
	}
	if u != nil { // it may have another nick meanwhile
		source, account = u.source, u.account
	}
	o := &out{tags: PreviewTag + "=" + value + beforePlace + words[3], account: account,
		time: h.now}
	if irc.IsRoom(words[0]) {
		h.previewInRoom(irc.Lower(words[0]), source, u, of, o)
	} else if to := h.holder(irc.Lower(words[0])); to != nil && u != nil &&
		to.hadNick(irc.Lower(words[0]), of) {
		h.previewInTalk(source, u, to, of, o)
	}
}

// wasRemoved says whether a message was removed a moment ago.
func (h *Hall) wasRemoved(of uint64) bool {
	return slices.ContainsFunc(h.nearby,
		func(n nearby) bool { return n.of == of && n.span == Span{} })
}

// previewInRoom stores a preview of a message in a room, and tells those there who know previews.
func (h *Hall) previewInRoom(folded, source string, u *user, of uint64, o *out) {
	r := h.rooms[folded]
	if r == nil || !r.called(folded, of) { // it may have got another name meanwhile
		r = lastOf(h.formers[folded], folded)
	}
	if r == nil || !r.called(folded, of) {
		return
	}
	h.store(o, source, r.name, of)
	line := h.share(r, o)
	for _, c := range r.clients {
		switch {
		case !c.previews():
		case len(c.backlogs) > 0 && c.waitsFor(r):
			if c.user == u {
				c.postpone(r, o)
			}
		default:
			line.to(c)
			c.sent = h.at
		}
	}
}

// previewInTalk stores a preview of a message from one user to another.
func (h *Hall) previewInTalk(source string, u, to *user, of uint64, o *out) {
	h.store(o, source, to.nick, of)
	tell := func(c *Client) {
		if c.previews() && !c.waitsFor(nil) {
			o.to(c)
			c.sent = h.at
		}
	}
	u.eachClient(tell)
	if to != u {
		to.eachClient(tell)
	}
}

// beforePlace stands in the tags of a preview before the place of its message, with which they end.
const beforePlace = ";" + replyTag + "="

// previewTags returns the tags of a message of the text as clients see them: those of a preview
// have the msgid of its message.
func (m *msgids) previewTags(s said) string {
	i := strings.LastIndex(s.tags, beforePlace)
	if i < 0 || !s.isPreview() {
		return s.tags
	}
	i += len(beforePlace)
	return s.tags[:i] + m.msgid(s.tags[i:])
}

// store writes a preview into the text.
func (h *Hall) store(o *out, source, target string, of uint64) {
	o.body = append(cut([]byte(":"+source+" TAGMSG "+target)), '\r', '\n')
	folded := irc.Lower(target)
	h.keep(o, h.record(folded, o.tags, appendBody(nil, source, "TAGMSG", target, "")))
	o.tags = h.ids.previewTags(said{tags: o.tags})
	if nick, _, _ := irc.SplitMask(source); !irc.IsRoom(folded) {
		h.addToIndex(conversation(irc.Lower(nick), folded), o.at)
	}
	h.note(nearby{of: of, time: h.now, span: Span{o.at, int(h.at - o.at)}})
}

// previews says whether a client knows previews.
func (c *Client) previews() bool {
	return c.caps&(previews|messageTags) == previews|messageTags
}

// withoutPreviews is the capability if the server makes no previews.
func (h *Hall) withoutPreviews() caps {
	if h.config.Preview == nil {
		return previews
	}
	return 0
}

// isPreview says whether a message of the text is a preview, or the removal of one.
func (s said) isPreview() bool {
	rest, ok := strings.CutPrefix(s.tags, PreviewTag)
	return ok && (rest == "" || rest[0] == '=' || rest[0] == ';')
}

// previewOf returns a preview, and the message that it is of.
func (s said) previewOf() (preview string, of uint64, ok bool) {
	if s.command != "TAGMSG" || !s.isPreview() {
		return "", 0, false
	}
	tags := irc.ParseTags(s.tags)
	of, ok = parsePlace(tags[replyTag])
	return tags[PreviewTag], of, ok
}

// PreviewAt returns the preview at an offset of the text. It is empty if there is none, or if it
// was removed.
func (h *Hall) PreviewAt(at uint64) string {
	s, _, _ := h.messageAt(at)
	preview, _, _ := s.previewOf()
	return preview
}

// HasPreview says whether a preview of the last minutes is in the text.
func (h *Hall) HasPreview(of uint64, preview string) bool {
	return slices.ContainsFunc(h.nearby, func(n nearby) bool {
		return n.of == of && n.span.Size > 0 && h.PreviewAt(n.span.At) == preview
	})
}

// previewsOf finds the previews of a message in the text.
func (h *Hall) previewsOf(of uint64, since int64) (spans []Span) {
	p := pages{text: h.whole()}
	mark, late := []byte("@"+PreviewTag+"="), false
	end := min(of+2*previewSpan, h.at) // it may be longer than the distance that is allowed
	for n := uint32(of >> chunkBits); uint64(n)<<chunkBits < end && !late; n++ {
		p.eachRaw(n, of, func(raw []byte, at uint64) {
			if bytes.Contains(raw, mark) {
				if s, ok := parseSaid(raw, at); ok {
					if _, its, ok := s.previewOf(); ok && its == of {
						spans = append(spans, Span{at, len(raw) + 1})
					}
				}
			}
			if when, _, _, ok := parseStored(raw); ok {
				late = when.UnixMilli() > since+previewWithin
			}
		})
	}
	return spans
}

// formatSpans appends the places of previews to the words of an entry REDACT.
func formatSpans(words []byte, spans []Span) []byte {
	for _, p := range spans {
		words = fmt.Appendf(words, " %d+%d", p.At, p.Size)
	}
	return words
}

// parseSpans reads the words of an entry REDACT behind the first four: the places of previews that
// go with the message, or PreviewTag if the message itself is a preview.
func (r *redacted) parseSpans(line string, end uint64) {
	words := strings.Fields(line)
	for _, w := range words[min(len(words), 4):] {
		var p Span
		if w == PreviewTag {
			r.preview = true
		} else if _, err := fmt.Sscanf(w, "%d+%d", &p.At, &p.Size); err == nil && p.within(end) {
			r.previews = append(r.previews, p)
		}
	}
}

// within says whether a place may be that of a message in a text that ends there.
func (p Span) within(end uint64) bool {
	return p.Size > 0 && p.Size <= maxStored && p.At < end && uint64(p.Size) <= end-p.At
}

// removeWith removes the previews of a message that is removed: those that the entry names, and
// those that have come while it was on its way.
func (h *Hall) removeWith(of uint64, spans []Span) {
	for _, n := range h.nearby {
		if n.of == of && n.span.Size > 0 && !slices.Contains(spans, n.span) {
			spans = append(spans, n.span)
		}
	}
	h.removed = append(h.removed, spans...)
	h.removals += uint64(len(spans))
	h.note(nearby{of: of, time: h.now}) // no later preview or edit is taken
}
