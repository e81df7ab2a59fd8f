package emit

import (
	"strconv"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// call writes a call: of an Eve function, of a native or of C.
func (f *function) call(e *ir.Call) string {
	switch {
	case e.Fn.Extern != nil:
		return f.foreign(e)
	case e.Fn.Native != "" || e.Fn.Body == nil || e.Fn.Body.Block == nil:
		return f.native(e)
	}
	return f.callWith(e)
}

// callWith writes a call of an Eve function with further arguments.
func (f *function) callWith(e *ir.Call, more ...string) string {
	args := append(f.exprs(f.arguments(e)...), more...)
	name := f.use(e.Fn)
	if e.Fn == f.ctx.clone {
		name += "__inline<" + f.ctx.depth + ">"
	}
	if f.facts.forks[e.Fn] {
		args = append([]string{f.ctx.worker, f.frame()}, args...)
	}
	return name + "(" + joinStrings(args) + ")"
}

// arguments says how each argument of an Eve function is passed.
func (f *function) arguments(e *ir.Call) []operand {
	var list []operand
	safe := harmless(e.Fn)
	for i, a := range e.Args {
		p := e.Fn.Params[i]
		o := f.argument(a, p.Type, p.Take, p.Kind == ir.Self, safe)
		if o.how == byRef && e.T.HasView() {
			o.text = func(f *function) string { return f.kept(a, f.value(a)) }
		}
		list = append(list, o)
	}
	return list
}

// argument passes a to a parameter of type t. safe says that the callee changes nothing that the
// caller can see, so that even a copyable value may be passed by reference.
func (f *function) argument(a ir.Expr, t *types.Type, take, self, safe bool) operand {
	switch {
	case self || t.Kind == types.Ref:
		return operand{x: a, how: byRef}
	case t.Kind == types.Slice:
		return operand{x: a, how: byLend, text: func(f *function) string { return f.view(a) }}
	case take:
		return operand{x: a, how: byOwn}
	case byValue(t):
		return read(a)
	case safe || !t.Copyable() || !isPlace(a) || stays(a):
		return lend(a)
	}
	return operand{x: a, how: byOwn,
		text: func(f *function) string { return f.ctype(t) + "(" + f.value(a) + ")" }}
}

// view writes a slice of a, which is a view or a container.
func (f *function) view(a ir.Expr) string {
	s := f.value(a)
	switch a.Type().Deref().Kind {
	case types.Vector, types.Array:
		return member(f.kept(a, s), "all()")
	}
	return s
}

// kept stores the container of a view under a name, if it has no owner. It must live as long as
// the view, which a later C++ statement may use.
func (f *function) kept(a ir.Expr, text string) string {
	if isPlace(a) || a.Type().HasView() || a.Type().Kind == types.String {
		return text
	}
	t := f.temp()
	f.put("auto " + t + " = " + text + ";")
	return t
}

// stays says whether the place a keeps its value during any call that it is not passed to: a
// variable without another name.
func stays(a ir.Expr) bool {
	r, ok := a.(*ir.Ref)
	if !ok || r.T.Kind == types.Ref {
		return false
	}
	if r.T.Kind == types.Shared {
		return r.Var.Kind != ir.Self
	}
	return r.Var.Kind == ir.Constant || r.Var.Kind == ir.Param && !r.Var.Take
}

// harmless says whether fn can change nothing that its caller sees: it has neither a permission to
// change nor a parameter through which it could.
func harmless(fn *ir.Func) bool {
	for _, e := range fn.List {
		if e.Sign == '+' {
			return false
		}
	}
	for _, p := range fn.Params {
		switch p.Type.Kind {
		case types.Ref, types.Slice, types.Func:
			if p.Kind != ir.Self {
				return false
			}
		}
	}
	return true
}

// foreign writes the call of a C function. A slow one becomes an operation to await, which owns
// its arguments.
func (f *function) foreign(e *ir.Call) string {
	f.headers[e.Fn.Extern.Header] = true
	if e.Fn.Extern.Slow {
		return f.slowForeign(e)
	}
	var list []operand
	for _, a := range e.Args {
		list = append(list, operand{x: a, how: byLend,
			text: func(f *function) string { return f.foreignArgument(a) }})
	}
	return f.foreignCall(e, f.exprs(list...))
}

func (f *function) foreignCall(e *ir.Call, args []string) string {
	s := "::" + e.Fn.Name + "(" + joinStrings(args) + ")"
	if e.Fn.Result.Kind == types.Void {
		return s
	}
	return "static_cast<" + f.ctype(e.Fn.Result) + ">(" + s + ")"
}

// slowForeign writes a call that is made later, on another thread: it has copies of buffers and
// texts.
func (f *function) slowForeign(e *ir.Call) string {
	var list []operand
	for _, a := range e.Args {
		list = append(list, operand{x: a, how: byLend, text: func(f *function) string {
			s := f.value(a)
			switch a.Type().Deref().Kind {
			case types.Slice:
				return member(s, "to_vector()")
			case types.String:
				return member(s, "bytes()")
			}
			return "eve::copy_of(" + f.typed(a, s) + ")"
		}})
	}
	var captures, args []string
	body := ""
	for i, x := range f.exprs(list...) {
		name := "a" + strconv.Itoa(i) + "_"
		captures = append(captures, name+" = "+x)
		switch e.Args[i].Type().Deref().Kind {
		case types.Vector, types.Slice, types.Array:
			name += ".data()"
		case types.String:
			body += name + ".push(0); "
			name = "reinterpret_cast<const char*>(" + name + ".data())"
		}
		args = append(args, name)
	}
	result := f.ctype(e.Fn.Result)
	return "eve::slow<" + result + ">([" + joinStrings(captures) + "]() mutable -> " + result +
		" { " + body + "return " + f.foreignCall(e, args) + "; })"
}

// foreignArgument passes buffers by the address of their elements. Texts get a terminating zero
// for C.
func (f *function) foreignArgument(a ir.Expr) string {
	s := f.value(a)
	switch a.Type().Deref().Kind {
	case types.Vector, types.Slice, types.Array:
		return member(s, "data()")
	case types.String:
		t := f.temp()
		f.put("eve::bytes " + t + " = " + member(s, "bytes()") + ";")
		f.put(t + ".push(0);")
		return "reinterpret_cast<const char*>(" + t + ".data())"
	}
	return s
}

// callValue calls a closure, which gets the worker and its frames.
func (f *function) callValue(e *ir.CallValue) string {
	list := []operand{lend(e.Fun)}
	for i, a := range e.Args {
		list = append(list, f.argument(a, e.Fun.Type().Elems[i], false, false, false))
	}
	texts := f.exprs(list...)
	args := append([]string{f.ctx.worker, f.frame()}, texts[1:]...)
	return paren(texts[0]) + "(" + joinStrings(args) + ")"
}

// post calls a callback, which starts a root.
func (f *function) post(e *ir.Post) string {
	list := []operand{lend(e.Fun)}
	t := e.Fun.Type().Elem
	for i, a := range e.Args {
		list = append(list, f.argument(a, t.Elems[i], !t.Elems[i].Copyable(), false, false))
	}
	texts := f.exprs(list...)
	return paren(texts[0]) + "(" + joinStrings(texts[1:]) + ")"
}

// closure writes a closure: a C++ lambda for a Lambda, a struct for a Callback.
func (f *function) closure(e *ir.Closure) string {
	if e.Body.Kind == ir.Callback {
		return f.callback(e.Body)
	}
	name := f.temp()
	at := f.at
	f.nested(func() {
		f.ctx = context{worker: f.locals.name("w_"), top: f.locals.name("top_"),
			result: e.Body.Result, clone: nil}
		params := []string{"eve::worker* " + f.ctx.worker, "eve::frame* " + f.ctx.top}
		for _, v := range e.Body.Params {
			params = append(params, f.paramType(v.Type, v.Take)+" "+f.local(v))
		}
		f.put("auto " + name + " = [&](" + strings.Join(params, ", ") + ") -> " +
			f.ctype(e.Body.Result) + " {")
		f.indent++
		f.stmts(e.Body.Block)
		f.indent--
		f.at = at
		f.put("};")
	})
	return name
}
