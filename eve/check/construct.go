package check

import (
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// construct makes a value of type t from a call's arguments: a struct from its fields, or a number
// from another one.
func (l *lowerer) construct(t *types.Type, x *callExpr, at source.Span) ir.Expr {
	l.events = append(l.events, x.Named...)
	switch t.Kind {
	case types.Invalid:
		return l.giveUp(x)
	case types.Named:
		if t.Def != nil && t.Def.Form == types.Struct {
			return l.makeStruct(t, x)
		}
	case types.Vector, types.Set, types.Map, types.Array:
		if len(x.Args) == 0 {
			return l.zero(t, x.Span)
		}
		d := l.errorf("E0356", x.Span, "%s is not made of arguments", t)
		if t.Kind != types.Map {
			d.Label = "write a list: [a, b, c]"
		}
		return l.giveUp(x)
	case types.String:
		return l.toString(x)
	case types.Bool:
	case types.Param:
		return l.conversion(t, x)
	default:
		if t.IsNumber() {
			return l.conversion(t, x)
		}
	}
	return l.cannotConstruct(t, x, at)
}

func (l *lowerer) cannotConstruct(t *types.Type, x *callExpr, at source.Span) ir.Expr {
	d := l.errorf("E0356", at, "%s cannot be made by calling its type", t)
	if t.Def != nil && t.Def.Form == types.Union && len(t.Def.Cases) > 0 {
		d.Label = "name a case: " + t.Name + "." + t.Def.Cases[0].Name
	}
	if t.Name == "input" {
		d.Label = "lines come as events: on stdin line: .. line.text"
	}
	return l.giveUp(x)
}

// makeStruct gives each field its argument, its default, or its zero value.
func (l *lowerer) makeStruct(t *types.Type, x *callExpr) ir.Expr {
	given, ok := l.dealFields(t.Name, t.Def.Fields, x)
	if !ok {
		return l.giveUp(x)
	}
	n := &ir.MakeStruct{Place: place(t, x.Span)}
	for i, f := range t.Def.Fields {
		if given[i] != nil {
			l.noteField(l.m, given[i].Name, t, f.Type)
		}
		v := l.fieldValue(f, given[i], x.Span, t)
		if broken(v) {
			ok = false
		}
		n.Fields = append(n.Fields, v)
	}
	if !ok {
		return bad(x.Span)
	}
	return n
}

// dealFields assigns each argument to its field, by position or by name.
func (l *lowerer) dealFields(name string, fields []types.Field, x *callExpr) ([]*syntax.Arg, bool) {
	given, next := make([]*syntax.Arg, len(fields)), 0
	for _, a := range x.Args {
		if a == nil || a.X == nil {
			return given, false
		}
		if a.Name == nil {
			if next == len(fields) {
				l.errorf("E0334", a.Span, "'%s' has %s, and this is one more", name,
					count(len(fields), "field"))
				return given, false
			}
			if given[next] != nil {
				l.errorf("E0334", a.Span, "'%s' is given twice: values without a name come first",
					fields[next].Name)
				return given, false
			}
			given[next] = a
			next++
			continue
		}
		i := fieldNamed(fields, a.Name.Text)
		if i < 0 || given[i] != nil {
			text := "'%s' has no field '%s'"
			if i >= 0 {
				text = "'%s' is given the field '%s' twice"
			}
			d := l.errorf("E0334", a.Name.Span, text, name, a.Name.Text)
			if i < 0 {
				l.suggest(d, a.Name, fieldNames(fields))
			}
			return given, false
		}
		given[i] = a
	}
	return given, true
}

func fieldNamed(fields []types.Field, name string) int {
	for i, f := range fields {
		if f.Name == name {
			return i
		}
	}
	return -1
}

func fieldNames(fields []types.Field) []string {
	var all []string
	for _, f := range fields {
		all = append(all, f.Name)
	}
	return all
}

// fieldValue is the initial value of one field. A plain value for a T@ builds its object.
func (l *lowerer) fieldValue(f types.Field, a *syntax.Arg, at source.Span, t *types.Type) ir.Expr {
	if a != nil {
		return l.owned(a.X, f.Type)
	}
	if d, ok := f.Default.(ir.Expr); ok && d != nil {
		return d
	}
	if why := l.noZero(f.Type, map[*types.Type]bool{t: true}); why != "" {
		d := l.errorf("E0356", at, "the field '%s' of '%s' has to be given", f.Name, t.Name)
		d.Label = why
		return bad(at)
	}
	return l.zero(f.Type, at)
}

// unionCase makes a value of a union; x is nil for a case without parentheses. The result is nil
// when t is not a union or has no such case.
func (l *lowerer) unionCase(t *types.Type, name *syntax.Name, x *callExpr, at source.Span) ir.Expr {
	if t.Def == nil || t.Def.Form != types.Union {
		return nil
	}
	for i, c := range t.Def.Cases {
		if c.Name != name.Text {
			continue
		}
		l.noteCase(l.m, name.Span, t, i)
		n := &ir.MakeCase{Place: place(t, at), Case: i}
		if x == nil {
			x = &callExpr{Call: &syntax.Call{At: syntax.At{Span: at}}}
		}
		if len(x.Args) < len(c.Fields) {
			l.errorf("E0333", at, "'%s' needs the value '%s'", c.Name, c.Fields[len(x.Args)].Name)
			return l.giveUp(x)
		}
		given, ok := l.dealFields(c.Name, c.Fields, x)
		if !ok {
			return l.giveUp(x)
		}
		for j, f := range c.Fields {
			if given[j] != nil && given[j].Name != nil {
				l.noteCaseField(l.m, given[j].Name.Span, t, i, j)
			}
			v := l.fieldValue(f, given[j], at, t)
			if broken(v) {
				return bad(at)
			}
			n.Fields = append(n.Fields, v)
		}
		return n
	}
	return nil
}

// oneArg is the argument of a conversion.
func (l *lowerer) oneArg(t *types.Type, x *callExpr) ir.Expr {
	if len(x.Args) != 1 || x.Args[0] == nil || x.Args[0].X == nil || x.Args[0].Name != nil {
		l.errorf("E0355", x.Span, "a conversion to %s takes one value", t)
		return l.giveUp(x)
	}
	return l.checker.value(l.expr(x.Args[0].X, nil))
}

// conversion lowers int<8>(x) and the like. A constant is checked to fit.
func (l *lowerer) conversion(t *types.Type, x *callExpr) ir.Expr {
	v := l.oneArg(t, x)
	from := v.Type()
	if broken(v) {
		return bad(x.Span)
	}
	if from.Kind == types.UntypedInt || from.Kind == types.UntypedFloat && t.IsFloat() {
		c := l.coerce(v, t)
		if k, ok := c.(*ir.Const); ok {
			return &ir.Const{Place: place(t, x.Span), Value: k.Value}
		}
		return c
	}
	v = l.defaultType(v)
	from = v.Type()
	if !from.IsNumber() && from.Kind != types.Param {
		d := l.errorf("E0355", x.Span, "%s cannot be converted to %s", article(from), t)
		switch {
		case from.Kind == types.String && t.IsFloat():
			d.Label = "read it with to_float()"
		case from.Kind == types.String:
			d.Label = "read it with to_int()"
		case from.Kind == types.Option, from.Kind == types.Result:
			d.Label = "it may have no value: take it with ?, else or match"
		}
		return bad(x.Span)
	}
	return &ir.Convert{Place: place(t, x.Span), X: v}
}

// toString lowers string(x): a char is converted, and any other value is formatted.
func (l *lowerer) toString(x *callExpr) ir.Expr {
	v := l.defaultType(l.oneArg(types.StringT, x))
	t := v.Type()
	switch {
	case broken(v):
		return bad(x.Span)
	case t == types.StringT:
		return v
	case t == types.CharT:
		return &ir.Convert{Place: place(types.StringT, x.Span), X: v}
	case t == types.BytesT:
		l.errorf("E0355", x.Span, "bytes become a string by .text()")
		return bad(x.Span)
	case !l.printable(t):
		e := l.errorf("E0355", x.Span, "%s has no text", article(t))
		e.Label = l.noText(t)
		return bad(x.Span)
	case l.ofItself(v, l.ownText(t)):
		return l.textOfSelf(t, x.Span)
	}
	part := plainPart
	part.X = v
	part = l.withText(part)
	if part.X != v {
		return part.X
	}
	return &ir.Format{Place: place(types.StringT, x.Span), Parts: []ir.FormatPart{part}}
}

// zero is the initial value of a variable of type t without one. The defaults of fields apply.
func (l *lowerer) zero(t *types.Type, at source.Span) ir.Expr {
	if t == types.InvalidT {
		return bad(at)
	}
	if why := l.noZero(t, map[*types.Type]bool{}); why != "" {
		d := l.errorf("E0356", at, "%s has no value to start with", article(t))
		d.Label = why
		return bad(at)
	}
	return l.zeroOf(t, at)
}

func (l *lowerer) zeroOf(t *types.Type, at source.Span) ir.Expr {
	switch {
	case t.Kind == types.Shared:
		return &ir.Box{Place: place(t, at), X: l.zeroOf(t.Elem, at)}
	case t.Kind == types.Named && t.Def != nil && t.Def.Form == types.Struct && startsOwn(t):
		n := &ir.MakeStruct{Place: place(t, at)}
		for _, f := range t.Def.Fields {
			if d, ok := f.Default.(ir.Expr); ok && d != nil {
				n.Fields = append(n.Fields, d)
			} else {
				n.Fields = append(n.Fields, l.zeroOf(f.Type, at))
			}
		}
		return n
	}
	return &ir.Zero{Place: place(t, at)}
}

// startsOwn says whether a struct does not start as all zeros: it has defaults or objects of its
// own.
func startsOwn(t *types.Type) bool {
	for _, f := range t.Def.Fields {
		inner := f.Type
		if f.Default != nil || inner.Kind == types.Shared {
			return true
		}
		if inner.Kind == types.Named && inner != t && inner.Def != nil &&
			inner.Def.Form == types.Struct && startsOwn(inner) {
			return true
		}
	}
	return false
}

// noZero describes why a type has no zero value; empty when it has one. `within` maps the types
// around it to true, and types that are known to have one to false.
func (l *lowerer) noZero(t *types.Type, within map[*types.Type]bool) string {
	switch t.Kind {
	case types.Ref, types.Slice:
		return "a view needs storage to show: give it a value"
	case types.Func:
		return "say which closure"
	case types.Shared:
		return l.noZero(t.Elem, within)
	case types.Array:
		return l.noZero(t.Elem, within)
	case types.Tuple:
		for _, e := range t.Elems {
			if why := l.noZero(e, within); why != "" {
				return why
			}
		}
	case types.Named:
		return l.noZeroNamed(t, within)
	}
	return ""
}

func (l *lowerer) noZeroNamed(t *types.Type, within map[*types.Type]bool) string {
	if t.Def == nil || t.Def.Copyable && t.Def.Form == types.Native {
		return ""
	}
	if t.Def.Form == types.Native || t.Def.Form == types.Interface {
		return t.Name + " is not constructed: a function returns it"
	}
	inside, known := within[t]
	if inside {
		return "a new " + t.Name + " would hold another new " + t.Name + ": make the field " +
			t.Name + "@?"
	}
	if known {
		return ""
	}
	within[t] = true
	fields := t.Def.Fields
	if t.Def.Form == types.Union && len(t.Def.Cases) > 0 {
		fields = t.Def.Cases[0].Fields
	}
	for _, f := range fields {
		if f.Default == nil {
			if why := l.noZero(f.Type, within); why != "" {
				return why
			}
		}
	}
	within[t] = false
	return ""
}
