// Package generate writes random Eve programs that are correct by construction: every name is
// captured, every permission is listed. Their output does not depend on the schedule, since
// conflicting tasks run in the order of their spawns. So the interpreter under any seed and the
// compiled program on any number of workers must print the same, and the checker must accept all
// of them.
package generate

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A kind is a type of the variables that programs use.
type kind uint8

const (
	integer kind = iota
	vector
	table
	text
	pair
	members
	grid
	maybe
	figure
	kinds
)

var typeNames = [kinds]string{"int", "vector<int>", "map<int, int>", "string", "pair", "set<int>",
	"vector<vector<int>>", "int?", "shape"}

// moves says whether values of a kind are moved, not copied.
func (k kind) moves() bool { return k == vector || k == table || k == members || k == grid }

// A variable that the code being written may use.
type variable struct {
	name   string
	kind   kind
	shared bool
	write  bool // may be changed here; reading is always allowed
	loop   bool // of a loop
}

// A writer writes one program. depth bounds the nesting.
type writer struct {
	random *rand.Rand
	out    strings.Builder
	indent int
	vars   []variable
	names  int
	depth  int
	budget int // statements that may still be written
	timed  bool
	number int // of the part
}

// Program writes a module with n parts, each a function that prints its results, and a main that
// calls them in order.
//
// Programs with an odd seed have tasks that wait for time to pass. Their output comes at any time:
// the first line says that the order of lines does not matter.
func Program(seed uint64, n int) string {
	var b strings.Builder
	timed := seed%2 == 1
	if timed {
		b.WriteString("# output: any order\n")
	}
	b.WriteString(header)
	for i := range n {
		w := &writer{random: rand.New(rand.NewPCG(seed, uint64(i))), budget: 20, indent: 1,
			timed: timed, number: i}
		w.part()
		fmt.Fprintf(&b, "part%d: [+stdout] () void:\n%s\n", i, w.out.String())
	}
	b.WriteString("main: [+stdout] () void:\n")
	for i := range n {
		fmt.Fprintf(&b, "    stdout.write(\"part %d\\n\")\n    part%d()\n", i, i)
	}
	return b.String()
}

func (w *writer) line(format string, args ...any) {
	w.out.WriteString(strings.Repeat("    ", w.indent))
	fmt.Fprintf(&w.out, format, args...)
	w.out.WriteByte('\n')
}

func (w *writer) chance(percent int) bool { return w.random.IntN(100) < percent }

func (w *writer) fresh(prefix string) string {
	w.names++
	return fmt.Sprintf("%s%d", prefix, w.names)
}

// part writes declarations and statements, and at the end prints all variables.
func (w *writer) part() {
	for range 2 + w.random.IntN(4) {
		w.declare(true)
	}
	for range 1 + w.random.IntN(2) {
		w.declare(false)
	}
	for range 3 + w.random.IntN(5) {
		w.statement()
	}
	for _, v := range w.vars {
		w.line("stdout.write(\"%s %%v\\n\", %s)", v.name, v.name)
	}
	if w.chance(50) {
		w.roots()
	}
}

// declare makes a variable, shared or plain.
func (w *writer) declare(shared bool) {
	v := variable{name: w.fresh("v"), kind: kind(w.random.IntN(int(kinds))), shared: shared,
		write: true}
	t := typeNames[v.kind]
	if shared {
		t += "@"
	}
	w.line("%s: %s = %s", v.name, t, w.initial(v.kind))
	w.vars = append(w.vars, v)
}

