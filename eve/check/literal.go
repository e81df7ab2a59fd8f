package check

import (
	"math"
	"strconv"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// lit returns the constant of a literal. Numbers have no type yet.
func (l *lowerer) lit(x *syntax.Lit) ir.Expr {
	c := &ir.Const{Place: place(types.InvalidT, x.Span)}
	switch x.Kind {
	case syntax.IntLit:
		return l.intLit(x)
	case syntax.FloatLit:
		v, err := strconv.ParseFloat(strings.ReplaceAll(x.Text, "_", ""), 64)
		if err != nil && math.IsInf(v, 0) {
			l.errorf("E0358", x.Span, "%s does not fit a float", x.Text)
			return bad(x.Span)
		}
		c.T, c.Value = types.UntypedFloatT, v
	case syntax.CharLit:
		if len(x.Value) != 1 {
			l.errorf("E0358", x.Span, "a char is one byte, and this is %d", len(x.Value))
			return bad(x.Span)
		}
		c.T, c.Value = types.CharT, int64(x.Value[0])
	case syntax.StringLit:
		c.T, c.Value = types.StringT, x.Value
	case syntax.BoolLit:
		c.T, c.Value = types.BoolT, x.Text == "true"
	case syntax.NoneLit:
		c.T = types.NoneT
	case syntax.DurationLit:
		return l.durationLit(x)
	}
	return c
}

// units are the factors of sizes in bytes.
var units = []struct {
	suffix string
	factor uint64
}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}}

func (l *lowerer) intLit(x *syntax.Lit) ir.Expr {
	text, factor := strings.ToLower(strings.ReplaceAll(x.Text, "_", "")), uint64(1)
	if !strings.HasPrefix(text, "0x") {
		for _, u := range units {
			if strings.HasSuffix(text, u.suffix) {
				text, factor = strings.TrimSuffix(text, u.suffix), u.factor
				break
			}
		}
	}
	base := 10
	if len(text) > 2 && text[0] == '0' && strings.ContainsRune("xbo", rune(text[1])) {
		base = 0
	}
	n, err := strconv.ParseUint(text, base, 64)
	if err != nil || n > math.MaxUint64/factor {
		l.errorf("E0358", x.Span, "%s does not fit any integer type", x.Text)
		return bad(x.Span)
	}
	c := &ir.Const{Place: place(types.UntypedIntT, x.Span)}
	if n *= factor; n <= math.MaxInt64 {
		c.Value = int64(n)
	} else {
		c.Value = n
	}
	return c
}

// timeUnits has the length of each unit of time, in nanoseconds.
var timeUnits = map[string]int64{"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9,
	"d": 86400e9}

func (l *lowerer) durationLit(x *syntax.Lit) ir.Expr {
	text := strings.ReplaceAll(x.Text, "_", "")
	unit := strings.TrimLeft(text, "0123456789")
	factor := timeUnits[unit]
	n, err := strconv.ParseInt(strings.TrimSuffix(text, unit), 10, 64)
	if err != nil || factor == 0 || n > math.MaxInt64/factor {
		l.errorf("E0358", x.Span, "%s does not fit a duration: 292 years at most", x.Text)
		return bad(x.Span)
	}
	return &ir.Const{Place: place(types.DurationT, x.Span), Value: n * factor}
}

// listLit makes a vector, or the wanted array, set or map.
func (l *lowerer) listLit(x *syntax.ListLit, want *types.Type) ir.Expr {
	t := hint(want)
	switch t.Kind {
	case types.Vector, types.Set:
		return l.listOf(x, t, t.Elem)
	case types.Map:
		return l.listOf(x, t, l.universe.Tuple(t.Key, t.Elem))
	case types.Slice:
		return l.listOf(x, l.universe.Vector(t.Elem), t.Elem)
	case types.Array:
		if int64(len(x.Elems)) != t.Len {
			l.errorf("E0357", x.Span, "%s has %s, and here %s", t, count(int(t.Len), "element"),
				are(len(x.Elems)))
			return bad(x.Span)
		}
		return l.listOf(x, t, t.Elem)
	}
	if len(x.Elems) == 0 {
		if want == nil || want != types.InvalidT {
			l.errorf("E0357", x.Span, "an empty list has no element type: declare its type")
		}
		return bad(x.Span)
	}
	first := l.defaultType(l.handleOrValue(l.expr(x.Elems[0], nil)))
	if broken(first) {
		l.restOf(x)
		return bad(x.Span)
	}
	if t := first.Type(); t.HasView() {
		l.cannotKeep(x.Elems[0].Place(), t, "a list")
		return bad(x.Span)
	}
	elems := []ir.Expr{first}
	for _, e := range x.Elems[1:] {
		elems = append(elems, l.fitted(e, first.Type()))
	}
	return &ir.MakeList{Place: place(l.universe.Vector(first.Type()), x.Span), Elems: elems}
}

// restOf lowers the other elements, to report their own errors.
func (l *lowerer) restOf(x *syntax.ListLit) {
	for _, e := range x.Elems[1:] {
		l.expr(e, nil)
	}
}

func (l *lowerer) listOf(x *syntax.ListLit, t, elem *types.Type) ir.Expr {
	n := &ir.MakeList{Place: place(t, x.Span)}
	for _, e := range x.Elems {
		n.Elems = append(n.Elems, l.fitted(e, elem))
	}
	return n
}

// handleOrValue reads a T& and returns a handle as it is: containers hold handles.
func (l *lowerer) handleOrValue(x ir.Expr) ir.Expr {
	if broken(x) || x.Type().Kind == types.Shared {
		return x
	}
	return l.checker.value(x)
}

func (l *lowerer) tupleLit(x *syntax.TupleLit, want *types.Type) ir.Expr {
	t := hint(want)
	n := &ir.MakeTuple{Place: place(types.InvalidT, x.Span)}
	known := t.Kind == types.Tuple && len(t.Elems) == len(x.Elems)
	var elems []*types.Type
	for i, e := range x.Elems {
		var v ir.Expr
		if known {
			v = l.fitted(e, t.Elems[i])
		} else {
			v = l.defaultType(l.handleOrValue(l.expr(e, nil)))
		}
		if broken(v) {
			return bad(x.Span)
		}
		n.Elems, elems = append(n.Elems, v), append(elems, v.Type())
	}
	n.T = l.universe.Tuple(elems...)
	return n
}

// hint is the type that a literal may take: the element type of T@, T&, T? and T!.
func hint(want *types.Type) *types.Type {
	if want == nil {
		return types.InvalidT
	}
	want = want.Deref()
	for want.Kind == types.Option || want.Kind == types.Result {
		want = want.Elem.Deref()
	}
	return want
}
