package torture

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/client"
	"interleave/papaya/irc"
)

// deviceCaps are the capabilities that a device requests, as clients of people do.
const deviceCaps = "message-tags server-time batch echo-message sasl draft/chathistory " +
	"papaya/missed draft/read-marker account-tag account-notify away-notify"

// unreachable is why a server does not take a device if it says nothing.
const unreachable = "no connection"

// A device is one of many sessions of a rush. The goroutine of its client.Conn receives; any may
// call its other methods.
type device struct {
	rush   *rush
	who    *person
	number int // among those of the account
	conn   *client.Conn

	// The goroutine of conn owns these.
	first      string // the first message of SCRAM
	answered   bool   // it has answered the challenge of SCRAM
	registered bool
	why        string // why the server does not take it
	in, read   *storm // the last in which it was registered, and in which it had its histories
	pages      int    // histories that it has not received yet
	batches    map[string]bool
	joined     map[string]bool

	mu      sync.Mutex
	open    bool
	changed chan struct{}            // closed at the next change of open
	sent    map[string]sent          // texts and PINGs that are not acknowledged
	stall   chan struct{}            // if there is one: nothing is read until it is closed
	dialing func(*net.TCPConn) error // if there is one: changes the next connection
}

// sent is when a text or a PING was sent, and the room of the text; a PING has none.
type sent struct {
	at   time.Time
	room string
}

func newDevice(r *rush, p *person, number int) *device {
	d := &device{rush: r, who: p, number: number, changed: make(chan struct{}),
		why: unreachable, joined: map[string]bool{}}
	d.conn = &client.Conn{Dial: d.dial, Tell: d.tell}
	return d
}

// dial connects with TLS from the account's address. The server is the campaign's own, at a port of
// this machine, so its certificate need not be verified.
func (d *device) dial(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{LocalAddr: d.who.from}
	c, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", d.rush.Port))
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	change := d.dialing
	d.mu.Unlock()
	if change != nil {
		if err := change(c.(*net.TCPConn)); err != nil {
			c.Close()
			return nil, err
		}
	}
	secure, err := d.rush.turns.Client(ctx, c, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return nil, err
	}
	return secure, nil
}

// tell takes the events of the connection.
func (d *device) tell(event any) {
	switch e := event.(type) {
	case client.Opened:
		d.register()
	case client.Line:
		d.receive(e.Message)
	case client.Lost:
		d.lose()
	}
}

// send sends a line.
func (d *device) send(command string, words ...string) {
	d.conn.Send(irc.Message{Command: command, Params: words})
}

