package batch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/papaya/hall"
)

var stateNames = map[state]string{idle: "idle", gathering: "gathering", holding: "holding",
	backoff: "backoff", sent: "sent", stored: "stored", applied: "applied", refusing: "refusing"}

// said is a line for the log for whose answer somebody waits, asks one that is not for the log, and
// talk one for which nobody waits.
func said(c *Client, what string) Line[string] {
	return Line[string]{From: c, Awaited: true, What: what,
		Entry: hall.Entry{Kind: hall.Said, Data: []byte(what)}}
}

func asks(c *Client, what string) Line[string] {
	return Line[string]{From: c, Awaited: true, What: what}
}

func talk(c *Client, what string) Line[string] {
	l := said(c, what)
	l.Awaited = false
	return l
}

// whats are the lines as one text.
func whats(lines []Line[string]) string {
	var all []string
	for _, l := range lines {
		all = append(all, l.What)
	}
	return strings.Join(all, " ")
}

// A rig is a machine with the time, and what it was told to do.
type rig struct {
	*Machine[string]
	now     time.Duration
	writing bool
	slow    func(*Line[string]) bool
	obeyed  []string
}

func newRig() *rig { return &rig{Machine: New[string]("chat", 7, 2), now: time.Hour} }

// next obeys what is to be obeyed, and returns the step behind that.
func (r *rig) next() Step[string] {
	at := Conditions[string]{Now: r.now, Clock: 1000 + r.now.Milliseconds(), Writing: r.writing,
		MaxBytes: 1 << 20}
	if r.slow != nil {
		at.Slow = func() (func(*Line[string]) bool, int) { return r.slow, 1 << 20 }
	}
	for {
		step := r.Next(at)
		if step.Do != Obey {
			return step
		}
		if r.Turn(&step.Line) {
			r.obeyed = append(r.obeyed, step.Line.What)
			r.Finish(step.Line.From)
		}
	}
}

// finish applies all lines in flight, as a server does.
func (r *rig) finish() {
	for n := range r.Flight() {
		l := &r.Flight()[n]
		if l.Entry.Kind == 0 && !r.Turn(l) || l.Done {
			continue
		}
		r.obeyed = append(r.obeyed, l.What)
		r.Finish(l.From)
	}
	r.Applied(r.now)
}

// reach brings a new machine into a state.
func reach(t *testing.T, want state) *rig {
	t.Helper()
	r, c := newRig(), &Client{}
	switch want {
	case idle:
	case gathering:
		r.writing = true
		r.Push(r.now, said(c, "a"))
		r.next()
		r.writing = false
	case holding:
		r.slow = func(*Line[string]) bool { return true }
		r.Push(r.now, said(c, "a"))
		r.next()
		r.slow = nil
	default:
		r.Push(r.now, said(c, "a"))
		r.next()
	}
	switch want {
	case stored:
		r.Stored(r.now)
	case applied:
		r.finish()
	case refusing:
		r.Refused(r.now)
	case backoff:
		for _, l := range r.Refused(r.now) {
			l.Done = true
			r.Again(l)
			r.Finish(l.From)
		}
		r.Resume(r.now)
		r.next()
	}
	if r.state != want {
		t.Fatalf("the machine is %s, want %s", stateNames[r.state], stateNames[want])
	}
	return r
}

// events are all that may happen to a machine.
var events = map[string]func(r *rig){
	"entry":    func(r *rig) { r.Push(r.now, said(&Client{}, "b")); r.next() },
	"question": func(r *rig) { r.Push(r.now, asks(&Client{}, "b")); r.next() },
	"writing": func(r *rig) {
		r.writing = true
		r.Push(r.now, said(&Client{}, "b"))
		r.next()
	},
	"slow": func(r *rig) {
		r.slow, r.now = func(*Line[string]) bool { return true }, r.now+retryAfter
		r.Push(r.now, said(&Client{}, "b"))
		r.next()
	},
	"next":    func(r *rig) { r.next() },
	"later":   func(r *rig) { r.now += pauseAfter; r.next() },
	"beat":    func(r *rig) { r.Beat(); r.next() },
	"tick":    func(r *rig) { r.Tick(); r.next() },
	"stored":  func(r *rig) { r.Stored(r.now); r.next() },
	"applied": func(r *rig) { r.Applied(r.now); r.next() },
	"refused": func(r *rig) { r.Refused(r.now); r.next() },
	"resume":  func(r *rig) { r.Resume(r.now); r.next() },
	"repeat":  func(r *rig) { r.Repeat(r.now); r.next() },
}

