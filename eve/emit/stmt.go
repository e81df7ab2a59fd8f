package emit

import (
	"fmt"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// stmts writes the statements of b, whose variables end with it.
func (f *function) stmts(b *ir.Block) {
	if b == nil {
		return
	}
	mark := f.locals.open()
	for _, s := range b.Stmts {
		f.stmt(s)
	}
	f.locals.close(mark)
}

// block writes b with its braces.
func (f *function) block(b *ir.Block) {
	f.put("{")
	f.indent++
	f.stmts(b)
	f.indent--
	f.put("}")
}

func (f *function) stmt(s ir.Stmt) {
	if line := s.At().Line(); line != 0 {
		f.at = line
	}
	switch s := s.(type) {
	case *ir.Declare:
		f.declare(s)
	case *ir.Unpack:
		f.unpack(s)
	case *ir.Assign:
		f.assign(s)
	case *ir.Repoint:
		list := f.exprs(operand{x: s.Value, how: byOwn}, operand{x: s.Target, how: byRef})
		f.put(list[1] + " = " + list[0] + ";")
	case *ir.Do:
		f.put(f.value(s.X) + ";")
	case *ir.Return:
		f.returns(s)
	case *ir.Break:
		f.put("break;")
	case *ir.Continue:
		f.put("continue;")
	case *ir.Assert:
		f.assert(s)
	case *ir.Fail:
		f.put("eve::fail(" + f.site(s.Span.Line()) + ", " + f.value(s.X) + ");")
	case *ir.Defer:
		f.deferred(s)
	case *ir.Nest:
		f.block(s.Block)
	default:
		f.compound(s)
	}
}

func (f *function) compound(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.If:
		f.ifElse(s)
	case *ir.Repeat:
		if !f.countedLoop(s) {
			f.repeat(s)
		}
	case *ir.ForIn:
		f.forIn(s)
	case *ir.Match:
		f.match(s)
	case *ir.Spawn:
		f.spawn(s)
	case *ir.SpawnEach:
		f.spawnEach(s)
	case *ir.Finish:
		f.finishBlock(s.Block, s.Disjoint)
	case *ir.On:
		f.on(s)
	case *ir.Await:
		f.await(s)
	case *ir.Emit:
		f.emitEvent(s)
	default:
		panic(bug(fmt.Sprintf("no C++ for %T", s)))
	}
}

func (f *function) declare(s *ir.Declare) {
	v := s.Var
	switch {
	case v.Built && v.Type.Elem.Kind != types.Func:
		f.declareBuilt(s)
	case v.Type.Kind == types.Ref:
		x := f.value(s.Init)
		f.put(f.ctype(v.Type) + " " + f.local(v) + " = " + x + ";")
	case v.Type.Kind == types.Slice:
		x := f.view(s.Init)
		f.put(f.ctype(v.Type) + " " + f.local(v) + " = " + x + ";")
	default:
		x := f.owned(s.Init)
		if isZeroByItself(s.Init) {
			f.put(f.ctype(v.Type) + " " + f.local(v) + ";")
			return
		}
		f.put(f.ctype(v.Type) + " " + f.local(v) + " = " + x + ";")
	}
}

// isZeroByItself says whether C++'s default constructor makes the value.
func isZeroByItself(e ir.Expr) bool {
	if _, ok := e.(*ir.Zero); !ok {
		return false
	}
	switch e.Type().Kind {
	case types.Vector, types.Map, types.Set, types.String, types.Option:
		return true
	}
	return false
}

// declareBuilt declares an object that this body builds. If its handle is never used, only this
// body and children that it waits for can reach it, so it is a plain local.
func (f *function) declareBuilt(s *ir.Declare) {
	v := s.Var
	init := s.Init
	if b, ok := init.(*ir.Box); ok {
		init = b.X
	}
	x := f.owned(init)
	name := f.locals.name(v.Name)
	if !f.shared[v] {
		f.put(f.ctype(v.Type.Elem) + " " + name + " = " + x + ";")
		f.vars[v] = binding{value: name}
		return
	}
	// in the other form empty() would declare a function
	f.put("auto " + name + " = eve::built<" + f.ctype(v.Type.Elem) + ">(" + x + ");")
	f.vars[v] = binding{name: name + ".handle()", value: "*" + name}
}

// unpack declares several locals of the elements of a tuple.
func (f *function) unpack(s *ir.Unpack) {
	t := f.temp()
	f.put("auto " + t + " = " + f.owned(s.Init) + ";")
	for i, v := range s.Vars {
		if v == nil {
			continue
		}
		x := fmt.Sprintf("eve::move(eve::get<%d>(%s))", i, t)
		if v.Built && v.Type.Kind == types.Shared && s.Init.Type().Elems[i].Kind != types.Shared {
			f.put("auto " + f.local(v) + " = eve::built<" + f.ctype(v.Type.Elem) + ">(" + x + ");")
			b := f.vars[v]
			f.vars[v] = binding{name: b.name + ".handle()", value: b.value}
			continue
		}
		f.put(f.ctype(v.Type) + " " + f.local(v) + " = " + x + ";")
	}
}

