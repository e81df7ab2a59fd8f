package load

// Listening to a chat: lines come to all clients, and each delivery is compared with the message
// that its sender has sent. A server writes the same words before every text of one sender, so they
// are learned once, and a delivery that begins with them is checked without being parsed: 1,000
// clients are a million deliveries for every thousand messages.

import (
	"bytes"

	"golang.org/x/sys/unix"
)

const (
	lineMost    = 1024 // bytes of a line; servers of IRC write 512 at most
	headMost    = 128  // of what precedes a text; a longer one is taken apart each time
	controlMost = 256  // of what a client may have to say between bursts
)

// A head is what a server writes before the texts of a sender, the sender's number in the text
// included: ":c0002a!c@127.0.0.1 PRIVMSG #r00000 :0002a ".
type head struct {
	len   int
	bytes [headMost]byte
}

// hear reads what has come to a client.
func (k *chat) hear(c *conn, events uint32) {
	g := &k.clients[c.index]
	for c.state == connOpen {
		have := copy(k.in, g.carry)
		n, e := rawRead(c.fd, k.in[have:])
		switch {
		case e == unix.EAGAIN:
			return
		case e != 0:
			k.fail(c, ioKind(e), "client %d, listening: %v", c.id, e)
			return
		case n == 0:
			k.fail(c, Ended, "client %d: the server ended its connection", c.id)
			return
		}
		k.now = nanotime()
		k.bytesIn += int64(n)
		rest := k.lines(c, g, k.in[:have+n])
		if len(rest) > lineMost {
			k.fail(c, WrongReply, "client %d: a line of more than %d bytes: %.60q", c.id, lineMost,
				rest)
			return
		}
		g.carry = append(g.carry[:0], rest...)
		if have+n < len(k.in) && events&ended == 0 {
			return
		}
	}
}

// lines takes all whole lines and gives back what follows them.
func (k *chat) lines(c *conn, g *chatClient, p []byte) (rest []byte) {
	came := int64(0)
	for len(p) > 0 && c.state == connOpen {
		if n, seen := k.known(c, g, p); n > 0 {
			p, came = p[n:], came+seen
			continue
		}
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			break
		}
		came += k.take(c, g, bytes.TrimSuffix(p[:end], []byte("\r")))
		p = p[end+1:]
	}
	if came > 0 {
		k.rooms[g.room].come.Add(came)
	}
	return p
}

// known takes a delivery that begins as the sender's last one did. n is 0 if there is none at the
// beginning of p.
func (k *chat) known(c *conn, g *chatClient, p []byte) (n int, came int64) {
	if len(p) < nickBytes+1 || p[0] != ':' {
		return 0, 0
	}
	id, ok := hexID(p[2:])
	place := id - int(g.room)*k.members
	if !ok || place < 0 || place >= k.senders {
		return 0, 0
	}
	h := &k.heads[int(g.room)*k.senders+place]
	text := h.len + int(k.text) - idDigits - 1 // where it ends
	if h.len == 0 || len(p) < text+2 || p[text] != '\r' || p[text+1] != '\n' ||
		!bytes.Equal(p[:h.len], h.bytes[:h.len]) {
		return 0, 0
	}
	return text + 2, k.deliver(c, g, place, p[h.len:text])
}

// deliver takes the text of a delivery, from its number on, and gives by how many deliveries the
// room has come on.
func (k *chat) deliver(c *conn, g *chatClient, place int, text []byte) (came int64) {
	number, stamp, ok := parseText(text)
	if !ok || len(text) != int(k.text)-idDigits-1 {
		k.fail(c, WrongReply, "client %d: a message of sender %d is not what was said: %.60q", c.id,
			place, text)
		return 0
	}
	want := g.next[place]
	switch {
	case place == int(g.place):
		k.faults.add(Extra, 1, "client %d was sent its own message %d", c.id, number)
		return 0
	case number < want:
		k.faults.add(Extra, 1,
			"client %d was sent message %d of sender %d when it had %d: twice, or out of order",
			c.id, number, place, want)
		return 0
	case number > want:
		k.faults.add(Undelivered, int64(number-want),
			"client %d was sent message %d of sender %d where %d was next", c.id, number, place,
			want)
	}
	g.next[place] = number + 1
	if k.measuring {
		k.deliveries++
	}
	if k.scheduled && k.inWindow(stamp) {
		k.latency.Record(k.now - stamp)
	}
	return int64(number-want) + 1
}

