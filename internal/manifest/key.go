package manifest

// The keys of a load: how each is read, dropped, written and swept. The families declare them.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A loadKey is a key of a table [load] or [[point]], and a field of Load.
type loadKey struct {
	name  string
	read  func(t *table, l *Load) // what the table has
	clear func(l *Load)           // drops it
	text  func(l Load) string     // its value in TOML; empty: the load has none
	axis  *axis                   // nil: no sweep goes over it
}

// An axis is how the values of a sweep over a key are written, with their bounds.
type axis struct {
	quantity
	least, most float64
	set         func(l *Load, v float64)
}

// amount is a key whose value is a quantity.
func amount[N int | int64 | float64](name string, q quantity, least, most float64,
	field func(l *Load) *N) loadKey {
	return loadKey{
		name:  name,
		read:  func(t *table, l *Load) { *field(l) = N(t.quantity(name, q, least, most)) },
		clear: func(l *Load) { *field(l) = 0 },
		text: func(l Load) string {
			switch v := float64(*field(&l)); {
			case v == 0:
				return ""
			case q.first == "":
				return q.text(v)
			default:
				return strconv.Quote(q.text(v))
			}
		},
	}
}

// swept is an amount that a sweep can go over.
func swept[N int | int64 | float64](name string, q quantity, least, most float64,
	field func(l *Load) *N) loadKey {
	k := amount(name, q, least, most, field)
	k.axis = &axis{q, least, most, func(l *Load, v float64) { *field(l) = N(v) }}
	return k
}

// word is a key whose value is one of some words; any text without them.
func word(name string, known []string, field func(l *Load) *string) loadKey {
	return loadKey{
		name: name,
		read: func(t *table, l *Load) {
			if known == nil {
				*field(l) = t.prose(name)
			} else {
				*field(l) = t.word(name, known)
			}
		},
		clear: func(l *Load) { *field(l) = "" },
		text: func(l Load) string {
			if v := *field(&l); v != "" {
				return quoted(v)
			}
			return ""
		},
	}
}

// quoted writes a TOML string. Of control characters, what TOML and Go write alike is all that a
// manifest's words can have.
func quoted(s string) string { return strconv.Quote(s) }

// line is a line of a table.
func line(key, value string) string { return fmt.Sprintf("%-11s = %s", key, value) }

// keyNamed finds a key of any family.
func keyNamed(name string) *loadKey {
	for _, f := range families {
		for i := range f.keys {
			if k := &f.keys[i]; k.name == name {
				return k
			}
		}
	}
	return nil
}

// axisWords are the keys that a sweep can go over.
func axisWords() (words []string) {
	for _, f := range families {
		for _, k := range f.keys {
			if k.axis != nil {
				words = append(words, k.name)
			}
		}
	}
	return words
}

// readLoad overlays the keys of a table on a load.
func (t *table) readLoad(l *Load) {
	if shape := t.word("shape", shapes); shape != "" && Shape(shape) != l.Shape {
		l.become(Shape(shape))
	}
	for _, f := range families {
		for _, k := range f.keys {
			if t.get(k.name); t.has(k.name) {
				k.read(t, l)
			}
		}
	}
	if l.Shape == "" {
		return
	}
	means := keysOf(l.Shape)
	for key := range t.values {
		if keyNamed(key) != nil && !slices.Contains(means, key) {
			t.fail(key, "means nothing for shape %q, which has: %s", l.Shape,
				strings.Join(means, ", "))
		}
	}
}