func (f *function) assign(s *ir.Assign) {
	line := s.Span.Line()
	t := s.Target.Type()
	if ix, ok := s.Target.(*ir.Index); ok && ix.X.Type().Kind == types.Map && s.Op == "" {
		own := operand{x: s.Value, how: byOwn}
		list := f.exprs(own, operand{x: ix.X, how: byRef}, operand{x: ix.I, how: byOwn})
		// C++ finds the map first, and the value may move it
		if hasEffects(s.Value) && !simplePlace(ix.X) {
			list[0] = f.temporary(own, list[0])
		}
		f.put(member(list[1], "set("+list[2]+", "+list[0]+")") + ";")
		return
	}
	if s.Op == "" {
		list := f.exprs(operand{x: s.Value, how: byOwn}, operand{x: s.Target, how: byRef})
		f.put(list[1] + " = " + list[0] + ";")
		return
	}
	list := f.exprs(lend(s.Value), operand{x: s.Target, how: byRef})
	target, value := list[1], list[0]
	if hasEffects(s.Value) && !simplePlace(s.Target) { // it may move the container of the target
		value = f.first(s.Value, value)
	}
	if t.Kind == types.Vector { // bytes are concatenated
		place := f.temp()
		f.put("auto& " + place + " = " + target + ";")
		f.put(place + " = " + place + " + " + paren(value) + ";")
		return
	}
	if !t.IsInteger() && s.Op != "**" || t.Bits() >= 32 && len(s.Op) == 1 &&
		f.checkedName(s.Op, t, s.Value) == "" {
		f.put(paren(target) + " " + string(s.Op) + "= " + value + ";")
		return
	}
	if !simplePlace(s.Target) {
		name := f.temp()
		f.put("auto& " + name + " = " + target + ";")
		target = name
	}
	f.put(target + " = " + f.operator(s.Op, t, s.Target, s.Value, target, value, line) + ";")
}

// first evaluates an operand before the code behind it. A value that is not copied stays in its
// place.
func (f *function) first(x ir.Expr, text string) string {
	switch {
	case !strings.ContainsAny(text, "(. "): // it is a name already
		return text
	case !isPlace(x) || x.Type().Copyable():
		return f.temporary(lend(x), text)
	}
	t := f.temp()
	f.put("auto& " + t + " = " + text + ";")
	return t
}

// simplePlace says whether writing the place twice costs nothing.
func simplePlace(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Ref:
		return true
	case *ir.Deref:
		return simplePlace(e.X)
	case *ir.Field:
		return simplePlace(e.X)
	}
	return false
}

// leave is the statement that ends the current body with x (empty: without a value).
func (f *function) leave(x string) string {
	if f.ctx.label != "" {
		f.ctx.labels = true
		return "goto " + f.ctx.label + ";"
	}
	if x == "" {
		return "return;"
	}
	return "return " + x + ";"
}

func (f *function) returns(s *ir.Return) {
	if s.X == nil {
		f.put(f.leave(""))
		return
	}
	if r, ok := s.X.(*ir.Ref); ok && r.Move && r.Var.Kind == ir.Local && !f.noelide {
		f.put(f.leave(f.value(s.X)))
		return
	}
	x := f.owned(s.X)
	if s.X.Type().Kind == types.Void {
		f.put(x + ";")
		x = ""
	}
	f.put(f.leave(x))
}

func (f *function) assert(s *ir.Assert) {
	text := strings.TrimSpace(s.X.At().Text())
	if text == "" {
		text = "assertion"
	}
	if sides := s.Sides(); sides != nil {
		f.assertSides(s, sides, text)
		return
	}
	x := f.value(s.X)
	call := "eve::fail_assert(" + f.site(s.Span.Line()) + ", " + quote(text)
	if s.Message == nil {
		f.put("if (!" + paren(x) + ") " + call + ");")
		return
	}
	f.put("if (!" + paren(x) + ") {")
	f.indent++
	f.put(call + ", " + f.value(s.Message) + ");")
	f.indent--
	f.put("}")
}

// assertSides writes an assertion on a comparison, whose failure says both values.
func (f *function) assertSides(s *ir.Assert, e *ir.Binary, text string) {
	list := f.exprs(operand{x: e.X, how: byLend, alone: true}, lend(e.Y))
	names := map[ir.Op]string{"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
	how := specText(ir.FormatPart{Verb: 'v', Width: -1, Prec: -1, X: e.X})
	f.put("eve::assert_" + names[e.Op] + "(" + f.typed(e.X, list[0]) + ", " +
		f.typed(e.Y, list[1]) + ", " + f.site(s.Span.Line()) + ", " + quote(text) + how + ");")
}

// deferred writes a scope guard. It may use variables that change after it.
func (f *function) deferred(s *ir.Defer) {
	name := f.temp()
	f.put("eve::on_exit " + name + "([&] {")
	f.nested(func() {
		f.ctx.label = ""
		f.indent++
		f.stmts(s.Block)
		f.indent--
	})
	f.put("});")
}
