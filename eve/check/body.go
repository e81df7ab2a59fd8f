package check

import (
	"strings"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// A lowerer lowers the statements and expressions of one function, or of one initial value.
type lowerer struct {
	*checker
	m   *module
	env *env
	fn  *ir.Func // nil for initial values
	frame
	// events are the named callbacks of the last call that are not parameters of it. The statement
	// around the call registers them.
	events []*syntax.Arg
	// patterned holds the variables that patterns of match have bound. They are parts of the
	// matched value.
	patterned map[*ir.Var]bool
	// handed holds the variables of loops that have their elements from a method next.
	handed map[*ir.Var]bool
	// partial holds the matches that do not cover every case: control may pass their end.
	partial map[*ir.Match]bool
	// awaiting is the call behind <- that is being lowered. Only this call may be asynchronous.
	awaiting *syntax.Call
	// ended holds the variables of blocks that have ended, and where they are declared.
	ended map[string]source.Span
}

// A frame is the context of a statement.
type frame struct {
	cur    *ir.Body    // the innermost body
	scope  *scope      // names of the innermost block
	out    *ir.Block   // where statements are appended
	result *types.Type // the type that return takes here
	loops  int         // number of loops around, in this body
	joined bool        // a task that starts here is a child of a finish
	last   bool        // this is the last statement of the body
	// held names the statement of this body ("finish", "defer") that return must not leave; empty
	// if there is none.
	held string
}

// body makes f's body from its declaration. Natives and methods of interfaces have none.
func (c *checker) body(f *ir.Func, decl *function, e *env) {
	t := decl.tree
	if t.Body == nil {
		return
	}
	b := &ir.Body{Kind: ir.Function, Fn: f, Params: f.Params, Result: f.Result, Perms: f.List}
	if f.Answers() {
		b.Result = types.VoidT
	}
	b.Head = headOf(t.Span, t.Body)
	b.List = functionList(t)
	f.Body = b
	l := &lowerer{checker: c, m: decl.module, env: e, fn: f, ended: map[string]source.Span{}}
	l.result = b.Result
	l.enter(b)
	for _, p := range f.Params {
		p.Body = b
		l.declare(p)
	}
	l.fill(t.Body)
	if f.Answers() {
		l.checkAnswer(t)
	} else if f.Result != nil {
		l.checkEnd(b.Block, f.Result, t.Name.Span, "'"+t.Name.Text+"'")
	}
}

// testBody makes the body of a test.
func (c *checker) testBody(f *ir.Func, t *syntax.TestDecl, m *module) {
	if t.Body == nil {
		t.Body = &syntax.Block{At: syntax.At{Span: t.Span}}
	}
	b := &ir.Body{Kind: ir.Function, Fn: f, Result: types.VoidT, Perms: f.List,
		Head: headOf(t.Span, t.Body)}
	b.List = taskList(t.Perms, b.Head)
	f.Body = b
	l := &lowerer{checker: c, m: m, env: &env{module: m}, fn: f, ended: map[string]source.Span{}}
	l.result = types.VoidT
	l.enter(b)
	l.fill(t.Body)
}

// initExpr lowers the initial value of a global, a constant, a field or a parameter. It sees only
// the names of its module.
func (c *checker) initExpr(m *module, e *env, x syntax.Expr, want *types.Type) ir.Expr {
	l := &lowerer{checker: c, m: m, env: e, ended: map[string]source.Span{}}
	l.result = types.VoidT
	l.scope = &scope{vars: map[string]*ir.Var{}}
	l.out = &ir.Block{}
	got := l.fitted(x, want)
	l.rejectEvents()
	return got
}

// fill lowers a suite into the current body.
func (l *lowerer) fill(b *syntax.Block) {
	l.cur.Block = &ir.Block{}
	if b == nil {
		return
	}
	l.cur.Block.Span = b.Span
	l.out = l.cur.Block
	l.stmts(b.Stmts)
}

// checkEnd reports a body with a result whose end can be reached without return.
func (l *lowerer) checkEnd(b *ir.Block, result *types.Type, at source.Span, who string) {
	if result == types.VoidT || result == types.InvalidT || l.ends(b) {
		return
	}
	if nothing(result) { // reaching the end of a void! function is success
		end := pointAfter(b.Span)
		b.Stmts = append(b.Stmts, &ir.Return{Mark: ir.Mark{Span: end},
			X: &ir.Zero{Place: place(result, end)}})
		return
	}
	d := l.errorf("E0340", at, "%s can end without returning %s", who, article(result))
	d.Label = "not every path through it returns"
	if len(b.Stmts) == 0 {
		return
	}
	if do, ok := b.Stmts[len(b.Stmts)-1].(*ir.Do); ok && do.X.Type() == result {
		at := do.X.At()
		l.fixText(d, source.Span{File: at.File, Start: at.Start, End: at.Start}, "return ", "")
		d.Fix.Text = "write return " + at.Text()
	}
}

// nothing says whether t is void!, whose success has no value.
func nothing(t *types.Type) bool { return t.Kind == types.Result && t.Elem == types.VoidT }

// headOf is the line that opens a body: from the start of the declaration or statement to its
// colon.
func headOf(at source.Span, body *syntax.Block) source.Span {
	if at.File == nil {
		return at
	}
	end := at.End
	if body != nil && body.Span.File == at.File && body.Span.Start > at.Start &&
		body.Span.Start <= at.End {
		end = body.Span.Start
	}
	text := at.File.Text[at.Start:end]
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	if i := strings.LastIndexByte(text, '#'); i >= 0 {
		text = text[:i]
	}
	text = strings.TrimRight(text, " \t\r")
	return source.Span{File: at.File, Start: at.Start, End: at.Start + len(text)}
}

// functionList is the place of a function's permission list, or where it would be written.
func functionList(t *syntax.Func) source.Span {
	if t.Perms != nil {
		return t.Perms.Span
	}
	from := t.Name.Span
	if n := len(t.TypeParams); n > 0 {
		from = t.TypeParams[n-1].Span
	}
	if from.File == nil || from.End > len(from.File.Text) {
		return from
	}
	if i := strings.IndexByte(from.File.Text[from.End:], '('); i >= 0 {
		return source.Span{File: from.File, Start: from.End + i, End: from.End + i}
	}
	return source.Span{File: from.File, Start: from.End, End: from.End}
}

// pointAt is the empty span at the start of s.
func pointAt(s source.Span) source.Span {
	return source.Span{File: s.File, Start: s.Start, End: s.Start}
}

// pointAfter is the empty span at the end of s.
func pointAfter(s source.Span) source.Span {
	return source.Span{File: s.File, Start: s.End, End: s.End}
}

func (l *lowerer) errorf(code diag.Code, at source.Span, format string,
	args ...any) *diag.Diagnostic {
	return l.diags.Errorf(code, at, format, args...)
}

// bad stands for an expression with a reported error.
func bad(at source.Span) ir.Expr { return &ir.Zero{Place: ir.Place{T: types.InvalidT, Span: at}} }

// broken says whether x has a reported error, so that no more errors are reported for it.
func broken(x ir.Expr) bool { return x == nil || x.Type() == nil || x.Type() == types.InvalidT }

// place makes the ir.Place that expressions embed.
func place(t *types.Type, at source.Span) ir.Place { return ir.Place{T: t, Span: at} }

// article puts a or an before a type's name.
func article(t *types.Type) string {
	s := t.String()
	if strings.ContainsRune("aeio", rune(s[0])) {
		return "an " + s
	}
	return "a " + s
}
