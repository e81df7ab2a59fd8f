package emit

import (
	"fmt"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/types"
)

func (f *function) ifElse(s *ir.If) {
	cond := f.value(s.Cond)
	f.put("if (" + cond + ") {")
	f.indent++
	f.stmts(s.Then)
	f.indent--
	if s.Else == nil {
		f.put("}")
		return
	}
	f.put("} else {")
	f.indent++
	f.stmts(s.Else)
	f.indent--
	f.put("}")
}

// repeat writes while and C's for. `continue` must reach the step. So a step that is not a plain
// C++ expression is written at the start of every turn but the first.
func (f *function) repeat(s *ir.Repeat) {
	mark := f.locals.open()
	defer f.locals.close(mark)
	if s.Init != nil {
		f.put("{")
		f.indent++
		defer func() {
			f.indent--
			f.put("}")
		}()
		for _, x := range s.Init.Stmts {
			f.stmt(x)
		}
	}
	at := f.at
	step, late := f.stepText(s.Step)
	first := ""
	if len(late) > 0 {
		first = f.temp()
		f.put("bool " + first + " = true;")
	}
	f.at = at
	cond := "true"
	f.indent++
	before := f.capture(func() {
		if s.Cond != nil {
			cond = f.value(s.Cond)
		}
	})
	f.indent--
	f.loopHead(cond, step, len(before) > 0)
	f.indent++
	if first != "" {
		f.put("if (!" + first + ") {")
		f.lines = append(f.lines, late...)
		f.put("}")
		f.put(first + " = false;")
	}
	f.backEdge(s.Body, !s.Counted, s.Span.Line())
	if len(before) > 0 {
		f.lines = append(f.lines, before...)
		f.put("if (!" + paren(cond) + ") break;")
	}
	f.loopBody(s.Body)
	f.indent--
	f.put("}")
}

func (f *function) loopHead(cond, step string, inside bool) {
	if inside {
		cond = "true"
	}
	if step == "" {
		f.put("while (" + cond + ") {")
		return
	}
	f.put("for (; " + cond + "; " + step + ") {")
}

// stepText writes a step as an expression, or as statements if it needs more.
func (f *function) stepText(s ir.Stmt) (string, []line) {
	if s == nil {
		return "", nil
	}
	f.indent++
	got := f.capture(func() { f.stmt(s) })
	f.indent--
	if len(got) == 1 {
		text := trimIndent(got[0].text)
		return text[:len(text)-1], nil
	}
	for i := range got {
		got[i].text = "    " + got[i].text
	}
	return "", got
}

func trimIndent(s string) string {
	for len(s) > 0 && s[0] == ' ' {
		s = s[1:]
	}
	return s
}

// backEdge writes the extra work of each turn of a loop: it publishes frames to thieves if turns
// are long, and checks the time budget if the loop has no bound.
func (f *function) backEdge(body *ir.Block, unbounded bool, line int) {
	forks := f.owner != nil && f.facts.forks[f.owner] && f.ctx.worker == "w_"
	long := forks && f.facts.longTurn(body)
	switch {
	case unbounded && long:
		f.put("eve::poll_and_check(" + f.ctx.worker + ", " + f.frame() + ", " + f.site(line) + ");")
	case unbounded && forks:
		f.put("eve::check_budget(" + f.ctx.worker + ", " + f.site(line) + ");")
	case unbounded:
		f.put("eve::check_budget(" + f.site(line) + ");")
	case long:
		f.put("eve::poll_steals(" + f.ctx.worker + ", " + f.frame() + ");")
	}
}

// loopBody writes the turns. A finish around the loop counts its children as they come.
func (f *function) loopBody(b *ir.Block) { f.stmts(b) }

// forIn writes for (x in e).
func (f *function) forIn(s *ir.ForIn) {
	at := f.at
	f.put("{")
	f.indent++
	f.nested(func() {
		if r, ok := s.X.(*ir.Range); ok {
			f.forRange(s, r)
		} else {
			f.forElements(s)
		}
	})
	f.indent--
	f.at = at
	f.put("}")
}

