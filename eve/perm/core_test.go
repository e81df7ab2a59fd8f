package perm

import (
	"testing"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/types"
)

// A maker makes IR by hand.
type maker struct {
	u    *types.Universe
	fn   *ir.Func
	body *ir.Body
}

func newMaker() *maker {
	m := &maker{u: types.NewUniverse()}
	m.body = &ir.Body{Kind: ir.Function, Block: &ir.Block{}}
	m.fn = &ir.Func{Name: "f", Result: types.VoidT, Body: m.body}
	m.body.Fn = m.fn
	return m
}

func (m *maker) param(name string, t *types.Type) *ir.Var {
	v := &ir.Var{Name: name, Type: t, Kind: ir.Param, Body: m.body}
	m.fn.Params = append(m.fn.Params, v)
	return v
}

func (m *maker) local(name string, t *types.Type, built bool) *ir.Var {
	return &ir.Var{Name: name, Type: t, Kind: ir.Local, Body: m.body, Built: built}
}

func (m *maker) list(sign byte, v *ir.Var) {
	m.body.Perms = append(m.body.Perms, &ir.Entry{Sign: sign, Name: v.Name, Var: v})
	m.fn.List = m.body.Perms
}

func (m *maker) do(all ...ir.Stmt) { m.body.Block.Stmts = append(m.body.Block.Stmts, all...) }

func ref(v *ir.Var) ir.Expr { return &ir.Ref{Place: ir.Place{T: v.Type}, Var: v} }

func deref(v *ir.Var) ir.Expr { return &ir.Deref{Place: ir.Place{T: v.Type.Elem}, X: ref(v)} }

func one() ir.Expr { return &ir.Const{Place: ir.Place{T: types.IntT}, Value: int64(1)} }

// codes checks the function and returns the reported codes, in order.
func (m *maker) codes() []diag.Code {
	var diags diag.List
	Check(&ir.Program{Universe: m.u,
		Modules: []*ir.Module{{Name: "main", Funcs: []*ir.Func{m.fn}}}}, &diags)
	var all []diag.Code
	for _, d := range diags.Sorted() {
		all = append(all, d.Code)
	}
	return all
}

func expect(t *testing.T, got []diag.Code, want ...diag.Code) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestStoreNeedsFull(t *testing.T) {
	for _, test := range []struct {
		sign byte
		want []diag.Code
	}{{'+', nil}, {0, []diag.Code{"E0402"}}, {'-', []diag.Code{"E0401"}}} {
		m := newMaker()
		x := m.param("x", m.u.Shared(types.IntT))
		m.list(test.sign, x)
		m.do(&ir.Assign{Target: deref(x), Value: one()})
		expect(t, m.codes(), test.want...)
	}
}

func TestBuiltIsFull(t *testing.T) {
	m := newMaker()
	x := m.local("x", m.u.Shared(types.IntT), true)
	m.do(&ir.Declare{Var: x, Init: &ir.Box{Place: ir.Place{T: x.Type}, X: one()}},
		&ir.Assign{Target: deref(x), Value: one()})
	expect(t, m.codes())
}

func TestNotBuiltIsNull(t *testing.T) {
	m := newMaker()
	y := m.param("y", m.u.Shared(types.IntT))
	x := m.local("x", y.Type, false)
	m.do(&ir.Declare{Var: x, Init: ref(y)}, &ir.Assign{Target: deref(x), Value: one()})
	expect(t, m.codes(), "E0401")
}

func TestMissingNameIsSaidOnce(t *testing.T) {
	m := newMaker()
	x := m.param("x", m.u.Shared(types.IntT))
	task := &ir.Body{Kind: ir.Root, Fn: m.fn, Outer: m.body, Block: &ir.Block{}}
	task.Block.Stmts = []ir.Stmt{
		&ir.Do{X: deref(x)},
		&ir.Assign{Target: deref(x), Value: one()},
		&ir.Do{X: ref(x)},
	}
	m.do(&ir.Spawn{Body: task})
	expect(t, m.codes(), "E0401")
}

func TestContainedIsOnlyTheEmitter(t *testing.T) {
	u := types.NewUniverse()
	x := &ir.Var{Name: "x", Type: u.Shared(types.IntT), Kind: ir.Capture}
	e := &ir.Var{Name: "e", Type: u.Shared(types.IntT), Kind: ir.Emitter}
	for _, test := range []struct {
		perms []*ir.Entry
		want  bool
	}{
		{nil, true},
		{[]*ir.Entry{{Name: "x", Var: x}}, true},
		{[]*ir.Entry{{Sign: '+', Name: "e", Var: e}}, true},
		{[]*ir.Entry{{Sign: '+', Name: "x", Var: x}}, false},
	} {
		if got := contained(&ir.Body{Emitter: e, Perms: test.perms}); got != test.want {
			t.Errorf("%v: got %v", test.perms, got)
		}
	}
}

