package generate

import (
	"fmt"
	"strings"
)

// own is an expression whose value has no other owner: a new value if the type is not copied.
func (w *values) own(f *form, depth int) string {
	if w.chance(35) || depth <= 0 {
		if b, found := w.pick(func(b binding) bool { return b.form.name == f.name }); found {
			if f.copies() {
				return b.name
			}
			return b.name + ".copy()"
		}
	}
	if depth <= 0 {
		return w.literal(f, 0)
	}
	if w.chance(20) {
		if x, made := w.call(f, depth-1); made {
			return x
		}
	}
	switch {
	case w.loud && w.chance(6):
		return fmt.Sprintf("mark(%d, %s)", w.random.IntN(100), w.typed(f, depth-1))
	case w.chance(8):
		if f.class != option && f.class != result {
			inner := w.optional(f, [...]class{option, result}[w.random.IntN(2)])
			return fmt.Sprintf("(%s%s else %s)", w.atom(inner, depth-1), copyOf(inner),
				w.own(f, depth-1))
		}
	case w.chance(8):
		return w.takenOut(f, depth)
	case w.chance(5):
		other := w.form(1)
		return fmt.Sprintf("swapped(%s, %s).1", w.typed(f, depth-1), w.typed(other, depth-1))
	case w.chance(5):
		other, x := w.form(1), w.fresh("x")
		arg := w.typed(other, depth-1)
		return fmt.Sprintf("applied(%s, (%s: %s) %s: %s)", arg, x, other.name, f.name,
			w.lambda(x, other, f, depth-1))
	}
	if x, made := w.propagated(f, depth); made && w.chance(30) {
		return x
	}
	switch f.class {
	case number:
		return w.integer(f, depth)
	case real:
		return w.float(f, depth)
	case truth:
		return w.condition(depth)
	case letter:
		return w.character(depth)
	case words:
		return w.text(depth)
	case span:
		return w.duration(depth)
	}
	return w.literal(f, depth)
}

// typed is an own expression with an explicit type, for parameters of any type.
func (w *values) typed(f *form, depth int) string {
	if b, found := w.pick(func(b binding) bool { return b.form.name == f.name }); found {
		if f.copies() {
			return b.name
		}
		return b.name + ".copy()"
	}
	return fmt.Sprintf("box<%s>(%s, 1).item.copy()", f.name, w.own(f, depth))
}

// lambda is the body of a closure, which sees its parameter and all other names. It does not leave
// the function.
func (w *values) lambda(x string, of, f *form, depth int) string {
	scope, inside := w.scope, w.inside
	w.scope = append(w.scope[:len(w.scope):len(w.scope)], binding{name: x, form: of, place: true})
	w.inside = false
	text := w.own(f, depth)
	w.scope, w.inside = scope, inside
	return text
}

// look is an expression that is only read: a name, or a part of one, if there is any.
func (w *values) look(f *form, depth int) string {
	if b, found := w.pick(func(b binding) bool { return b.form.name == f.name }); found &&
		w.chance(70) {
		return b.name
	}
	return w.own(f, depth)
}

// takenOut takes a value out of a container.
func (w *values) takenOut(f *form, depth int) string {
	other := w.simple()
	t := w.tupleOf(f, other)
	switch w.random.IntN(3) {
	case 0:
		t = w.tupleOf(other, f)
		return fmt.Sprintf("%s.1%s", w.atom(t, depth-1), copyOf(f))
	case 1:
		return fmt.Sprintf("%s.0%s", w.atom(t, depth-1), copyOf(f))
	}
	v := w.vectorOf(f)
	if v.of[0] != f {
		return w.literal(f, depth)
	}
	x := []string{w.own(f, depth-1), w.own(f, depth-1), w.own(f, depth-1)}
	if f.copies() && f.class != option && f.class != result && w.chance(40) {
		return fmt.Sprintf("(box<%s>([%s], 4).item.last() else %s)", v.name, x[1], x[0])
	}
	return fmt.Sprintf("box<%s>([%s], 0).item[within(%s, 3)]%s", v.name, strings.Join(x, ", "),
		w.own(whole, depth-1), copyOf(f))
}

func copyOf(f *form) string {
	if f.copies() {
		return ""
	}
	return ".copy()"
}

// atom is an expression that may be followed by a suffix.
func (w *values) atom(f *form, depth int) string {
	if b, found := w.pick(func(b binding) bool { return b.form.name == f.name }); found &&
		w.chance(50) {
		return b.name
	}
	return fmt.Sprintf("box<%s>(%s, 2).item", f.name, w.own(f, depth))
}

// call calls a function with that result. An argument that it changes is named once.
func (w *values) call(f *form, depth int) (string, bool) {
	var all []function
	for _, c := range w.calls {
		fits := c.result != nil && c.result.name == f.name && (w.loud || !c.loud)
		for _, p := range c.params {
			fits = fits && p.how != '&'
		}
		if fits {
			all = append(all, c)
		}
	}
	if len(all) == 0 || w.turns > 8 {
		return "", false
	}
	c := all[w.random.IntN(len(all))]
	return fmt.Sprintf("%s(%s)", c.name, w.arguments(c, depth)), true
}

