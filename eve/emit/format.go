package emit

import (
	"fmt"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// format puts out the statements that fill a formatter, and gives its name.
func (f *function) format(e *ir.Format) string {
	name := f.temp()
	f.put("eve::formatter " + name + ";")
	for _, p := range e.Parts {
		if p.X == nil {
			if p.Text != "" {
				f.put(fmt.Sprintf("%s.text(%s, %d);", name, quote(p.Text), len(p.Text)))
			}
			continue
		}
		x := f.typed(p.X, f.value(p.X))
		f.put(name + ".put(" + x + specText(p) + ");")
	}
	return name
}

// specText is the second argument of put; empty for the usual one.
func specText(p ir.FormatPart) string {
	var s []string
	if v := verb(p.Verb, p.X.Type()); v != 'v' {
		s = append(s, fmt.Sprintf(".verb = '%c'", v))
	}
	if p.Width >= 0 {
		s = append(s, fmt.Sprintf(".width = %d", p.Width))
	}
	if p.Prec >= 0 {
		s = append(s, fmt.Sprintf(".prec = %d", p.Prec))
	}
	if p.ZeroPad {
		s = append(s, ".zero = true")
	}
	if p.Left {
		s = append(s, ".left = true")
	}
	if len(s) == 0 {
		return ""
	}
	return ", {" + strings.Join(s, ", ") + "}"
}

// verb says to the runtime what it cannot see in the C++ type: char is a byte, duration an i64.
func verb(v byte, t *types.Type) byte {
	if v != 'v' && v != 's' {
		return v
	}
	switch t.Kind {
	case types.Char:
		return 'c'
	case types.Duration:
		return 't'
	case types.Vector, types.Slice, types.Array:
		if t.Elem.Kind == types.Char && (v == 's' || t.Kind == types.Vector) {
			return 's'
		}
		return verb(v, t.Elem)
	case types.Option, types.Result, types.Set:
		return verb(v, t.Elem)
	}
	return v
}
