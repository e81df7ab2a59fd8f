package load

// Coming into a chat: everybody registers, a few at a time, then everybody joins, then everybody hears that the others
// have. Nothing of that is left in a socket when the load begins.

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// A phase is what all clients wait for together.
type phase int32

const (
	phaseName  phase = iota // 376 or 422: the greeting is over; connectAll is this phase
	phaseRoom               // 366: the list of who is in the room is over
	phaseQuiet              // a PONG: what came before it has been read
	phases

	phaseLoad = phases // no more
)

const (
	// joinTime bounds a phase, a guess: 1,000 who join one room are told half a million times of it, and the slowest
	// server measured tells 200,000 a second.
	joinTime = 15 * time.Second
	// roomDrainTime is for deliveries after the load has ended: two bursts of each sender to 1,000 clients are a
	// quarter of a million.
	roomDrainTime = 5 * time.Second
)

// atTheDoor is how many clients of a thread connect and register at a time: the shortest queue of a server that was met
// (ngircd's) has ten places, and who finds it full tries again after a second.
const atTheDoor = 8

// A door is how many may be under way. One server that was met (InspIRCd) greets once a second, whoever is there then: where all
// wait and nobody is greeted for a while, some more are let in.
type door struct {
	places, greeted int
	since           int64 // when somebody was last greeted or let in
}

// stuckTime is long for a server that greets as clients come, even on a busy core, and short beside a second. A guess.
const stuckTime = int64(100 * time.Millisecond)

// open says whether one more may come. Who cannot even connect stands before a full queue, which more would not empty.
func (d *door) open(under, connecting, greeted int, now int64) bool {
	switch {
	case greeted != d.greeted || under < d.places || connecting > 0:
		d.greeted, d.since = greeted, now
	case now > d.since+stuckTime:
		d.places, d.since = d.places+atTheDoor, now
	}
	return under < d.places
}

// register says who a client is.
func (w *worker) register(c *conn) {
	w.sayAside(c, fmt.Sprintf("NICK c%05x\r\nUSER c 0 * :c", c.id), nil)
}

const (
	quietToken = "quiet"
	endToken   = "end"
)

// enter takes all clients of a thread through the phases. The threads begin each together: who joins is seen by all.
func (w *worker) enter(limitAt int64) {
	for p := phaseRoom; p < phases; p++ {
		w.beginPhase(p)
		giveUp := min(limitAt, nanotime()+int64(joinTime))
		for passed := false; ; {
			if !passed && w.chat.arrived >= w.living {
				passed = true
				w.shared.atPhase[p].Add(1)
			}
			if int(w.shared.atPhase[p].Load()) == w.shared.parts {
				break
			}
			if now := nanotime(); !passed && now > giveUp {
				w.giveUpJoining(p)
				continue
			} else if now > limitAt || !w.listenAWhile() {
				return
			}
		}
	}
	w.chat.phase = phaseLoad
}

// beginPhase has everybody say what the phase begins with.
func (w *worker) beginPhase(p phase) {
	w.chat.phase, w.chat.arrived = p, 0
	for i := range w.conns {
		c, g := &w.conns[i], &w.chat.guests[i]
		g.done = false
		if c.state != connOpen {
			continue
		}
		switch p {
		case phaseRoom:
			w.sayAside(c, fmt.Sprintf("JOIN #r%05x", g.room), nil)
		case phaseQuiet:
			w.sayAside(c, "PING "+quietToken, nil)
		}
	}
}

// listenAWhile handles what comes within a millisecond. False: the load is stopped.
func (w *worker) listenAWhile() bool {
	n, e := w.poll.wait(int64(time.Millisecond))
	if e != 0 {
		w.faults.add(ioKind(e), 1, "waiting for greetings: %v", e)
		return false
	}
	for i := range n {
		ev := w.poll.events[i]
		if ev.Fd == stopTag {
			return false // the caller sees it
		}
		w.now = nanotime()
		w.handle(&w.conns[ev.Fd], ev.Events)
	}
	return true
}

func (w *worker) giveUpJoining(p phase) {
	what := "was not let into its room"
	if p == phaseQuiet {
		what = "had no PONG"
	}
	for i := range w.conns {
		if c := &w.conns[i]; c.state == connOpen && !w.chat.guests[i].done {
			w.fail(c, "connect "+errnoName(unix.ETIMEDOUT), "client %d %s within %v", c.id, what, joinTime)
		}
	}
}

// come says that a client has what its phase waits for.
func (w *worker) come(g *guest) {
	if !g.done {
		g.done = true
		w.chat.arrived++
	}
}

// numeric takes a server's reply by number.
func (w *worker) numeric(c *conn, g *guest, l ircLine, line []byte) {
	k := w.chat
	switch string(l.command) {
	case "376", "422":
		if k.phase == phaseName {
			w.come(g)
		}
	case "366":
		if k.phase == phaseRoom {
			w.come(g)
		}
	default:
		if l.command[0] != '4' && l.command[0] != '5' {
			return
		}
		if k.phase < phaseLoad {
			w.fail(c, "connect "+Refused, "client %d was told %.100q", c.id, line)
			return
		}
		w.faults.add(Refused, 1, "client %d was told %.100q", c.id, line)
	}
}

// ponged takes an acknowledgement.
func (w *worker) ponged(c *conn, g *guest, token []byte) {
	switch {
	case string(token) == quietToken:
		if w.chat.phase == phaseQuiet {
			w.come(g)
		}
	case string(token) == endToken && w.stage == stageEnding && !g.done:
		g.done = true
		w.inFlight--
	case len(token) == numberDigits && c.answered < c.issued && w.chat.asks:
		if n, ok := hex8(token); ok && n == uint32(c.answered) {
			w.acknowledge(c)
			return
		}
		fallthrough
	default:
		w.fail(c, Extra, "client %d: PONG %.30q, which it has not asked for now", c.id, token)
	}
}

// endChat asks everybody once more: a server that was not asked meanwhile has everything when it answers.
func (w *worker) endChat() {
	for i := range w.conns {
		c, g := &w.conns[i], &w.chat.guests[i]
		if g.done = c.state != connOpen; g.done {
			continue
		}
		w.inFlight++
		w.sayAside(c, "PING "+endToken, nil)
	}
}
