package generate

import (
	"fmt"
	"strings"
)

// declare makes a variable.
func (w *values) declare() {
	f := w.form(2)
	b := binding{name: w.fresh("v"), form: f, write: true, moved: w.loops == 0}
	if !w.inside && w.depth == 0 && w.chance(30) {
		b.shared = true
		scope := w.scope
		// with an object's name as the value, the variable would be another name of that object
		w.scope = nil
		w.line("%s: %s@ = %s", b.name, f.name, w.own(f, 2))
		w.scope = scope
	} else if w.chance(10) {
		w.line("%s: %s", b.name, f.name)
	} else {
		w.line("%s: %s = %s", b.name, f.name, w.own(f, 3))
	}
	w.scope = append(w.scope, b)
}

func (w *values) statement() {
	w.budget--
	if w.budget > 0 && w.depth < 4 && w.chance(45) {
		switch w.random.IntN(8) {
		case 0, 1:
			w.branch()
		case 2, 3:
			w.loop()
		case 4, 5:
			w.match()
		case 6:
			w.whileLoop()
		case 7:
			w.children()
		}
		return
	}
	switch w.random.IntN(12) {
	case 0:
		w.declare()
	case 1:
		if w.loud {
			w.line("stdout.write(\"%%v\\n\", %s)", w.shown(3))
			return
		}
		w.line("assert %s || true, %s", w.own(yes, 1), w.own(phrase, 1))
	case 2:
		w.callStatement()
	case 3:
		w.leave()
	case 4:
		w.deferred()
	case 5:
		w.move()
	case 6:
		w.view()
	default:
		w.change()
	}
}

// callStatement calls a function that may change its arguments, each of which is named once.
func (w *values) callStatement() {
	if len(w.calls) == 0 || w.turns > 8 {
		w.change()
		return
	}
	c := w.calls[w.random.IntN(len(w.calls))]
	if c.loud && !w.loud {
		w.change()
		return
	}
	scope := w.scope
	defer func() { w.scope = scope }()
	w.scope = append([]binding{}, w.scope...)
	changed := map[int]string{}
	for i, p := range c.params {
		if p.how != '&' {
			continue
		}
		b, found := w.pick(func(b binding) bool { return b.write && b.form.name == p.form.name })
		if !found {
			w.change()
			return
		}
		changed[i] = b.name
		w.drop(b.name)
	}
	var args []string
	for i, p := range c.params {
		switch p.how {
		case '&':
			args = append(args, changed[i])
		case '=':
			args = append(args, w.own(p.form, 2))
		default:
			args = append(args, w.look(p.form, 2))
		}
	}
	x := w.fresh("v")
	w.line("%s: %s = %s(%s)", x, c.result.name, c.name, strings.Join(args, ", "))
	scope = append(scope[:len(scope):len(scope)], binding{name: x, form: c.result, write: true,
		moved: w.loops == 0})
}

func (w *values) deferred() {
	if w.defers > 0 || w.loops > 1 {
		w.change()
		return
	}
	w.defers++
	if w.loud {
		w.line("defer: stdout.write(\"%%v\\n\", %s)", w.shown(1))
	} else {
		b, found := w.pick(func(b binding) bool { return b.write && b.form.class == words })
		if found {
			w.line("defer: %s = %s", b.name, w.own(phrase, 1))
		} else {
			w.line("pass")
		}
	}
	w.defers--
	for i := range w.scope { // it is used again when the block ends
		w.scope[i].moved = false
	}
}

// move moves the value of a variable, which is then not used any more.
func (w *values) move() {
	b, found := w.pick(func(b binding) bool {
		return b.moved && !b.shared && !b.place && !b.form.copies()
	})
	if !found || w.loops > 0 || w.defers > 0 || w.depth > 0 {
		w.change()
		return
	}
	w.drop(b.name)
	x := w.fresh("v")
	switch w.random.IntN(3) {
	case 0:
		w.line("%s: %s = %s", x, b.form.name, b.name)
		w.scope = append(w.scope, binding{name: x, form: b.form, write: true, moved: true})
	case 1:
		w.line("%s: box<%s> = box(%s, 3)", x, b.form.name, b.name)
		w.scope = append(w.scope, binding{name: x, form: &form{class: record, name: "box<" +
			b.form.name + ">", generic: true,
			fields: []field{{"item", b.form}, {"count", whole}}}, write: true, moved: true})
	default:
		o := w.form(1)
		w.line("%s: (%s, %s) = swapped(%s, %s)", x, b.form.name, o.name, w.typed(o, 1), b.name)
		w.scope = append(w.scope, binding{name: x, form: w.tupleOf(b.form, o), write: true,
			moved: true})
	}
}