func (f *function) forRange(s *ir.ForIn, r *ir.Range) {
	list := f.exprs(read(r.Lo), read(r.Hi))
	t := f.ctype(s.Var.Type)
	low, end := list[0], f.temp()
	if _, constant := r.Lo.(*ir.Const); !constant {
		low = f.temp()
		f.put("const " + t + " " + low + " = " + list[0] + ";")
	}
	f.put("const " + t + " " + end + " = " + list[1] + ";")
	if h := f.hoist(s, low, end); h != nil {
		f.hoisted(s, h, low, end)
		return
	}
	f.rangeLoop(s, low, end)
}

// rangeLoop writes the loop of s from low to below end.
func (f *function) rangeLoop(s *ir.ForIn, low, end string) {
	t := f.ctype(s.Var.Type)
	safe := provenLoop(s)
	if f.started[s] {
		i := f.vars[s.Var].value
		f.put(fmt.Sprintf("for (; %s < %s; %s++) {", i, end, i))
		f.turn(s)
		return
	}
	i := f.local(s.Var)
	if changes(s.Body, s.Var) {
		counter := f.temp()
		f.put(fmt.Sprintf("for (%s %s = %s; %s < %s; %s++) {", t, counter, low, counter, end,
			counter))
		f.indent++
		f.put(t + " " + i + " = " + counter + ";")
		f.indent--
	} else {
		f.put(fmt.Sprintf("for (%s %s = %s; %s < %s; %s++) {", t, i, low, i, end, i))
	}
	f.ctx.safe = append(f.ctx.safe[:len(f.ctx.safe):len(f.ctx.safe)], safe...)
	f.turn(s)
}

// turn writes the body of a loop whose head is written already.
func (f *function) turn(s *ir.ForIn) {
	f.indent++
	f.backEdge(s.Body, false, s.Span.Line())
	f.loopBody(s.Body)
	f.indent--
	f.put("}")
}

// needsGuard says whether the container could be changed through another name while it is
// iterated.
func needsGuard(s *ir.ForIn) bool {
	switch s.X.Type().Deref().Kind {
	case types.Vector, types.Map, types.Set:
	default:
		return false
	}
	v := root(s.X)
	return v == nil || v.Type.Kind == types.Ref || v.Kind == ir.Self || v.Kind == ir.Param
}

// isSharedText says whether a string could be replaced through another name while it is iterated.
// It has no guard; instead a copy is iterated, which only counts.
func isSharedText(e ir.Expr) bool {
	if e.Type().Deref().Kind != types.String {
		return false
	}
	v := root(e)
	return v == nil || v.Kind != ir.Local || v.Type.Kind == types.Ref
}

// forElements iterates a container.
func (f *function) forElements(s *ir.ForIn) {
	x := f.value(s.X)
	if !isPlace(s.X) || isSharedText(s.X) {
		t := f.temp()
		f.put("auto " + t + " = " + x + ";")
		x = t
	} else if !atom(x) || needsGuard(s) {
		t := f.temp()
		f.put("auto& " + t + " = " + x + ";")
		x = t
	}
	if isPlace(s.X) && needsGuard(s) {
		f.put("eve::iteration " + f.temp() + "(" + x + ");")
	}
	elem := f.elementType(s)
	f.put("for (" + elem + " " + f.local(s.Var) + " : " + x + ") {")
	if strings.HasPrefix(elem, "const ") {
		b := f.vars[s.Var]
		b.fixed = true
		f.vars[s.Var] = b
	}
	f.turn(s)
}

// elementType is the declaration of the loop variable: the element in place, lent, or copied if
// that is as cheap or the body could change it.
func (f *function) elementType(s *ir.ForIn) string {
	t := s.Var.Type
	switch {
	case t.Kind == types.Ref:
		return f.ctype(t)
	case byValue(t) || t.Copyable() && (needsGuard(s) || changes(s.Body, s.Var)):
		return f.ctype(t)
	}
	return "const " + f.ctype(t) + "&"
}
