package emit

import (
	"fmt"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// format writes the statements that fill a formatter, and returns its name.
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

// specText is the second argument of put; empty for the default.
func specText(p ir.FormatPart) string {
	var s []string
	vs := verbs(p.Verb, p.X.Type())
	same := strings.Trim(vs, vs[:1]) == ""
	if same && vs[0] != 'v' {
		s = append(s, fmt.Sprintf(".verb = '%c'", vs[0]))
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
	if !same {
		s = append(s, ".verbs = "+quote(vs))
	}
	if len(s) == 0 {
		return ""
	}
	return ", {" + strings.Join(s, ", ") + "}"
}

// verbs tells the runtime types that it cannot see in C++, since char is a byte and duration an
// i64: it has a verb for each simple part of t, as eve::spec::verbs counts them.
func verbs(v byte, t *types.Type) string {
	t = t.Deref()
	plain := v == 'v' || v == 's'
	switch t.Kind {
	case types.Char:
		if plain {
			return "c"
		}
	case types.Duration:
		if plain {
			return "t"
		}
	case types.Vector, types.Slice, types.Array:
		if t.Elem.Kind == types.Char && (v == 's' || v == 'v' && t.Kind == types.Vector) {
			return "s"
		}
		return verbs(v, t.Elem)
	case types.Option, types.Result, types.Set:
		return verbs(v, t.Elem)
	case types.Map:
		return verbs(v, t.Key) + verbs(v, t.Elem)
	case types.Tuple:
		all := ""
		for _, e := range t.Elems {
			all += verbs(v, e)
		}
		if all != "" {
			return all
		}
	}
	return string(v)
}
