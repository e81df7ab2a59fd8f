package generate

import "fmt"

// integer is an expression of an integer type that does not overflow by accident.
func (w *values) integer(f *form, depth int) string {
	a := func() string { return w.own(f, depth-1) }
	// a literal alone would be an int
	named := func() string { return fmt.Sprintf("%s(%s)", f.name, a()) }
	switch w.random.IntN(10) {
	case 0, 1:
		return fmt.Sprintf("(%s %s %s)", named(), [...]string{"+%", "-%", "*%"}[w.random.IntN(3)],
			a())
	case 2:
		return fmt.Sprintf("(%s %s %s)", named(), [...]string{"&", "|", "^"}[w.random.IntN(3)], a())
	case 3:
		return fmt.Sprintf("(%s %s %d)", named(), [...]string{"/", "%"}[w.random.IntN(2)],
			1+w.random.IntN(100))
	case 4:
		return fmt.Sprintf("(%s %s %d)", named(), [...]string{"<<", ">>"}[w.random.IntN(2)],
			w.random.IntN(f.bits))
	case 5:
		return fmt.Sprintf("(~%s)", named())
	case 6:
		return fmt.Sprintf("((%s & 3) %s (%s & 3))", named(),
			[...]string{"+", "*", "**"}[w.random.IntN(3)], named())
	case 7:
		return fmt.Sprintf("%s(%s(%s, %s))", f.name, [...]string{"min", "max"}[w.random.IntN(2)],
			named(), named())
	}
	if f.bits < 64 {
		other := w.simple()
		if other.class == number { // a value that fits every type
			return fmt.Sprintf("%s(%s(%s) & 63)", f.name, other.name, w.own(other, depth-1))
		}
		return w.literal(f, 0)
	}
	if f.unsigned {
		return fmt.Sprintf("uint(%s & 0xffff)", w.whole(depth-1))
	}
	return w.whole(depth - 1)
}

// whole is an int computed from values of other types.
func (w *values) whole(depth int) string {
	if b, found := w.pick(func(b binding) bool {
		_, is := b.form.iterated()
		return is || b.form.class == record
	}); found && w.chance(60) {
		switch b.form.class {
		case record:
			return fmt.Sprintf("f\"{%s}\".size()", b.name)
		case words:
			return w.ofText(b.name, depth)
		case list, fixed, raw:
			if b.form.of[0].equal() && w.chance(50) {
				return fmt.Sprintf("(%s.index_of(%s) else -1)", b.name,
					w.look(b.form.of[0], depth-1))
			}
			if b.write && w.chance(40) {
				x, scope := w.fresh("x"), w.scope
				w.drop(b.name)
				text := fmt.Sprintf("count(%s, (%s: %s) bool: %s)", b.name, x, b.form.of[0].name,
					w.lambda(x, b.form.of[0], yes, depth-1))
				w.scope = scope
				return text
			}
		}
		return b.name + ".size()"
	}
	if n, found := w.pick(func(b binding) bool {
		return b.form.name == "int" && b.write && !b.shared
	}); found && w.chance(25) {
		return fmt.Sprintf("bump(%s, %s)", n.name, w.own(whole, depth-1))
	}
	switch w.random.IntN(9) {
	case 0:
		return fmt.Sprintf("wave(%d, %s)", w.random.IntN(6), w.own(whole, depth-1))
	case 1:
		return fmt.Sprintf("clipped(%s)", w.own(&form{class: real, name: "float", bits: 64},
			depth-1))
	case 2:
		return fmt.Sprintf("(tried(%s) else %s)", w.own(whole, depth-1), w.own(whole, depth-1))
	case 3:
		return fmt.Sprintf("(found(%s) else %s)", w.own(whole, depth-1), w.own(whole, depth-1))
	case 4:
		return fmt.Sprintf("int(%s)", w.own(&form{class: letter, name: "char"}, depth-1))
	case 5:
		return fmt.Sprintf("%s.milliseconds()", w.atom(&form{class: span, name: "duration"},
			depth-1))
	case 6:
		p := w.form(1)
		return fmt.Sprintf("weight(grown(tree<%s>.one(%s), %s))", p.name, w.own(p, depth-1),
			w.typed(p, depth-1))
	case 7:
		p := w.simple()
		return fmt.Sprintf("mapped(%s, (x: %s) %s: x).size()", w.atom(w.vectorOf(p), depth-1),
			w.vectorOf(p).of[0].name, w.vectorOf(p).of[0].name)
	}
	return w.literal(whole, 0)
}

// ofText is an int computed from a string.
func (w *values) ofText(s string, depth int) string {
	switch w.random.IntN(4) {
	case 0:
		return fmt.Sprintf("(%s.find(%s) else -1)", s, w.look(phrase, depth-1))
	case 1:
		return fmt.Sprintf("(%s.to_int() else %s)", s, w.own(whole, depth-1))
	case 2:
		return fmt.Sprintf("%s.split(\",\").size()", s)
	}
	return s + ".size()"
}

