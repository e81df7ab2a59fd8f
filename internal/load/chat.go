package load

// Chats: clients of IRC in rooms. Some of them send and all listen. A request is a burst: a
// number of messages to the sender's room and then a PING, whose PONG says that the server has
// them. So a closed load has no more under way than a burst for each sender, and any server of
// IRC can be loaded.

import (
	"cmp"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"interleave/internal/hist"
	"interleave/internal/manifest"
)

const (
	nickBytes = 1 + idDigits // "c0002a"
	// of a line to a room, besides its text
	lineOver  = manifest.ChatLineBytes
	pingBytes = len("PING ") + numberDigits + len("\r\n") // after a burst
	// "0002a 00000017 0000000012ab34cd."
	textLeast = idDigits + 1 + numberDigits + 1 + stampDigits + 1

	idDigits     = 5
	numberDigits = 8
	stampDigits  = 16

	// with the longest sender that a server may put before it, a line stays within 512 bytes
	textMost = 400
	mostNext = 1 << 24 // numbers kept, one for each listener and sender it hears: 64 MiB
	// otherThreads is how often a thread looks whether those of others have read what its senders
	// wait for, a guess.
	otherThreads = 100 * time.Microsecond
)

func init() {
	speak(manifest.Chat, protocol{
		family:   chatFamily,
		shapes:   []manifest.Shape{manifest.Fanout, manifest.Open, manifest.Paced, manifest.Idle},
		validate: (*Plan).validateChat,
		prepare:  func(p *Plan) (job, error) { return newChatJob(p), nil },
		offer:    offerChat,
	})
}

func (p *Plan) validateChat() error {
	l := &p.Load
	senders := l.Members
	if l.Senders > 0 {
		senders = l.Senders
	}
	switch {
	case l.Members < 1 || l.Senders < 0:
		return fmt.Errorf("%d members and %d senders, want a room for everybody", l.Members,
			l.Senders)
	case (l.Shape == manifest.Fanout || l.Shape == manifest.Open) &&
		min(l.Members, l.Connections) < 2:
		return errors.New("a room of one delivers nothing: members must be two at least")
	case l.Shape != manifest.Idle && (l.SizeBytes < textLeast || l.SizeBytes > textMost):
		return fmt.Errorf("size is %d bytes, want %d to %d: the text of a message", l.SizeBytes,
			textLeast, textMost)
	case l.Shape == manifest.Idle && (l.Interval < time.Millisecond || l.Interval > time.Hour):
		return fmt.Errorf("interval is %v, want a millisecond to an hour", l.Interval)
	case l.Requests > 0 || p.Window == 0:
		return errors.New("a chat ends with the window: it has no requests")
	case l.Shape != manifest.Idle && l.Connections*min(senders, l.Connections) > mostNext:
		return fmt.Errorf("%d clients and %d senders in a room are more than are kept apart: "+
			"fewer senders", l.Connections, senders)
	case l.Connections >= 1<<(4*idDigits):
		return fmt.Errorf("%d clients are more than have names", l.Connections)
	}
	return nil
}

// A room is the state of one that the threads share. A sender that has its acknowledgement sends
// again only if the earlier messages of the room have been delivered, but for as many as all
// senders have under way: else a server that acknowledges early would be measured by how long its
// queues grow.
type room struct {
	due  atomic.Int64 // deliveries of what was said
	come atomic.Int64 // that came, or that are known to be lost
}

// chatJob is a load of a chat: the threads share its rooms and enter them together.
type chatJob struct {
	plan    *Plan
	rooms   []room
	atPhase [phases]atomic.Int32 // threads that have come so far
}

func newChatJob(p *Plan) *chatJob {
	members := min(p.Load.Members, p.Load.Connections)
	return &chatJob{plan: p, rooms: make([]room, (p.Load.Connections+members-1)/members)}
}

func (j *chatJob) driver(w *worker) driver { return newChat(j, w) }

// verify reports what was said and had not come when the load was drained.
func (j *chatJob) verify(all *faults) {
	var lost, due int64
	for i := range j.rooms {
		r := &j.rooms[i]
		lost += r.due.Load() - r.come.Load()
		due += r.due.Load()
	}
	if lost > 0 {
		all.add(Undelivered, lost, "%d of %d deliveries had not come %v after the load had ended",
			lost, due, cmp.Or(j.plan.Drain, roomDrainTime))
	}
}

// A chatClient is what a client of a chat has besides its connection.
type chatClient struct {
	room  int32
	place int32 // in the room
	talks bool
	waits bool // for its room to catch up, before it sends again
	done  bool // has what the phase of joining waits for, or the last PONG
	// next has the number that is expected from each sender of the room.
	next []uint32
	// carry is the beginning of a line whose end has not been read.
	carry []byte
	// control are lines to be sent between bursts: names, rooms, PONGs. The first controlSent
	// bytes are written.
	control     []byte
	controlSent int
}

