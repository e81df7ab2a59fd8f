package batch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"interleave/papaya/hall"
)

// A world is a machine with clients and a log, which do what chance wants, and a model of what must
// come of it: want has the lines of each client in their order, until they are done.
type world struct {
	t       *testing.T
	m       *Machine[int]
	random  *rand.Rand
	now     time.Duration
	shared  bool // the log is that of a cluster: batches come back from it
	clients []*Client
	entered map[*Client]bool
	want    map[*Client][]int
	mayLog  map[int]bool
	done    map[int]bool
	last    int // the last line

	inLog, came bool // the batch in flight was stored, and has come from the log
	number      uint64
	sends       int
}

func (w *world) chance(percent int) bool { return w.random.IntN(100) < percent }

// line makes a line of a client, or of the server.
func (w *world) line(c *Client, kind byte) Line[int] {
	w.last++
	l := Line[int]{From: c, What: w.last, Awaited: w.chance(50)}
	if kind != 0 {
		l.Entry = hall.Entry{Kind: kind, Data: []byte(strconv.Itoa(w.last))}
	} else if w.chance(30) {
		l.MayLog, w.mayLog[w.last] = true, true
	}
	return l
}

func (w *world) push() {
	c, kind := w.clients[w.random.IntN(len(w.clients))], byte(hall.Said)
	switch {
	case c == nil && w.chance(20):
		kind = hall.Order
	case c == nil:
	case !w.entered[c]:
		kind, w.entered[c] = hall.Enter, true
	case w.chance(40):
		kind = 0
	}
	l := w.line(c, kind)
	w.want[c] = append(w.want[c], l.What)
	w.m.Push(w.now, l)
}

// finish checks that a line is the next one of its client, and notes that it is done.
func (w *world) finish(l *Line[int]) {
	if list := w.want[l.From]; l.From != nil && (len(list) == 0 || list[0] != l.What) {
		w.t.Fatalf("line %d is done, and its client waits for %d", l.What, list)
	}
	w.drop(l)
}

// drop notes that a line is done, or was refused, which it may be before lines that wait.
func (w *world) drop(l *Line[int]) {
	list := w.want[l.From]
	n := slices.Index(list, l.What)
	if w.done[l.What] || n < 0 {
		w.t.Fatalf("line %d is done again", l.What)
	}
	w.done[l.What] = true
	w.want[l.From] = slices.Delete(list, n, n+1)
	w.m.Finish(l.From)
}

// obey obeys a line without an entry, which may give entries that take its place.
func (w *world) obey(l *Line[int]) {
	if !w.m.Turn(l) {
		return
	}
	var out []int
	if w.mayLog[l.What] {
		for range w.random.IntN(3) {
			e := w.line(l.From, hall.Said)
			w.m.Push(w.now, e)
			out = append(out, e.What)
		}
	}
	w.finish(l)
	w.want[l.From] = append(out, w.want[l.From]...)
}

func (w *world) next() {
	at := Conditions[int]{Now: w.now, Writing: w.chance(30), MaxBytes: 20 + w.random.IntN(200)}
	if w.chance(30) {
		slow := w.clients[w.random.IntN(len(w.clients))]
		at.Slow = func() (func(*Line[int]) bool, int) {
			return func(l *Line[int]) bool { return l.From == slow && l.Entry.Kind != 0 }, 100
		}
	}
	w.nextAt(at)
}

func (w *world) nextAt(at Conditions[int]) {
	for {
		step := w.m.Next(at)
		switch step.Do {
		case Wait:
			if step.Wait < 0 || step.Wait > maxDelay {
				w.t.Fatalf("a batch waits for %v", step.Wait)
			}
			return
		case Obey:
			w.obey(&step.Line)
		case Send:
			w.sent(step)
			return
		}
	}
}

// sent checks that a batch has the entries of the lines in flight, and a number of its own.
func (w *world) sent(step Step[int]) {
	b, rest, err := hall.ReadBatch(step.Data)
	if err != nil || b.Number <= w.number {
		w.t.Fatalf("batch %d after %d: %v", b.Number, w.number, err)
	}
	w.number, w.inLog, w.came = b.Number, false, false
	w.sends++
	for _, l := range w.m.Flight() {
		if l.Entry.Kind == 0 {
			continue
		}
		var e hall.Entry
		if e, rest, err = hall.ReadEntry(rest); err != nil || string(e.Data) !=
			string(l.Entry.Data) {
			w.t.Fatalf("the batch has %q where line %d is, %v", e.Data, l.What, err)
		}
	}
	if len(rest) > 0 {
		w.t.Fatalf("the batch has %q that is in no line", rest)
	}
}

