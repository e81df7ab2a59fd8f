package generate

import (
	"strings"
)

// finish writes a finish with children of all kinds.
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
	if v, found := w.pick(func(v variable) bool {
		return v.kind == vector && v.write && !v.shared
	}); found && w.chance(50) {
		w.line("halves(%s, %s)", v.name, w.literal())
	}
}

// list chooses the variables of a task, and returns its list and these variables.
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
		case v.kind.moves():
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

// roots ends a part with tasks that run after it, and handlers. Each lists one object that orders
// all of them, so that their effect is always the same. The last of them starts a task that prints
// the results. The parts wait for one another at that object.
func (w *writer) roots() {
	log := w.fresh("log")
	w.line("%s: vector<int>@", log)
	if w.chance(40) {
		w.cluster(log)
	}
	for i := range 1 + w.random.IntN(3) {
		w.root(log, i)
	}
	source := w.emitters(log)
	shown := w.fresh("shown")
	w.line("%s: int@", shown)
	w.line("@ [+%s, +%s, -stdout, +order, +%s]:", log, source, shown)
	w.indent++
	w.line("%s = %s.count", shown, source)
	w.line("order.push(%d)", w.number)
	w.line(
		"@ [%s, %s, %s, +stdout]: stdout.write(\"part %d: %s %%v %%d %%d\\n\", %s, %s.count, %s)",
		log, source, shown, w.number, log, log, source, shown)
	w.indent--
	if w.timed && w.chance(50) {
		w.waits()
	}
}

// root writes a detached task, which may spawn another one that queues for the log.
func (w *writer) root(log string, i int) {
	list, seen := w.list(w.vars)
	list = strings.TrimSuffix(list, "]")
	if list != "[" {
		list += ", "
	}
	w.line("@ %s+%s]:", list, log)
	w.inside(seen, 1+w.random.IntN(2))
	w.indent++
	w.line("%s.push(%d)", log, i)
	if w.chance(40) {
		inner, also := w.list(seen)
		inner = strings.TrimSuffix(inner, "]")
		if inner != "[" {
			inner += ", "
		}
		w.line("@ %s+%s]:", inner, log)
		w.inside(also, 1)
		w.indent++
		w.line("%s.push(%s)", log, w.literal())
		w.indent--
	}
	w.indent--
}

// cluster writes a struct with objects inside, each used by a task of its own.
func (w *writer) cluster(log string) {
	c, n := w.fresh("cluster"), 2+w.random.IntN(3)
	w.line("%s: cluster@ = cluster(name = \"c\")", c)
	w.line("for (i in 0..%d):", n)
	w.indent++
	w.line("part: int@ = i *%% %s", w.literal())
	w.line("%s.parts.push(part)", c)
	w.line("if i == 1: %s.first = part", c)
	w.indent--
	w.line("@ for (p: int@ in %s.parts) [+p]: p = p +%% %s", c, w.literal())
	w.line("@ [%s, +%s]:", c, log)
	w.indent++
	w.line("@ for (p: int@ in %s.parts) [+p, +%s]:", c, log)
	w.indent++
	w.line("p = p ^ 3")
	w.line("%s.push(p)", log)
	w.indent -= 2
}

// emitters writes an emitter with handlers of all kinds.
func (w *writer) emitters(log string) string {
	source := w.fresh("source")
	w.line("%s: source@", source)
	w.line("on %s item [+%s]: %s.push(100 + item.n)", source, log, log)
	if w.chance(50) {
		w.line("on %s item = [%s, +%s] (r: item&) bool:", source, source, log)
		w.indent++
		w.line("%s.push(200 + %s.count)", log, source)
		w.line("return r.n == %d", w.random.IntN(3))
		w.indent--
		w.line("on %s item [-%s, +%s]: %s.push(300 + item.n)", source, source, log, log)
	}
	if w.chance(40) {
		failing := w.fresh("failing")
		w.line("%s: source@", failing)
		w.line("on %s item [%s]:", failing, log) // the log orders these too
		w.indent++
		w.line("done: int@ = %s.size() *%% 0", log)
		w.line("finish:")
		w.line("    @ [+done]: done = 1")
		w.line("    @ [+done]: assert item_limit(done) < 1")
		w.line("    @ [+done]: done = 2")
		w.indent--
		w.line("on %s error [-%s, +%s]: %s.push(error.code() - 7)", failing, failing, log, log)
		w.line("@ [+%s, +%s]:", failing, log)
		w.line("    %s.send(1)", failing)
		w.line("    %s.send(2)", failing)
	}
	w.line("@ [+%s, +%s]:", source, log)
	w.indent++
	for i := range 1 + w.random.IntN(3) {
		w.line("%s.send(%d)", source, i)
	}
	w.indent--
	return source
}

// waits writes code that runs after some time.
func (w *writer) waits() {
	n, ticks := w.fresh("n"), 1+w.random.IntN(3)
	w.line("%s: int@ = %s", n, w.literal())
	w.line("t%s: timer@ = timer.every(1ms)", n)
	w.line("on t%s fired [+%s, +stdout]:", n, n)
	w.indent++
	w.line("%s = %s +%% 1", n, n)
	w.line("if %s %% %d == 0:", n, ticks)
	w.line("    t%s.stop()", n)
	w.line("    stdout.write(\"part %d: ticks %%d\\n\", %s)", w.number, n)
	w.indent--
	k := w.fresh("k")
	w.line("%s: int = %s", k, w.literal())
	w.line("_ <- sleep(1ms) [=%s, +stdout, -order]", k)
	w.line("late <- sleep(%dms) within %s [=%s, +stdout]", 1+w.random.IntN(2),
		[...]string{"1h", "0s"}[w.random.IntN(2)], k)
	w.line("match late:")
	w.line("    error(e): stdout.write(\"part %d: %%d %%s\\n\", %s, e.text())", w.number, k)
	w.line("    else: stdout.write(\"part %d: %%d in time\\n\", %s)", w.number, k)
}