// change stores to a variable, or calls a function that changes it.
func (w *values) change() {
	b, found := w.pick(func(b binding) bool { return b.write })
	if !found {
		w.line("pass")
		return
	}
	scope := w.scope
	w.scope = append([]binding{}, w.scope...)
	for i := range w.scope {
		if w.scope[i].name == b.name { // expressions evaluated meanwhile may only read it
			w.scope[i].write = false
		}
	}
	w.store(b.name, b.form, 2)
	w.scope = scope
}

// store stores to a place of a form, or to a part of it.
func (w *values) store(x string, f *form, depth int) {
	if depth <= 0 || w.chance(30) {
		w.line("%s = %s", x, w.own(f, 3))
		return
	}
	switch f.class {
	case number:
		w.line("%s = %s %s %s", x, x, [...]string{"+%", "^", "*%"}[w.random.IntN(3)], w.own(f, 2))
	case words:
		w.line("%s += cut(%s, 0, 20)", x, w.own(phrase, 2))
	case raw:
		if w.chance(50) {
			w.line("%s.push(%s)", x, w.own(f.of[0], 1))
		} else {
			w.line("%s.append_text(cut(%s, 0, 20))", x, w.own(phrase, 2))
		}
	case list:
		w.storeList(x, f, depth)
	case fixed:
		w.store(fmt.Sprintf("%s[%d]", x, w.random.IntN(f.size)), f.of[0], depth-1)
	case dict:
		switch w.random.IntN(4) {
		case 0:
			w.line("%s.set(%s, %s)", x, w.own(f.of[0], 2), w.own(f.of[1], 2))
		case 1:
			w.line("%s[%s] = %s", x, w.own(f.of[0], 2), w.own(f.of[1], 2))
		case 2:
			w.line("%s.remove(%s)", x, w.look(f.of[0], 2))
		default:
			if f.of[1].copies() {
				k := w.fresh("k")
				w.line("%s: %s = %s", k, f.of[0].name, w.own(f.of[0], 2))
				w.line("%s.set(%s, %s.get(%s) else %s)", x, k, x, k, w.own(f.of[1], 2))
				return
			}
			w.line("%s.clear()", x)
		}
	case group:
		w.line("%s.%s(%s)", x, [...]string{"insert", "remove"}[w.random.IntN(2)], w.own(f.of[0], 2))
	case tuple:
		i := w.random.IntN(2)
		w.store(fmt.Sprintf("%s.%d", x, i), f.of[i], depth-1)
	case record:
		p := f.fields[w.random.IntN(len(f.fields))]
		if w.chance(40) {
			w.line("%s.put(%s)", x, w.own(f.fields[0].form, 2))
			return
		}
		w.store(x+"."+p.name, p.form, depth-1)
	default:
		w.line("%s = %s", x, w.own(f, 3))
	}
}

func (w *values) storeList(x string, f *form, depth int) {
	p := f.of[0]
	switch w.random.IntN(7) {
	case 0, 1:
		w.line("if %s.size() < 20: %s.push(%s)", x, x, w.own(p, 2))
	case 2:
		w.line("%s.pop()", x)
	case 3:
		w.line("%s.insert(0, %s)", x, w.own(p, 2))
	case 4:
		w.line("if !%s.empty():", x)
		w.indent++
		w.store(x+"[0]", p, depth-1)
		w.indent--
	case 5:
		if p.ordered() {
			w.line("%s.sort()", x)
		} else {
			w.line("%s.reverse()", x)
		}
	default:
		if p.copies() {
			if b, found := w.pick(func(b binding) bool {
				return b.write && !b.shared && b.form.name == f.name &&
					!strings.HasPrefix(x, b.name)
			}); found {
				w.line("%s.append(piece(%s, 0, 3))", x, b.name)
				return
			}
		}
		w.line("%s.resize(2)", x)
	}
}
