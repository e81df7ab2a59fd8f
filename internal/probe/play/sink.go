package play

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
)

// A ledger holds the lines that clients have sent and standard output has not shown yet.
type ledger struct {
	mu    sync.Mutex
	count int
	lines map[string]*entry
	next  map[string]int64 // for each client: the least number that its next line may have
}

// An entry is one line as it must appear: so many times, and, where the line names its sender and
// its number, after that sender's earlier ones.
type entry struct {
	times  int
	sender string // empty for a line too short to say
	number int64
}

func newLedger() *ledger {
	return &ledger{lines: map[string]*entry{}, next: map[string]int64{}}
}

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

// take crosses off one line of the output.
func (l *ledger) take(line []byte) error {
	e := l.lines[string(line)]
	if e == nil {
		return fmt.Errorf("got a line that nobody sent: %s (%d bytes)", short(line), len(line))
	}
	if e.times == 0 {
		return fmt.Errorf("got a line more often than it was sent: %s (%d bytes)", short(line),
			len(line))
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

// lines sends generated lines and enters them into the ledger. A line begins with its sender
// and its number, so that a torn, lost, doubled or exchanged one shows; then come any bytes
// but line feeds.
func (p *play) lines(ctx context.Context, c *client, l *lines) error {
	random := rand.New(rand.NewPCG(l.seed, nameHash(c.name)))
	var text bytes.Buffer
	for range l.count {
		length := l.least + random.Int64N(l.most-l.least+1)
		line, named := generate(c.name, c.lines, length, random)
		if named {
			p.sent.add(string(line), c.name, c.lines)
		} else {
			p.sent.add(string(line), "", 0)
		}
		c.lines++
		text.Write(line)
	}
	d := data{{text: text.Bytes(), times: 1}}
	return c.send(ctx, &send{data: d, pace: l.pace})
}

// generate makes one line of this length, its line feed included, and tells whether it names sender
// and number in full.
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

func nameHash(name string) uint64 {
	hash := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(name) {
		hash = (hash ^ uint64(b)) * 1099511628211
	}
	return hash
}
