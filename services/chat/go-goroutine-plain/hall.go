package main

import (
	"io"
	"net"
	"strings"
	"time"
)

// hall is the state of the chat. Its goroutine, keep, owns all of it.
type hall struct {
	events  chan event
	disk    *disk
	clients map[*client]bool
	nicks   map[string]*client // by folded nick
	people  map[string]*person // all persons that were ever here
	rooms   map[string]*room
	now     time.Time
	round   int       // numbers the calls of tellNeighbours
	full    []*client // clients with too much unread
	ending  bool

	// messages that are not logged yet, with their lines for clients and for the log
	pending []message
	wire    []byte
	lines   []byte
}

// client is a connection. The reader uses conn and gone, and the writer conn and queue. The owner
// of the rooms uses all but gone.
type client struct {
	conn  net.Conn
	queue sendQueue
	gone  chan struct{} // closed when the owner has finished with the client

	host, nick, user, real, password string
	prefix                           string
	person                           *person // nil until it is registered
	// passed: it has sent PASS; asking: CAP negotiation; echo and time: capabilities
	passed, asking, echo, time bool
	rooms                      []*room
	opened, heard, pinged      time.Time
	round                      int
	// the disk's count of changes after the client's last message
	said  int64
	owes  bool  // it was sent something after the last PING
	asked int64 // the position in the log that the last PING has named
	left  bool  // it has left the rooms; its queue may still be written
	upto  int64 // all before this position in the log was queued for it
	// inOrder: what was queued counts as received. ask: only if the client closes, too.
	inOrder, ask          bool
	readEnded, writeEnded bool
}

// person is a nick that was used, with its private messages: the position after the last, and up to
// where they were received.
type person struct {
	name       string
	client     *client
	last, upto int64
}

type room struct {
	name, topic string
	last        int64 // position in the log after the last message
	present     []*client
	members     map[*person]int64 // with the position up to which each has received
}

// message is a message on its way to a room or a person, or a PONG that must follow earlier
// messages.
type message struct {
	from             *client
	room             *room
	to               *person
	verb, text       string
	start, end, line int // in hall.wire; line is the end in hall.lines
}

func (s *message) where() string {
	if s.room != nil {
		return s.room.name
	}
	return s.to.name
}

// timeTag is the length of the tag that clients without server-time do not get.
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

// members calls note with everything in the file of members.
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

// sweep removes a room without members and topic.
func (h *hall) sweep(r *room) {
	if len(r.members) == 0 && r.topic == "" {
		delete(h.rooms, fold(r.name))
	}
}

// keep owns the hall. It ends after stop, when the clients have gone or their time is over.
func (h *hall) keep(stop <-chan struct{}) {
	var over <-chan time.Time
	second := time.NewTicker(time.Second)
	for !h.ending || len(h.clients) > 0 {
		h.now = time.Now()
		select {
		case e := <-h.events:
			h.handle(e)
			for range len(h.events) { // all events that wait are logged together
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
		for len(h.full) > 0 { // the QUIT of one may be too much for others
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
	case !h.clients[c]: // the client has ended already
	case e.written:
		h.commit()
		h.leave(c, "the connection has failed", false)
		c.writeEnded = true
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
	if c.writeEnded {
		h.forget(c)
	}
}

// leave makes a client leave all rooms. Its queue is still written.
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
	c.queue.end(cut("ERROR :Closing link: " + why))
	// the writer gets an error if the connection fails
	_ = c.conn.SetWriteDeadline(h.now.Add(linger))
}

// forget frees the nick before the client sees the end.
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
		_ = half.CloseWrite() // the reader gets an error, too
	}
}

// received notes that a client has received everything before a position in the log.
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

// tick sends PINGs to confirm messages, and disconnects silent clients.
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

// put queues a line for a client.
func (h *hall) put(c *client, text string) {
	if !c.queue.put([]byte(text), 0, nil) {
		h.full = append(h.full, c)
	}
}

func (h *hall) reply(c *client, numeric string, words ...string) {
	h.put(c, cut(":chat "+numeric+" "+orStar(c.nick)+" "+strings.Join(words, " ")))
}

// tellNeighbours sends a line to all clients that share a room with the client, once each.
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

// say prepares a message for the log and for its receivers.
func (h *hall) say(s message) {
	s.start = len(h.wire)
	h.wire = append(stamp(append(h.wire, "@time="...)), ' ')
	for _, word := range []string{s.from.prefix, " ", s.verb, " ", s.where(), " :", s.text} {
		h.wire = append(h.wire, word...)
	}
	h.lines = append(append(h.lines, h.wire[s.start+len("@time="):]...), '\n')
	h.wire = append(h.wire, "\r\n"...)
	s.end, s.line = len(h.wire), len(h.lines)
	h.pending = append(h.pending, s)
}

// commit writes all pending messages to the log at once, and delivers them. If that fails they are
// not delivered.
func (h *hall) commit() {
	if len(h.pending) == 0 {
		return
	}
	var err error
	if len(h.lines) > 0 {
		err = h.disk.append(h.lines)
	}
	start := h.disk.end - int64(len(h.lines))
	for _, s := range h.pending {
		switch {
		case s.verb == "PONG":
			if !s.from.queue.put([]byte(s.text), s.from.said, nil) {
				h.full = append(h.full, s.from)
			}
		case err == nil:
			h.deliver(s, start+int64(s.line))
		case s.verb != "NOTICE":
			h.reply(s.from, ERR_CANNOTSENDTOCHAN, s.where(), ":The log cannot be written: "+
				err.Error())
		}
	}
	clear(h.pending)
	h.pending, h.wire, h.lines = h.pending[:0], h.wire[:0], h.lines[:0]
}

func (h *hall) deliver(s message, position int64) {
	s.from.said = h.disk.written
	tagged := h.wire[s.start:s.end]
	if s.to != nil {
		s.to.last = position
		if s.to.client != nil && !s.to.client.left {
			h.send(s.to.client, tagged, 0)
		}
	} else {
		s.room.last = position
		if s.verb == "TOPIC" {
			s.room.topic = s.text
		}
		for _, c := range s.room.present {
			if c != s.from || s.verb == "TOPIC" {
				h.send(c, tagged, 0)
			}
		}
	}
	if s.from.echo && s.verb != "TOPIC" {
		h.send(s.from, tagged, s.from.said)
	}
}

// send queues a message for a client, to be written when that many changes are on the disk.
func (h *hall) send(c *client, tagged []byte, safe int64) {
	if !c.time {
		tagged = tagged[timeTag:]
	}
	if !c.queue.put(tagged, safe, nil) {
		h.full = append(h.full, c)
	}
	c.owes = true
}