// TestEveryEventInEveryState is the table of the machine: what each event makes of each state.
// In gathering, holding and backoff a line waits, which was applied already in backoff. The lines
// of a refused batch gather others: nobody waits for them.
func TestEveryEventInEveryState(t *testing.T) {
	const table = `
	event    idle      gathering holding   backoff   sent     stored applied refusing
	entry    sent      sent      sent      sent      sent     stored applied refusing
	question idle      sent      sent      sent      sent     stored applied refusing
	writing  gathering gathering gathering gathering sent     stored applied refusing
	slow     holding   holding   holding   holding   sent     stored applied refusing
	next     idle      sent      sent      backoff   sent     stored applied refusing
	later    idle      sent      sent      sent      sent     stored applied refusing
	beat     sent      sent      sent      gathering sent     stored applied refusing
	tick     idle      sent      sent      backoff   sent     stored applied refusing
	stored   idle      sent      sent      backoff   stored   stored idle    refusing
	applied  idle      sent      sent      backoff   applied  idle   applied refusing
	refused  idle      sent      sent      backoff   refusing stored idle    refusing
	resume   idle      sent      sent      backoff   sent     stored applied idle
	repeat   idle      sent      sent      backoff   sent     stored applied gathering`
	var columns []state
	seen := 0
	for line := range strings.Lines(strings.TrimSpace(table)) {
		words := strings.Fields(line)
		if words[0] == "event" {
			for _, name := range words[1:] {
				for s, n := range stateNames {
					if n == name {
						columns = append(columns, s)
					}
				}
			}
			continue
		}
		seen++
		for n, want := range words[1:] {
			r := reach(t, columns[n])
			events[words[0]](r)
			if got := stateNames[r.state]; got != want {
				t.Errorf("%s: %s becomes %s, want %s", words[0], stateNames[columns[n]], got, want)
			}
			if r.InFlight() != (r.state >= sent) || r.Drained() && r.state >= sent {
				t.Errorf("%s in %s: in flight %v, drained %v", words[0], stateNames[r.state],
					r.InFlight(), r.Drained())
			}
		}
	}
	if len(columns) != len(stateNames) || seen != len(events) {
		t.Errorf("the table has %d states and %d events, want %d and %d", len(columns), seen,
			len(stateNames), len(events))
	}
}

// TestGathering: a batch waits while clients are written to, but only for maxDelay.
func TestGathering(t *testing.T) {
	r := newRig()
	launched := func() (yes bool, wait time.Duration) {
		step := r.next()
		if step.Do == Send {
			r.Stored(r.now)
			r.finish()
		}
		return step.Do == Send, step.Wait
	}
	say := func() { r.Push(r.now, said(nil, "x")) }
	say()
	if yes, _ := launched(); !yes {
		t.Error("a batch waits, and nobody is written to")
	}
	r.writing = true
	say()
	r.now += maxDelay - minDelay
	if yes, wait := launched(); yes || wait != minDelay {
		t.Errorf("a batch waits for %v while somebody is written to, want %v", wait, minDelay)
	}
	r.writing = false
	if yes, wait := launched(); !yes || wait > 0 {
		t.Error("a batch waits when all is written")
	}
	r.writing = true
	say()
	r.now += maxDelay - minDelay + 1
	if yes, _ := launched(); !yes {
		t.Errorf("a batch waits for less than %v, which a timer makes longer", minDelay)
	}
	r.writing = true
	say()
	r.now += maxDelay
	if yes, _ := launched(); !yes {
		t.Errorf("a batch waits for longer than %v", maxDelay)
	}
}

// TestManyTalk: a batch waits after the last one, unless a client waits for an answer.
func TestManyTalk(t *testing.T) {
	const step = 200 * time.Microsecond // five clients a millisecond
	r := newRig()
	hear := func(l Line[string]) (launched bool) {
		r.now += step
		r.Push(r.now, l)
		if r.next().Do != Send {
			return false
		}
		r.Stored(r.now)
		r.finish()
		return true
	}
	batch := func() (lines int) {
		for lines++; !hear(talk(&Client{}, "hello")) && lines < 100; lines++ {
		}
		return lines
	}
	batch()
	for range 10 {
		if got, want := batch(), int((maxDelay-minDelay)/step)+1; got != want {
			t.Errorf("a batch has %d lines where many talk, want %d: those of %v", got, want,
				maxDelay)
		}
	}
	if !hear(said(&Client{}, "join")) {
		t.Error("a JOIN waits for lines of others")
	}
	for range 10 { // one line in a second
		r.now += time.Second
		if !hear(talk(&Client{}, "hello")) {
			t.Error("a batch waits where few talk")
		}
	}
	for n := range enough { // more come at once than a batch waits for
		r.Push(r.now, talk(&Client{}, fmt.Sprint(n)))
	}
	if step := r.next(); step.Do != Send || len(r.Flight()) != enough {
		t.Errorf("%d lines at once: %d are sent after %v", enough, len(r.Flight()), step.Wait)
	}
}

