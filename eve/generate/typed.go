package generate

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A name that the code being written may use, with its form.
type binding struct {
	name   string
	form   *form
	write  bool // may be changed here
	shared bool
	moved  bool // may be moved: it belongs to this block, and not to a loop
	place  bool // a reference: it is only read or changed
}

// A function that was written and may be called.
type function struct {
	name   string
	params []param
	result *form // nil: void
	loud   bool  // prints, so it needs stdout
}

type param struct {
	how  byte // ' ' read, '=' taken, '&' changed
	form *form
}

// values writes typed programs: expressions and statements over values of all forms. They are
// sequential except for children that fill shared objects, so their output is determined.
type values struct {
	random *rand.Rand
	head   strings.Builder // types and functions
	out    strings.Builder // the body being written
	indent int
	scope  []binding
	types  []*form
	calls  []function
	names  int
	depth  int
	budget int

	loud   bool  // it may print here
	loops  int   // loops around the statement within its body
	turns  int   // a bound on how often the statement runs in one call
	result *form // of the function being written
	inside bool  // a function, from which `?` may return
	defers int   // a defer: nothing may leave it
}

// Typed writes a module with n parts that compute with values of random types, each a function
// that prints. They contain every expression and statement of the language except tasks, in any
// nesting.
func Typed(seed uint64, n int) string {
	w := &values{random: rand.New(rand.NewPCG(seed, 77))}
	w.head.WriteString(typedHeader)
	w.declareTypes()
	var main strings.Builder
	for i := range n {
		for range 1 + w.random.IntN(2) {
			w.function()
		}
		w.part(i)
		fmt.Fprintf(&main, "    stdout.write(\"part %d\\n\")\n    part%d()\n", i, i)
	}
	return w.head.String() + "main: [+stdout] () void:\n" + main.String()
}

func (w *values) chance(percent int) bool { return w.random.IntN(100) < percent }

func (w *values) fresh(prefix string) string {
	w.names++
	return fmt.Sprintf("%s%d", prefix, w.names)
}

func (w *values) line(format string, args ...any) {
	w.out.WriteString(strings.Repeat("    ", w.indent))
	fmt.Fprintf(&w.out, format, args...)
	w.out.WriteByte('\n')
}

// body writes the statements of a new function and returns them.
func (w *values) body(write func()) string {
	w.out.Reset()
	w.indent, w.depth, w.loops, w.turns, w.budget = 1, 0, 0, 1, 14
	write()
	return w.out.String()
}

// part writes a function that declares, computes, and prints all its variables.
func (w *values) part(n int) {
	w.scope, w.loud, w.result, w.inside = nil, true, nil, false
	text := w.body(func() {
		for range 3 + w.random.IntN(4) {
			w.declare()
		}
		for range 4 + w.random.IntN(5) {
			w.statement()
		}
		for _, b := range w.scope {
			w.line("stdout.write(\"%s %%v\\n\", %s)", b.name, b.name)
			if b.form.inJSON() && !b.shared {
				w.line("stdout.write(\"%s\\n\", there_and_back(%s))", "%s", b.name)
			}
		}
	})
	fmt.Fprintf(&w.head, "part%d: [+stdout] () void:\n%s\n", n, text)
}

// function writes a function with random parameters. It calls only functions before it.
func (w *values) function() {
	f := function{name: w.fresh("fun"), loud: w.chance(40)}
	w.scope, w.loud, w.inside = nil, f.loud, true
	var params []string
	for range w.random.IntN(4) {
		p := param{' ', w.form(2)}
		name := w.fresh("p")
		b := binding{name: name, form: p.form, place: true}
		switch w.random.IntN(4) {
		case 0:
			p.how = '='
			b.write, b.place, b.moved = true, false, true
			params = append(params, fmt.Sprintf("=%s: %s", name, p.form.name))
		case 1:
			p.how = '&'
			b.write = true
			params = append(params, fmt.Sprintf("%s: %s&", name, p.form.name))
		default:
			params = append(params, fmt.Sprintf("%s: %s", name, p.form.name))
		}
		f.params = append(f.params, p)
		w.scope = append(w.scope, b)
	}
	f.result = w.form(2)
	if w.chance(30) {
		f.result = w.optional(w.form(1), [...]class{option, result}[w.random.IntN(2)])
	}
	w.result = f.result
	text := w.body(func() {
		for range 1 + w.random.IntN(2) {
			w.declare()
		}
		for range 1 + w.random.IntN(4) {
			w.statement()
		}
		w.line("return %s", w.own(f.result, 2))
	})
	permissions := ""
	if f.loud {
		permissions = "[+stdout] "
	}
	fmt.Fprintf(&w.head, "%s: %s(%s) %s:\n%s\n", f.name, permissions, strings.Join(params, ", "),
		f.result.name, text)
	w.calls = append(w.calls, f)
}

// pick returns a binding that fits.
func (w *values) pick(fits func(binding) bool) (binding, bool) {
	var all []binding
	for _, b := range w.scope {
		if fits(b) {
			all = append(all, b)
		}
	}
	if len(all) == 0 {
		return binding{}, false
	}
	return all[w.random.IntN(len(all))], true
}

// drop removes a name from the usable ones.
func (w *values) drop(name string) {
	var left []binding
	for _, b := range w.scope {
		if b.name != name {
			left = append(left, b)
		}
	}
	w.scope = left
}
