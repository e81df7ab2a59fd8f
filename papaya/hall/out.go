package hall

import (
	"bytes"
	"strings"
	"time"

	"interleave/papaya/irc"
)

// An out is a line for several clients, or a message of several lines. Each gets it with the tags
// that it has requested.
type out struct {
	body    []byte   // from the source to CR LF
	more    []joined // the other lines of the message
	tags    string   // the client's own tags, for clients with message-tags
	account string
	ids     *msgids // make the msgid of a line in the text; nil: it is not there
	at      uint64  // its offset
	id      []byte  // the msgid of a line that is not in the text; empty: it has none
	time    int64
	batch   string
	forms   [looks + 1][]byte
}

// A joined line belongs to the message of the line before it.
type joined struct {
	body []byte // from the source on; in an out to CR LF
	same bool   // it goes on in the same line of the message (draft/multiline-concat)
}

// empty says whether the line has no text: :SOURCE COMMAND TARGET :
func (l joined) empty() bool {
	words := bytes.SplitN(bytes.TrimRight(l.body, "\r\n"), []byte(" "), 4)
	return len(words) == 4 && string(words[3]) == ":"
}

// newOut makes a line with a user as its source. It is not in the text unless keep is called.
func (h *Hall) newOut(u *user, rest string) *out {
	body := make([]byte, 0, len(u.source)+len(rest)+4)
	body = append(body, ':')
	body = append(body, u.source...)
	body = append(body, ' ')
	body = append(body, rest...)
	return &out{body: append(cut(body), '\r', '\n'), account: u.account, time: h.now,
		tags: u.marked("")}
}

// keep notes that the line is in the text, at an offset.
func (h *Hall) keep(o *out, at uint64) { o.ids, o.at = &h.ids, at }

// appendID appends the msgid, if the line has one. It is made for those clients only that want it.
func (o *out) appendID(b []byte) []byte {
	if o.ids != nil {
		return o.ids.append(b, o.at)
	}
	return append(b, o.id...)
}

// look returns the form of the line for a client. Only a message of several lines has a form of its
// own for clients that understand it.
func (o *out) look(c *Client) caps {
	look := c.caps & looks
	if o.more == nil || c.caps&inBatch == 0 {
		look &^= multiline
	}
	return look
}

// to sends the line to a client.
func (o *out) to(c *Client) {
	if c == nil {
		return
	}
	c.write(o.in(o.look(c)))
}

// later is to for a line that may wait a little for others.
func (o *out) later(c *Client) {
	if c != nil {
		c.writeLater(o.in(o.look(c)))
	}
}

// apart sends the line as no reply: it gets no label.
func (o *out) apart(c *Client) {
	replies := c.captured
	c.captured = nil
	o.to(c)
	c.captured = replies
}

// in returns the line in a form.
func (o *out) in(look caps) []byte {
	if o.forms[look] == nil {
		o.forms[look] = o.form(nil, look)
	}
	return o.forms[look]
}

// form appends the line, or all lines of the message, in a form.
func (o *out) form(b []byte, look caps) []byte {
	switch {
	case o.more == nil:
		return append(o.head(b, look, true), o.body...)
	case look&multiline != 0:
		return o.asBatch(b, look)
	}
	first := true
	for _, l := range o.lines() { // for other clients each line is a message, and none is empty
		if !l.empty() {
			b = append(o.head(b, look, first), l.body...)
			first = false
		}
	}
	return b
}

// lines returns all lines of the message.
func (o *out) lines() []joined { return append([]joined{{body: o.body}}, o.more...) }

// asBatch appends a message of several lines as a batch (draft/multiline of IRCv3). The tags of the
// message are those of the line that opens the batch.
func (o *out) asBatch(b []byte, look caps) []byte {
	word := strings.SplitN(string(o.body), " ", 4) // :SOURCE COMMAND TARGET :TEXT
	source, ref := word[0]+" BATCH ", string(o.appendID([]byte("m")))
	b = o.head(b, look, true)
	b = append(b, source+"+"+ref+" draft/multiline "+word[2]+"\r\n"...)
	for _, l := range o.lines() {
		b = append(b, "@batch="+ref...)
		if l.same {
			b = append(b, ";draft/multiline-concat"...)
		}
		b = append(append(b, ' '), l.body...)
	}
	if o.batch != "" {
		b = append(b, "@batch="+o.batch+" "...)
	}
	return append(b, source+"-"+ref+"\r\n"...)
}

// head appends the tags before a line. The first line of a message has its msgid.
func (o *out) head(b []byte, look caps, first bool) []byte {
	bare := len(b)
	tag := func(name string) {
		if len(b) == bare {
			b = append(b, '@')
		} else {
			b = append(b, ';')
		}
		b = append(b, name...)
	}
	if o.batch != "" {
		tag("batch=")
		b = append(b, o.batch...)
	}
	if look&serverTime != 0 {
		tag("time=")
		b = time.UnixMilli(o.time).UTC().AppendFormat(b, clockForm)
	}
	if look&messageTags != 0 && first && (o.ids != nil || len(o.id) > 0) {
		tag("msgid=")
		b = o.appendID(b)
	}
	if look&accountTag != 0 && o.account != "" {
		tag("account=")
		b = append(b, irc.Escape(o.account)...)
	}
	if look&messageTags != 0 && o.tags != "" {
		tag(o.tags)
	}
	if len(b) > bare {
		b = append(b, ' ')
	}
	return b
}