func (w *world) apply() {
	if !w.inLog {
		w.t.Fatal("lines are applied before the log has them")
	}
	items := w.m.Flight()
	for n := range items {
		switch l := &items[n]; {
		case l.Entry.Kind == 0:
			w.obey(l)
		case !l.Done:
			w.finish(l)
		}
	}
	w.came = true
	w.m.Applied(w.now)
}

// answer is what the log says to the batch in flight. A cluster may refuse a batch that has come.
func (w *world) answer() {
	switch {
	case w.inLog && w.came && w.chance(30):
		if lines := w.m.Refused(w.now); lines != nil {
			w.t.Fatal("lines that were applied are refused")
		}
	case w.inLog:
		if w.m.Stored(w.now) && !w.shared {
			w.apply()
		}
	case w.chance(50):
		w.refuse(w.m.Refused(w.now))
	default:
		w.inLog = true
	}
}

func (w *world) refuse(lines []Line[int]) {
	for n := range lines {
		switch l := &lines[n]; {
		case l.Entry.Kind == 0:
			w.obey(l)
		case l.Done:
			w.m.Again(*l)
		case w.chance(30):
			w.drop(l)
		case w.shared:
			w.m.Again(*l)
		default:
			w.finish(l)
			l.Done = true
			w.m.Again(*l)
		}
	}
	w.m.Resume(w.now)
}

// drain has the log take everything.
func (w *world) drain() {
	for range 10 * w.last {
		w.now += pauseAfter
		if !w.m.InFlight() {
			w.nextAt(Conditions[int]{Now: w.now, MaxBytes: 1 << 20})
		}
		if w.m.InFlight() {
			if w.inLog = true; !w.came && w.shared {
				w.apply()
			}
			if w.m.Stored(w.now) && !w.shared {
				w.apply()
			}
			if w.m.InFlight() && !w.came { // it was stored before, and not applied
				w.apply()
			}
		}
		if w.m.Drained() {
			return
		}
	}
	w.t.Fatalf("the machine has not ended: %s, %d lines", stateNames[w.m.state], w.m.Queued())
}

// TestMachineAgainstAModel: whatever clients, the log and the time do, each line is done once, in
// the order of its client, and none is applied before the log has it.
func TestMachineAgainstAModel(t *testing.T) {
	sends, lines := 0, 0
	for seed := range uint64(600) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := &world{t: t, m: New[int]("chat", 7, 6), random: rand.New(rand.NewPCG(seed, 1)),
				shared: seed%2 == 1, clients: []*Client{nil, {}, {}, {}, {}},
				entered: map[*Client]bool{}, want: map[*Client][]int{}, mayLog: map[int]bool{},
				done: map[int]bool{}}
			for range 400 {
				w.now += time.Duration(w.random.Int64N(int64(2 * maxDelay)))
				switch w.random.IntN(8) {
				case 0, 1, 2:
					w.push()
				case 3, 4:
					w.next()
				case 5:
					w.m.Tick()
					w.inLog = w.inLog || w.m.InFlight()
				case 6:
					if w.shared && w.inLog && !w.came && w.m.Mine(w.m.Head()) {
						w.apply()
					}
				case 7:
					if w.m.InFlight() && (w.m.state == sent || w.m.state == applied) {
						w.answer()
					}
				}
			}
			w.drain()
			for n, c := range w.clients {
				if len(w.want[c]) > 0 || c != nil && (c.Pending() || c.queued != 0) {
					t.Errorf("client %d: lines %d are left; %+v", n, w.want[c], c)
				}
			}
			sends, lines = sends+w.sends, lines+w.last
		})
	}
	t.Logf("%d lines in %d batches", lines, sends)
	if sends < 600 || lines < 40_000 {
		t.Errorf("%d lines in %d batches: chance has tried too little", lines, sends)
	}
}
