package hall

import (
	"bytes"
	"strconv"
	"time"

	"interleave/papaya/irc"
)

// A Sink takes lines for one client, and sends them some time. It never blocks. End sends what is
// there, then closes.
type Sink interface {
	Write(line []byte)            // the caller may change line afterwards
	Share(run *Run, from, to int) // one line that others get too
	Waiting() int                 // bytes that were not sent yet
	End()
}

// A Client is a connection to this server, from its first line on.
type Client struct {
	ID          uint64
	Host        string
	Secure      bool
	Open        bool   // what it says may be read on its way: no passwords
	Fingerprint string // of its certificate, hex

	sink Sink
	caps caps
	user *user // nil before registration

	// Before registration.
	nick, name, real string
	negotiating      bool // between CAP LS or REQ and CAP END
	entering         bool // Enter is on its way
	password         bool // the right PASS was given
	invitation       string
	account          string
	role             Role
	sasl             string // what AUTHENTICATE has brought so far
	mechanism        string
	signing          bool // an answer about an account is awaited
	version          int  // of CAP
	closed           bool

	// What it has had: asked is the place that was named in the last PING, 0 if it was answered.
	sent, asked, had uint64
	askedLag         []lag
	marked           bool // what it has had is to be written to the log
	catching         []*catch
	captured         *[][]byte // answers to a labelled line
	searching        bool      // a query is on its way
}

// Connect takes a connection in.
func (h *Hall) Connect(c *Client, sink Sink) {
	c.sink = sink
	h.clients[c.ID] = c
}

// Registered says whether a client has registered.
func (c *Client) Registered() bool { return c.user != nil }

// Account is who has logged in, if somebody has.
func (c *Client) Account() string {
	if c.user != nil {
		return c.user.account
	}
	return c.account
}

// Nick is what a client is called, or * before registration.
func (c *Client) Nick() string {
	switch {
	case c.user != nil:
		return c.user.nick
	case c.nick != "":
		return c.nick
	}
	return "*"
}

// caps are what a client has asked for.
type caps uint16

const (
	serverTime caps = 1 << iota // the first three decide how a line looks
	messageTags
	accountTag
	inBatch
	echoMessage
	labeledResponse
	capNotify
	awayNotify
	accountNotify
	setname
	sasl
	chathistory
	multiPrefix
	inviteNotify
	extendedJoin
	registration

	looks = serverTime | messageTags | accountTag
)

// capNames are in the order in which they are offered.
var capNames = []struct {
	name string
	bit  caps
}{
	{"account-notify", accountNotify}, {"account-tag", accountTag}, {"away-notify", awayNotify},
	{"batch", inBatch},
	{"cap-notify", capNotify}, {"draft/account-registration", registration},
	{"draft/chathistory", chathistory},
	{"echo-message", echoMessage}, {"extended-join", extendedJoin}, {"invite-notify", inviteNotify},
	{"labeled-response", labeledResponse}, {"message-tags", messageTags},
	{"multi-prefix", multiPrefix}, {"sasl", sasl},
	{"server-time", serverTime}, {"setname", setname},
}

// write sends a line, or keeps it where the answers to a label are gathered.
func (c *Client) write(line []byte) {
	switch {
	case c == nil || c.closed:
	case c.captured != nil:
		*c.captured = append(*c.captured, bytes.Clone(line))
	default:
		c.sink.Write(line)
	}
}

// num answers with a numeric: everything after the client's name.
func (h *Hall) num(c *Client, number, rest string) {
	if c == nil {
		return
	}
	line := make([]byte, 0, 128)
	line = append(line, ':')
	line = append(line, h.config.Name...)
	line = append(line, ' ')
	line = append(line, number...)
	line = append(line, ' ')
	line = append(line, c.Nick()...)
	line = append(line, ' ')
	line = append(line, rest...)
	c.write(append(cut(line), '\r', '\n'))
}

// cut makes room for CR LF in a line that became too long, at the end of a letter of UTF-8.
func cut(line []byte) []byte {
	if len(line) <= irc.MaxLine-2 {
		return line
	}
	n := irc.MaxLine - 2
	for n > irc.MaxLine-6 && line[n]&0xC0 == 0x80 {
		n--
	}
	return line[:n]
}

