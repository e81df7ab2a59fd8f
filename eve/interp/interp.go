// Package interp runs a checked program by walking it: the reference for what a program means. One goroutine
// and a seeded random source decide what runs next, so that a schedule can be repeated, and time is virtual:
// it passes when nothing is ready.
package interp

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"interleave/eve/ir"
	"interleave/eve/source"
)

// Options say how a program is run.
type Options struct {
	Seed   uint64
	Steps  int // statements, before the program is stopped as endless; 0: 50 million
	Stdout io.Writer
	Stderr io.Writer
	Args   []string
	Env    func(name string) (string, bool)
	Wrap   bool // integers wrap on overflow instead of failing
}

// An Outcome is how a program ended.
type Outcome struct {
	Status int
	Trace  string // what failed and where; empty when nothing did
	Idle   bool   // it waits for clients or signals, which do not come here
}

const defaultSteps = 50_000_000

// failure is what a failing task panics with.
type failure struct {
	text string
	at   source.Span
}

// exit is what process.exit panics with.
type exit struct{ status int }

type interp struct {
	program  *ir.Program
	options  Options
	random   *rand.Rand
	steps    int
	objects  int
	nested   int
	depth    int
	globals  map[*ir.Var]place
	emitters map[place]*object // by the place of their value: what emit in a method finds
	ready    []*task           // roots that have all they need
	scope    *scope            // the innermost finish under way
	now      time.Duration
	timers   []*alarm
	network  network
	trace    string
}

// Run runs the program's main.
func Run(p *ir.Program, o Options) Outcome {
	if p.Main == nil {
		return Outcome{Status: 1, Trace: "the program has no main"}
	}
	return start(p, o, p.Main)
}

// Test runs one of the program's tests.
func Test(p *ir.Program, test *ir.Func, o Options) Outcome { return start(p, o, test) }

func start(p *ir.Program, o Options, f *ir.Func) (out Outcome) {
	if o.Steps == 0 {
		o.Steps = defaultSteps
	}
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	in := &interp{program: p, options: o, random: rand.New(rand.NewPCG(o.Seed, 1)), globals: map[*ir.Var]place{},
		emitters: map[place]*object{}, network: network{listeners: map[int64]*object{}}}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exit:
			out = Outcome{Status: r.status}
		case *failure:
			out = Outcome{Status: 1, Trace: r.String()}
		default:
			panic(r)
		}
	}()
	in.initialise()
	in.root(f.Body, nil, in.wants(f.Body, nil), nil)
	in.loop()
	return Outcome{Idle: in.waits()}
}

// loop runs roots until none is left and no timer is armed.
func (in *interp) loop() {
	for {
		switch {
		case len(in.ready) > 0:
			in.runRoot()
		case !in.tick():
			return
		}
	}
}

// initialise makes the shared objects and constants of all modules.
func (in *interp) initialise() {
	f := &frame{in: in, cells: map[*ir.Var]place{}}
	for _, m := range in.program.Modules {
		for _, g := range m.Globals {
			t := g.Type
			if g.Kind == ir.Global {
				t = t.Elem
			}
			v := in.zero(t)
			if g.Init != nil {
				v = owned(f.value(g.Init), t)
			}
			if g.Kind == ir.Global {
				v = in.global(g, v)
			}
			in.globals[g] = &v
		}
	}
}

func (f *failure) String() string {
	if !f.at.IsValid() {
		return f.text
	}
	return fmt.Sprintf("%s:%d: %s", f.at.File.Name, f.at.Line(), f.text)
}

// fail ends the task that runs.
func fail(at source.Span, format string, args ...any) {
	panic(&failure{fmt.Sprintf(format, args...), at})
}

// step counts a statement; a program without an end is stopped.
func (in *interp) step(at source.Span) {
	if in.steps++; in.steps > in.options.Steps {
		fail(at, "the task has been running for too long")
	}
}

// escalate ends the process by a failure that nothing contains.
func (in *interp) escalate(f *failure) { panic(f) }

// say appends to the trace of failures that were contained.
func (in *interp) say(f *failure) {
	var b strings.Builder
	b.WriteString(in.trace)
	fmt.Fprintln(&b, f)
	in.trace = b.String()
}
