package load

// Chats: clients of IRC in rooms, of whom some speak and all listen. A request is a burst: a number of messages to the
// sender's room and then a PING, whose PONG says that the server has them. So a closed load has no more under way than
// a burst for each sender, and any server of IRC can be asked.

import (
	"cmp"
	"sync/atomic"
	"time"

	"interleave/internal/hist"
	"interleave/internal/manifest"
)

const (
	nickBytes = 1 + idDigits                                      // "c0002a"
	lineOver  = manifest.ChatLineBytes                            // of a line to a room, besides its text
	pingBytes = len("PING ") + numberDigits + len("\r\n")         // after a burst
	textLeast = idDigits + 1 + numberDigits + 1 + stampDigits + 1 // "0002a 00000017 0000000012ab34cd."

	idDigits     = 5
	numberDigits = 8
	stampDigits  = 16

	textMost = 400     // with the longest sender that a server may put before it, a line stays within 512 bytes
	mostNext = 1 << 24 // numbers kept, one for each listener and sender it hears: 64 MiB
	// otherThreads is how often a thread looks whether those of others have read what its senders wait for, a guess.
	otherThreads = 100 * time.Microsecond
)

// A room is what the threads share of one. A sender that has its acknowledgement speaks on only if what was said in
// the room before has been delivered, but for as much as all senders have under way: a server that acknowledges early
// must not be measured by how long its queues grow.
type room struct {
	due  atomic.Int64 // deliveries of what was said
	come atomic.Int64 // that came, or that are known to be lost
}

// A guest is what a client of a chat has besides its connection.
type guest struct {
	room  int32
	place int32 // in the room
	talks bool
	waits bool // to speak on: the room is behind
	done  bool // what the phase of joining wants has come, or the last PONG
	// next has the number that is expected from each sender of the room.
	next []uint32
	// carry is the beginning of a line whose end has not been read.
	carry []byte
	// aside is what is said between bursts: names, rooms, PONGs.
	aside   []byte
	asideAt int
}

// chat is a thread's part of a chat. It is the protocol of its requests.
type chat struct {
	rooms    []room // all threads'
	guests   []guest
	heads    []head // what precedes the texts of each sender, as this server writes it
	waiting  []int32
	talkers  int // of all threads
	members  int
	senders  int // of a room of full size
	clients  int
	burst    uint64 // messages in a request
	text     uint64 // bytes
	asks     bool   // a burst ends in a PING
	requests uint64 // bytes of one
	window   int64  // messages that the senders of a full room have under way
	phase    phase
	arrived  int // guests that the phase has come to
	line     [512]byte
	stamps   func(c *conn, request uint64) int64 // when it was due
	acks     hist.Histogram
}

// chatRooms makes what the threads of a load share.
func chatRooms(l *manifest.Load) []room {
	members := min(l.Members, l.Connections)
	return make([]room, (l.Connections+members-1)/members)
}

func newChat(s *shared, w *worker) *chat {
	l := &w.plan.Load
	k := &chat{
		rooms: s.rooms, guests: make([]guest, len(w.conns)), clients: l.Connections,
		members: min(l.Members, l.Connections), burst: uint64(max(1, l.Pipeline)), text: uint64(l.SizeBytes),
		asks: l.Shape != manifest.Paced,
	}
	switch l.Shape {
	case manifest.Idle:
		k.burst = 0
	case manifest.Open:
		k.burst = 1
	}
	switch {
	case l.Shape == manifest.Idle: // nobody speaks
	case l.Senders > 0:
		k.senders = min(k.members, l.Senders)
	default:
		k.senders = k.members
	}
	k.requests = k.burst * (k.text + uint64(lineOver))
	if k.asks {
		k.requests += uint64(pingBytes)
	}
	k.window = int64(k.burst) * int64(k.senders)
	k.heads = make([]head, k.senders*len(k.rooms))
	for id := range l.Connections {
		if id%k.members < k.senders {
			k.talkers++
		}
	}
	k.stamps = func(c *conn, request uint64) int64 { return w.rings.at(c.index, request).due }
	return k
}

// seat gives a connection its room. Rooms are filled one after the other; the first in each are its senders.
func (k *chat) seat(c *conn, numbers []uint32, carry []byte) {
	g := &k.guests[c.index]
	g.room, g.place = int32(int(c.id)/k.members), int32(int(c.id)%k.members)
	g.talks = int(g.place) < k.senders
	g.next, g.carry = numbers, carry
	g.aside = make([]byte, 0, asideMost)
}

// seatAll seats the connections of a thread, in three pieces of memory.
func (k *chat) seatAll(conns []conn) {
	numbers := make([]uint32, len(conns)*k.senders)
	carries := make([]byte, len(conns)*lineMost)
	for i := range conns {
		at := i * lineMost
		k.seat(&conns[i], numbers[i*k.senders:(i+1)*k.senders], carries[at:at:at+lineMost])
	}
}

// people is how many are in a room: the last one may not be full.
func (k *chat) people(room int32) int64 {
	return int64(min(k.members, k.clients-int(room)*k.members))
}

func (k *chat) requestBytes() uint64 { return k.requests }