func (w *values) float(f *form, depth int) string {
	a := func() string { return w.own(f, depth-1) }
	named := func() string { return fmt.Sprintf("%s(%s)", f.name, a()) }
	switch w.random.IntN(6) {
	case 0, 1:
		return fmt.Sprintf("(%s %s %s)", named(), [...]string{"+", "-", "*", "/"}[w.random.IntN(4)],
			a())
	case 2:
		return fmt.Sprintf("(-%s)", named())
	case 3:
		if f.bits == 64 {
			return fmt.Sprintf("math.%s(%s)", [...]string{"floor", "ceil",
				"sqrt"}[w.random.IntN(3)], a())
		}
		return fmt.Sprintf("float<32>(%s)", w.own(&form{class: real, name: "float", bits: 64},
			depth-1))
	case 4:
		n := w.simple()
		if n.class == number {
			return fmt.Sprintf("%s(%s(%s))", f.name, n.name, w.own(n, depth-1))
		}
	}
	return w.literal(f, 0)
}

func (w *values) condition(depth int) string {
	switch w.random.IntN(7) {
	case 0:
		return fmt.Sprintf("(%s %s %s)", w.own(yes, depth-1),
			[...]string{"&&", "||"}[w.random.IntN(2)], w.own(yes, depth-1))
	case 1:
		return fmt.Sprintf("(!%s)", w.own(yes, depth-1))
	case 2:
		if b, found := w.pick(func(b binding) bool {
			return b.form.class == option && b.form.equal()
		}); found {
			return fmt.Sprintf("(%s %s none)", b.name, [...]string{"==", "!="}[w.random.IntN(2)])
		}
	case 3:
		if b, found := w.pick(func(b binding) bool {
			return b.form.class == dict || b.form.class == group
		}); found {
			return fmt.Sprintf("%s.has(%s)", b.name, w.look(b.form.of[0], depth-1))
		}
	case 4:
		return fmt.Sprintf("%s.%s(%s)", w.atom(phrase, depth-1),
			[...]string{"contains", "starts_with", "ends_with"}[w.random.IntN(3)],
			w.look(phrase, depth-1))
	}
	f := w.form(2)
	if b, found := w.pick(func(b binding) bool { return b.form.equal() }); found && w.chance(60) {
		f = b.form
	}
	switch {
	case f.ordered():
		return fmt.Sprintf("(%s %s %s)", w.atom(f, depth-1), [...]string{"<", "<=", ">", ">=", "==",
			"!="}[w.random.IntN(6)], w.atom(f, depth-1))
	case f.equal():
		return fmt.Sprintf("(%s %s %s)", w.atom(f, depth-1),
			[...]string{"==", "!="}[w.random.IntN(2)], w.atom(f, depth-1))
	}
	return w.literal(yes, 0)
}

func (w *values) character(depth int) string {
	if b, found := w.pick(func(b binding) bool { return b.form.class == words }); found &&
		w.chance(50) {
		return fmt.Sprintf("(%s + \"x\")[within(%s, %s.size() + 1)]", b.name, w.own(whole, depth-1),
			b.name)
	}
	return fmt.Sprintf("char(%s & 0x7f)", w.whole(depth-1))
}

func (w *values) duration(depth int) string {
	a := w.atom(&form{class: span, name: "duration"}, depth-1)
	switch w.random.IntN(4) {
	case 0:
		return fmt.Sprintf("(%s %s %s)", a, [...]string{"+", "-"}[w.random.IntN(2)],
			w.literal(&form{class: span}, 0))
	case 1:
		return fmt.Sprintf("(%s * (%s & 3))", "7us", w.whole(depth-1))
	case 2:
		return fmt.Sprintf("(%s / %d)", a, 1+w.random.IntN(5))
	}
	return w.literal(&form{class: span}, 0)
}

// text is a string made of values of any type.
func (w *values) text(depth int) string {
	s := func() string { return w.atom(phrase, depth-1) }
	switch w.random.IntN(9) {
	case 0:
		return fmt.Sprintf("(%s + %s)", s(), s())
	case 1:
		return fmt.Sprintf("cut(%s, %s, %s)", w.look(phrase, depth-1), w.own(whole, depth-1),
			w.own(whole, depth-1))
	case 2:
		return s() + [...]string{".upper()", ".lower()", ".trim()", ".repeat(2)"}[w.random.IntN(4)]
	case 3:
		return fmt.Sprintf("%s.replace(%s, %s)", s(), w.look(phrase, depth-1),
			w.look(phrase, depth-1))
	case 4:
		return fmt.Sprintf("join(%s, %s)", w.look(w.vectorOf(phrase), depth-1),
			w.look(phrase, depth-1))
	case 5:
		return fmt.Sprintf("f\"{%s:%s}\"", w.own(whole, depth-1), [...]string{"8", "-8", "08", "x",
			"b", "o", "12d"}[w.random.IntN(7)])
	case 6:
		return fmt.Sprintf("f\"{%s:%s}\"", w.own(&form{class: real, name: "float", bits: 64},
			depth-1), [...]string{".2", "10.3", "e", "g", ".1f"}[w.random.IntN(5)])
	}
	return fmt.Sprintf("f\"{%s} and {%s}\"", w.shown(depth-1), w.shown(depth-1))
}

// shown is any value that can be printed.
func (w *values) shown(depth int) string {
	if b, found := w.pick(func(binding) bool { return true }); found && w.chance(70) {
		return b.name
	}
	f := w.simple()
	return fmt.Sprintf("box<%s>(%s, 0).item", f.name, w.own(f, depth))
}
