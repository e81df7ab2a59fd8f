package emit

import (
	"fmt"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// match writes the arms as a chain of ifs, which g++ makes a table of where that pays. A switch would catch
// the break of a loop around it.
func (f *function) match(s *ir.Match) {
	f.put("{")
	f.indent++
	f.nested(func() {
		x := f.value(s.X)
		name := f.temp()
		if isPlace(s.X) {
			f.put("auto& " + name + " = " + x + ";")
		} else {
			f.put("auto " + name + " = " + f.owned(s.X) + ";")
		}
		for i, a := range s.Arms {
			f.arm(a, name, s.X.Type(), i == 0, i == len(s.Arms)-1)
		}
	})
	f.indent--
	f.put("}")
}

// arm writes one arm. The last one needs no test: the checker has seen to it that one fits.
func (f *function) arm(a *ir.Arm, x string, t *types.Type, first, last bool) {
	if a.Span.IsValid() {
		f.at = a.Span.Line()
	}
	head := ""
	if !first {
		head = "else "
	}
	switch {
	case first && last:
	case last && (a.Any || a.Const == nil):
	default:
		head += "if (" + f.fits(a, x, t) + ") "
	}
	f.put(head + "{")
	f.indent++
	f.nested(func() {
		f.pattern(a, x, t)
		f.stmts(a.Body)
	})
	f.indent--
	f.put("}")
}

// fits is the test of an arm.
func (f *function) fits(a *ir.Arm, x string, t *types.Type) string {
	switch {
	case a.Any:
		return "true"
	case a.Const != nil:
		return x + " == " + f.typed(a.Const, "")
	case t.Kind == types.Option || t.Kind == types.Result:
		if a.Case == 1 {
			return x + ".has()"
		}
		return "!" + x + ".has()"
	}
	return fmt.Sprintf("%s.tag() == %d", x, a.Case)
}

// pattern declares the variables of an arm: names for the parts of what was matched.
func (f *function) pattern(a *ir.Arm, x string, t *types.Type) {
	if a.Any || a.Const != nil {
		return
	}
	for i, v := range a.Vars {
		if v == nil {
			continue
		}
		part := "*" + x
		switch {
		case t.Kind == types.Result && a.Case == 0:
			part = x + ".why()"
		case t.Kind == types.Named:
			part = fmt.Sprintf("%s.template get<%d>().%s", x, a.Case, fieldName(t.Def.Cases[a.Case].Fields, i))
		}
		f.put("auto& " + f.local(v) + " = " + part + ";")
	}
}
