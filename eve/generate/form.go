package generate

import (
	"fmt"
	"strings"
)

// A class of forms.
type class uint8

const (
	number class = iota // an integer of some width
	real                // a float of some width
	truth
	letter
	words // string
	span  // duration
	raw   // bytes
	list  // vector
	fixed // array
	dict
	group // set
	tuple
	option
	result
	record
	choice // union
)

// A form is a type of a typed program, with the operations on its values.
type form struct {
	class    class
	name     string // the type's name in the text
	of       []*form
	fields   []field // of a record; for a union of all cases, one after the other
	cases    []unionCase
	bits     int // of a number or a float
	unsigned bool
	size     int // of an array
	generic  bool
}

type field struct {
	name string
	form *form
}

type unionCase struct {
	name   string
	fields []field
}

// parts are the forms of the values that a value owns directly.
func (f *form) parts() []*form {
	all := append([]*form{}, f.of...)
	for _, x := range f.fields {
		all = append(all, x.form)
	}
	for _, c := range f.cases {
		for _, x := range c.fields {
			all = append(all, x.form)
		}
	}
	return all
}

// copies says whether a value is copied implicitly.
func (f *form) copies() bool {
	switch f.class {
	case raw, list, dict, group:
		return false
	}
	for _, p := range f.parts() {
		if !p.copies() {
			return false
		}
	}
	return true
}

// ordered says whether < compares two of them.
func (f *form) ordered() bool {
	switch f.class {
	case number, real, letter, words, truth, span:
		return true
	case tuple:
		for _, p := range f.of {
			if !p.ordered() {
				return false
			}
		}
		return true
	}
	return false
}

// equal says whether == compares two of them.
func (f *form) equal() bool {
	switch f.class {
	case dict, group, result:
		return false
	}
	for _, p := range f.parts() {
		if !p.equal() {
			return false
		}
	}
	return true
}

// inJSON says whether util.json has a form for them.
func (f *form) inJSON() bool {
	switch f.class {
	case letter, span, raw, result:
		return false
	case dict:
		if f.of[0].class != words && f.of[0].class != number {
			return false
		}
	case option:
		if f.of[0].class == option {
			return false
		}
	}
	for _, p := range f.parts() {
		if !p.inJSON() {
			return false
		}
	}
	return true
}

// hashed says whether they can be keys. Keys that move cannot be used twice.
func (f *form) hashed() bool {
	if !f.equal() || !f.copies() || f.class == real {
		return false
	}
	for _, p := range f.parts() {
		if !p.hashed() {
			return false
		}
	}
	return true
}

// iterated says whether `for` iterates over their elements, and returns the form of these.
func (f *form) iterated() (*form, bool) {
	switch f.class {
	case list, fixed, group:
		return f.of[0], true
	case dict:
		return &form{class: tuple, name: fmt.Sprintf("(%s, %s)", f.of[0].name, f.of[1].name),
			of: f.of}, true
	case words, raw:
		return &form{class: letter, name: "char"}, true
	}
	return nil, false
}

var (
	whole  = &form{class: number, name: "int", bits: 64}
	yes    = &form{class: truth, name: "bool"}
	phrase = &form{class: words, name: "string"}
)

// simple is a form without parts.
func (w *values) simple() *form {
	switch w.random.IntN(12) {
	case 0, 1:
		bits := 8 << w.random.IntN(4)
		if w.chance(50) {
			return &form{class: number, name: fmt.Sprintf("uint<%d>", bits), bits: bits,
				unsigned: true}
		}
		return &form{class: number, name: fmt.Sprintf("int<%d>", bits), bits: bits}
	case 2:
		return yes
	case 3:
		return &form{class: letter, name: "char"}
	case 4:
		return &form{class: real, name: "float", bits: 64}
	case 5:
		return &form{class: real, name: "float<32>", bits: 32}
	case 6, 7, 8:
		return phrase
	case 9:
		return &form{class: span, name: "duration"}
	}
	return whole
}