// say sends a line of the server's own.
func (h *Hall) say(c *Client, rest string) {
	if c != nil {
		c.write(append(cut([]byte(":"+h.config.Name+" "+rest)), '\r', '\n'))
	}
}

// fail is a standard reply of IRCv3.
func (h *Hall) fail(c *Client, command, code, words, why string) {
	if words != "" {
		words += " "
	}
	h.say(c, "FAIL "+command+" "+code+" "+words+":"+why)
}

// close ends a connection with a last line.
func (h *Hall) close(c *Client, why string) {
	if c.closed {
		return
	}
	c.captured = nil
	c.write(append(cut([]byte("ERROR :"+why)), '\r', '\n'))
	c.closed = true
	h.forget(c)
	c.sink.End()
}

// TooLong answers a line that was too long to be read.
func (h *Hall) TooLong(c *Client) { h.num(c, irc.ERR_INPUTTOOLONG, ":Input line was too long") }

// Farewell ends a connection since the server ends. Nobody else is told.
func (h *Hall) Farewell(c *Client, why string) { h.close(c, why) }

func (h *Hall) forget(c *Client) {
	delete(h.clients, c.ID)
	delete(h.behind, c)
	c.catching = nil
}

// An out is a line that several clients get, each in the form that it has asked for.
type out struct {
	body    []byte // from the source to CR LF
	tags    string // of the client's own, which only message-tags passes on
	account string
	kept    bool   // it stands in the text, and has an identity
	at      uint64 // where
	time    int64
	batch   string
	forms   [looks + 1][]byte
}

// newOut is a line from a user. It has no place in the text unless kept is set.
func (h *Hall) newOut(u *user, rest string) *out {
	body := make([]byte, 0, len(u.source)+len(rest)+4)
	body = append(body, ':')
	body = append(body, u.source...)
	body = append(body, ' ')
	body = append(body, rest...)
	return &out{body: append(cut(body), '\r', '\n'), account: u.account, time: h.now}
}

// to sends the line.
func (o *out) to(c *Client) {
	if c == nil {
		return
	}
	c.write(o.in(c.caps & looks))
}

// in is the line in a form.
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

// appendMsgid appends the identity of a message: its place in the text.
func appendMsgid(b []byte, at uint64) []byte { return strconv.AppendUint(b, at, 36) }

// labelled runs what answers a line, and sends the answers with the line's label: none is ACK,
// several are a batch.
func (h *Hall) labelled(c *Client, label string, do func()) {
	if c == nil || label == "" || c.caps&labeledResponse == 0 || c.captured != nil {
		do()
		return
	}
	var lines [][]byte
	c.captured = &lines
	before := c.searching
	do()
	if c.captured == nil { // it was closed
		return
	}
	c.captured = nil
	tag := "label=" + irc.Escape(label)
	switch {
	case len(lines) == 0 && c.searching && !before: // the answer comes later, with the label
	case len(lines) == 0:
		c.write([]byte("@" + tag + " :" + h.config.Name + " ACK\r\n"))
	case len(lines) == 1 || c.caps&inBatch == 0:
		for i, l := range lines {
			if i == 0 {
				l = tagged(tag, l)
			}
			c.write(l)
		}
	default:
		name := h.batchName()
		c.write([]byte("@" + tag + " :" + h.config.Name + " BATCH +" + name +
			" labeled-response\r\n"))
		for _, l := range lines {
			if !bytes.HasPrefix(l, []byte("@batch=")) {
				l = tagged("batch="+name, l)
			}
			c.write(l)
		}
		c.write([]byte(":" + h.config.Name + " BATCH -" + name + "\r\n"))
	}
}

func (h *Hall) batchName() string {
	h.batches++
	return "b" + strconv.FormatUint(h.batches, 36)
}

// tagged puts a tag before those that a line has.
func tagged(tag string, line []byte) []byte {
	if line[0] == '@' {
		return append([]byte("@"+tag+";"), line[1:]...)
	}
	return append([]byte("@"+tag+" "), line...)
}
