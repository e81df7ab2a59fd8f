package play

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
)

// The actions of a transcript, and how each is written. How they are played is in play.go (clients
// in general), tally.go, lines.go and watch.go. verbs.go has those of lines and folders.
type (
	dial struct { // dial a; dial c*1000; dial a port+1
		who   string
		count int
		group bool
		after int // to the port so many after the server's

		buffer int64 // dial a buffer 4KiB: of what it has not read; 0: the kernel's
	}
	ping struct { // ping SIZE [times COUNT]
		size, times int64
	}
	send struct { // a send DATA [by SIZE [every TIME]]
		data data
		pace pace
		try  bool // a try DATA: the server may close meanwhile
		gone bool // a leave DATA: is gone at once, before an answer can come
	}
	receive struct { // a recv DATA|filled [by SIZE [every TIME]]
		data   data
		filled bool
		pace   pace
	}
	echo struct { // a echo DATA [by SIZE [every TIME]]
		data data
		pace pace
	}
	fill   struct{ data data }            // a fill DATA
	end    struct{ verb string }          // a shut, a eof, a reset, a close, a closed
	silent struct{ during time.Duration } // a silent 100ms
	values struct{ want []uint64 }        // a value 1 2 3
	tally  struct{ count, pipeline int64 }
	lines  struct { // c lines 200 length 1..4096 seed 3 [by SIZE]
		count, least, most int64
		seed               uint64
		pace               pace
	}
	stdoutText   struct{ data data }
	stdoutWhole  struct{}
	stdoutFilled struct{ who string } // stdout filled a
	stdoutHold   struct{ on bool }    // stdout hold, stdout release
	memoryBelow  struct{ more int64 }
	serverIdle   struct{}
	serverEnds   struct{}
	serverFails  struct{}
)

func (*dial) usage() string {
	return "dial NAME, or dial NAME*COUNT for a group, port+1 for the port after the server's, " +
		"buffer SIZE for a small window"
}
func (*ping) usage() string { return "ping SIZE [times COUNT]" }
func (*send) usage() string { return "NAME send DATA [by SIZE [every TIME]]" }
func (*receive) usage() string {
	return "NAME recv DATA [by SIZE [every TIME]], or NAME recv filled"
}
func (*echo) usage() string   { return "NAME echo DATA [by SIZE [every TIME]]" }
func (*fill) usage() string   { return "NAME fill DATA" }
func (e *end) usage() string  { return "NAME " + e.verb }
func (*silent) usage() string { return "NAME silent TIME" }
func (*values) usage() string { return "NAME value NUMBER|FROM..TO ..." }
func (*tally) usage() string  { return "NAME tally COUNT [pipeline COUNT]" }
func (*lines) usage() string {
	return "NAME lines COUNT length FROM..TO seed NUMBER [by SIZE [every TIME]]"
}
func (*stdoutText) usage() string   { return "stdout DATA" }
func (*stdoutWhole) usage() string  { return "stdout whole" }
func (*stdoutFilled) usage() string { return "stdout filled NAME" }
func (*stdoutHold) usage() string   { return "stdout hold, stdout release" }
func (*serverFails) usage() string  { return "server fails" }
func (*memoryBelow) usage() string  { return "server memory below SIZE more" }
func (*serverIdle) usage() string   { return "server idle" }
func (*serverEnds) usage() string   { return "server terminates" }

var clientVerbs = map[string]func(*words) (action, error){
	"send":   func(w *words) (action, error) { return parseSend(w, &send{}) },
	"try":    func(w *words) (action, error) { return parseSend(w, &send{try: true}) },
	"leave":  func(w *words) (action, error) { return parseSend(w, &send{gone: true}) },
	"recv":   parseReceive,
	"echo":   parseEcho,
	"fill":   parseFill,
	"shut":   func(*words) (action, error) { return &end{"shut"}, nil },
	"eof":    func(*words) (action, error) { return &end{"eof"}, nil },
	"reset":  func(*words) (action, error) { return &end{"reset"}, nil },
	"close":  func(*words) (action, error) { return &end{"close"}, nil },
	"closed": func(*words) (action, error) { return &end{"closed"}, nil },
	"silent": parseSilent,
	"value":  parseValues,
	"tally":  parseTally,
	"lines":  parseLines,
	"gets":   parseGets,
}

func init() { maps.Copy(clientVerbs, speechVerbs) }

var serverVerbs = map[string]func(*words) (action, error){
	"memory":     parseMemory,
	"idle":       func(*words) (action, error) { return &serverIdle{}, nil },
	"fails":      func(*words) (action, error) { return &serverFails{}, nil },
	"terminates": func(*words) (action, error) { return &serverEnds{}, nil },
	"killed":     func(*words) (action, error) { return &serverKilled{}, nil },
	"starts":     func(*words) (action, error) { return &serverStarts{}, nil },
	"keeps": func(w *words) (action,
		error) {
		return &serverAlone{}, w.expect("its", "folder")
	},
}

var stdoutVerbs = map[string]func(*words) (action, error){
	"filled":  parseStdoutFilled,
	"hold":    func(*words) (action, error) { return &stdoutHold{true}, nil },
	"release": func(*words) (action, error) { return &stdoutHold{false}, nil },
	"whole":   func(*words) (action, error) { return &stdoutWhole{}, nil },
	`"`:       parseStdoutText,
	"hex":     parseStdoutHex,
	"pattern": parseStdoutHex,
}

