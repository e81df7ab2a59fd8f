package main

import (
	"io"
	"net"
	"strings"
	"time"
)

// hall is who is in which room. All of it belongs to keep.
type hall struct {
	events  chan event
	disk    *disk
	clients map[*client]bool
	nicks   map[string]*client // by folded nick
	people  map[string]*person // all who were ever here
	rooms   map[string]*room
	now     time.Time
	round   int       // of telling something to many, once each
	full    []*client // those who hold more than they may
	ending  bool

	unsaid []saying // what is not in the log yet, with its lines for clients and for the log
	wire   []byte
	lines  []byte
}

// client is a connection. The reader uses conn and gone, the writer conn and box, the owner of the
// rooms all but these.
type client struct {
	conn net.Conn
	box  box
	gone chan struct{} // closed when the owner is done with it

	host, nick, user, real, password string
	prefix                           string
	person                           *person // nil until it has registered
	passed, asking, echo, time       bool    // has said PASS; negotiates capabilities; has these
	rooms                            []*room
	opened, heard, pinged            time.Time
	round                            int
	said                             int64 // the disk's count after what it said last
	owes                             bool  // was sent something and not asked whether it has it
	asked                            int64 // the position in the log that the last PING named
	left                             bool  // for the others; its box may still be emptied
	upto                             int64 // position in the log: all before was put into its box
	// ended so that it has all of it; if it ends its side, too
	inOrder, ask        bool
	readEnded, boxEnded bool
}

// person is a nick that was here, and what was said to it alone: the last of it, and up to where
// it was received.
type person struct {
	name       string
	client     *client
	last, upto int64
}

type room struct {
	name, topic string
	last        int64 // position in the log after the last message
	present     []*client
	members     map[*person]int64 // and up to where each has received
}

// saying is something on its way to a room or a person, or a PONG that comes after what
// was said before.
type saying struct {
	from             *client
	room             *room
	to               *person
	verb, text       string
	start, end, line int // in hall.wire; the end in hall.lines
}

func (s *saying) where() string {
	if s.room != nil {
		return s.room.name
	}
	return s.to.name
}

// timeTag is the length of what a client without server-time is not sent.
const timeTag = len("@time=") + stampLen + len(" ")