// form is any type that the program may use. depth bounds its nesting.
func (w *values) form(depth int) *form {
	if depth <= 0 || w.chance(25) {
		return w.simple()
	}
	part := func() *form { return w.form(depth - 1) }
	switch w.random.IntN(12) {
	case 0, 1:
		return w.vectorOf(part())
	case 2:
		p := part()
		n := 1 + w.random.IntN(4)
		return &form{class: fixed, name: fmt.Sprintf("array<%s, %d>", p.name, n), of: []*form{p},
			size: n}
	case 3:
		k, v := w.key(), part()
		return &form{class: dict, name: fmt.Sprintf("map<%s, %s>", k.name, v.name),
			of: []*form{k, v}}
	case 4:
		k := w.key()
		return &form{class: group, name: fmt.Sprintf("set<%s>", k.name), of: []*form{k}}
	case 5, 6:
		return w.tupleOf(part(), part())
	case 7:
		return w.optional(part(), option)
	case 8:
		return w.optional(part(), result)
	case 9:
		return &form{class: raw, name: "bytes", of: []*form{{class: letter, name: "char"}}}
	}
	if len(w.types) > 0 {
		return w.types[w.random.IntN(len(w.types))]
	}
	return part()
}

func (w *values) vectorOf(p *form) *form {
	if p.class == letter { // that is bytes, which has a form of its own
		p = whole
	}
	return &form{class: list, name: "vector<" + p.name + ">", of: []*form{p}}
}

func (w *values) tupleOf(of ...*form) *form {
	names := make([]string, len(of))
	for i, p := range of {
		names[i] = p.name
	}
	return &form{class: tuple, name: "(" + strings.Join(names, ", ") + ")", of: of}
}

// optional is T? or T!, which are not nested in each other.
func (w *values) optional(p *form, c class) *form {
	for p.class == option || p.class == result {
		p = p.of[0]
	}
	return &form{class: c, name: p.name + map[class]string{option: "?", result: "!"}[c],
		of: []*form{p}}
}

// key is a form for keys of maps and elements of sets.
func (w *values) key() *form {
	for range 10 {
		if k := w.form(1); k.hashed() {
			return k
		}
	}
	return phrase
}

// declareTypes writes structs, with methods that read and change them, and unions. Every other
// struct has a text of its own. The generic struct box is used with some type.
func (w *values) declareTypes() {
	for i := range 1 + w.random.IntN(3) {
		f := &form{class: record, name: fmt.Sprintf("rec%d", i)}
		fmt.Fprintf(&w.head, "type rec%d:\n", i)
		for j := range 1 + w.random.IntN(4) {
			x := field{fmt.Sprintf("m%d", j), w.form(2)}
			f.fields = append(f.fields, x)
			fmt.Fprintf(&w.head, "    %s: %s\n", x.name, x.form.name)
		}
		x := f.fields[0]
		fmt.Fprintf(&w.head, "    put: [+self] (self, =x: %s) void: self.%s = x\n", x.form.name,
			x.name)
		fmt.Fprintf(&w.head, "    told: (self) string: return f\"{self.%s}\"\n", x.name)
		if i%2 == 0 {
			fmt.Fprintf(&w.head, "    text: (self) string: return f\"<{self.%s} %d>\"\n", x.name, i)
		}
		w.types = append(w.types, f)
		u := &form{class: choice, name: fmt.Sprintf("alt%d", i)}
		fmt.Fprintf(&w.head, "union alt%d:\n", i)
		for j := range 2 + w.random.IntN(3) {
			c := unionCase{name: fmt.Sprintf("case%d", j)}
			var params []string
			for k := range w.random.IntN(3) {
				y := field{fmt.Sprintf("f%d", k), w.form(2)}
				c.fields = append(c.fields, y)
				params = append(params, y.name+": "+y.form.name)
			}
			u.cases = append(u.cases, c)
			fmt.Fprintf(&w.head, "    %s", c.name)
			if len(params) > 0 {
				fmt.Fprintf(&w.head, "(%s)", strings.Join(params, ", "))
			}
			w.head.WriteString("\n")
		}
		w.types = append(w.types, u)
		p := w.form(1)
		w.types = append(w.types, &form{class: record, name: "box<" + p.name + ">", generic: true,
			fields: []field{{"item", p}, {"count", whole}}})
	}
}
