package hall

import (
	"bytes"
	"net/netip"
	"strconv"
	"unicode/utf8"

	"interleave/papaya/irc"
)

// A Sink queues lines for one client and sends them later. It never blocks. End closes the
// connection after the queued lines.
type Sink interface {
	Write(line []byte) // the caller may reuse line afterwards
	// WriteLater is Write for a line that may wait a little for others. It stays in its order.
	WriteLater(line []byte)
	Share(run *Run, from, to int) // one line that several clients get
	Waiting() int                 // bytes that are not sent yet
	End()
}

// A Client is a connection to this server, registered or not.
type Client struct {
	ID      uint64
	Host    string // as other users see it, and as it is logged
	Address string // as its owner and administrators see it; empty: Host
	// From is the address that bans of the whole server are for. It is not valid if there is none,
	// or if that cannot be banned.
	From        netip.Addr
	Secure      bool
	Open        bool   // not encrypted: passwords are refused
	Fingerprint string // of its certificate, in hex
	Cookie      bool   // it is a browser that has a token, by which EXTERNAL logs in
	Token       string // the hash of the token by which it has logged in; empty: by other means

	sink    Sink
	caps    caps
	user    *user // nil before registration
	session *session
	round   uint64 // see eachNeighbour

	// Before registration.
	nick, name, real string
	negotiating      bool // between CAP LS or CAP REQ, and CAP END
	entering         bool // its Enter is in the log's queue
	password         bool // PASS had the right password
	invitation       string
	facts            facts // metadata that it has set
	account          string
	role             Role
	sasl             string // the pieces of AUTHENTICATE so far
	mechanism        string
	scram            scramStage
	proved           proved // the account of a SCRAM that the client has not confirmed
	signing          bool   // a login is being checked
	opering          bool   // it is that of OPER
	version          int    // of CAP LS
	closed           bool

	// Offsets in the text: of the newest line that was sent, of the PING that is not answered yet
	// (0 if there is none), and up to which the client has confirmed.
	sent, asked, had uint64
	asks             uint64 // numbers the questions
	askedLag         []lag
	marked           bool // the confirmed offset is not logged yet
	backlogs         []*backlog
	captured         *[][]byte // replies to a labelled line
	later            bool      // the reply to that line comes later, with its label
	batches          uint64    // that it was sent
	searching        bool      // a search is running
	reading          bool      // a history is being read
	gathered         *gathered // the lines of a message that the client is sending
	watched          map[string]bool
	subs             map[string]bool // the keys of metadata that it subscribes to
}

// Connect adds a connection.
func (h *Hall) Connect(c *Client, sink Sink) {
	c.sink = sink
	h.clients[c.ID] = c
}

// Sink returns what Connect was given.
func (c *Client) Sink() Sink { return c.sink }

// Registered says whether a client has registered.
func (c *Client) Registered() bool { return c.user != nil }

// Busy says whether the client's further lines wait: a login is being checked, or a history read.
// Those of a client that was disconnected meanwhile do not.
func (c *Client) Busy() bool { return (c.signing || c.reading) && !c.closed }

// Account returns the account that the client is logged in to, or an empty text.
func (c *Client) Account() string {
	if c.user != nil {
		return c.user.account
	}
	return c.account
}

// Nick returns the client's nick, or * before registration.
func (c *Client) Nick() string {
	switch {
	case c.user != nil:
		return c.user.nick
	case c.nick != "":
		return c.nick
	}
	return "*"
}

// caps are the capabilities that a client has requested.
type caps uint32

const (
	serverTime caps = 1 << iota // the first four change the form of a line
	messageTags
	accountTag
	multiline
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
	userhostInNames
	readMarker
	redaction
	webPush
	sojuWebPush // the same by its former name
	extendedMonitor
	eventPlayback
	metadata
	channelRename
	chghost
	previews
	edits
	missed // it is sent what it has missed, though it may ask for that

	looks = serverTime | messageTags | accountTag | multiline
)

// capNames are in the order of CAP LS.
var capNames = []struct {
	name string
	bit  caps
}{
	{"account-notify", accountNotify}, {"account-tag", accountTag}, {"away-notify", awayNotify},
	{"batch", inBatch},
	{"cap-notify", capNotify}, {"chghost", chghost}, {"draft/account-registration", registration},
	{"draft/channel-rename", channelRename},
	{"draft/chathistory", chathistory}, {"draft/event-playback", eventPlayback},
	{"draft/message-edit", edits}, {"draft/message-redaction", redaction},
	{"draft/metadata-3", metadata}, {"draft/multiline", multiline},
	{"draft/read-marker", readMarker}, {"draft/webpush", webPush},
	{"echo-message", echoMessage},
	{"extended-join", extendedJoin},
	{"extended-monitor", extendedMonitor}, {"invite-notify", inviteNotify},
	{"labeled-response", labeledResponse}, {"message-tags", messageTags},
	{"multi-prefix", multiPrefix}, {MissedCap, missed}, {PreviewTag, previews},
	{"sasl", sasl},
	{"server-time", serverTime}, {"setname", setname}, {"soju.im/webpush", sojuWebPush},
	{"userhost-in-names", userhostInNames},
}

