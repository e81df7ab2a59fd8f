// Package interp runs a checked program by walking it. It defines the meaning of a program. One
// goroutine and a seeded random source decide which task runs next, so that a schedule can be
// repeated. Time is virtual: it passes when no task is ready.
package interp

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/types"
)

// Options say how a program is run.
type Options struct {
	Seed   uint64
	Steps  int // statements, before the program is stopped as endless; 0: 50 million
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Args   []string
	Env    func(name string) (string, bool)
	Wrap   bool // integers wrap on overflow instead of failing
	Late   bool // time may pass while tasks are ready, as on a busy machine
}

// An Outcome is how a program ended.
type Outcome struct {
	Status int
	Trace  string // the failure and its place; empty when there was none
	Idle   bool   // it waits for clients or signals, which do not come here
}

const defaultSteps = 50_000_000

// A failure is the panic of a failing task.
type failure struct {
	what    *fault
	at      source.Span
	started []source.Span // of the tasks that it came through, the innermost first
}

// A fatal is the panic that ends the process: a failure that is not contained, or a program that
// runs for too long.
type fatal struct{ text string }

// An exit is the panic of process.exit.
type exit struct{ status int }

type interp struct {
	program    *ir.Program
	options    Options
	random     *rand.Rand
	steps      int
	objects    int
	nested     int
	depth      int
	globals    map[*ir.Var]place
	emitters   map[place]*object // by the place of the emitter's value, for emit in a method
	ready      []*task           // roots that have all their objects
	starts     []func()          // functions to run when the root that made them has ended
	scope      *scope            // the innermost finish under way
	now        time.Duration
	faked      bool // by testing.fake_time
	timerNodes []*timerNode
	timers     []*timer
	stdin      *input
	network    network
	files      []*diskFile // all that were opened
	queues     []*notices
	temporary  []*temporary
	children   []*runningChild
	strict     bool        // a contained failure also ends the process, since a test runs
	ending     bool        // by process.shutdown
	dying      bool        // the process ends at once: no deferred code runs
	left       *propagated // the result of x? while it leaves its body
}

// Run runs the program's main.
func Run(p *ir.Program, o Options) Outcome {
	if p.Main == nil {
		return Outcome{Status: 1, Trace: "the program has no main"}
	}
	return start(p, o, p.Main, false)
}

// Test runs one of the program's tests. Any failure fails it, also a contained one.
func Test(p *ir.Program, test *ir.Func, o Options) Outcome { return start(p, o, test, true) }

func start(p *ir.Program, o Options, f *ir.Func, strict bool) (out Outcome) {
	if o.Steps == 0 {
		o.Steps = defaultSteps
	}
	if o.Stdin == nil {
		o.Stdin = strings.NewReader("")
	}
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	in := &interp{program: p, options: o, random: rand.New(rand.NewPCG(o.Seed, 1)),
		globals:  map[*ir.Var]place{},
		emitters: map[place]*object{}, strict: strict,
		network: network{listeners: map[int64]*listener{}}, faked: f.FakesTime()}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exit:
			out = Outcome{Status: r.status & 0xff}
		case *fatal:
			out = Outcome{Status: 1, Trace: r.text}
		case *failure:
			out = Outcome{Status: 1, Trace: r.String()}
		default:
			panic(r)
		}
	}()
	defer in.closeFiles()
	defer in.stopChildren()
	in.initialise()
	in.root(&root{needs: in.wants(f.Body, nil), run: func() { in.enter(f.Body, in.frame(nil)) }})
	in.loop()
	return Outcome{Idle: in.waits()}
}

// loop runs roots until none is left and no timer is set.
func (in *interp) loop() {
	for {
		for len(in.starts) > 0 {
			begin := in.starts[0]
			in.starts = in.starts[1:]
			begin()
		}
		switch {
		case len(in.ready) > 0:
			for in.options.Late && in.random.IntN(3) == 0 && in.tick() {
			}
			in.runRoot()
		case in.lookAtQueues(), in.closeLonely(), in.loseAnswers():
		case !in.tick():
			return
		}
	}
}

// initialise makes the shared objects and constants of all modules.
func (in *interp) initialise() {
	f := in.frame(nil)
	for _, m := range in.program.Modules {
		for _, g := range m.Globals {
			t := g.Type
			if g.Kind == ir.Global {
				t = t.Elem
			}
			var v value
			if g.Init != nil {
				v = owned(f.value(g.Init), t)
			} else {
				v = in.zero(t)
			}
			if g.Kind == ir.Global {
				v = in.global(g.Name, m.Std, v, t)
			}
			in.globals[g] = &v
		}
	}
}

func (f *failure) String() string {
	if !f.at.IsValid() {
		return f.what.text
	}
	return fmt.Sprintf("%s:%d: %s", f.at.File.Name, f.at.Line(), f.what.text)
}

// trace is the failure and a line for each task that it came through, in the runtime's format.
func (f *failure) trace() string {
	const longest = 8
	var b strings.Builder
	b.WriteString(f.String())
	for _, at := range f.started[:min(longest, len(f.started))] {
		fmt.Fprintf(&b, "\n    in the task of %s:%d", at.File.Name, at.Line())
	}
	if len(f.started) > longest {
		b.WriteString("\n    and others")
	}
	return b.String()
}

// fault is the failure as the value of the event `error`.
func (f *failure) fault() *fault {
	return &fault{code: f.what.code, text: f.String(), cause: f.what.cause}
}

// fail ends the task that runs.
func fail(at source.Span, format string, args ...any) {
	panic(&failure{what: &fault{text: fmt.Sprintf(format, args...)}, at: at})
}

// die ends the process by a failure that is not contained.
func (in *interp) die(text string) {
	in.dying = true
	panic(&fatal{text})
}

// exit ends the process.
func (in *interp) exit(status int) {
	in.dying = true
	panic(exit{status})
}

// count counts a step, and stops a program without an end.
func (in *interp) count(at source.Span) {
	if in.steps++; in.steps > in.options.Steps {
		in.die((&failure{what: &fault{text: "the program has been running for too long"},
			at: at}).String())
	}
}

// guarded runs f and returns its failure.
func (in *interp) guarded(f func()) (failed *failure) {
	scope, depth, nested := in.scope, in.depth, in.nested
	defer func() {
		if in.dying {
			return
		}
		if r := recover(); r != nil {
			var is bool
			if failed, is = r.(*failure); !is {
				panic(r)
			}
			in.scope, in.depth, in.nested = scope, depth, nested
		}
	}()
	f()
	return nil
}

// A root is a body that runs on its own: a task, handler, continuation or callback.
type root struct {
	needs     []need
	contained bool
	run       func()
}

// root posts a root. When it fails, the emitters that it may have damaged are closed, or the
// process ends. A failure without a handler is reported.
func (in *interp) root(r *root) {
	needs := merged(r.needs)
	in.post(needs, func() {
		f := in.guarded(r.run)
		if f == nil {
			return
		}
		if !r.contained || in.strict {
			in.die(f.trace())
		}
		told := false
		for _, n := range needs {
			if n.write && n.object.emits != nil {
				told = in.broke(n.object, f) || told
			}
		}
		if !told {
			in.report(f)
		}
	})
}

// emits says whether objects of a type have handlers.
func emits(t *types.Type) bool { return t != nil && t.Def != nil && t.Def.Emitter }
