// Package profile reads profiles that Eve's programs write of themselves, and shows them by task
// and handler: as a page with a flame graph, as folded stacks, and in pprof's format.
package profile

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"interleave/eve/dump"
	"interleave/eve/symbols"
)

// Magic is how a profile begins.
const Magic = "EVEPROF1"

// The bounds of a file; beyond them it is broken.
const (
	mostWorkers = 256
	mostDepth   = 1024
)

// A Profile is where a program spent its processor time.
type Profile struct {
	Program string
	Pid     int
	Workers int
	Rate    int    // samples a second of processor time
	Samples int64  // that were counted
	Lost    uint64 // whose stacks did not fit into the table
	Whole   bool   // the file had its end
	Root    *Node  // all samples

	stacks []stack
	codes  map[uint64]dump.Code
	run    uint64
}

// A stack is a list of addresses, the innermost first.
type stack struct {
	count int64
	code  uint64 // of the root that ran; 0: none
	at    []uint64
}

// A Node is a function on call stacks, called by those above it. The root is all samples, and its
// Calls are tasks and handlers.
type Node struct {
	Name  string
	File  string // of the functions of Eve
	Eve   bool   // of Eve's text; else of the runtime or a library
	N     int64  // samples in which it was on the stack, here
	Self  int64  // samples in which it ran itself
	Lines map[int]int64
	Calls []*Node // by name
}

// Place is the line of the node with the most samples of its own; empty if it is unknown.
func (n *Node) Place() string {
	best := 0
	for line, count := range n.Lines {
		if line > 0 && (best == 0 || count > n.Lines[best] ||
			count == n.Lines[best] && line < best) {
			best = line
		}
	}
	if n.File == "" || best == 0 {
		return ""
	}
	return path.Base(n.File) + ":" + strconv.Itoa(best)
}

// Time is the processor time that n samples stand for.
func (p *Profile) Time(n int64) string { return dump.Duration(p.nanoseconds(n)) }

func (p *Profile) nanoseconds(n int64) int64 {
	return int64(float64(n) * float64(time.Second) / float64(p.Rate))
}

// Read reads a profile. The program's file must be there: it has the names.
func Read(data []byte) (*Profile, error) {
	p, err := parse(data)
	if err != nil {
		return nil, err
	}
	table, err := symbols.Read(p.Program, p.run)
	if err != nil {
		return nil, err
	}
	p.build(table.Frames)
	return p, nil
}

func parse(data []byte) (*Profile, error) {
	p := &Profile{codes: map[uint64]dump.Code{}}
	whole, err := dump.Read(data, Magic, p.section)
	if errors.Is(err, dump.ErrMagic) {
		return nil, errors.New("not a profile: EVE_PROFILE=FILE makes a program write one")
	}
	p.Whole = whole
	return p, err
}

func (p *Profile) section(tag string, part *dump.Part) error {
	switch tag {
	case "head":
		return p.head(part)
	case "program":
		p.Program = part.Text()
	case "code":
		at, c := part.Code()
		p.codes[at] = c
	case "stack":
		return p.stack(part)
	}
	return part.Err
}

func (p *Profile) head(part *dump.Part) error {
	rate, workers, pid := part.Number(), part.Number(), part.Number()
	part.Number() // the samples, which are counted here
	p.Lost, p.run = part.Number(), part.Number()
	switch {
	case part.Err != nil:
		return part.Err
	case p.Workers != 0:
		return errors.New("it is there twice")
	case rate == 0 || rate > 1e6:
		return fmt.Errorf("%d samples a second", rate)
	case workers == 0 || workers > mostWorkers:
		return fmt.Errorf("%d workers", workers)
	}
	p.Rate, p.Workers, p.Pid = int(rate), int(workers), int(pid&0x7fffffff)
	return nil
}