// TestOrderOfNewcomers: lines of newcomers go behind all others, but in some batches a few go
// ahead. Those that wait before an order that may be about them keep their places.
func TestOrderOfNewcomers(t *testing.T) {
	post := hall.NewOrder(1, hall.PostTo, "#tea", "bot", "hello")
	end := hall.NewOrder(1, hall.EndAccount, "ann", "")
	for _, test := range []struct {
		name, queue, want string // a letter is a client: large when it logs in; . and ! are orders
		number            uint64
	}{
		{"nobody is new", "abc", "abc", 1},
		{"some are", "aBbcCcDa", "aaBbcCcD", 1},
		{"with a post", "Bb.aC", ".aBbC", 1},
		{"some go ahead", "aBbCaDEF", "BbCDaaEF", aheadEvery},
		{"few go ahead", "aB", "Ba", aheadEvery},
		{"an order", "aBbCd!cEeaF", "aBbCd!caEeF", 1},
		{"an order, ahead", "B!aE", "EB!a", aheadEvery},
	} {
		m, clients := New[string]("chat", 7, 2), map[string]*Client{}
		m.head.Number = test.number
		for _, letter := range strings.Split(test.queue, "") {
			switch letter {
			case ".":
				m.Push(0, Line[string]{Entry: post, What: letter})
				continue
			case "!":
				m.Push(0, Line[string]{Entry: end, What: letter})
				continue
			}
			name := strings.ToLower(letter)
			if clients[name] == nil {
				clients[name] = &Client{}
			}
			l := said(clients[name], letter)
			if letter != name {
				l.Entry.Kind = hall.Enter
			}
			m.Push(0, l)
		}
		m.newcomersLast()
		got := strings.ReplaceAll(whats(m.queue), " ", "")
		for n := range m.queue {
			m.admitNewcomer(&m.queue[n])
		}
		if got != test.want || m.newcomers != 0 {
			t.Errorf("%s: %s becomes %s, want %s; %d are left", test.name, test.queue, got,
				test.want, m.newcomers)
		}
	}
}

// TestLoginsAtOnce: a batch has LoginsAtOnce logins at most, and as many bytes as it may.
func TestLoginsAtOnce(t *testing.T) {
	r := newRig()
	for range 2*LoginsAtOnce + 1 {
		l := said(&Client{}, "login")
		l.Entry.Kind = hall.Enter
		r.Push(r.now, l)
	}
	for _, want := range []int{LoginsAtOnce, LoginsAtOnce, 1} {
		r.next()
		if got := len(r.Flight()); got != want {
			t.Errorf("a batch has %d logins, want %d", got, want)
		}
		r.Stored(r.now)
		r.finish()
	}
	for range 10 {
		r.Push(r.now, said(&Client{}, strings.Repeat("x", 100)))
	}
	if r.Next(Conditions[string]{Now: r.now, MaxBytes: 250}); len(r.Flight()) != 3 {
		t.Errorf("a batch of 250 bytes has %d lines of 100", len(r.Flight()))
	}
}

// TestLostAcknowledgement: the log has stored a batch, and its answer is lost. In a cluster the
// batch comes from the log nevertheless: it is applied once, and the next one waits for the answer
// to a later try. New messages are refused meanwhile.
func TestLostAcknowledgement(t *testing.T) {
	r, c := newRig(), &Client{}
	r.Push(r.now, said(c, "a"))
	r.next()
	own, other := r.Head(), r.Head()
	other.Server = "else"
	if !r.Mine(own) || r.Mine(other) {
		t.Fatal("the batch in flight is not told from others")
	}
	for n := range 4 {
		if r.Doubted() != (n > 2) {
			t.Errorf("after %d ticks of 2, doubted is %v", n, r.Doubted())
		}
		r.Tick()
	}
	r.finish()
	if r.Mine(own) {
		t.Error("the second copy of a batch would be applied again")
	}
	r.Push(r.now, said(c, "b"))
	if step := r.next(); step.Do != Wait || !r.Doubted() {
		t.Errorf("a batch is sent before the log has answered for the last one: %v", step)
	}
	r.Stored(r.now)
	if r.next(); r.state != sent || r.Doubted() || whats(r.Flight()) != "b" || r.Mine(own) {
		t.Errorf("after the answer %q is %s", whats(r.Flight()), stateNames[r.state])
	}
}

