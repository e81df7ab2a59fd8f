package play

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	"interleave/internal/probe/transcript"
)

// sinkVerbs are those of the sink: clients send lines, and the server writes them to its standard
// output.
var sinkVerbs = Vocabulary{
	{Word: transcript.Client, Verbs: Verbs{
		"lines": shared(ByEach(linesUsage, readLines, sendsLines)),
	}},
	{Word: "stdout", Verbs: Verbs{
		"whole": shared(Once("stdout whole", NoWords, stdoutWhole)),
	}},
}

const linesUsage = "NAME lines COUNT length FROM..TO seed NUMBER [by SIZE [every TIME]]"

// lines are the words of: c lines 200 length 1..4096 seed 3.
type lines struct {
	count       int64
	least, most int64 // lengths in bytes, with the line feed
	seed        uint64
	pace        transcript.Pace
}

func readLines(l *Line) (w lines, err error) {
	if w.count, err = l.Number("a number of lines", 1, 1_000_000); err != nil {
		return w, err
	}
	if !l.Take("length") {
		return w, fmt.Errorf("expected length FROM..TO")
	}
	text, err := l.Word("lengths such as 1..4096")
	if err != nil {
		return w, err
	}
	from, to, _ := strings.Cut(text, "..")
	least, err1 := strconv.ParseInt(from, 10, 64)
	most, err2 := strconv.ParseInt(to, 10, 64)
	if err1 != nil || err2 != nil || least < 1 || most < least || most > 4096 {
		return w, fmt.Errorf("expected lengths such as 1..4096 (with the line feed), got %s", text)
	}
	w.least, w.most = least, most
	if !l.Take("seed") {
		return w, fmt.Errorf("expected seed NUMBER")
	}
	seed, err := l.Number("a seed", 0, 1<<32)
	if err != nil {
		return w, err
	}
	w.seed = uint64(seed)
	w.pace, err = l.Pace()
	return w, err
}

// A ledger holds the lines that clients have sent and that standard output has not shown yet.
type ledger struct {
	mu    sync.Mutex
	count int
	lines map[string]*entry
	next  map[string]int64 // the least number that the next line of each client may have
}

// An entry says how often a line must appear, and which client has sent it.
type entry struct {
	times  int
	sender string // empty for a line that is too short to name its sender and number
	number int64
}

func newLedger() *ledger {
	return &ledger{lines: map[string]*entry{}, next: map[string]int64{}}
}

// add enters a line that is going to be sent.
func (l *ledger) add(line, sender string, number int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	if e := l.lines[line]; e != nil {
		e.times++
		return
	}
	l.lines[line] = &entry{1, sender, number}
}

// take removes a line that has come out. It must be in the ledger, and its sender's earlier lines
// must have come before.
func (l *ledger) take(line []byte) error {
	e := l.lines[string(line)]
	if e == nil {
		return fmt.Errorf("got a line that nobody sent: %s (%d bytes)", transcript.Short(line),
			len(line))
	}
	if e.times == 0 {
		return fmt.Errorf("got a line more often than it was sent: %s (%d bytes)",
			transcript.Short(line), len(line))
	}
	e.times--
	l.count--
	if e.sender == "" {
		return nil
	}
	if e.number < l.next[e.sender] {
		return fmt.Errorf("got line %d of %s after line %d: out of order", e.number, e.sender,
			l.next[e.sender]-1)
	}
	l.next[e.sender] = e.number + 1
	return nil
}

// missing names one line that has not come.
func (l *ledger) missing() string {
	for line, e := range l.lines {
		if e.times > 0 {
			return transcript.Short([]byte(line))
		}
	}
	return "none"
}

// ledger returns that of the play.
func (p *Play) ledger() *ledger { return Keep(p, newLedger) }

// numbered is how many lines a client has sent so far.
type numbered struct{ lines int64 }

// sendsLines sends generated lines and enters them into the ledger. A line begins with its sender
// and its number, so that a torn, lost, doubled or exchanged one shows. Any bytes but line feeds
// follow.
func sendsLines(ctx context.Context, p *Play, c *Client, w lines) error {
	random := rand.New(rand.NewPCG(w.seed, NameHash(c.Name)))
	sent, ledger := Keep(c, func() *numbered { return new(numbered) }), p.ledger()
	var text bytes.Buffer
	for range w.count {
		length := w.least + random.Int64N(w.most-w.least+1)
		line, named := generate(c.Name, sent.lines, length, random)
		if named {
			ledger.add(string(line), c.Name, sent.lines)
		} else {
			ledger.add(string(line), "", 0)
		}
		sent.lines++
		text.Write(line)
	}
	return c.Send(ctx, transcript.Text(text.Bytes()), w.pace)
}

// generate makes one line of this length with its line feed. It also reports whether the line names
// its sender and number in full.
func generate(sender string, number, length int64, random *rand.Rand) (line []byte, named bool) {
	line = make([]byte, length)
	name := fmt.Sprintf("%s.%d|", sender, number)
	word, have := uint64(0), 0
	for i := copy(line, name); i < len(line); i++ {
		if have == 0 {
			word, have = random.Uint64(), 8
		}
		if line[i] = byte(word); line[i] == '\n' {
			line[i] = ' '
		}
		word >>= 8
		have--
	}
	line[length-1] = '\n'
	return line, len(name) < len(line)
}

// NameHash makes a seed of a client's name, by FNV-1a.
func NameHash(name string) uint64 {
	hash := uint64(14695981039346656037)
	for _, b := range []byte(name) {
		hash = (hash ^ uint64(b)) * 1099511628211
	}
	return hash
}

// stdoutWhole waits until standard output has as many lines as the ledger, and takes each of them
// from it.
func stdoutWhole(ctx context.Context, p *Play, _ string, _ None) error {
	ledger := p.ledger()
	want := ledger.count
	pending, err := p.stdout.await(ctx, p.Deadline,
		func(b []byte) bool { return bytes.Count(b, []byte("\n")) >= want })
	if err != nil && !errors.Is(err, errLate) {
		return err
	}
	late := err != nil
	used := 0
	for n := 1; n <= want; n++ {
		end := bytes.IndexByte(pending[used:], '\n')
		if end < 0 {
			break
		}
		if err := ledger.take(pending[used : used+end+1]); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		used += end + 1
	}
	p.stdout.consume(used)
	if late {
		return fmt.Errorf("got %d of %d lines within the transcript's limit; %s is missing",
			want-ledger.count, want, ledger.missing())
	}
	return nil
}
