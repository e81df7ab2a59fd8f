package emit

import (
	"fmt"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// match writes the arms as a chain of ifs, which g++ turns into a table if that pays. A switch
// would catch the break of a loop around it.
func (f *function) match(s *ir.Match) {
	f.put("{")
	f.indent++
	f.nested(func() {
		kind, x := "auto& ", ""
		if isPlace(s.X) {
			x = f.value(s.X)
		} else {
			kind, x = "auto ", f.owned(s.X)
		}
		name := f.temp()
		f.put(kind + name + " = " + x + ";")
		for i, a := range s.Arms {
			f.arm(a, name, s.X, i == 0, i == len(s.Arms)-1)
		}
	})
	f.indent--
	f.put("}")
}

// arm writes one arm. The last one needs no test, since the checker has ensured that one matches.
func (f *function) arm(a *ir.Arm, x string, matched ir.Expr, first, last bool) {
	t := matched.Type()
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
		f.pattern(a, x, t, isPlace(matched))
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

// pattern declares the variables of an arm: the parts of the matched value. They are copies if
// that place may change while the arm runs, and references if it cannot: parts of a temporary, or
// of a value that is not copied implicitly.
func (f *function) pattern(a *ir.Arm, x string, t *types.Type, place bool) {
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
			part = fmt.Sprintf("%s.template get<%d>().%s", x, a.Case,
				fieldName(t.Def.Cases[a.Case].Fields, i))
		}
		if v.Type.Copyable() && (place || byValue(v.Type)) {
			f.put(f.ctype(v.Type) + " " + f.local(v) + " = " + part + ";")
			continue
		}
		f.put("auto& " + f.local(v) + " = " + part + ";")
	}
}
