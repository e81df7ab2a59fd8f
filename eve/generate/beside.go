package generate

import "strings"

// view changes a vector through a view of a part of it.
func (w *values) view() {
	b, found := w.pick(func(b binding) bool {
		return b.write && !b.shared && (b.form.class == list || b.form.class == fixed)
	})
	if !found {
		w.change()
		return
	}
	p := b.form.of[0]
	scope := w.scope
	w.scope = append([]binding{}, w.scope...)
	w.drop(b.name)
	w.line("if %s.size() > 1:", b.name)
	w.indent++
	switch w.random.IntN(4) {
	case 0:
		lo, hi := w.fresh("low"), w.fresh("high")
		w.line("%s, %s: slice<%s>& = %s.split(within(%s, %s.size() + 1))", lo, hi, p.name, b.name,
			w.own(whole, 1), b.name)
		w.line("for (e: %s& in %s): e = %s", p.name, lo, w.own(p, 2))
		w.line("finish:")
		w.line("    @ [&%s]: %s.reverse()", lo, lo)
		w.line("    @ [&%s]: %s.reverse()", hi, hi)
	case 1:
		s := w.fresh("s")
		w.line("%s: slice<%s>& = %s[0..%s.size() - 1]", s, p.name, b.name, b.name)
		w.line("%s[0] = %s", s, w.own(p, 2))
		if p.ordered() {
			w.line("%s.sort()", s)
		}
	case 2:
		if p.ordered() {
			w.line("par.sort(%s)", b.name)
		} else {
			w.line("%s.swap(0, 1)", b.name)
		}
	default:
		x := w.fresh("e")
		w.line("finish:")
		w.line("    @ for (%s: %s& in %s) [&%s]: %s = %s", x, p.name, b.name, x, x,
			w.quiet(func() string {
				w.scope = []binding{{name: x, form: p, place: true}}
				return w.own(p, 2)
			}))
	}
	w.indent--
	w.scope = scope
}

// quiet writes code that runs beside other code: it prints nothing, and does not leave the
// function.
func (w *values) quiet(write func() string) string {
	scope, loud, inside := w.scope, w.loud, w.inside
	w.loud, w.inside = false, false
	text := write()
	w.scope, w.loud, w.inside = scope, loud, inside
	return text
}

// children compute into shared objects, each into its own or in the order of their spawns.
func (w *values) children() {
	var shared []binding
	for _, b := range w.scope {
		if b.shared && b.write {
			shared = append(shared, b)
		}
	}
	if len(shared) == 0 {
		w.change()
		return
	}
	w.line("finish:")
	w.indent++
	for range 1 + w.random.IntN(3) {
		target := shared[w.random.IntN(len(shared))]
		entries := []string{"+" + target.name}
		seen := []binding{target}
		for _, b := range w.scope {
			switch {
			case b.name == target.name || b.place || !w.chance(30):
			case b.shared:
				b.write = false
				entries, seen = append(entries, b.name), append(seen, b)
			case b.form.copies():
				b.write, b.moved = true, false
				entries, seen = append(entries, "="+b.name), append(seen, b)
			}
		}
		w.line("@ [%s]:", strings.Join(entries, ", "))
		loops := w.loops
		w.loops = 0
		w.quiet(func() string {
			w.scope = seen
			w.block(nil, w.some)
			return ""
		})
		w.loops = loops
	}
	w.indent--
}