func parseDial(w *words, dialled map[string]bool) (action, error) {
	d := &dial{count: 1}
	text, err := w.word("a name")
	if err != nil {
		return d, err
	}
	name, count, group := strings.Cut(text, "*")
	if group {
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 || n > maxClients {
			return d, fmt.Errorf("expected between 1 and %d clients, got %s", maxClients, count)
		}
		d.count, d.group = n, true
	}
	if !isName(name) {
		return d, fmt.Errorf("expected a name of small letters, digits and hyphens, got %q", name)
	}
	if dialled[name] {
		return d, fmt.Errorf("expected a new name: %s was dialled before", name)
	}
	dialled[name] = true
	d.who = name
	if w.take("port+1") {
		d.after = 1
	}
	if w.take("buffer") {
		d.buffer, err = w.bytes()
	}
	return d, err
}

const (
	// maxPing is the largest datagram of IPv4 without its header and that of ICMP.
	maxPing = 65_535 - 20 - 8
	// maxPings of one step, at pingEvery, take a quarter of a minute.
	maxPings = 3_000
)

func parsePing(w *words) (_ action, err error) {
	p := &ping{times: 1}
	if p.size, err = w.number("the bytes of an echo request", 0, maxPing); err != nil {
		return p, err
	}
	if w.take("times") {
		p.times, err = w.number("a number of echo requests", 1, maxPings)
	}
	return p, err
}

func parseSend(w *words, s *send) (_ action, err error) {
	if s.data, err = w.data(); err != nil {
		return s, err
	}
	s.pace, err = w.pace()
	return s, err
}

func parseReceive(w *words) (_ action, err error) {
	r := &receive{}
	if r.filled = w.take("filled"); !r.filled {
		if r.data, err = w.data(); err != nil {
			return r, err
		}
	}
	r.pace, err = w.pace()
	return r, err
}

func parseEcho(w *words) (_ action, err error) {
	e := &echo{}
	if e.data, err = w.data(); err != nil {
		return e, err
	}
	e.pace, err = w.pace()
	return e, err
}

func parseFill(w *words) (_ action, err error) {
	f := &fill{}
	f.data, err = w.data()
	return f, err
}

func parseSilent(w *words) (_ action, err error) {
	s := &silent{}
	s.during, err = w.duration()
	return s, err
}

// maxValues bounds the replies that one line may ask for.
const maxValues = 1_000_000

func parseValues(w *words) (action, error) {
	v := &values{}
	for {
		text, err := w.word("a number, or a range such as 1..100")
		if err != nil {
			return v, err
		}
		from, to, isRange := strings.Cut(text, "..")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 64)
		last, err2 := strconv.ParseUint(to, 10, 64)
		if err1 != nil || err2 != nil || last < first ||
			last-first >= maxValues-uint64(len(v.want)) {
			return v, fmt.Errorf("expected a number, or a range such as 1..100, got %s", text)
		}
		for n := first; ; n++ {
			v.want = append(v.want, n)
			if n == last {
				break
			}
		}
		if _, more := w.peek(); !more {
			return v, nil
		}
	}
}

func parseTally(w *words) (_ action, err error) {
	t := &tally{pipeline: 1}
	if t.count, err = w.number("a number of increments", 1, 10_000_000); err != nil {
		return t, err
	}
	if w.take("pipeline") {
		t.pipeline, err = w.number("a number of requests in flight", 1, 100_000)
	}
	return t, err
}

func parseLines(w *words) (_ action, err error) {
	l := &lines{}
	if l.count, err = w.number("a number of lines", 1, 1_000_000); err != nil {
		return l, err
	}
	if !w.take("length") {
		return l, fmt.Errorf("expected length FROM..TO")
	}
	text, err := w.word("lengths such as 1..4096")
	if err != nil {
		return l, err
	}
	from, to, _ := strings.Cut(text, "..")
	least, err1 := strconv.ParseInt(from, 10, 64)
	most, err2 := strconv.ParseInt(to, 10, 64)
	if err1 != nil || err2 != nil || least < 1 || most < least || most > 4096 {
		return l, fmt.Errorf("expected lengths such as 1..4096 (with the line feed), got %s", text)
	}
	l.least, l.most = least, most
	if !w.take("seed") {
		return l, fmt.Errorf("expected seed NUMBER")
	}
	seed, err := w.number("a seed", 0, 1<<32)
	if err != nil {
		return l, err
	}
	l.seed = uint64(seed)
	l.pace, err = w.pace()
	return l, err
}

func parseStdoutText(w *words) (_ action, err error) {
	s := &stdoutText{}
	s.data, err = w.data()
	return s, err
}

// parseStdoutHex is for data that begins with a word, which the table of verbs has consumed.
func parseStdoutHex(w *words) (action, error) {
	w.at--
	return parseStdoutText(w)
}

func parseStdoutFilled(w *words) (_ action, err error) {
	s := &stdoutFilled{}
	s.who, err = w.word("a name")
	return s, err
}

func parseMemory(w *words) (_ action, err error) {
	m := &memoryBelow{}
	if !w.take("below") {
		return m, fmt.Errorf("expected below SIZE more")
	}
	if m.more, err = w.bytes(); err != nil {
		return m, err
	}
	if !w.take("more") {
		return m, fmt.Errorf("expected more after the size")
	}
	return m, nil
}
