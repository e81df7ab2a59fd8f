package load

// Listening to a chat: lines come to everybody, and each delivery is held against what its sender has said. A server
// writes the same words before every text of one sender, so they are learned once, and a delivery that begins with
// them is judged without being taken apart: 1,000 clients are a million deliveries for every thousand messages.

import (
	"bytes"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	lineMost  = 1024 // bytes of a line; servers of IRC write 512 at most
	headMost  = 128  // of what precedes a text; a longer one is taken apart each time
	asideMost = 256  // of what a client may have to say between bursts
)

// A head is what a server writes before the texts of a sender, the sender's number in the text included:
// ":c0002a!c@127.0.0.1 PRIVMSG #r00000 :0002a ".
type head struct {
	len   int
	bytes [headMost]byte
}

// hear reads what has come to a client.
func (w *worker) hear(c *conn, toTheEnd bool) {
	g := &w.chat.guests[c.index]
	for c.state == connOpen {
		have := copy(w.in, g.carry)
		n, e := rawRead(c.fd, w.in[have:])
		switch {
		case e == unix.EAGAIN:
			return
		case e != 0:
			w.fail(c, ioKind(e), "client %d, listening: %v", c.id, e)
			return
		case n == 0:
			w.fail(c, Ended, "client %d: the server ended its connection", c.id)
			return
		}
		w.now = nanotime()
		w.bytesIn += int64(n)
		rest := w.lines(c, g, w.in[:have+n])
		if len(rest) > lineMost {
			w.fail(c, WrongReply, "client %d: a line of more than %d bytes: %.60q", c.id, lineMost, rest)
			return
		}
		g.carry = append(g.carry[:0], rest...)
		if have+n < len(w.in) && !toTheEnd {
			return
		}
	}
}

// lines takes all whole lines and gives back what follows them.
func (w *worker) lines(c *conn, g *guest, p []byte) (rest []byte) {
	came := int64(0)
	for len(p) > 0 && c.state == connOpen {
		if n, seen := w.quick(c, g, p); n > 0 {
			p, came = p[n:], came+seen
			continue
		}
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			break
		}
		came += w.take(c, g, bytes.TrimSuffix(p[:end], []byte("\r")))
		p = p[end+1:]
	}
	if came > 0 {
		w.chat.rooms[g.room].come.Add(came)
	}
	return p
}

// quick takes a delivery that begins as the sender's last one did. n is 0 if there is none at the beginning of p.
func (w *worker) quick(c *conn, g *guest, p []byte) (n int, came int64) {
	k := w.chat
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
	if h.len == 0 || len(p) < text+2 || p[text] != '\r' || p[text+1] != '\n' || !bytes.Equal(p[:h.len], h.bytes[:h.len]) {
		return 0, 0
	}
	return text + 2, w.judge(c, g, place, p[h.len:text])
}

// judge takes the text of a delivery, from its number on, and gives by how many deliveries the room has come on.
func (w *worker) judge(c *conn, g *guest, place int, text []byte) (came int64) {
	number, stamp, ok := parseText(text)
	if !ok || len(text) != int(w.chat.text)-idDigits-1 {
		w.fail(c, WrongReply, "client %d: a message of sender %d is not what was said: %.60q", c.id, place, text)
		return 0
	}
	want := g.next[place]
	switch {
	case place == int(g.place):
		w.faults.add(Extra, 1, "client %d was sent its own message %d", c.id, number)
		return 0
	case number < want:
		w.faults.add(Extra, 1, "client %d was sent message %d of sender %d when it had %d: twice, or out of order", c.id, number, place, want)
		return 0
	case number > want:
		w.faults.add(Undelivered, int64(number-want), "client %d was sent message %d of sender %d where %d was next", c.id, number, place, want)
	}
	g.next[place] = number + 1
	if w.measuring {
		w.result.Deliveries++
	}
	if w.scheduled && stamp >= w.openAt && stamp < w.closeAt {
		w.latency.Record(w.now - stamp)
	}
	return int64(number-want) + 1
}

// take reads one line of any kind.
func (w *worker) take(c *conn, g *guest, line []byte) (came int64) {
	l := parseLine(line)
	switch {
	case string(l.command) == "PRIVMSG":
		return w.message(c, g, line, l)
	case string(l.command) == "PONG":
		w.ponged(c, g, l.last)
	case string(l.command) == "PING":
		w.sayAside(c, "PONG :", l.last)
	case string(l.command) == "ERROR":
		w.fail(c, Ended, "client %d was told %.100q", c.id, line)
	case len(l.command) == 3 && l.command[0] >= '0' && l.command[0] <= '9':
		w.numeric(c, g, l, line)
	}
	return 0
}

// message takes a delivery apart, and learns how the sender's begin.
func (w *worker) message(c *conn, g *guest, line []byte, l ircLine) (came int64) {
	k := w.chat
	id, named := hexID(l.nick[min(1, len(l.nick)):])
	said, ok := hexID(l.last)
	room, inRoom := hexID(l.first[min(2, len(l.first)):])
	place := id - int(g.room)*k.members
	switch {
	case !named || len(l.nick) != nickBytes || l.nick[0] != 'c' || place < 0 || place >= k.senders:
		w.fail(c, WrongReply, "client %d: a message of nobody who speaks in its room: %.100q", c.id, line)
		return 0
	case !ok || said != id || len(l.last) != int(k.text) || l.last[idDigits] != ' ' || !inRoom || room != int(g.room):
		w.fail(c, WrongReply, "client %d: a message that nobody has said so: %.100q", c.id, line)
		return 0
	}
	text := l.last[idDigits+1:]
	if h := &k.heads[int(g.room)*k.senders+place]; len(line)-len(text) <= headMost {
		h.len = copy(h.bytes[:], line[:len(line)-len(text)])
	}
	return w.judge(c, g, place, text)
}

// An ircLine is the parts of a line that an engine looks at.
type ircLine struct {
	nick    []byte // of who says it, or the server's name
	command []byte
	first   []byte // parameter; a room mostly
	last    []byte // parameter; a text mostly
}

// parseLine takes a line apart, whatever it is: what is missing is empty.
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

// sayAside has a client say something between two bursts.
func (w *worker) sayAside(c *conn, words string, what []byte) {
	g := &w.chat.guests[c.index]
	if len(g.aside)+len(words)+len(what)+2 > asideMost {
		w.fail(c, Extra, "client %d was asked more than it could answer", c.id)
		return
	}
	g.aside = append(append(append(g.aside, words...), what...), "\r\n"...)
	if c.writable {
		w.flush(c)
	}
}

// flushAside writes what is to be said between bursts; false if the socket has no room for it, or has failed.
func (w *worker) flushAside(c *conn) bool {
	g := &w.chat.guests[c.index]
	for g.asideAt < len(g.aside) {
		n, e := rawWrite(c.fd, g.aside[g.asideAt:])
		switch e {
		case 0:
			w.bytesOut += int64(n)
			g.asideAt += n
		case syscall.EAGAIN:
			c.writable = false
			return false
		default:
			w.fail(c, ioKind(e), "client %d, speaking: %v", c.id, e)
			return false
		}
	}
	g.aside, g.asideAt = g.aside[:0], 0
	return true
}
