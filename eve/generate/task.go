package generate

import (
	"strings"
)

// finish writes a finish with children of all sorts.
func (w *writer) finish() {
	w.line("finish:")
	w.indent++
	w.depth++
	saved := w.vars
	for range 1 + w.random.IntN(4) {
		switch w.random.IntN(6) {
		case 0:
			w.repeated()
		case 1:
			w.lentElements()
		default:
			w.child(w.vars)
		}
	}
	w.depth--
	w.indent--
	w.vars = saved
	if v, found := w.pick(func(v variable) bool { return v.kind == vector && v.write && !v.shared }); found && w.chance(50) {
		w.line("halves(%s, %s)", v.name, w.number())
	}
}

// list chooses what a task asks for, and gives its list and the variables that it sees.
func (w *writer) list(from []variable) (string, []variable) {
	var entries []string
	var seen []variable
	for _, v := range from {
		if !w.chance(45) {
			continue
		}
		inner := v
		switch {
		case v.shared && v.write && w.chance(50):
			entries = append(entries, "+"+v.name)
		case v.shared:
			inner.write = false
			entries = append(entries, v.name)
		case v.kind == vector || v.kind == table:
			continue // these move: the parent prints them at its end
		default:
			inner.write, inner.loop = true, false
			entries = append(entries, "="+v.name)
		}
		seen = append(seen, inner)
	}
	return "[" + strings.Join(entries, ", ") + "]", seen
}

func (w *writer) child(from []variable) {
	list, seen := w.list(from)
	w.line("@ %s:", list)
	w.inside(seen, 1+w.random.IntN(3))
}

// repeated starts a child in each turn of a loop.
func (w *writer) repeated() {
	i := variable{name: w.fresh("i"), kind: integer, loop: true}
	w.line("for (%s in 0..%d):", i.name, 1+w.random.IntN(4))
	w.indent++
	w.child(append(w.except(variable{}), i))
	w.indent--
}

// lentElements lends each element of a plain vector to a child of its own.
func (w *writer) lentElements() {
	v, found := w.pick(func(v variable) bool { return v.kind == vector && !v.shared && v.write })
	if !found {
		w.child(w.vars)
		return
	}
	x := w.fresh("e")
	list, seen := w.list(w.except(v))
	list = "[&" + x + strings.TrimSuffix(", "+list[1:], ", ]")
	if !strings.HasSuffix(list, "]") {
		list += "]"
	}
	w.line("@ for (%s: int& in %s) %s:", x, v.name, list)
	w.inside(seen, 1)
	w.indent++
	w.line("%s = %s *%% 3", x, x)
	w.indent--
	w.vars = w.except(v) // until the end of the finish it belongs to those tasks
}

// roots ends a part with tasks that run when it is over, and a handler. Each asks for one object that
// orders them all, so that what they print is always the same.
func (w *writer) roots() {
	log := w.fresh("log")
	w.line("%s: vector<int>@", log)
	for i := range 1 + w.random.IntN(3) {
		list, seen := w.list(w.vars)
		list = strings.TrimSuffix(list, "]")
		if list != "[" {
			list += ", "
		}
		w.line("@ %s+%s]:", list, log)
		w.inside(seen, 1+w.random.IntN(2))
		w.indent++
		w.line("%s.push(%d)", log, i)
		w.indent--
	}
	bell := w.fresh("bell")
	w.line("%s: bell@", bell)
	w.line("on %s rung [+%s]: %s.push(100 + rung.n)", bell, log, log)
	n := 1 + w.random.IntN(3)
	w.line("@ [+%s]:", bell)
	for i := range n {
		w.indent++
		w.line("%s.ring(%d)", bell, i)
		w.indent--
	}
	w.line("@ [%s, +%s, +stdout]: stdout.write(\"%s %%d\\n\", %s.size())", log, bell, log, log)
}
