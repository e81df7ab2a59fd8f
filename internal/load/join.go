package load

// Entering a chat: all clients register, a few at a time, then all join their rooms, then all read
// the JOINs of the others. Nothing of that is left in a socket when the load begins.

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Replies by the names of RFC 2812 section 5.
const (
	RPL_ENDOFNAMES = "366"
	RPL_ENDOFMOTD  = "376"
	ERR_NOMOTD     = "422"
)

// A phase is what all clients wait for together.
type phase int32

const (
	phaseName  phase = iota // registration: the greeting is over
	phaseRoom               // the list of the room's members has ended
	phaseQuiet              // a PONG: what came before it has been read
	phases

	phaseLoad = phases // no more
)

const (
	// joinTime bounds a phase, a guess: 1,000 clients that join one room receive half a million
	// JOINs, and the slowest server measured sends 200,000 a second.
	joinTime = 15 * time.Second
	// roomDrainTime is for deliveries after the load has ended: two bursts of each sender to 1,000
	// clients are a quarter of a million.
	roomDrainTime = 5 * time.Second
)

// clientsAtOnce is how many clients of a thread connect and register at a time: the shortest queue
// of a server that was met (ngircd's) has ten places, and a client that finds it full tries again
// after a second.
const clientsAtOnce = 8

// stuckTime is long for a server that greets as clients come, even on a busy core, and short beside
// a second. A guess.
const stuckTime = int64(100 * time.Millisecond)

// A limiter bounds how many clients are under way. One server that was met (InspIRCd) greets once
// a second all clients that are there then: where all wait and none is greeted for a while, some
// more are admitted.
type limiter struct {
	places, greeted int
	since           int64 // when a client was last greeted or admitted
}

// admits tells whether one more may come. A client that cannot even connect waits before a full
// queue, which more clients would not empty.
func (l *limiter) admits(under, connecting, greeted int, now int64) bool {
	switch {
	case greeted != l.greeted || under < l.places || connecting > 0:
		l.greeted, l.since = greeted, now
	case now > l.since+stuckTime:
		l.places, l.since = l.places+clientsAtOnce, now
	}
	return under < l.places
}

// registration is the admission of a chat's clients. It waits until each is greeted.
type registration struct {
	*chat
	ramp       ramp
	limiter    limiter
	connecting int
}

func (r *registration) admits(begun, waiting int) bool {
	return begun < r.ramp.allowed(r.now) && r.limiter.admits(waiting, r.connecting, begun-waiting,
		r.now)
}

func (r *registration) waiting(begun int) (n int) {
	r.connecting = 0
	for i := range r.conns[:begun] {
		switch r.conns[i].state {
		case connConnecting:
			n++
			r.connecting++
		case connOpen:
			if !r.clients[i].done {
				n++
			}
		}
	}
	return n
}

func (r *registration) hopeless(_ int, quiet int64) bool { return quiet > int64(connectTime) }

func (r *registration) giveUp() {
	for i := range r.conns {
		switch c := &r.conns[i]; {
		case c.state == connConnecting || c.state == connClosed:
			r.failConnect(c, unix.ETIMEDOUT)
		case c.state == connOpen && !r.clients[i].done:
			r.fail(c, "connect "+errnoName(unix.ETIMEDOUT), "client %d was not greeted within %v",
				c.id, connectTime)
		}
	}
}

// connected has a client register.
func (k *chat) connected(c *conn) {
	k.sendControl(c, fmt.Sprintf("NICK c%05x\r\nUSER c 0 * :c", c.id), nil)
}

const (
	quietToken = "quiet"
	endToken   = "end"
)

// enter takes all clients of a thread through the phases. The threads begin each phase together,
// for each client reads the JOINs of all others.
func (k *chat) enter(limitAt int64) {
	for p := phaseRoom; p < phases; p++ {
		k.beginPhase(p)
		giveUp := min(limitAt, nanotime()+int64(joinTime))
		for passed := false; ; {
			if !passed && k.arrived >= k.living {
				passed = true
				k.job.atPhase[p].Add(1)
			}
			if int(k.job.atPhase[p].Load()) == k.shared.parts {
				break
			}
			if now := nanotime(); !passed && now > giveUp {
				k.giveUpJoining(p)
				continue
			} else if now > limitAt || !k.listenAWhile("greetings") {
				return
			}
		}
	}
	k.phase = phaseLoad
}

// beginPhase has all clients send the line that the phase begins with.
func (k *chat) beginPhase(p phase) {
	k.phase, k.arrived = p, 0
	for i := range k.conns {
		c, g := &k.conns[i], &k.clients[i]
		g.done = false
		if c.state != connOpen {
			continue
		}
		switch p {
		case phaseRoom:
			k.sendControl(c, fmt.Sprintf("JOIN #r%05x", g.room), nil)
		case phaseQuiet:
			k.sendControl(c, "PING "+quietToken, nil)
		}
	}
}

func (k *chat) giveUpJoining(p phase) {
	what := "was not let into its room"
	if p == phaseQuiet {
		what = "had no PONG"
	}
	for i := range k.conns {
		if c := &k.conns[i]; c.state == connOpen && !k.clients[i].done {
			k.fail(c, "connect "+errnoName(unix.ETIMEDOUT), "client %d %s within %v", c.id, what,
				joinTime)
		}
	}
}

// passed notes that a client has received the line that its phase waits for.
func (k *chat) passed(g *chatClient) {
	if !g.done {
		g.done = true
		k.arrived++
	}
}

// numeric takes a server's reply by number.
func (k *chat) numeric(c *conn, g *chatClient, l ircLine, line []byte) {
	switch string(l.command) {
	case RPL_ENDOFMOTD, ERR_NOMOTD:
		if k.phase == phaseName {
			k.passed(g)
		}
	case RPL_ENDOFNAMES:
		if k.phase == phaseRoom {
			k.passed(g)
		}
	default:
		if l.command[0] != '4' && l.command[0] != '5' {
			return
		}
		if k.phase < phaseLoad {
			k.fail(c, "connect "+Refused, "client %d was told %.100q", c.id, line)
			return
		}
		k.faults.add(Refused, 1, "client %d was told %.100q", c.id, line)
	}
}

// ponged takes an acknowledgement.
func (k *chat) ponged(c *conn, g *chatClient, token []byte) {
	switch {
	case string(token) == quietToken:
		if k.phase == phaseQuiet {
			k.passed(g)
		}
	case string(token) == endToken && k.stage == stageEnding && !g.done:
		g.done = true
		k.inFlight--
	case len(token) == numberDigits && c.answered < c.issued && k.asks:
		if n, ok := hex8(token); ok && n == uint32(c.answered) {
			k.acknowledge(c)
			return
		}
		fallthrough
	default:
		k.fail(c, Extra, "client %d: PONG %.30q, which it has not asked for now", c.id, token)
	}
}