// TestRefusedAfterItCame: a server asks NATS again after a connection was lost, and NATS refuses,
// but the batch is in the log. Its lines are not refused.
func TestRefusedAfterItCame(t *testing.T) {
	r, c := newRig(), &Client{}
	r.Push(r.now, said(c, "a"))
	r.next()
	r.finish()
	if lines := r.Refused(r.now); lines != nil || r.state != idle || c.Pending() {
		t.Errorf("%q is refused after it was applied; the machine is %s", whats(lines),
			stateNames[r.state])
	}
}

// TestFullDisk: what the log has refused is answered; what a single server has applied nevertheless
// is tried again before all else, after a second, or with the next line of anybody.
func TestFullDisk(t *testing.T) {
	r, a, b := newRig(), &Client{}, &Client{}
	refuse := func() {
		for _, l := range r.Refused(r.now) {
			if strings.HasPrefix(l.What, "join") {
				if !l.Done {
					l.Done = true
					r.Finish(l.From)
				}
				r.Again(l)
				continue
			}
			r.Finish(l.From)
		}
		r.Resume(r.now)
	}
	for _, l := range []Line[string]{said(a, "join1"), said(a, "say"), said(b, "join2")} {
		r.Push(r.now, l)
	}
	r.next()
	refuse()
	if r.next(); r.state != backoff || a.Pending() || b.Pending() || r.Queued() != 2 {
		t.Fatalf("%d wait, the machine is %s", r.Queued(), stateNames[r.state])
	}
	r.Push(r.now, asks(a, "ping"))
	r.Push(r.now, said(b, "hello"))
	if r.next(); whats(r.Flight()) != "join1 join2 ping hello" {
		t.Fatalf("the next batch has %q", whats(r.Flight()))
	}
	r.Stored(r.now)
	r.finish()
	if want := []string{"ping", "hello"}; !slices.Equal(r.obeyed, want) || a.Pending() ||
		b.Pending() || a.queued+b.queued != 0 {
		t.Errorf("%q were done, want %q: what was applied is not applied again", r.obeyed, want)
	}
	for n := range maxAgain + 5 { // a disk that stays full
		r.Push(r.now, said(nil, fmt.Sprint("join", n)))
	}
	r.next()
	if refuse(); r.Queued() != maxAgain {
		t.Errorf("%d lines are kept for a full disk, want %d", r.Queued(), maxAgain)
	}
	if r.next(); r.state != backoff {
		t.Errorf("the machine is %s", stateNames[r.state])
	}
	if r.now += pauseAfter; r.next().Do != Send {
		t.Error("the log is not tried again")
	}
}

// TestNATSComesBack: in a cluster without a leader, what says who is here waits in its order, and
// so do the later lines of its client.
func TestNATSComesBack(t *testing.T) {
	r, a, b := newRig(), &Client{}, &Client{}
	r.Push(r.now, said(a, "join"))
	r.Push(r.now, asks(a, "names"))
	r.Push(r.now, said(b, "say"))
	r.Push(r.now, asks(b, "ping"))
	r.next()
	r.Push(r.now, said(b, "later"))
	lines := r.Refused(r.now)
	for n := range lines {
		switch l := &lines[n]; {
		case l.What == "join":
			r.Again(*l)
		case l.Entry.Kind == 0 && !r.Turn(l):
		default:
			r.obeyed = append(r.obeyed, l.What)
			r.Finish(l.From)
		}
	}
	r.Resume(r.now)
	if r.next(); whats(r.Flight()) != "join names later" || !slices.Equal(r.obeyed,
		[]string{"say", "ping"}) {
		t.Fatalf("%q were done, and %q is sent", r.obeyed, whats(r.Flight()))
	}
	r.finish()
	if r.Stored(r.now); a.Pending() || b.Pending() || r.state != idle {
		t.Errorf("the machine is %s, and lines are left", stateNames[r.state])
	}
}

