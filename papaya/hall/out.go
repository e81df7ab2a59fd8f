package hall

import (
	"strconv"
	"time"

	"interleave/papaya/irc"
)

// An out is a line for several clients. Each gets it with the tags that it has requested.
type out struct {
	body    []byte // from the source to CR LF
	tags    string // the client's own tags, for clients with message-tags
	account string
	kept    bool   // it is in the text and has a msgid
	at      uint64 // its offset
	id      string // the msgid of a line that is not kept
	time    int64
	batch   string
	forms   [looks + 1][]byte
}

// newOut makes a line with a user as its source. It is not in the text unless kept is set.
func (h *Hall) newOut(u *user, rest string) *out {
	body := make([]byte, 0, len(u.source)+len(rest)+4)
	body = append(body, ':')
	body = append(body, u.source...)
	body = append(body, ' ')
	body = append(body, rest...)
	return &out{body: append(cut(body), '\r', '\n'), account: u.account, time: h.now}
}

// to sends the line to a client.
func (o *out) to(c *Client) {
	if c == nil {
		return
	}
	c.write(o.in(c.caps & looks))
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

// form appends the line in a form.
func (o *out) form(b []byte, look caps) []byte {
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
	if look&messageTags != 0 && o.id != "" {
		tag("msgid=")
		b = append(b, o.id...)
	}
	if look&messageTags != 0 && o.kept {
		tag("msgid=")
		b = appendMsgid(b, o.at)
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
	return append(b, o.body...)
}

// appendMsgid appends the msgid of a message, which is its offset in the text.
func appendMsgid(b []byte, at uint64) []byte { return strconv.AppendUint(b, at, 36) }
