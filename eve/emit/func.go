package emit

import (
	"fmt"
	"strconv"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// A binding is the C++ form of an Eve variable in the current function.
type binding struct {
	// the variable: a value, or a handle; empty for a built object that is a plain local
	name  string
	value string // its value: the object of a handle, else the variable itself
	fixed bool   // it is const in C++: lent
	keep  bool   // it must not be moved: the captures of a handler serve many events
}

func plainly(name string) binding { return binding{name: name, value: name} }

// bind makes the binding of a variable of type t that is called name.
func bind(t *types.Type, name string) binding {
	if t.Kind == types.Shared {
		return binding{name: name, value: "*" + name}
	}
	return plainly(name)
}

// A function is one C++ function being written, with its inline parts: closures, children.
type function struct {
	*unit
	writer
	owner   *ir.Func // for the names of helpers; nil outside functions
	locals  *locals
	vars    map[*ir.Var]binding
	shared  map[*ir.Var]bool // built objects whose handle is used
	ctx     context
	temps   int
	noelide bool // it has a defer, which must not change the result

	started map[*ir.ForIn]bool // loops over a range whose variable is there before them
}

// A context is the state that changes at the start of a closure or a child.
type context struct {
	worker string
	top    string // the first free frame is this pointer,
	above  int    // plus this number
	result *types.Type
	label  string // of an inlined child: the target of its return; empty if return is C++'s
	labels bool   // set when the label is used
	finish *finish
	clone  *ir.Func // whose task-free copy is being written, or called when enough tasks are ready
	depth  string   // the template argument of calls to the clone
	safe   []safeIndex

	unchecked map[*ir.Index]string // indexes tested before the current loop: the views to use
}

// ownNames are the fixed locals of generated functions.
var ownNames = []string{"w_", "top_", "args_", "frame_", "emitter_", "place_"}

func (u *unit) newFunction(owner *ir.Func, reserved ...string) *function {
	f := &function{
		unit: u, owner: owner, vars: map[*ir.Var]binding{},
		locals: newLocals(append(reserved, ownNames...)...),
		ctx:    context{worker: "w_", top: "top_"},
	}
	f.indent = 1
	return f
}

// frame is the first free frame as an expression.
func (f *function) frame() string {
	if f.ctx.above > 0 {
		return f.ctx.top + " + " + strconv.Itoa(f.ctx.above)
	}
	return f.ctx.top
}

// function writes fn, with its task-free clone if that may pay.
func (u *unit) function(fn *ir.Func) {
	f := u.newFunction(fn)
	f.shared = handleUses(fn.Body)
	depth := u.cloneDepth(fn)
	if depth > 0 {
		u.use(fn)
		u.clone(fn, f.shared)
	}
	f.at = fn.Span.Line()
	names := paramNames(f.locals, fn)
	f.indent = 0
	f.put(u.head(fn, u.names.fn[fn], names) + " {")
	f.indent = 1
	f.parameters(fn, names)
	if depth > 0 {
		f.ctx.clone, f.ctx.depth = fn, strconv.Itoa(depth)
	}
	if at := u.restAt(fn); depth == 0 && at > 0 {
		f.bodyWithRest(fn, at)
	} else {
		f.boundRecursion(fn, fn.Body.Block)
		f.body(fn.Body)
	}
	f.indent = 0
	f.put("}")
	u.code = append(u.code, f.lines...)
}

// boundRecursion checks the time budget before a part of a function from which the function may be
// called again, but for calls in loops that check it. The copies of a clone do not, since the
// checked function is called again a few levels deeper.
func (f *function) boundRecursion(fn *ir.Func, part *ir.Block) {
	if !fn.Recursive || !recurs(part) {
		return
	}
	check := "eve::bound_recursion("
	if f.facts.canFail[fn] {
		check = "eve::check_recursion("
	}
	f.put(check + f.site(fn.Span.Line()) + ");")
}

// recurs says whether a part of a function calls one that may call itself, other than in a loop
// with a time budget.
func recurs(part *ir.Block) bool {
	found := false
	ir.Walk(part, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Repeat:
			return n.Counted
		case *ir.Call:
			found = found || n.Fn.Recursive
		}
		return !found
	})
	return found
}

func (f *function) parameters(fn *ir.Func, names []string) {
	for i, v := range fn.Params {
		b := bind(v.Type, names[i])
		b.fixed = strings.HasPrefix(f.param(fn, v), "const ")
		f.vars[v] = b
	}
}

// body writes the statements of a body that is a C++ function of its own.
func (f *function) body(b *ir.Body) {
	f.ctx.result = b.Result
	f.noelide = contains(b.Block, func(n ir.Node) bool { _, ok := n.(*ir.Defer); return ok })
	if b.Kind == ir.Child && spawnsOutsideFinish(b.Block) {
		f.finishBlock(b.Block, false)
		return
	}
	f.stmts(b.Block)
}

// handleUses finds the built objects of a body whose handle is used as a handle: those are in a
// box. The others are plain C++ locals.
func handleUses(b *ir.Body) map[*ir.Var]bool {
	used := map[*ir.Var]bool{}
	captures := map[*ir.Var][]*ir.Var{} // from inner to outer variable
	var under ir.Expr
	ir.Walk(b, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Deref:
			under = n.X
		case *ir.Ref:
			if ir.Expr(n) != under {
				used[n.Var] = true
			}
		case *ir.Body:
			for _, e := range n.Perms {
				if e.From == nil {
					continue
				}
				if n.Kind != ir.Child && e.Var != nil && e.Var.Type.Kind == types.Shared {
					used[e.From] = true
				}
				captures[e.Var] = append(captures[e.Var], e.From)
			}
		}
		return true
	})
	for changed := true; changed; {
		changed = false
		for inner, outers := range captures {
			for _, outer := range outers {
				if used[inner] && !used[outer] {
					used[outer], changed = true, true
				}
			}
		}
	}
	return used
}

// local makes a new C++ local for v.
func (f *function) local(v *ir.Var) string {
	name := f.locals.name(v.Name)
	f.vars[v] = bind(v.Type, name)
	return name
}

// temp is a new name for a value without a name in the text.
func (f *function) temp() string {
	f.temps++
	return f.locals.name(fmt.Sprintf("t%d_", f.temps))
}

// capture runs write and returns its lines, instead of writing them.
func (f *function) capture(write func()) []line {
	was := f.lines
	f.lines = nil
	write()
	got := f.lines
	f.lines = was
	return got
}

// nested runs write in a context that starts as a copy of the current one and ends with it.
func (f *function) nested(write func()) {
	was := f.ctx
	mark := f.locals.open()
	write()
	f.locals.close(mark)
	f.ctx = was
}

func (f *function) variable(v *ir.Var) binding {
	if b, ok := f.vars[v]; ok {
		return b
	}
	switch v.Kind {
	case ir.Global:
		return bind(v.Type, f.useVar(v))
	case ir.Constant:
		if c, ok := v.Init.(*ir.Const); ok {
			return plainly(f.constant(c, true))
		}
		return plainly(f.useVar(v))
	}
	if v.From != nil {
		return f.variable(v.From)
	}
	panic(bug("variable " + v.Name + " has no place in " + f.ownerName()))
}

func (f *function) ownerName() string {
	if f.owner == nil {
		return f.mod.Name
	}
	return f.owner.Name
}