func newHall(d *disk) (*hall, error) {
	h := &hall{events: make(chan event, waiting), disk: d, clients: map[*client]bool{},
		nicks:  map[string]*client{},
		people: map[string]*person{}, rooms: map[string]*room{}}
	err := d.readMembers(func(who, where string, upto int64) {
		p := h.meet(who)
		switch {
		case where == "*":
			p.upto = upto
		case upto < 0:
			delete(h.room(where).members, p)
		default:
			h.room(where).members[p] = upto
		}
	})
	if err != nil {
		return nil, err
	}
	position := int64(0)
	err = each(d.section(0, d.end), func(s said) bool {
		position += int64(len(s.line)) + 1
		if p := h.people[fold(string(s.where))]; p != nil {
			p.last = position
		} else if r := h.rooms[fold(string(s.where))]; r != nil || string(s.verb) == "TOPIC" {
			r = h.room(string(s.where))
			r.last = position
			if string(s.verb) == "TOPIC" {
				r.topic = string(s.text)
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	for _, r := range h.rooms {
		h.sweep(r)
	}
	return h, d.snapshot(h.members)
}

// members tells all that the file of members holds.
func (h *hall) members(note func(who, where string, upto int64)) {
	for _, p := range h.people {
		note(p.name, "*", p.upto)
	}
	for _, r := range h.rooms {
		for p, upto := range r.members {
			note(p.name, r.name, upto)
		}
	}
}

func (h *hall) meet(name string) *person {
	p := h.people[fold(name)]
	if p == nil {
		p = &person{name: name}
		h.people[fold(name)] = p
	}
	return p
}

func (h *hall) room(name string) *room {
	r := h.rooms[fold(name)]
	if r == nil {
		r = &room{name: name, members: map[*person]int64{}}
		h.rooms[fold(name)] = r
	}
	return r
}

// sweep forgets a room that nobody will miss.
func (h *hall) sweep(r *room) {
	if len(r.members) == 0 && r.topic == "" {
		delete(h.rooms, fold(r.name))
	}
}

// keep owns all that is in the hall, until it is told to stop and the clients have gone or
// their time is over.
func (h *hall) keep(stop <-chan struct{}) {
	var over <-chan time.Time
	second := time.NewTicker(time.Second)
	for !h.ending || len(h.clients) > 0 {
		h.now = time.Now()
		select {
		case e := <-h.events:
			h.handle(e)
			for range len(h.events) { // all that waits goes into the log at once
				h.handle(<-h.events)
			}
		case <-second.C:
			h.tick()
		case <-stop:
			stop, over, h.ending = nil, time.After(leaving), true
			for c := range h.clients {
				c.ask = !c.left
				h.leave(c, "the server ends", true)
			}
		case <-over:
			return
		}
		h.commit()
		for len(h.full) > 0 { // their leaving may be too much for others
			c := h.full[0]
			h.full = h.full[1:]
			h.leave(c, "you do not read", false)
		}
	}
}

func (h *hall) handle(e event) {
	c := e.client
	switch {
	case e.lines == nil && e.read == nil && !e.written:
		c.opened, c.heard = h.now, h.now
		h.clients[c] = true
		if h.ending {
			h.leave(c, "the server ends", false)
		}
	case !h.clients[c]: // what a client says after its end
	case e.written:
		h.commit()
		h.leave(c, "the connection has failed", false)
		c.boxEnded = true
		c.inOrder = c.inOrder && e.failed == nil
		if c.inOrder && c.ask && !c.readEnded {
			endWriting(c.conn)
		} else {
			h.forget(c)
		}
	default:
		for _, l := range e.lines {
			h.obey(c, l)
		}
		if e.read != nil {
			h.commit()
			h.readEnded(c, e.read)
		}
	}
}

func (h *hall) readEnded(c *client, err error) {
	c.readEnded = true
	if err == io.EOF {
		h.leave(c, "the end", true)
	} else {
		h.leave(c, "the connection has failed", false)
		c.inOrder = false
		c.conn.Close()
	}
	if c.boxEnded {
		h.forget(c)
	}
}

// leave makes a client leave all rooms. It still gets what is in its box.
func (h *hall) leave(c *client, why string, inOrder bool) {
	if c.left {
		return
	}
	c.left, c.inOrder, c.upto = true, inOrder, h.disk.end
	for _, r := range c.rooms {
		r.present = without(r.present, c)
	}
	if c.person != nil {
		h.tellNeighbours(c, c.prefix+" QUIT :"+why)
	}
	c.box.end(cut("ERROR :Closing link: " + why))
	_ = c.conn.SetWriteDeadline(h.now.Add(linger)) // a connection that fails tells its writer
}

// forget lets another have the nick, before the client sees the end.
func (h *hall) forget(c *client) {
	if c.person != nil {
		if c.inOrder {
			h.received(c, c.upto)
		}
		c.person.client = nil
	}
	if h.nicks[fold(c.nick)] == c {
		delete(h.nicks, fold(c.nick))
	}
	delete(h.clients, c)
	close(c.gone)
	if !c.readEnded {
		endWriting(c.conn)
		_ = c.conn.SetReadDeadline(h.now.Add(time.Second)) // for the client to close
	}
}

func endWriting(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // the reader sees a failure, too
	}
}

// received remembers that a client has all of before a position in the log.
func (h *hall) received(c *client, upto int64) {
	p := c.person
	if p.upto < upto {
		if p.last > p.upto {
			h.disk.note(p.name, "*", upto)
		}
		p.upto = upto
	}
	for _, r := range c.rooms {
		if before, ok := r.members[p]; ok && before < upto {
			if r.last > before {
				h.disk.note(p.name, r.name, upto)
			}
			r.members[p] = upto
		}
	}
}

// tick asks those who were sent something whether they have it, and ends those who say nothing.
func (h *hall) tick() {
	for c := range h.clients {
		silent := h.now.Sub(c.heard)
		switch {
		case c.left:
		case c.person == nil && h.now.Sub(c.opened) > toRegister:
			h.leave(c, "you did not register", false)
		case silent > toSpeak+toAnswer:
			h.leave(c, "you did not answer", false)
		case c.owes || silent > toSpeak && c.pinged.Before(c.heard):
			c.owes, c.pinged, c.asked = false, h.now, h.disk.end
			h.put(c, "PING :"+number(c.asked)+"\r\n")
		}
	}
	if h.disk.stale {
		_ = h.disk.snapshot(h.members) // the next tick tries again
	}
	h.disk.flush()
}

// put gives a client what it has to be told.
func (h *hall) put(c *client, text string) {
	if !c.box.put([]byte(text), 0, nil) {
		h.full = append(h.full, c)
	}
}

func (h *hall) reply(c *client, numeric string, words ...string) {
	h.put(c, cut(":chat "+numeric+" "+orStar(c.nick)+" "+strings.Join(words, " ")))
}

// tellNeighbours tells all who share a room with the client, once each.
func (h *hall) tellNeighbours(c *client, text string) {
	h.round++
	c.round = h.round
	for _, r := range c.rooms {
		for _, n := range r.present {
			if n.round != h.round {
				n.round = h.round
				h.put(n, cut(text))
			}
		}
	}
}

func (h *hall) tell(r *room, text string) {
	for _, c := range r.present {
		h.put(c, cut(text))
	}
}

// say prepares a message for the log and for those who are to read it.
func (h *hall) say(s saying) {
	s.start = len(h.wire)
	h.wire = append(stamp(append(h.wire, "@time="...)), ' ')
	for _, word := range []string{s.from.prefix, " ", s.verb, " ", s.where(), " :", s.text} {
		h.wire = append(h.wire, word...)
	}
	h.lines = append(append(h.lines, h.wire[s.start+len("@time="):]...), '\n')
	h.wire = append(h.wire, "\r\n"...)
	s.end, s.line = len(h.wire), len(h.lines)
	h.unsaid = append(h.unsaid, s)
}

// commit writes what is unsaid to the log, in one piece, and delivers it. What cannot be
// written is not said.
func (h *hall) commit() {
	if len(h.unsaid) == 0 {
		return
	}
	var err error
	if len(h.lines) > 0 {
		err = h.disk.append(h.lines)
	}
	start := h.disk.end - int64(len(h.lines))
	for _, s := range h.unsaid {
		switch {
		case s.verb == "PONG":
			if !s.from.box.put([]byte(s.text), s.from.said, nil) {
				h.full = append(h.full, s.from)
			}
		case err == nil:
			h.deliver(s, start+int64(s.line))
		case s.verb != "NOTICE":
			h.reply(s.from, ERR_CANNOTSENDTOCHAN, s.where(), ":The log cannot be written: "+
				err.Error())
		}
	}
	clear(h.unsaid)
	h.unsaid, h.wire, h.lines = h.unsaid[:0], h.wire[:0], h.lines[:0]
}

func (h *hall) deliver(s saying, position int64) {
	s.from.said = h.disk.written
	tagged := h.wire[s.start:s.end]
	if s.to != nil {
		s.to.last = position
		if s.to.client != nil && !s.to.client.left {
			h.hand(s.to.client, tagged, 0)
		}
	} else {
		s.room.last = position
		if s.verb == "TOPIC" {
			s.room.topic = s.text
		}
		for _, c := range s.room.present {
			if c != s.from || s.verb == "TOPIC" {
				h.hand(c, tagged, 0)
			}
		}
	}
	if s.from.echo && s.verb != "TOPIC" {
		h.hand(s.from, tagged, s.from.said)
	}
}

// hand gives a client a message, once the disk has so much.
func (h *hall) hand(c *client, tagged []byte, safe int64) {
	if !c.time {
		tagged = tagged[timeTag:]
	}
	if !c.box.put(tagged, safe, nil) {
		h.full = append(h.full, c)
	}
	c.owes = true
}
