package interp

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// format makes the text from its parts, as the runtime's formatter does.
func (f *frame) format(e *ir.Format) string {
	var b strings.Builder
	for _, p := range e.Parts {
		if p.X == nil {
			b.WriteString(p.Text)
			continue
		}
		b.WriteString(printed(*f.place(p.X), p.X.Type(), p))
	}
	return b.String()
}

// text is the text of a value, as %v writes it.
func (f *frame) text(v value, t *types.Type) string {
	return printed(v, t, ir.FormatPart{Verb: 'v', Width: -1, Prec: -1})
}

// printed writes a value in the format of a part.
func printed(v value, t *types.Type, how ir.FormatPart) string {
	t = t.Deref()
	switch x := v.(type) {
	case *object:
		return printed(x.v, t, how)
	case place:
		return printed(*x, t, how)
	case int64:
		return integer(x, t, how)
	case float64:
		return real(x, t, how)
	case bool:
		return padded(strconv.FormatBool(x), how)
	case string:
		return words(x, how)
	case *fault:
		return words(x.text, how)
	case *list, *view:
		return listed(elemsOf(v), t, how)
	case *table:
		return tabled(x, t, how)
	case *record:
		return recorded(x, t, how)
	}
	return ""
}

// words writes text: cut to its precision, in hexadecimal with %x.
func words(s string, how ir.FormatPart) string {
	if how.Verb == 'x' {
		var b strings.Builder
		for i := range len(s) {
			b.WriteString(strconv.FormatUint(0x100+uint64(s[i]), 16)[1:])
		}
		s = b.String()
	}
	if how.Prec >= 0 {
		most := how.Prec
		for i := range len(s) {
			if first(s[i]) {
				if most == 0 {
					s = s[:i]
					break
				}
				most--
			}
		}
	}
	return padded(s, how)
}

// first says whether this byte starts a character of UTF-8.
func first(b byte) bool { return b&0xc0 != 0x80 }

func characters(s string) (n int) {
	for i := range len(s) {
		if first(s[i]) {
			n++
		}
	}
	return n
}

func padded(s string, how ir.FormatPart) string {
	blank := strings.Repeat(" ", max(0, how.Width-characters(s)))
	if how.Left {
		return s + blank
	}
	return blank + s
}

func integer(v int64, t *types.Type, how ir.FormatPart) string {
	bare := how
	bare.Prec, bare.Verb = -1, 's'
	plain := how.Verb == 'v' || how.Verb == 's'
	switch {
	case how.Verb == 'c' && t.Kind != types.Char:
		if v != int64(rune(v)) {
			v = utf8.RuneError // it would be cut to another character
		}
		return padded(string(rune(v)), bare)
	case t.Kind == types.Char && (plain || how.Verb == 'c'):
		return padded(string([]byte{byte(v)}), bare)
	case t.Kind == types.Duration && plain:
		return padded(strings.Replace(time.Duration(v).String(), "µ", "u", 1), bare)
	case t.Name == "instant" && plain:
		return padded(instantText(v), bare)
	}
	minus, size := v < 0 && !t.IsUnsigned(), uint64(v)
	if minus {
		size = -size
	}
	base := map[byte]int{'x': 16, 'o': 8, 'b': 2}[how.Verb]
	if base == 0 {
		base = 10
	}
	return number(minus, strconv.FormatUint(size, base), how)
}

// number pads digits; a precision is the least number of them.
func number(minus bool, digits string, how ir.FormatPart) string {
	sign := ""
	if minus {
		sign = "-"
	}
	zeros := max(0, how.Prec-len(digits))
	blank := max(0, how.Width-len(digits)-zeros-len(sign))
	if how.ZeroPad && !how.Left && how.Prec < 0 {
		zeros, blank = blank, 0
	}
	text := sign + strings.Repeat("0", zeros) + digits
	if how.Left {
		return text + strings.Repeat(" ", blank)
	}
	return strings.Repeat(" ", blank) + text
}

func real(v float64, t *types.Type, how ir.FormatPart) string {
	bare := how
	bare.Prec = -1
	minus := math.Signbit(v)
	v = math.Abs(v)
	switch {
	case math.IsNaN(v):
		return padded("nan", bare)
	case math.IsInf(v, 0):
		bare.ZeroPad = false
		return number(minus, "inf", bare)
	}
	bits := t.Bits()
	digits := ""
	switch {
	case how.Verb == 'e' || how.Verb == 'f':
		prec := how.Prec
		if prec < 0 {
			prec = 6
		}
		digits = strconv.FormatFloat(v, how.Verb, prec, bits)
	case how.Prec >= 0 && how.Verb == 'g':
		digits = strconv.FormatFloat(v, 'g', max(1, how.Prec), bits)
	case how.Prec >= 0:
		digits = strconv.FormatFloat(v, 'f', how.Prec, bits)
	case v == math.Trunc(v) && v < 1e21:
		digits = strconv.FormatFloat(v, 'f', 0, bits) // all digits of a number without a fraction
	case v >= 1e-4 && v < 1e21:
		digits = strconv.FormatFloat(v, 'f', -1, bits)
	default:
		digits = strconv.FormatFloat(v, 'e', -1, bits)
	}
	return number(minus, digits, bare)
}

func listed(elems []value, t *types.Type, how ir.FormatPart) string {
	if t.Elem.Kind == types.Char && (how.Verb == 's' || how.Verb == 'x' || how.Verb == 'c' ||
		how.Verb == 'v' && t.Kind == types.Vector) {
		b := make([]byte, len(elems))
		for i, e := range elems {
			b[i] = byte(e.(int64))
		}
		return words(string(b), how)
	}
	return "[" + joined(elems, t.Elem, how) + "]"
}

func joined(elems []value, t *types.Type, how ir.FormatPart) string {
	var parts []string
	for _, e := range elems {
		parts = append(parts, printed(e, t, how))
	}
	return strings.Join(parts, ", ")
}

func tabled(x *table, t *types.Type, how ir.FormatPart) string {
	if t.Kind == types.Set {
		return "{" + joined(x.keys, t.Elem, how) + "}"
	}
	var parts []string
	for i, k := range x.keys {
		parts = append(parts, printed(k, t.Key, how)+": "+printed(x.values[i], t.Elem, how))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// recorded writes a value with parts: (1, a), account(cents = 5), circle(radius = 1), none, its
// value.
func recorded(x *record, t *types.Type, how ir.FormatPart) string {
	switch t.Kind {
	case types.Option, types.Result:
		if x.kind == 0 && t.Kind == types.Option {
			return padded("none", how)
		}
		if x.kind == 0 {
			return words(x.fields[0].(*fault).text, how)
		}
		return printed(x.fields[0], t.Elem, how)
	case types.Tuple:
		var parts []string
		for i, f := range x.fields {
			parts = append(parts, printed(f, t.Elems[i], how))
		}
		return "(" + strings.Join(parts, ", ") + ")"
	}
	name, fields := t.Name, t.Def.Fields
	if t.Def.Form == types.Union {
		name, fields = t.Def.Cases[x.kind].Name, t.Def.Cases[x.kind].Fields
	}
	before, end := types.TextParts(name, fields)
	var b strings.Builder
	for i, f := range fields {
		b.WriteString(before[i])
		b.WriteString(printed(x.fields[i], f.Type,
			ir.FormatPart{Verb: 'v', Width: -1, Prec: -1}))
	}
	return b.String() + end
}