// write sends a line, or keeps it while the replies to a label are collected.
func (c *Client) write(line []byte) {
	switch {
	case c == nil || c.closed:
	case c.captured != nil:
		*c.captured = append(*c.captured, bytes.Clone(line))
	default:
		c.sink.Write(line)
	}
}

// writeLater is write for a line that may wait a little for others.
func (c *Client) writeLater(line []byte) {
	if c == nil || c.closed || c.captured != nil {
		c.write(line)
		return
	}
	c.sink.WriteLater(line)
}

// num sends a numeric. rest is everything after the client's nick.
func (h *Hall) num(c *Client, number, rest string) { h.numIn(c, "", number, rest) }

// numIn is num within a batch, if there is one.
func (h *Hall) numIn(c *Client, batch, number, rest string) {
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
	c.writeIn(batch, append(cut(line), '\r', '\n'))
}

// writeIn sends a line within a batch, if there is one.
func (c *Client) writeIn(batch string, line []byte) {
	if batch != "" {
		line = tagged("batch="+batch, line)
	}
	c.write(line)
}

// cut shortens a line that is too long, so that it ends with CR LF and not within a character.
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

// say sends a line whose source is the server.
func (h *Hall) say(c *Client, rest string) { h.sayIn(c, "", rest) }

// sayIn is say within a batch, if there is one.
func (h *Hall) sayIn(c *Client, batch, rest string) {
	if c != nil {
		c.writeIn(batch, append(cut([]byte(":"+h.config.Name+" "+rest)), '\r', '\n'))
	}
}

// noticeOf is a notice of one of the server's own services: NickServ, ChanServ or OperServ.
func (h *Hall) noticeOf(c *Client, service, text string) {
	if c != nil {
		c.write(append(cut([]byte(":"+service+"!"+service+"@"+h.config.Name+" NOTICE "+c.Nick()+
			" :"+text)), '\r', '\n'))
	}
}

// fail sends a standard reply of IRCv3 (FAIL).
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

// TooLong answers a line that was too long to be parsed, except its tags.
func (h *Hall) TooLong(c *Client, label string) {
	h.labelled(c, label, func() { h.num(c, irc.ERR_INPUTTOOLONG, ":Input line was too long") })
}

// NotUTF8 answers a line that is not UTF-8, if it must be.
func (h *Hall) NotUTF8(c *Client, command, label string) {
	clean := func(s, other string) string {
		if !utf8.ValidString(s) {
			return other
		}
		return s
	}
	h.labelled(c, clean(label, ""), func() {
		h.fail(c, clean(command, "*"), "INVALID_UTF8", "", "The line is not UTF-8")
	})
}

// Disconnect disconnects a client because the server stops. No other client is told.
func (h *Hall) Disconnect(c *Client, why string) { h.close(c, why) }

func (h *Hall) forget(c *Client) {
	delete(h.clients, c.ID)
	delete(h.behind, c)
	h.unwatchAll(c)
	c.backlogs, c.gathered = nil, nil
}

// labelled runs the command of a labelled line and sends the replies with the label. No reply
// becomes ACK, and several become a batch.
func (h *Hall) labelled(c *Client, label string, do func()) {
	if c == nil || label == "" || c.caps&labeledResponse == 0 || c.captured != nil {
		do()
		return
	}
	var lines [][]byte
	c.captured, c.later = &lines, false
	do()
	if c.captured == nil { // the client was disconnected
		return
	}
	c.captured = nil
	tag := "label=" + irc.Escape(label)
	switch {
	case len(lines) == 0 && c.later:
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
		name := c.batchName()
		c.write([]byte("@" + tag + " :" + h.config.Name + " BATCH +" + name +
			" labeled-response\r\n"))
		for _, several := range lines {
			for l := range bytes.Lines(several) { // a message of several lines is a batch, too
				if !bytes.HasPrefix(l, []byte("@batch=")) {
					l = tagged("batch="+name, l)
				}
				c.write(l)
			}
		}
		c.write([]byte(":" + h.config.Name + " BATCH -" + name + "\r\n"))
	}
}

// batchName numbers the batches of one client, so that nobody counts those of others.
func (c *Client) batchName() string {
	c.batches++
	return "b" + strconv.FormatUint(c.batches, 36)
}

// tagged adds a tag to a line before the others.
func tagged(tag string, line []byte) []byte {
	if line[0] == '@' {
		return append([]byte("@"+tag+";"), line[1:]...)
	}
	return append([]byte("@"+tag+" "), line...)
}