func (w *values) arguments(c function, depth int) string {
	var args []string
	for _, p := range c.params {
		if p.how == '=' {
			args = append(args, w.own(p.form, depth-1))
		} else {
			args = append(args, w.look(p.form, depth-1))
		}
	}
	return strings.Join(args, ", ")
}

// propagated returns from the function if there is no value.
func (w *values) propagated(f *form, depth int) (string, bool) {
	if !w.inside || w.defers > 0 || f.class == option || f.class == result || w.result == nil {
		return "", false
	}
	switch w.result.class {
	case option:
		return fmt.Sprintf("%s?.copy()", w.atom(w.optional(f, option), depth-1)), true
	case result:
		return fmt.Sprintf("%s?.copy()", w.atom(w.optional(f, result), depth-1)), true
	}
	return "", false
}

// literal writes a value as a literal.
func (w *values) literal(f *form, depth int) string {
	part := func(p *form) string { return w.own(p, depth-1) }
	several := func(most int, one func() string) string {
		var all []string
		for range w.random.IntN(most + 1) {
			all = append(all, one())
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	switch f.class {
	case number:
		return w.digits(f)
	case real:
		return [...]string{"0.0", "-1.5", "0.1", "1e10", "123.456", "-3.25", "1e-7",
			"2.0"}[w.random.IntN(8)]
	case truth:
		return [...]string{"true", "false"}[w.random.IntN(2)]
	case letter:
		return [...]string{"'a'", "'Z'", "' '", "'0'", `'\n'`, `'\xe9'`, `'\''`}[w.random.IntN(7)]
	case words:
		return [...]string{`""`, `"a"`, `"hello, world"`,
			`"a text that is longer than what fits inline"`, `"äöü€"`, `"tab\tquote\" end"`,
			`"a,b,,c"`, `"  12 "`, `"-17"`, `"2.5"`, `"{}"`}[w.random.IntN(11)]
	case span:
		return [...]string{"0s", "1500ms", "2h", "7ns", "3us", "1d"}[w.random.IntN(6)]
	case raw:
		return [...]string{`"raw"`, `""`, `['a', 'b', '\0']`, `"\xff\x00x"`}[w.random.IntN(4)]
	case list:
		return several(3, func() string { return part(f.of[0]) })
	case fixed:
		var all []string
		for range f.size {
			all = append(all, part(f.of[0]))
		}
		return "[" + strings.Join(all, ", ") + "]"
	case dict:
		return several(3,
			func() string { return fmt.Sprintf("(%s, %s)", part(f.of[0]), part(f.of[1])) })
	case group:
		return several(3, func() string { return part(f.of[0]) })
	case tuple:
		return fmt.Sprintf("(%s, %s)", part(f.of[0]), part(f.of[1]))
	case option:
		if w.chance(30) {
			return "none"
		}
		return part(f.of[0])
	case result:
		if w.chance(30) {
			return fmt.Sprintf("error(%d, %s)", w.random.IntN(9), w.own(phrase, depth-1))
		}
		return part(f.of[0])
	case record:
		return w.built(f, depth)
	}
	c := f.cases[w.random.IntN(len(f.cases))]
	if len(c.fields) == 0 {
		return f.name + "." + c.name
	}
	return f.name + "." + c.name + "(" + w.fields(c.fields, depth) + ")"
}

// fields are arguments for fields, some by name.
func (w *values) fields(fields []field, depth int) string {
	var args []string
	named := false
	for _, x := range fields {
		named = named || w.chance(30)
		arg := w.own(x.form, depth-1)
		if named {
			arg = x.name + " = " + arg
		}
		args = append(args, arg)
	}
	return strings.Join(args, ", ")
}

func (w *values) built(f *form, depth int) string {
	if f.generic {
		return fmt.Sprintf("%s(%s)", f.name, w.fields(f.fields, depth))
	}
	if w.chance(20) { // the others are zero
		x := f.fields[w.random.IntN(len(f.fields))]
		return fmt.Sprintf("%s(%s = %s)", f.name, x.name, w.own(x.form, depth-1))
	}
	return fmt.Sprintf("%s(%s)", f.name, w.fields(f.fields, depth))
}

// digits is a literal that fits, often one at the limit.
func (w *values) digits(f *form) string {
	low := "0"
	high := [...]string{8: "255", 16: "65535", 32: "4294967295", 64: "0xFFFFFFFFFFFFFFFF"}[f.bits]
	if !f.unsigned {
		low = [...]string{8: "-128", 16: "-32768", 32: "-2147483648",
			64: "-9223372036854775808"}[f.bits]
		high = [...]string{8: "127", 16: "32767", 32: "2147483647",
			64: "9223372036854775807"}[f.bits]
	}
	switch w.random.IntN(8) {
	case 0:
		return low
	case 1:
		return high
	case 2:
		return "0b101"
	}
	if f.unsigned || w.chance(50) {
		return fmt.Sprint(w.random.IntN(100))
	}
	return fmt.Sprint(-w.random.IntN(100))
}