func TestOverlaps(t *testing.T) {
	v, w := &ir.Var{Name: "v", Type: types.IntT}, &ir.Var{Name: "w", Type: types.IntT}
	call := &ir.Call{}
	other := &ir.Call{}
	on := func(v *ir.Var, steps ...step) path { return path{v: v, steps: steps} }
	f := func(n int64) step { return step{kind: field, n: n} }
	i := func(n int64) step { return step{kind: index, n: n} }
	h := func(c *ir.Call, n int64) step { return step{kind: half, n: n, group: c} }
	for _, test := range []struct {
		name string
		a, b path
		want bool
	}{
		{"same variable", on(v), on(v), true},
		{"different variables", on(v), on(w), false},
		{"whole and part", on(v), on(v, f(1)), true},
		{"different fields", on(v, f(0)), on(v, f(1)), false},
		{"different fields of one field", on(v, f(0), f(1)), on(v, f(0), f(2)), false},
		{"known indices", on(v, i(0)), on(v, i(1)), false},
		{"unknown index", on(v, i(-1)), on(v, i(1)), true},
		{"halves of one split", on(v, h(call, 0)), on(v, h(call, 1)), false},
		{"one half", on(v, h(call, 0)), on(v, h(call, 0), i(3)), true},
		{"parts of halves", on(v, h(call, 0), i(3)), on(v, h(call, 1), i(3)), false},
		{"halves of two splits", on(v, h(call, 0)), on(v, h(other, 1)), true},
		{"half and element", on(v, h(call, 0)), on(v, i(3)), true},
		{"cuts", on(v, step{kind: cut}), on(v, step{kind: cut}), true},
		{"nothing", path{}, on(v), false},
	} {
		if got := test.a.overlaps(test.b, false); got != test.want {
			t.Errorf("%s: got %v", test.name, got)
		}
		if got := test.b.overlaps(test.a, false); got != test.want {
			t.Errorf("%s, the other way round: got %v", test.name, got)
		}
	}
}

func TestMayBeSame(t *testing.T) {
	m := newMaker()
	shared := m.u.Shared(types.IntT)
	p, q := m.param("p", shared), m.param("q", shared)
	real := m.param("real", m.u.Shared(types.FloatT))
	open := m.param("open", m.u.Shared(m.u.Param("f", "T")))
	a, b := m.local("a", shared, true), m.local("b", shared, true)
	got := m.local("got", shared, false)
	g, h := &ir.Var{Name: "g", Type: shared, Kind: ir.Global}, &ir.Var{Name: "h", Type: shared,
		Kind: ir.Global}
	inner := &ir.Var{Name: "p", Type: shared, Kind: ir.Capture, From: p}
	lambda := &ir.Body{Kind: ir.Lambda, Fn: m.fn, Outer: m.body}
	given := &ir.Var{Name: "given", Type: shared, Kind: ir.Param, Body: lambda}
	for _, test := range []struct {
		name string
		x, y *ir.Var
		want bool
	}{
		{"two parameters", p, q, true},
		{"a parameter and its capture", p, inner, true},
		{"other types", p, real, false},
		{"a type parameter", p, open, true},
		{"two built here", a, b, false},
		{"built here and parameter", a, p, false},
		{"built here and got from somewhere", a, got, true},
		{"built here and a closure's parameter", a, given, true},
		{"module variables", g, h, false},
		{"module variable and parameter", g, p, true},
		{"module variable and built here", g, a, false},
		{"itself", a, a, true},
	} {
		if MayBeSame(test.x, test.y) != test.want || MayBeSame(test.y, test.x) != test.want {
			t.Errorf("%s: not %v", test.name, test.want)
		}
	}
}

func TestFixesFitTheText(t *testing.T) {
	for _, test := range []struct {
		text string
		list string // the text that the list replaces; empty: inserted at |
		want string
	}{
		{"main: | () void:", "", "[+x] "},
		{"main: |() void:", "", "[+x] "},
		{"on client data|:", "", " [+x]"},
		{"@ [x]:", "[x]", "[+x]"},
	} {
		at := 0
		text := test.text
		for i := range text {
			if text[i] == '|' {
				at = i
				text = text[:i] + text[i+1:]
				break
			}
		}
		f := source.NewFile("f.eve", text)
		b := &ir.Body{List: source.Span{File: f, Start: at, End: at}}
		if test.list != "" {
			b.List = source.Span{File: f, Start: 2, End: 2 + len(test.list)}
			b.Perms = []*ir.Entry{{Name: "x"}}
		}
		var d diag.Diagnostic
		fixList(&d, b, "x", '+')
		if d.Fix == nil || d.Fix.New != test.want &&
			!(test.want == "[+x] " && d.Fix.New == "[+x]" && text[at] == ' ') {
			t.Errorf("%q: got %+v", test.text, d.Fix)
		}
	}
}

// Pieces that the checker could not understand are ignored.
func TestBrokenPieces(t *testing.T) {
	m := newMaker()
	bad := &ir.Var{Name: "bad", Type: types.InvalidT, Kind: ir.Local, Body: m.body}
	zero := &ir.Zero{Place: ir.Place{T: types.InvalidT}}
	task := &ir.Body{Kind: ir.Child, Fn: m.fn, Outer: m.body, Block: &ir.Block{},
		Perms: []*ir.Entry{{Sign: '+', Name: "bad", Var: bad, From: bad},
			{Sign: '&', Name: "none"}}}
	m.do(
		&ir.Declare{Var: bad, Init: zero},
		&ir.Do{X: &ir.Ref{Place: ir.Place{T: types.InvalidT}}},
		&ir.Do{X: &ir.Call{Place: ir.Place{T: types.InvalidT}}},
		&ir.Do{X: &ir.Field{Place: ir.Place{T: types.IntT}, X: ref(bad)}},
		&ir.Unpack{Vars: []*ir.Var{nil, bad}, Init: zero},
		&ir.Repeat{Body: &ir.Block{}},
		&ir.ForIn{X: zero, Var: bad, Body: &ir.Block{}},
		&ir.Match{X: zero, Arms: []*ir.Arm{{Vars: []*ir.Var{nil, bad}}}},
		&ir.Finish{Block: &ir.Block{Stmts: []ir.Stmt{&ir.Spawn{Body: task},
			&ir.SpawnEach{X: zero, Body: task}, &ir.Spawn{}}}},
		&ir.On{Emitter: zero},
		&ir.Await{},
		&ir.Return{},
	)
	expect(t, m.codes())
}