func (d *device) register() {
	d.pages, d.answered, d.batches = 0, false, map[string]bool{}
	nick := d.who.name
	d.send("CAP", "REQ", deviceCaps)
	d.send("NICK", nick)
	d.send("USER", nick, "0", "*", nick)
	if d.rush.Scram {
		d.first = "n,,n=" + nick + ",r=" + fmt.Sprint(rand.Uint64())
		d.send("AUTHENTICATE", "SCRAM-SHA-256")
		d.send("AUTHENTICATE", encoded(d.first))
		return
	}
	d.send("AUTHENTICATE", "PLAIN")
	d.send("AUTHENTICATE", encoded("\x00"+nick+"\x00"+d.who.secret()))
	d.send("CAP", "END")
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// authenticate answers a message of SCRAM.
func (d *device) authenticate(word string) {
	switch {
	case word == "+" || !d.rush.Scram:
	case d.answered: // the server's proof
		d.send("AUTHENTICATE", "+")
	default:
		d.answered = true
		challenge, err := base64.StdEncoding.DecodeString(word)
		if err == nil {
			var answer string
			if answer, err = d.who.scram.Answer(d.first, string(challenge)); err == nil {
				d.send("AUTHENTICATE", encoded(answer))
				return
			}
		}
		d.rush.giveUp(fmt.Errorf("the server's message of SCRAM: %w", err))
	}
}

// receive takes a line of the server.
func (d *device) receive(m irc.Message) {
	switch m.Command {
	case "PING":
		d.conn.Send(irc.Message{Command: "PONG", Params: m.Params})
	case "AUTHENTICATE":
		d.authenticate(m.Param(0))
	case irc.RPL_SASLSUCCESS:
		if d.rush.Scram {
			d.send("CAP", "END")
		}
	case "ERROR", "FAIL", irc.ERR_SASLFAIL:
		d.refused(m)
	case irc.RPL_WELCOME:
		d.enter()
	case irc.RPL_ENDOFNAMES:
		d.join(m.Param(1))
	case "BATCH":
		d.batch(m)
	case "PRIVMSG", "PONG":
		d.acknowledge(m)
	case "NOTICE":
		d.takeToken(m)
	}
	d.mu.Lock()
	stall := d.stall
	d.mu.Unlock()
	if stall != nil {
		<-stall
	}
}

// refused notes why the server does not take the device. A device that is registered is refused
// nothing.
func (d *device) refused(m irc.Message) {
	switch {
	case m.Command == "FAIL" && d.registered:
		d.rush.giveUp(fmt.Errorf("%s is told %s", d.who.name, m))
	case d.why == unreachable: // what follows is about the end of the connection
		d.why = m.Last()
	}
}

// join notes that the account is in a room.
func (d *device) join(room string) {
	if d.number > 0 || d.joined[room] || !d.rush.furnishing.Load() {
		return
	}
	d.joined[room] = true
	d.rush.hasAnswer()
}

// takeToken takes the token for which joinRooms has asked.
func (d *device) takeToken(m irc.Message) {
	if !d.rush.Tokens || !strings.HasPrefix(m.Source, "NickServ!") {
		return
	}
	token, ok := strings.CutPrefix(m.Last(), "new token ")
	switch {
	case ok && d.who.takeToken(token):
		d.rush.hasAnswer()
	case strings.HasPrefix(m.Last(), "Not done"):
		d.rush.giveUp(fmt.Errorf("%s gets no token: %s", d.who.name, m.Last()))
	}
}

// takeToken says whether the account had no token before.
func (p *person) takeToken(token string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.token.Reveal() != "" {
		return false
	}
	p.token = account.NewSecret(token)
	return true
}

// enter begins a session that is registered: it asks for the newest messages of its rooms.
func (d *device) enter() {
	d.conn.Steady()
	d.registered = true
	d.turn(true)
	if d == d.rush.onlooker {
		return
	}
	s := d.rush.current()
	fresh := s != d.in
	if d.in = s; fresh {
		s.enter()
	}
	switch {
	case d.rush.furnished.Load():
		d.pages = len(d.who.rooms)
		for _, room := range d.who.rooms {
			d.send("CHATHISTORY", "LATEST", room, "*", "50")
		}
		if fresh && s.firstServed() == 0 {
			d.say(d.who.rooms[0])
		}
	case d.rush.furnishing.Load() && d.number == 0:
		d.joinRooms()
	}
	d.hasRead()
}

// joinRooms joins the rooms of the account, and asks for its token. It may be in some already.
func (d *device) joinRooms() {
	if d.rush.Tokens {
		d.send("NS", "TOKEN ADD sessions "+d.who.password.Reveal())
	}
	for _, room := range d.who.rooms {
		d.send("JOIN", room)
	}
}

// hasRead notes that the device has its histories, if it has.
func (d *device) hasRead() {
	if d.pages == 0 && d.read != d.in {
		d.read = d.in
		d.in.read()
	}
}

// batch counts the histories that have arrived.
func (d *device) batch(m irc.Message) {
	ref := m.Param(0)
	switch {
	case strings.HasPrefix(ref, "+") && m.Param(1) == "chathistory":
		d.batches[ref[1:]] = true
	case strings.HasPrefix(ref, "-") && d.batches[ref[1:]]:
		delete(d.batches, ref[1:])
		d.pages--
		d.hasRead()
	}
}

// lose takes the end of a connection, or one that could not be made.
func (d *device) lose() {
	d.mu.Lock()
	was := d.open
	d.sent = nil
	d.mu.Unlock()
	d.turn(false)
	if s := d.rush.current(); s != nil && !was && d.in != s {
		s.turnedAway(d.why)
	}
	d.registered, d.why = false, unreachable
}

func (d *device) turn(open bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = open
	close(d.changed)
	d.changed = make(chan struct{})
}

// up waits until the device is registered.
func (d *device) up(ctx context.Context) error {
	late := time.After(patience)
	for {
		d.mu.Lock()
		open, changed := d.open, d.changed
		d.mu.Unlock()
		if open {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return fmt.Errorf("%s: %w", d.who.name, errPatience)
		}
	}
}

// say says a message of its own in a room, if the device is registered.
func (d *device) say(room string) {
	d.rush.mu.Lock()
	d.rush.words++
	text := fmt.Sprintf("w-%d- %s", d.rush.words, strings.Repeat("papaya ", 8)+"tree")
	d.rush.mu.Unlock()
	if d.mark(text, room) {
		d.send("PRIVMSG", room, text)
	}
}

// mark notes when something is said that is acknowledged later. It does nothing and returns false
// if the device is not registered.
func (d *device) mark(text, room string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.open {
		return false
	}
	if d.sent == nil {
		d.sent = map[string]sent{}
	}
	d.sent[text] = sent{time.Now(), room}
	return true
}

// acknowledge takes the echo of a message, or the answer to a PING.
func (d *device) acknowledge(m irc.Message) {
	if m.Tags["batch"] != "" { // it is in a history
		return
	}
	text := m.Last()
	d.mu.Lock()
	own, ok := d.sent[text]
	delete(d.sent, text)
	d.mu.Unlock()
	if !ok {
		return
	}
	took := time.Since(own.at)
	r := d.rush
	r.mu.Lock()
	if own.room == "" {
		r.pings = append(r.pings, took)
	} else {
		r.waits = append(r.waits, took)
		r.acked[text] = own.room
	}
	s := r.storm
	r.mu.Unlock()
	if own.room != "" && d.in == s {
		s.serve()
	}
}