// TestStopInFlight: a server that ends while a batch is in flight waits for it, and sends what came
// meanwhile.
func TestStopInFlight(t *testing.T) {
	r, c := newRig(), &Client{}
	r.Push(r.now, said(c, "a"))
	r.next()
	r.Push(r.now, said(nil, "mark"))
	if r.next(); r.Drained() {
		t.Fatal("a server would end while a batch is in flight")
	}
	r.Stored(r.now)
	if r.Drained() {
		t.Fatal("a server would end before its lines are applied")
	}
	r.finish()
	if r.Drained() {
		t.Fatal("a server would end while a line waits")
	}
	if step := r.next(); step.Do != Send {
		t.Fatalf("the last line is not sent: %v", step)
	}
	r.Stored(r.now)
	if r.finish(); !r.Drained() {
		t.Error("the server would not end")
	}
}

// TestFirstBatch: the first batch of a run has no lines, and is sent until the log has it.
func TestFirstBatch(t *testing.T) {
	r := newRig()
	r.Beat()
	for n := range 3 {
		step := r.next()
		b, rest, err := hall.ReadBatch(step.Data)
		if err != nil || len(rest) > 0 || b.Number != uint64(n+1) || b.Run != 7 ||
			b.Server != "chat" || b.Time != 1000+r.now.Milliseconds() {
			t.Fatalf("the batch is %+v with %q, %v", b, rest, err)
		}
		r.Refused(r.now)
		r.Repeat(r.now)
	}
	r.next()
	r.Stored(r.now)
	if r.finish(); !r.Drained() {
		t.Error("the batch would be sent again")
	}
}

// TestEntryThatComesLate: a line without an entry gives one when it is obeyed. Later lines of its
// client wait for that, those of others do not.
func TestEntryThatComesLate(t *testing.T) {
	r, a, b := newRig(), &Client{}, &Client{}
	r.Push(r.now, said(a, "1"))
	redact := asks(a, "redact")
	redact.MayLog = true
	r.Push(r.now, redact)
	r.Push(r.now, said(a, "2"))
	r.Push(r.now, said(b, "x"))
	r.Push(r.now, asks(a, "ping"))
	r.next()
	if whats(r.Flight()) != "1 redact x" || whats(r.queue) != "2 ping" {
		t.Fatalf("%q is in flight, and %q waits", whats(r.Flight()), whats(r.queue))
	}
	r.Stored(r.now)
	for n := range r.Flight() {
		l := &r.Flight()[n]
		if l.What == "redact" && r.Turn(l) {
			r.Push(r.now, said(a, "first"))
			r.Push(r.now, said(a, "second"))
		}
		r.Finish(l.From)
	}
	r.Applied(r.now)
	if r.next(); whats(r.Flight()) != "first second 2 ping" {
		t.Errorf("%q is in the next batch", whats(r.Flight()))
	}
}

// TestSlowClientsHoldLines: lines for slow clients wait, with the later lines of their clients. All
// others go on, and so do heartbeats.
func TestSlowClientsHoldLines(t *testing.T) {
	r, a, b := newRig(), &Client{}, &Client{}
	r.slow = func(l *Line[string]) bool { return strings.HasPrefix(l.What, "slow") }
	for _, l := range []Line[string]{said(a, "slow1"), asks(a, "ping"), said(b, "x"),
		asks(b, "ping2")} {
		r.Push(r.now, l)
	}
	if r.next(); whats(r.Flight()) != "x ping2" || whats(r.queue) != "slow1 ping" {
		t.Fatalf("%q is sent, and %q waits", whats(r.Flight()), whats(r.queue))
	}
	r.Stored(r.now)
	r.finish()
	r.Push(r.now, asks(b, "ping3"))
	if r.next(); r.state != holding {
		t.Errorf("the machine is %s", stateNames[r.state])
	}
	r.now += retryAfter
	if r.next(); r.state != holding || !slices.Equal(r.obeyed, []string{"x", "ping2", "ping3"}) {
		t.Errorf("%q were done; the machine is %s", r.obeyed, stateNames[r.state])
	}
	r.Beat()
	if step := r.next(); step.Do != Send || len(r.Flight()) > 0 {
		t.Errorf("a heartbeat waits for slow clients: %v", step)
	}
	r.Stored(r.now)
	r.finish()
	r.slow = nil
	if r.next(); whats(r.Flight()) != "slow1 ping" {
		t.Errorf("%q is sent when nobody is slow any more", whats(r.Flight()))
	}
}
