package trace

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/internal/browser"
)

func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }

// A maker writes a recording as the runtime does. A tick is a nanosecond.
type maker struct {
	out  []byte
	ring [][]byte
	lost uint64
}

func number(out []byte, x uint64) []byte { return binary.LittleEndian.AppendUint64(out, x) }

func text(out []byte, s string) []byte { return append(number(out, uint64(len(s))), s...) }

func (m *maker) section(tag string, body []byte) {
	m.out = append(m.out, (tag + "\x00\x00\x00\x00\x00\x00\x00\x00")[:8]...)
	m.out = append(number(m.out, uint64(len(body))), body...)
}

func newMaker(workers int, length uint64) *maker {
	m := &maker{out: []byte(Magic), ring: make([][]byte, workers+1)}
	var head []byte
	for _, x := range []uint64{1000, 5000, 1000 + length, 5000 + length,
		uint64(time.Hour), uint64(workers), 77, 64, 0x4000} {
		head = number(head, x)
	}
	m.section("head", head)
	m.section("program", text(nil, "no-such-program"))
	m.section("argument", text(nil, "-x"))
	return m
}

func (m *maker) event(ring int, at uint64, kind, flags, n, a, p uint64) {
	for _, x := range []uint64{1000 + at, kind | flags<<8 | n<<16, a, p} {
		m.ring[ring] = number(m.ring[ring], x)
	}
}

// bytes ends the file.
func (m *maker) bytes() []byte {
	for i, events := range m.ring {
		lost := uint64(0)
		if i == 0 {
			lost = m.lost
		}
		head := number(number(number(nil, uint64(i)), lost), uint64(len(events)/eventBytes))
		m.section("ring", append(head, events...))
	}
	for at, c := range map[uint64][2]string{
		0x10: {"constexpr const char* eve::name_of() [with F = shop__main__task1]", "shop.eve"},
		0x20: {"constexpr const char* eve::name_of() [with F = shop__main__task2]", "shop.eve"},
		0x30: {"handler", ""},
		0x40: {"constexpr const char* eve::name_of() [with F = shop__main__on_data1]", "shop.eve"},
	} {
		m.section("code", text(text(number(number(nil, at), at/16+2), c[0]), c[1]))
	}
	m.section("type", text(number(nil, 0x50),
		"static constexpr const char* eve::box<T>::name() [with T = shop__till]"))
	m.section("end", nil)
	return m.out
}

// contended is a program in which task 1 holds the till from 10 to 100, and tasks 2 and 3 wait for
// it since 20 and 30: 2 reads from 100 to 150, and 3 writes from 150 to 160, on another worker.
func contended() *maker {
	m := newMaker(2, 200)
	const till = 0x9000
	for task, at := range []uint64{10, 20, 30} {
		code := []uint64{0x10, 0x20, 0x20}[task]
		m.event(2, at, evMade, 0, 1, uint64(task+1), code)
		m.event(2, at, evWants, []uint64{1, 0, 1}[task], 0x50, uint64(task+1), till)
	}
	m.event(0, 12, evBegins, 0, 0, 1, 0)
	m.event(0, 100, evEnds, 0, 0, 1, 0)
	m.event(0, 100, evGranted, 0, 0, 2, till)
	m.event(0, 101, evBegins, 0, 0, 2, 0)
	m.event(0, 150, evEnds, 0, 0, 2, 0)
	m.event(0, 150, evGranted, 0, 0, 3, till)
	m.event(1, 5, evSleeps, 0, 0, 0, 0)
	m.event(1, 140, evWakes, 0, 0, 0, 0)
	m.event(1, 151, evTook, 0, 0, 3, 0)
	m.event(1, 152, evBegins, 0, 0, 3, 0)
	m.event(1, 160, evEnds, 0, 0, 3, 0)
	return m
}