// take reads one line of any kind.
func (k *chat) take(c *conn, g *chatClient, line []byte) (came int64) {
	l := parseLine(line)
	switch {
	case string(l.command) == "PRIVMSG":
		return k.learn(c, g, line, l)
	case string(l.command) == "PONG":
		k.ponged(c, g, l.last)
	case string(l.command) == "PING":
		k.sendControl(c, "PONG :", l.last)
	case string(l.command) == "ERROR":
		k.fail(c, Ended, "client %d was told %.100q", c.id, line)
	case len(l.command) == 3 && l.command[0] >= '0' && l.command[0] <= '9':
		k.numeric(c, g, l, line)
	}
	return 0
}

// learn takes a delivery apart, and learns how the sender's begin.
func (k *chat) learn(c *conn, g *chatClient, line []byte, l ircLine) (came int64) {
	id, named := hexID(l.nick[min(1, len(l.nick)):])
	said, ok := hexID(l.last)
	room, inRoom := hexID(l.first[min(2, len(l.first)):])
	place := id - int(g.room)*k.members
	switch {
	case !named || len(l.nick) != nickBytes || l.nick[0] != 'c' || place < 0 || place >= k.senders:
		k.fail(c, WrongReply, "client %d: a message of nobody who speaks in its room: %.100q", c.id,
			line)
		return 0
	case !ok || said != id || len(l.last) != int(k.text) || l.last[idDigits] != ' ' || !inRoom ||
		room != int(g.room):
		k.fail(c, WrongReply, "client %d: a message that nobody has said so: %.100q", c.id, line)
		return 0
	}
	text := l.last[idDigits+1:]
	if h := &k.heads[int(g.room)*k.senders+place]; len(line)-len(text) <= headMost {
		h.len = copy(h.bytes[:], line[:len(line)-len(text)])
	}
	return k.deliver(c, g, place, text)
}

// An ircLine is the parts of a line that an engine looks at.
type ircLine struct {
	nick    []byte // of the sender, or the server's name
	command []byte
	first   []byte // parameter; a room mostly
	last    []byte // parameter; a text mostly
}

// parseLine splits any line into its parts. A part that is missing is empty.
func parseLine(p []byte) (l ircLine) {
	if len(p) > 0 && p[0] == '@' { // tags
		_, p = word(p)
	}
	if len(p) > 0 && p[0] == ':' {
		l.nick, p = word(p[1:])
		if i := bytes.IndexByte(l.nick, '!'); i >= 0 {
			l.nick = l.nick[:i]
		}
	}
	l.command, p = word(p)
	for len(p) > 0 {
		if p[0] == ':' {
			l.last, p = p[1:], nil
		} else {
			l.last, p = word(p)
		}
		if l.first == nil {
			l.first = l.last
		}
	}
	return l
}

// word cuts the first word off.
func word(p []byte) (w, rest []byte) {
	i := bytes.IndexByte(p, ' ')
	if i < 0 {
		return p, nil
	}
	w, rest = p[:i], p[i:]
	for len(rest) > 0 && rest[0] == ' ' {
		rest = rest[1:]
	}
	return w, rest
}

// sendControl has a client say something between two bursts.
func (k *chat) sendControl(c *conn, words string, what []byte) {
	g := &k.clients[c.index]
	if len(g.control)+len(words)+len(what)+2 > controlMost {
		k.fail(c, Extra, "client %d was asked more than it could answer", c.id)
		return
	}
	g.control = append(append(append(g.control, words...), what...), "\r\n"...)
	if c.writable {
		k.send(c)
	}
}

// flushControl writes what is to be said between bursts; false if the socket has no room for
// it, or has failed.
func (k *chat) flushControl(c *conn) bool {
	g := &k.clients[c.index]
	for g.controlSent < len(g.control) {
		n, e := rawWrite(c.fd, g.control[g.controlSent:])
		switch e {
		case 0:
			k.bytesOut += int64(n)
			g.controlSent += n
		case unix.EAGAIN:
			c.writable = false
			return false
		default:
			k.fail(c, ioKind(e), "client %d, speaking: %v", c.id, e)
			return false
		}
	}
	g.control, g.controlSent = g.control[:0], 0
	return true
}