func (p *Profile) stack(part *dump.Part) error {
	part.Number() // the worker
	count, code := part.Number(), part.Number()
	depth := len(part.Data) / 8
	switch {
	case part.Err != nil:
		return part.Err
	case count > 1<<40 || p.Samples > 1<<40:
		return fmt.Errorf("%d samples", count)
	case depth > mostDepth:
		return fmt.Errorf("%d places", depth)
	}
	s := stack{count: int64(count), code: code}
	for range depth {
		s.at = append(s.at, part.Number())
	}
	p.stacks = append(p.stacks, s)
	p.Samples += s.count
	return nil
}

// The functions of the runtime in which another task begins on the same stack.
const (
	runsRoot   = "eve::run_root"
	runsStolen = "eve::run_stolen"
)

// none is the name for samples without a task: looking for work, taking events.
const none = "no task: events, looking for work"

// build makes the tree. frames finds the functions of an address, the innermost first.
func (p *Profile) build(frames func(uint64) []symbols.Frame) {
	known := map[uint64][]Node{}
	at := func(address uint64) []Node {
		if nodes, found := known[address]; found {
			return nodes
		}
		var nodes []Node
		for _, f := range frames(address) {
			nodes = append(nodes, node(f))
		}
		known[address] = nodes
		return nodes
	}
	p.Root = &Node{Name: "all"}
	for _, s := range p.stacks {
		var calls []Node // the innermost first
		begun := ""
		for _, address := range s.at {
			for _, n := range at(address) {
				if n.Name == runsRoot || n.Name == runsStolen {
					begun = n.Name
					break
				}
				calls = append(calls, n)
			}
			if begun != "" {
				break
			}
		}
		p.Root.add(p.ordered(s, calls, begun), s.count)
	}
	p.Root.sort()
}

// node is a function without its samples. Its Lines has the one line.
func node(f symbols.Frame) Node {
	n := Node{Lines: map[int]int64{f.Line: 1}}
	n.Name, n.Eve = symbols.Function(f.Name)
	if n.Name == "" {
		n.Name = "unknown code"
	}
	if path.Ext(f.File) == ".eve" {
		n.File = f.File
	}
	return n
}

// ordered is a stack from its task to the innermost function. What the runtime has on the stack
// before the task begins is left out. A task whose function is not on the stack is known by what
// the worker has noted.
func (p *Profile) ordered(s stack, calls []Node, begun string) []Node {
	slices.Reverse(calls)
	first := slices.IndexFunc(calls, func(n Node) bool { return n.Eve })
	if first >= 0 {
		calls = calls[first:]
	}
	code, known := p.codes[s.code]
	known = known && begun == runsRoot && code.Pretty != "handler"
	switch {
	case first >= 0 && (!known || strings.Contains(calls[0].Name, ", ")):
	case known:
		task := Node{Name: symbols.Code(code.Pretty), Eve: true, File: code.File}
		calls = append([]Node{task}, calls...)
	case begun != "":
		calls = append([]Node{{Name: "between handlers"}}, calls...)
	default:
		calls = append([]Node{{Name: none}}, calls...)
	}
	return slices.CompactFunc(calls, func(x, y Node) bool { return x.Name == y.Name && x.Eve })
}

func (n *Node) add(calls []Node, times int64) {
	n.N += times
	for _, c := range calls {
		i := slices.IndexFunc(n.Calls, func(x *Node) bool { return x.Name == c.Name })
		if i < 0 {
			i = len(n.Calls)
			n.Calls = append(n.Calls, &Node{Name: c.Name, Eve: c.Eve, Lines: map[int]int64{}})
		}
		n = n.Calls[i]
		n.N += times
		if n.File == "" {
			n.File = c.File
		}
		for line := range c.Lines {
			n.Lines[line] += times
		}
	}
	n.Self += times
}

// sort orders the calls by name, as flame graphs do: the same program gives the same picture.
func (n *Node) sort() {
	slices.SortFunc(n.Calls, func(x, y *Node) int { return cmp.Compare(x.Name, y.Name) })
	for _, c := range n.Calls {
		c.sort()
	}
}