// chat drives the clients of one thread.
type chat struct {
	base
	job      *chatJob
	rooms    []room // all threads'
	clients  []chatClient
	heads    []head  // by sender: the words that this server writes before its texts
	heldBack []int32 // clients that wait to send again
	talkers  int     // senders of all threads
	members  int
	senders  int    // of a room of full size
	burst    uint64 // messages in a request
	text     uint64 // bytes
	asks     bool   // a burst ends in a PING
	request  uint64 // bytes of one
	window   int64  // messages that the senders of a full room have under way
	phase    phase
	arrived  int // clients that the phase has come to
	line     [512]byte
	acks     hist.Histogram
	// deliveries that came in the window
	deliveries int64
}

func newChat(j *chatJob, w *worker) *chat {
	l := &w.plan.Load
	k := &chat{
		base: base{w}, job: j, rooms: j.rooms, clients: make([]chatClient, len(w.conns)),
		members: min(l.Members, l.Connections), burst: uint64(max(1, l.Pipeline)),
		text: uint64(l.SizeBytes),
		asks: l.Shape != manifest.Paced,
	}
	switch l.Shape {
	case manifest.Idle:
		k.burst = 0
	case manifest.Open:
		k.burst = 1
	}
	switch {
	case l.Shape == manifest.Idle: // no client sends messages
	case l.Senders > 0:
		k.senders = min(k.members, l.Senders)
	default:
		k.senders = k.members
	}
	k.request = k.burst * (k.text + uint64(lineOver))
	if k.asks {
		k.request += uint64(pingBytes)
	}
	k.window = int64(k.burst) * int64(k.senders)
	k.heads = make([]head, k.senders*len(k.rooms))
	for id := range l.Connections {
		if id%k.members < k.senders {
			k.talkers++
		}
	}
	k.seatAll()
	w.batch = int64(max(1, k.burst)) // the PING of an idle client is one
	if !w.scheduled {
		w.pipeline = 1
	}
	if l.Shape != manifest.Idle {
		w.order = nil
		for i := range k.clients {
			if k.clients[i].talks {
				w.order = append(w.order, int32(i))
			}
		}
	}
	return k
}

// seatAll gives each client of the thread its room and its memory, in three pieces. Rooms are
// filled one after the other. The first clients in each are its senders.
func (k *chat) seatAll() {
	numbers := make([]uint32, len(k.conns)*k.senders)
	carries := make([]byte, len(k.conns)*lineMost)
	controls := make([]byte, len(k.conns)*controlMost)
	for i := range k.conns {
		g, id := &k.clients[i], int(k.conns[i].id)
		g.room, g.place = int32(id/k.members), int32(id%k.members)
		g.talks = int(g.place) < k.senders
		g.next = numbers[i*k.senders : (i+1)*k.senders]
		g.carry = carries[i*lineMost : i*lineMost : (i+1)*lineMost]
		g.control = controls[i*controlMost : i*controlMost : (i+1)*controlMost]
	}
}

// people is how many are in a room: the last one may not be full.
func (k *chat) people(room int32) int64 {
	return int64(min(k.members, k.plan.Load.Connections-int(room)*k.members))
}

// rate corrects the part of a rate that a thread has: not every one has as many senders.
func (k *chat) rate() float64 {
	switch k.plan.Load.Shape {
	case manifest.Open:
	case manifest.Idle:
		return k.plan.pingRate()
	default:
		return k.base.rate()
	}
	return k.plan.Load.Rate * float64(len(k.order)*k.shared.parts) / float64(k.talkers)
}

func (k *chat) connect(limitAt int64) {
	k.admit(&registration{chat: k, ramp: newRamp(nanotime(), k.shared.parts),
		limiter: limiter{places: clientsAtOnce, since: nanotime()}}, limitAt)
	k.enter(limitAt)
}

func (k *chat) start() { k.eachOpen(k.speak) }

func (k *chat) ready(c *conn, events uint32) {
	if c.canWrite(events) {
		k.send(c)
	}
	if events&readable != 0 {
		k.hear(c, events)
	}
}

// issued counts what a burst will bring to its room.
func (k *chat) issued(c *conn) {
	g := &k.clients[c.index]
	k.rooms[g.room].due.Add(int64(k.burst) * (k.people(g.room) - 1))
}

func (k *chat) requestBytes() uint64 { return k.request }

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
		if offset == k.request {
			request, offset = request+1, 0
		}
	}
}

// message renders a line to the sender's room.
func (k *chat) message(c *conn, request, number uint64) []byte {
	line := append(k.line[:0], "PRIVMSG #r"...)
	line = appendHex(line, uint64(k.clients[c.index].room), idDigits)
	line = append(line, " :"...)
	line = appendText(line, uint64(c.id), number, uint64(k.rings.at(c.index, request).due), k.text)
	return append(line, "\r\n"...)
}