func (w *writer) initial(k kind) string {
	switch k {
	case vector:
		var parts []string
		for range 3 + w.random.IntN(4) {
			parts = append(parts, w.literal())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case table:
		return fmt.Sprintf("[(%d, %s), (7, %s)]", w.random.IntN(5), w.literal(), w.literal())
	case text:
		return fmt.Sprintf("%q", strings.Repeat("ab", w.random.IntN(12)))
	case pair:
		return fmt.Sprintf("pair(%s, right = %s)", w.literal(), w.literal())
	case members:
		return fmt.Sprintf("[%d, %d, 9]", w.random.IntN(4), 4+w.random.IntN(4))
	case grid:
		return fmt.Sprintf("[[%s], [%s, %s]]", w.literal(), w.literal(), w.literal())
	case maybe:
		return [...]string{"none", w.literal()}[w.random.IntN(2)]
	case figure:
		return w.shape()
	}
	return w.literal()
}

// shape is a value of the union.
func (w *writer) shape() string {
	switch w.random.IntN(3) {
	case 0:
		return "shape.empty"
	case 1:
		return fmt.Sprintf("shape.circle(%s)", w.literal())
	}
	return fmt.Sprintf("shape.box(%s, high = %s)", w.literal(), w.literal())
}

func (w *writer) literal() string { return fmt.Sprint(w.random.IntN(200) - 100) }

// pick returns any variable that fits; false when there is none.
func (w *writer) pick(fits func(variable) bool) (variable, bool) {
	var all []variable
	for _, v := range w.vars {
		if fits(v) {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return variable{}, false
	}
	return all[w.random.IntN(len(all))], true
}

// expression writes an int expression of readable variables.
func (w *writer) expression() string {
	v, found := w.pick(func(variable) bool { return true })
	if !found || w.chance(25) {
		return w.literal()
	}
	x := v.name
	switch v.kind {
	case vector:
		x = [...]string{v.name + ".size()", v.name + "[1]", "total(" + v.name +
			")"}[w.random.IntN(3)]
	case table:
		x = fmt.Sprintf("(%s.get(%d) else %s)", v.name, w.random.IntN(5), w.literal())
	case text:
		x = v.name + ".size()"
	case pair:
		x = [...]string{v.name + ".left", v.name + ".sum()"}[w.random.IntN(2)]
	case members:
		x = [...]string{v.name + ".size()", "has(" + v.name + ", 5)"}[w.random.IntN(2)]
	case grid:
		x = [...]string{v.name + ".size()", "all(" + v.name + ")", v.name + "[1][0]", "total(" +
			v.name + "[0])"}[w.random.IntN(4)]
	case maybe:
		x = fmt.Sprintf([...]string{"(%s else %s)", "(doubled(%s) else %s)"}[w.random.IntN(2)],
			v.name, w.literal())
	case figure:
		x = "area(" + v.name + ")"
	}
	if w.chance(15) {
		x = w.through(x)
	}
	if w.chance(40) {
		return fmt.Sprintf("(%s %s %s)", x, [...]string{"+%", "-%", "*%", "&",
			"^"}[w.random.IntN(5)], w.expression())
	}
	return x
}

// through passes an expression to a generic function or a closure.
func (w *writer) through(x string) string {
	switch w.random.IntN(4) {
	case 0:
		return fmt.Sprintf("larger(%s, %s)", x, w.literal())
	case 1:
		return fmt.Sprintf("applied(%s, [] (x: int) int: x +%% %s)", x, w.literal())
	case 2:
		return fmt.Sprintf("length([f\"{%s}\", \"ab\"])", x)
	}
	return fmt.Sprintf("(checked(%s) else %s)", x, w.literal())
}

// statement writes one statement.
func (w *writer) statement() {
	w.budget--
	switch choice := w.random.IntN(10); {
	case choice < 3 && w.depth < 3 && w.budget > 0:
		w.finish()
	case choice == 3 && w.depth < 4 && w.budget > 0:
		w.branch()
	case choice == 4 && w.depth < 4 && w.budget > 0:
		w.loop()
	case choice == 5:
		w.call()
	default:
		w.change()
	}
}

// change writes a change of a variable.
func (w *writer) change() {
	v, found := w.pick(func(v variable) bool { return v.write && !v.loop })
	if !found {
		w.line("pass")
		return
	}
	e := w.expression()
	switch v.kind {
	case integer:
		w.line("%s = %s +%% %s", v.name, v.name, e)
	case vector:
		w.line([...]string{"%s.push(%s)", "%s[2] = %s"}[w.random.IntN(2)], v.name, e)
	case table:
		w.line("%s.set(%d, %s)", v.name, w.random.IntN(5), e)
	case text:
		w.line("%s = f\"{%s.size()}:{%s}\"", v.name, v.name, e)
	case pair:
		if w.chance(40) {
			w.line("%s.swap()", v.name)
		} else {
			w.line("%s.right = %s", v.name, e)
		}
	case members:
		w.line([...]string{"%s.insert(%s)", "%s.remove(%s)"}[w.random.IntN(2)], v.name, e)
	case grid:
		w.line([...]string{"%s[1].push(%s)", "%s.push([%s, 4])", "%s[0][0] = %s"}[w.random.IntN(3)],
			v.name, e)
	case maybe:
		w.line("%s = %s", v.name, [...]string{e, "none", "doubled(" + e + ")"}[w.random.IntN(3)])
	case figure:
		w.line("%s = %s", v.name, [...]string{"shape.circle(" + e + ")",
			w.shape()}[w.random.IntN(2)])
	}
}

// inside writes a block with its own variables; at least one statement.
func (w *writer) inside(vars []variable, statements int) {
	saved := w.vars
	w.vars = vars
	w.indent++
	w.depth++
	for range statements {
		w.statement()
	}
	w.depth--
	w.indent--
	w.vars = saved
}

func (w *writer) branch() {
	w.line("if %s > %s:", w.expression(), w.expression())
	w.inside(w.vars, 1+w.random.IntN(2))
	if w.chance(50) {
		w.line("else:")
		w.inside(w.vars, 1)
	}
}

func (w *writer) loop() {
	i := variable{name: w.fresh("i"), kind: integer, loop: true}
	if v, found := w.pick(func(v variable) bool { return v.kind == vector }); found &&
		w.chance(50) {
		w.line("for (%s: int in %s):", i.name, v.name)
		// the iterated variable is not changed
		w.inside(append(w.except(v), i), 1+w.random.IntN(2))
		return
	}
	w.line("for (%s in 0..%d):", i.name, 1+w.random.IntN(3))
	w.inside(append(w.except(variable{}), i), 1+w.random.IntN(2))
}

// except returns the variables without one.
func (w *writer) except(not variable) []variable {
	var out []variable
	for _, v := range w.vars {
		if v.name != not.name {
			out = append(out, v)
		}
	}
	return out
}

// call calls a function that lists objects. Two of its objects may be the same.
func (w *writer) call() {
	x, found := w.pick(func(v variable) bool { return v.shared && v.write && v.kind == integer })
	y, other := w.pick(func(v variable) bool { return v.shared && v.kind == vector })
	z, third := w.pick(func(v variable) bool { return v.shared && v.write && v.kind == integer })
	list, plain := w.pick(func(v variable) bool { return !v.shared && v.write && v.kind == vector })
	switch {
	case plain && w.chance(50):
		switch w.random.IntN(4) {
		case 0:
			w.line("par.each(%s, [] (x: int&) void: x = x +%% %s)", list.name, w.literal())
		case 1:
			w.line("par.sort(%s)", list.name)
		case 2:
			w.line("halves(%s, %s)", list.name, w.literal())
		default:
			w.line("guarded(%s, %s)", list.name, w.literal())
		}
	case found && other && w.chance(40):
		w.line("both(%s, %s, %s)", x.name, y.name, w.plain())
	case found && third && w.chance(70):
		w.line("trio(%s, %s, %s, %s)", x.name, z.name, x.name, w.plain())
	case found:
		w.line("bump(%s, %s)", x.name, w.plain())
	default:
		w.change()
	}
}

// plain is a number, or a readable plain variable.
func (w *writer) plain() string {
	if v, found := w.pick(func(v variable) bool { return !v.shared && v.kind == integer }); found {
		return v.name
	}
	return w.literal()
}