func read(t *testing.T, data []byte) *Trace {
	t.Helper()
	trace, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func TestWhoWaitedForWhom(t *testing.T) {
	trace := read(t, contended().bytes())
	if len(trace.Objects) != 1 || len(trace.Waits) != 2 || len(trace.Tasks) != 3 {
		t.Fatalf("got %d objects, %d waits, %d tasks", len(trace.Objects), len(trace.Waits),
			len(trace.Tasks))
	}
	o := trace.Objects[0]
	if o.Name != "shop.till" || o.Waits != 2 || o.Waited != 200 || o.Longest != 120 ||
		o.Held != 90+50+10 {
		t.Errorf("got %+v", *o)
	}
	// Task 3 waited while 1 held for 70 and 2 for 50, task 2 while 1 held for 80.
	want := []Pair{
		{trace.Tasks[1].Code, trace.Tasks[0].Code, 2, 150},
		{trace.Tasks[1].Code, trace.Tasks[1].Code, 1, 50},
	}
	if len(o.Pairs) != 2 || o.Pairs[0] != want[0] || o.Pairs[1] != want[1] {
		t.Errorf("got pairs %+v, want %+v", o.Pairs, want)
	}
	w := trace.Waits[0]
	if w.Task.ID != 3 || w.From != 30 || w.To != 150 || !w.Write || w.Open ||
		len(w.Holders) != 2 || w.Holders[0].ID != 1 || w.Holders[1].ID != 2 {
		t.Errorf("the longest wait: got %+v", *w)
	}
	if c := w.Task.Code; c.Name != "shop.main, @" || c.Place() != "shop.eve:4" {
		t.Errorf("got the code %+v", *c)
	}
	took := trace.Spans[len(trace.Spans)-1]
	if !took.Took || took.Other != 0 || took.Worker != 1 || took.Task != w.Task {
		t.Errorf("the task that was taken from worker 0: got %+v", took)
	}
	var said strings.Builder
	if err := trace.Text(&said); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 tasks ran on 2 workers in 200ns; 2 waits for an object\n",
		"shop.till: waited for 200ns in all, 120ns at most, 2 times\n",
		"shop.main, @ (shop.eve:4) waited for 150ns: shop.main, @ (shop.eve:3) held it\n"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %q in\n%s", want, said.String())
		}
	}
}

// An object at the address of one that has ended is another one.
func TestAddressesAreUsedAgain(t *testing.T) {
	m := newMaker(1, 100)
	for i, at := range []uint64{10, 30} {
		m.event(0, at, evMade, 0, 1, uint64(i+1), 0x10)
		m.event(0, at, evWants, 1, 0x50, uint64(i+1), 0x9000)
		m.event(0, at+1, evBegins, 0, 0, uint64(i+1), 0)
		m.event(0, at+2, evEnds, 0, 0, uint64(i+1), 0)
		m.event(0, at+3, evGone, 0, 0, 0, 0x9000)
	}
	trace := read(t, m.bytes())
	if len(trace.Objects) != 2 || trace.Objects[0].Name != "shop.till #1" ||
		trace.Objects[1].Name != "shop.till #2" {
		t.Errorf("got %d objects", len(trace.Objects))
	}
}

// A handler gives its name to the root that it runs in. A task that waits at the end is an open
// wait, and a poller that is not back is lent to the end.
func TestUnderWay(t *testing.T) {
	m := newMaker(2, 100)
	m.event(0, 10, evMade, 0, 1, 1, 0x30)
	m.event(0, 10, evWants, 1, 0x50, 1, 0x9000)
	m.event(0, 10, evBegins, 0, 0, 1, 0)
	m.event(0, 11, evBody, 0, 0, 0, 0x40)
	m.event(1, 40, evMade, 0, 1, 2, 0x20)
	m.event(1, 40, evWants, 0, 0x50, 2, 0x9000)
	m.event(1, 50, evServes, 0, 0, 0, 0)
	trace := read(t, m.bytes())
	if c := trace.Tasks[0].Code; c.Name != "shop.main, on data" {
		t.Errorf("the root of a handler: got %q", c.Name)
	}
	if len(trace.Waits) != 1 || !trace.Waits[0].Open || trace.Waits[0].Time() != 60 ||
		len(trace.Waits[0].Holders) != 1 || trace.Waits[0].Holders[0] != trace.Tasks[0] {
		t.Errorf("got waits %+v", trace.Waits)
	}
	if len(trace.Loans) != 1 || trace.Loans[0] != (Loan{Of: 0, By: 1, From: 50, To: 100}) {
		t.Errorf("got loans %+v", trace.Loans)
	}
	if len(trace.Spans) != 2 || trace.Spans[0].To != 100 || trace.Spans[1].Kind != Handling {
		t.Errorf("got spans %+v", trace.Spans)
	}
}

func TestLostEventsAreSaid(t *testing.T) {
	m := contended()
	m.lost = 12
	m.event(0, 190, evNone, 0, 0, 0, 0) // overwritten while it was copied
	data := m.bytes()
	trace := read(t, data)
	if trace.LostEvents() != 13 || !strings.Contains(trace.Caution(), "the oldest 13 events") {
		t.Errorf("got %d lost, %q", trace.LostEvents(), trace.Caution())
	}
	if short := read(t, data[:len(data)-16]); short.Whole || short.Caution() == "" {
		t.Errorf("a file without its end: got %q", short.Caution())
	}
}