func (k *chat) ping(request uint64) []byte {
	line := append(k.line[:0], "PING "...)
	line = appendHex(line, request, numberDigits)
	return append(line, "\r\n"...)
}

// send writes what is due between bursts, and bursts.
func (k *chat) send(c *conn) {
	if c.sentPart == 0 && !k.flushControl(c) {
		return
	}
	k.write(k, c)
	if c.state == connOpen && c.writable && c.sentPart == 0 {
		k.flushControl(c)
	}
}

// wrote counts a burst that the server does not acknowledge. A load that waits for the
// acknowledgement has the kernel acknowledge at once, for the server may wait for that before it
// sends the rest.
func (k *chat) wrote(c *conn) {
	if !k.scheduled {
		ackAtOnce(c.fd)
	}
	if !k.asks {
		k.answer(c)
	}
}

// speak has a client of a closed load send its next burst, if it may.
func (k *chat) speak(c *conn) {
	if k.sending && k.mayTalk(c) {
		k.topUp(c)
	}
}

// mayTalk tells whether a client of a closed load may send. If its room is behind, the client is
// put on the list of those that wait.
func (k *chat) mayTalk(c *conn) bool {
	g := &k.clients[c.index]
	if !g.talks {
		return false
	}
	if k.behind(g.room) {
		if !g.waits {
			g.waits = true
			k.heldBack = append(k.heldBack, c.index)
		}
		return false
	}
	return true
}

func (k *chat) behind(r int32) bool {
	come := k.rooms[r].come.Load() // first: what comes meanwhile was due before
	return k.rooms[r].due.Load()-come > k.window*(k.people(r)-1)
}

// tick lets the clients send again whose rooms have caught up. No event tells what other threads
// have read, so the time is bounded.
func (k *chat) tick() int64 {
	still := k.heldBack[:0]
	for _, i := range k.heldBack {
		g := &k.clients[i]
		if k.behind(g.room) && k.sending {
			still = append(still, i)
			continue
		}
		g.waits = false
		if c := &k.conns[i]; c.state == connOpen {
			k.speak(c)
		}
	}
	k.heldBack = still
	if k.shared.parts > 1 && (len(k.heldBack) > 0 || k.stage == stageDrain ||
		k.stage == stageLull) {
		return k.now + int64(otherThreads)
	}
	return never
}

// acknowledge records a PONG: the oldest burst under way is acknowledged.
func (k *chat) acknowledge(c *conn) {
	f := k.answer(c)
	switch {
	case !k.scheduled:
		if k.measuring {
			k.service.Record(k.now - f.sent)
		}
		k.speak(c)
	case k.inWindow(f.due):
		k.acks.Record(k.now - f.due)
		k.service.Record(k.now - f.sent)
	}
}

func (k *chat) drainTime() time.Duration { return cmp.Or(k.plan.Drain, roomDrainTime) }

// drained tells whether everything that was said has been delivered, or cannot be any more, for a
// client has gone. It is final once no thread sends any more.
func (k *chat) drained() bool {
	if k.living < len(k.conns) {
		return true
	}
	if !k.shared.quiet() {
		return false
	}
	for i := range k.rooms {
		r := &k.rooms[i]
		if r.come.Load() < r.due.Load() {
			return false
		}
	}
	return true
}

func (k *chat) expire() {
	what := "had no reply"
	if !k.asks {
		what = "could not be sent"
	}
	k.expireAll(what)
}

// end asks each client's server once more, if it was not asked meanwhile: it has everything
// when it answers.
func (k *chat) end() {
	if k.asks {
		return
	}
	for i := range k.conns {
		c, g := &k.conns[i], &k.clients[i]
		if g.done = c.state != connOpen; !g.done {
			k.inFlight++
			k.sendControl(c, "PING "+endToken, nil)
		}
	}
}

func (k *chat) unended() {
	for i := range k.conns {
		if !k.clients[i].done {
			k.failUnended(&k.conns[i])
		}
	}
}

func (k *chat) lost(c *conn) {
	if g := &k.clients[c.index]; k.stage == stageEnding && !g.done {
		g.done = true
		k.inFlight--
	}
}

func (k *chat) part() Part {
	switch {
	case k.burst == 0:
		return &Quiet{Answered: k.served, Total: k.total, Offered: k.offered,
			BytesOut: k.windowOut, BytesIn: k.windowIn, Acks: &k.acks, Service: &k.service,
			Late: &k.late}
	case !k.asks:
		return &Ingest{Sent: k.served, Total: k.total, Offered: k.offered,
			Deliveries: k.deliveries, BytesOut: k.windowOut, BytesIn: k.windowIn, Late: &k.late}
	}
	p := &Chat{Acknowledged: k.served, Total: k.total, Offered: k.offered,
		Deliveries: k.deliveries, BytesOut: k.windowOut, BytesIn: k.windowIn, Service: &k.service}
	if k.scheduled {
		p.Delivery, p.Acks, p.Late = &k.latency, &k.acks, &k.late
	}
	return p
}