// increments and check are of other protocols: a chat listens by hear.
func (k *chat) increments(*conn, uint64) uint64 { return 0 }

func (k *chat) check(*conn, []byte) (int, string) { return 0, Extra }

// fill writes what a client says from where it has stopped.
func (k *chat) fill(c *conn, p []byte) {
	request, offset := c.sent, c.sentPart
	over := k.text + uint64(lineOver)
	for len(p) > 0 {
		var line []byte
		var at uint64
		if i := offset / over; i < k.burst {
			line, at = k.message(c, request, request*k.burst+i), offset-i*over
		} else {
			line, at = k.ping(request), offset-k.burst*over
		}
		n := copy(p, line[at:])
		p, offset = p[n:], offset+uint64(n)
		if offset == k.requests {
			request, offset = request+1, 0
		}
	}
}

// message renders a line to the sender's room.
func (k *chat) message(c *conn, request, number uint64) []byte {
	line := append(k.line[:0], "PRIVMSG #r"...)
	line = appendHex(line, uint64(k.guests[c.index].room), idDigits)
	line = append(line, " :"...)
	line = appendText(line, uint64(c.id), number, uint64(k.stamps(c, request)), k.text)
	return append(line, "\r\n"...)
}

func (k *chat) ping(request uint64) []byte {
	line := append(k.line[:0], "PING "...)
	line = appendHex(line, request, numberDigits)
	return append(line, "\r\n"...)
}

// begun counts what a burst will bring to its room.
func (k *chat) begun(c *conn) {
	g := &k.guests[c.index]
	k.rooms[g.room].due.Add(int64(k.burst) * (k.people(g.room) - 1))
}

// mayTalk tells whether a closed load may go on at a client. If its room is behind, the client is put on a list.
func (k *chat) mayTalk(c *conn) bool {
	g := &k.guests[c.index]
	if !g.talks {
		return false
	}
	if k.behind(g.room) {
		if !g.waits {
			g.waits = true
			k.waiting = append(k.waiting, c.index)
		}
		return false
	}
	return true
}

func (k *chat) behind(r int32) bool {
	come := k.rooms[r].come.Load() // first: what comes meanwhile was due before
	return k.rooms[r].due.Load()-come > k.window*(k.people(r)-1)
}

// resume lets those speak on whose rooms have caught up.
func (w *worker) resume() {
	k := w.chat
	still := k.waiting[:0]
	for _, i := range k.waiting {
		g := &k.guests[i]
		if k.behind(g.room) && w.sending {
			still = append(still, i)
			continue
		}
		g.waits = false
		if c := &w.conns[i]; c.state == connOpen {
			w.topUp(c)
		}
	}
	k.waiting = still
}

// settled tells whether everything that was said has been delivered, or cannot be any more, for somebody has gone. It is
// final once no thread sends any more.
func (w *worker) settled() bool {
	if w.living < len(w.conns) {
		return true
	}
	if int(w.shared.atClose.Load()) < w.shared.parts {
		return false
	}
	for i := range w.chat.rooms {
		r := &w.chat.rooms[i]
		if r.come.Load() < r.due.Load() {
			return false
		}
	}
	return true
}

// acknowledge records a PONG: the oldest burst under way is acknowledged.
func (w *worker) acknowledge(c *conn) {
	f := w.rings.at(c.index, c.answered)
	c.answered++
	w.inFlight--
	w.countMessages()
	switch {
	case w.scheduled:
		if f.due >= w.openAt && f.due < w.closeAt {
			w.chat.acks.Record(w.now - f.due)
			w.service.Record(w.now - f.sent)
		}
	case w.measuring:
		w.service.Record(w.now - f.sent)
	}
	if !w.scheduled {
		w.topUp(c)
	}
}

// share corrects the part of a rate that a thread has: not every one has as many senders.
func (k *chat) share(parts int) float64 {
	mine := 0
	for i := range k.guests {
		if k.guests[i].talks {
			mine++
		}
	}
	return float64(mine*parts) / float64(k.talkers)
}

// outcome adds to a thread's result what chats alone have.
func (k *chat) outcome(w *worker, r *Result) {
	if !w.scheduled || !k.asks {
		return
	}
	r.Acks = &k.acks
	if k.burst == 0 {
		r.Latency = nil
	}
}

// each is how many requests are sent at once. The PING of an idle client is one.
func (w *worker) each() int64 {
	if w.chat == nil {
		return 1
	}
	return int64(max(1, w.chat.burst))
}

// countMessages counts a burst.
func (w *worker) countMessages() {
	n := w.each()
	w.result.Total += n
	if w.measuring {
		w.result.Requests += n
		w.timeline.add(w.now-w.opened, n)
	}
}

// verifyRooms reports what was said and had not come when the load was drained.
func (e *engine) verifyRooms(all *faults) {
	var lost, due int64
	for i := range e.shared.rooms {
		r := &e.shared.rooms[i]
		lost += r.due.Load() - r.come.Load()
		due += r.due.Load()
	}
	if lost > 0 {
		all.add(Undelivered, lost, "%d of %d deliveries had not come %v after the load had ended", lost, due, cmp.Or(e.plan.Drain, roomDrainTime))
	}
}