func TestBroken(t *testing.T) {
	whole := contended().bytes()
	for name, data := range map[string][]byte{
		"empty":     nil,
		"text":      []byte("main: () void: pass\n"),
		"only head": whole[:len(Magic)],
		"half head": whole[:len(Magic)+30],
		"no head":   append([]byte(Magic), whole[len(Magic)+16+72:]...),
	} {
		if _, err := Read(data); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// The file for Chrome is JSON whose times and ends agree with the trace.
func TestChrome(t *testing.T) {
	trace := read(t, contended().bytes())
	var out strings.Builder
	if err := trace.Chrome(&out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		TraceEvents []struct {
			Name, Ph, Cat, ID string
			Dur               float64
			At                float64 `json:"ts"`
			Args              map[string]any
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	spans, open := 0, map[string]int{}
	for _, e := range got.TraceEvents {
		switch e.Ph {
		case "X":
			spans++
		case "b":
			open[e.Cat+e.ID]++
		case "e":
			open[e.Cat+e.ID]--
		}
		if e.Ph == "b" && e.Cat == "waits" && e.At == .03 {
			held, _ := e.Args["held by"].([]any)
			if len(held) != 2 || held[0] != "shop.main, @ (shop.eve:3)" {
				t.Errorf("the wait from 30 ns on is held by %v", held)
			}
		}
	}
	if spans != len(trace.Spans) {
		t.Errorf("got %d spans, want %d", spans, len(trace.Spans))
	}
	if len(open) != 5 { // three holds, two waits
		t.Errorf("got %d pairs: %v", len(open), open)
	}
	for id, n := range open {
		if n != 0 {
			t.Errorf("%s begins and ends %+d times", id, n)
		}
	}
}

// The number of tasks that wait rises and falls with the waits. A long run is shown in parts, and
// the most in a part counts for it.
func TestQueue(t *testing.T) {
	trace := read(t, contended().bytes())
	p := &pageMaker{t: trace}
	want := [][2]int64{{20, 1}, {30, 2}, {100, 1}, {150, 0}}
	if got := p.queue(trace.Objects[0]); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	o := trace.Objects[0]
	trace.Length = 10 * mostSteps // parts of 10 ns
	trace.Waits = nil
	for i := range int64(mostSteps) {
		trace.Waits = append(trace.Waits, &Wait{Object: o, From: 1000 + i%3, To: 1008})
	}
	trace.Waits = append(trace.Waits, &Wait{Object: o, From: 2005, To: 2035})
	want = [][2]int64{{1000, mostSteps}, {1010, 0}, {2000, 1}, {2010, 1}, {2030, 1}, {2040, 0}}
	if got := p.queue(o); !slices.Equal(got, want) {
		t.Errorf("in parts: got %v, want %v", got, want)
	}
}

// A page leaves out the shortest spans, and says so.
func TestPageIsBounded(t *testing.T) {
	m := newMaker(1, 10_000_000)
	at := uint64(0)
	for i := range uint64(mostSpans + 100) {
		m.event(0, at, evSleeps, 0, 0, 0, 0)
		at += 10
		if i >= 100 {
			at += 10
		}
		m.event(0, at, evWakes, 0, 0, 0, 0)
	}
	var out strings.Builder
	if err := read(t, m.bytes()).HTML(&out, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "100 of 120100 spans are left out") {
		t.Error("it does not say that 100 spans are left out")
	}
	if out.Len() > 8<<20 {
		t.Errorf("the page has %d bytes", out.Len())
	}
}

func TestTypeNames(t *testing.T) {
	for pretty, want := range map[string]string{
		"[with T = shop__till]": "shop.till",
		"[with T = long int]":   "int",
		"[with T = eve::map<eve::string, eve::ref<chat__room> >]": "map<string, chat.room@>",
		"*eve::box<eve::output>::name() [T = eve::output]":        "output",
		"[with T = eve::vector<unsigned char>]":                   "bytes",
	} {
		if got := typeName(pretty); got != want {
			t.Errorf("typeName(%q) = %q, want %q", pretty, got, want)
		}
	}
}

// FuzzRead reads any file. What it accepts can be shown, and no time is outside of the run.
func FuzzRead(f *testing.F) {
	f.Add(contended().bytes())
	m := newMaker(1, 50)
	m.event(0, 3, evEnds, endsKeeps, 0, 9, 0)
	m.event(0, 4, evStolen, 0, 1, 0, 0x1234)
	m.event(1, 5, evGranted, 0, 0, 9, 1)
	m.event(0, 6, evPolled, 0, 0, 1, 0)
	m.event(0, 7, evBack, 0, 0, 0, 0)
	m.event(0, 8, evJoins, 0, 0, 0, 0)
	f.Add(m.bytes())
	f.Add([]byte(Magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		trace, err := Read(data)
		if err != nil {
			return
		}
		for _, s := range trace.Spans {
			if s.From < 0 || s.To < s.From || s.To > trace.Length {
				t.Errorf("a span from %d to %d of %d", s.From, s.To, trace.Length)
			}
		}
		for _, w := range trace.Waits {
			if w.Time() < 0 || w.Task == nil || w.Object == nil {
				t.Errorf("a wait %+v", *w)
			}
		}
		for _, write := range []func(io.Writer) error{trace.Text, trace.Chrome,
			func(w io.Writer) error { return trace.HTML(w, nil) }} {
			if err := write(io.Discard); err != nil {
				t.Error(err)
			}
		}
	})
}
