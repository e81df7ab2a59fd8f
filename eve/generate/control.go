package generate

import (
	"fmt"
	"strings"
)

// block writes statements in a scope of their own.
func (w *values) block(more []binding, statements func()) {
	scope := w.scope
	w.scope = append(w.scope[:len(w.scope):len(w.scope)], more...)
	for i := range w.scope[:len(scope)] { // a moved variable must belong to the block
		w.scope[i].moved = false
	}
	w.indent++
	w.depth++
	statements()
	w.depth--
	w.indent--
	w.scope = scope
}

func (w *values) some() {
	for range 1 + w.random.IntN(3) {
		w.statement()
	}
}

func (w *values) branch() {
	w.line("if %s:", w.own(yes, 3))
	w.block(nil, w.some)
	if w.chance(30) {
		w.line("else if %s:", w.own(yes, 2))
		w.block(nil, w.some)
	}
	if w.chance(50) {
		w.line("else:")
		w.block(nil, w.some)
	}
}

// looped writes the body of a loop that runs at most this many times. The iterated variable is not
// changed in it.
func (w *values) looped(times int, frozen string, more []binding) {
	scope, turns := w.scope, w.turns
	w.scope = append([]binding{}, w.scope...)
	for i := range w.scope {
		if w.scope[i].name == frozen {
			w.scope[i].write = false
		}
	}
	w.loops++
	w.turns *= times
	w.block(more, w.some)
	w.turns = turns
	w.loops--
	w.scope = scope
}

func (w *values) loop() {
	b, found := w.pick(func(b binding) bool { _, is := b.form.iterated(); return is })
	x := w.fresh("x")
	if !found || w.chance(30) {
		n := 1 + w.random.IntN(4)
		switch w.random.IntN(2) {
		case 0:
			w.line("for (%s: int = 0; %s < %d; %s += 1):", x, x, n, x)
		default:
			w.line("for (%s in 0..%d):", x, n)
		}
		w.looped(n, "", []binding{{name: x, form: whole, place: true}})
		return
	}
	element, _ := b.form.iterated()
	if b.write && !b.shared && (b.form.class == list || b.form.class == fixed) && w.chance(40) {
		w.line("for (%s: %s& in %s):", x, element.name, b.name)
		scope := w.scope
		w.scope = append([]binding{}, w.scope...)
		w.drop(b.name)
		w.looped(4, "", []binding{{name: x, form: element, write: true, place: true}})
		w.scope = scope
		return
	}
	if element.copies() {
		w.line("for (%s in %s):", x, b.name)
		w.looped(4, b.name, []binding{{name: x, form: element, place: true}})
		return
	}
	w.line("for (%s: %s in %s):", x, element.name, b.name)
	w.looped(4, b.name, []binding{{name: x, form: element, place: true}})
}

func (w *values) whileLoop() {
	i, n := w.fresh("i"), 1+w.random.IntN(3)
	w.line("%s: int = 0", i)
	w.line("while %s < %d && %s:", i, n, w.own(yes, 2))
	w.indent++
	w.line("%s += 1", i)
	w.indent--
	w.looped(n, "", []binding{{name: i, form: whole, place: true}})
}

// match writes a match on a value.
func (w *values) match() {
	b, found := w.pick(func(b binding) bool {
		return b.form.class == option || b.form.class == result || b.form.class == choice
	})
	if !found {
		w.matchLiterals()
		return
	}
	w.line("match %s:", b.name)
	w.indent++
	arm := func(head string, more []binding) {
		w.line("%s:", head)
		scope := w.scope
		w.scope = append([]binding{}, w.scope...)
		for i := range w.scope {
			if w.scope[i].name == b.name {
				w.scope[i].write = false
			}
		}
		w.block(more, w.some)
		w.scope = scope
	}
	x := w.fresh("x")
	switch b.form.class {
	case option:
		arm(fmt.Sprintf("some(%s)", x), []binding{{name: x, form: b.form.of[0], place: true}})
		arm([...]string{"none", "_", "else"}[w.random.IntN(3)], nil)
	case result:
		arm(fmt.Sprintf("ok(%s)", x), []binding{{name: x, form: b.form.of[0], place: true}})
		w.line("error(%se):", x)
		w.indent++
		if w.loud {
			w.line("stdout.write(\"%%d %%s\\n\", %se.code(), %se.text())", x, x)
		} else {
			w.line("pass")
		}
		w.indent--
	case choice:
		for i, c := range b.form.cases {
			if i == len(b.form.cases)-1 && w.chance(30) {
				arm("else", nil)
				break
			}
			var names []string
			var more []binding
			for j, y := range c.fields {
				n := fmt.Sprintf("%s_%d_%d", x, i, j)
				if w.chance(15) {
					n = "_"
				} else {
					more = append(more, binding{name: n, form: y.form, place: true})
				}
				names = append(names, n)
			}
			head := c.name
			if len(names) > 0 {
				head += "(" + strings.Join(names, ", ") + ")"
			}
			arm(head, more)
		}
	}
	w.indent--
}

func (w *values) matchLiterals() {
	switch w.random.IntN(3) {
	case 0:
		w.line("match %s & 3:", w.own(whole, 2))
		w.line("    0:")
	case 1:
		w.line("match %s:", w.own(phrase, 2))
		w.line("    \"a\":")
	default:
		w.line("match %s:", w.own(yes, 2))
		w.line("    true:")
	}
	w.indent++
	w.block(nil, w.some)
	w.line("%s:", [...]string{"_", "else"}[w.random.IntN(2)])
	w.block(nil, w.some)
	w.indent--
}

// leave ends a loop's turn, the loop, or the function, under a condition.
func (w *values) leave() {
	switch {
	case w.defers > 0:
		w.line("pass")
	case w.loops > 0 && w.chance(60):
		w.line("if %s: %s", w.own(yes, 2), [...]string{"break", "continue"}[w.random.IntN(2)])
	case w.inside && w.result != nil:
		w.line("if %s: return %s", w.own(yes, 2), w.own(w.result, 2))
	default:
		w.change()
	}
}
