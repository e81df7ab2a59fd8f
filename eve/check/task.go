package check

import (
	"strings"

	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// taskStmt lowers the start of a task: a child of the finish around it, else a root.
func (l *lowerer) taskStmt(s *syntax.TaskStmt) {
	b := l.taskBody(s.Span, s.Perms, s.Body)
	joined := l.joined
	l.inside(b, s.Perms, nil, func() {
		l.result, l.joined = types.VoidT, joined
		l.fill(s.Body)
	})
	l.emit(&ir.Spawn{Mark: mark(s), Body: b})
}

func (l *lowerer) taskBody(at source.Span, perms *syntax.Perms, body *syntax.Block) *ir.Body {
	b := &ir.Body{Kind: ir.Root, Result: types.VoidT, Head: headOf(at, body)}
	if l.joined {
		b.Kind = ir.Child
	}
	b.List = taskList(perms, b.Head)
	return b
}

// taskList is the place of the list of a task or handler, or where it would be: before the colon
// of its line.
func taskList(perms *syntax.Perms, head source.Span) source.Span {
	if perms != nil {
		return perms.Span
	}
	at := pointAfter(head)
	if text := head.Text(); len(text) > 0 && text[len(text)-1] == ':' {
		at.Start--
		at.End--
	}
	return at
}

// taskForStmt lowers `@ for`, a task for each element, which gets its handle or a loan of it.
func (l *lowerer) taskForStmt(s *syntax.TaskForStmt) {
	x := l.iterated(s.In, s.Type)
	elem := l.eachOf(x, s.In)
	b := l.taskBody(s.Span, s.Perms, s.Body)
	joined := l.joined
	l.inside(b, s.Perms, func() {
		b.Each = l.loopVar(s.Var, s.Type, elem, x)
		l.declare(b.Each)
	}, func() {
		l.result, l.joined = types.VoidT, joined
		l.fill(s.Body)
	})
	l.emit(&ir.SpawnEach{Mark: mark(s), X: x, Body: b})
}

// finishStmt lowers a finish, which waits for the tasks that start in it.
func (l *lowerer) finishStmt(s *syntax.FinishStmt) {
	before := l.frame
	l.joined, l.held, l.loops = true, "finish", 0
	b := l.block(s.Body)
	l.joined, l.held, l.loops = before.joined, before.held, before.loops
	l.emit(&ir.Finish{Mark: mark(s), Block: b})
}

// A handlerSite is a place where a handler is registered: an on statement or a named callback.
type handlerSite struct {
	at      source.Span
	emitter ir.Expr
	event   *syntax.Name
	perms   *syntax.Perms
	body    *syntax.Block  // nil with a lambda
	lambda  *syntax.Lambda // nil with a body
	head    source.Span
}

func (l *lowerer) onStmt(s *syntax.OnStmt) {
	if s.Emitter == nil || s.Event == nil {
		return
	}
	x := l.expr(s.Emitter, nil)
	site := &handlerSite{at: s.Span, emitter: x, event: s.Event, perms: s.Perms, body: s.Body,
		lambda: s.Handler}
	if s.Handler != nil {
		site.perms = s.Handler.Perms
		site.head = headOf(s.Span, s.Handler.Body)
		if s.Handler.Body == nil {
			site.head = source.Span{File: s.Span.File, Start: s.Span.Start,
				End: l.lambdaHead(s.Handler).End}
		}
	} else {
		site.head = headOf(s.Span, s.Body)
	}
	l.handler(site)
}

// handler makes a handler and registers it.
func (l *lowerer) handler(s *handlerSite) {
	t := l.emitterOf(s.emitter, s.event.Span, s.emitter.At())
	e := l.eventOf(t, s.event)
	b := &ir.Body{Kind: ir.Handler, Result: types.VoidT, Head: s.head,
		List: taskList(s.perms, s.head)}
	if s.lambda != nil {
		b.Result = l.resultOf(s.lambda)
		if s.perms == nil {
			b.List = pointAt(s.lambda.Span)
		}
	}
	l.inside(b, s.perms, func() { l.openHandler(b, s, e) }, func() {
		l.result, l.joined = b.Result, false
		if s.lambda != nil {
			l.lambdaBody(s.lambda, b)
		} else {
			l.fill(s.body)
		}
	})
	if r := b.Result; r != types.VoidT && r != types.BoolT && r != types.InvalidT {
		l.errorf("E0354", s.lambda.Result.Place(),
			"a handler returns bool, true for consumed, or nothing, and not %s", r)
	}
	if e != nil {
		l.emit(&ir.On{Mark: ir.Mark{Span: s.at}, Emitter: s.emitter, Event: e, Handler: b})
	}
}

// eventOf finds an event of an emitter; nil after an error.
func (l *lowerer) eventOf(t *types.Type, n *syntax.Name) *types.Event {
	if t == nil {
		return nil
	}
	l.noteLeft(n, left{t: t, events: true})
	var names []string
	for _, e := range t.Def.Emits {
		if e.Name == n.Text {
			l.noteEvent(n, e)
			return e
		}
		names = append(names, e.Name)
	}
	d := l.errorf("E0351", n.Span, "%s has no event '%s'", t, n.Text)
	if l.suggest(d, n, names); d.Fix == nil && len(names) > 0 {
		d.Label = "its events: " + strings.Join(names, ", ")
	}
	return nil
}

// noteEvent records that n names the event e, which has the name of its type.
func (l *lowerer) noteEvent(n *syntax.Name, e *types.Event) {
	if tn := l.decls[e.Type]; tn != nil {
		l.saw(n.Span, tn)
	} else if e.Type == types.ErrorT {
		l.saw(n.Span, l.prelude.names["error"])
	}
}

// openHandler declares the names in a handler: the emitter, under its name outside, and the event,
// under its own name and under that of the lambda's parameter.
func (l *lowerer) openHandler(b *ir.Body, s *handlerSite, e *types.Event) {
	em := &ir.Var{Type: s.emitter.Type(), Kind: ir.Emitter, Body: b, Span: s.emitter.At()}
	if r, ok := s.emitter.(*ir.Ref); ok {
		em.From = r.Var
		if r.Span.Text() == r.Var.Name { // process.signals is not a name that a list could have
			em.Name = r.Var.Name
		}
	}
	b.Emitter = em
	l.declare(em)
	ev := &ir.Var{Name: s.event.Text, Type: types.InvalidT, Kind: ir.EventVar, Body: b,
		Span: s.event.Span}
	if e != nil {
		ev.Type = l.universe.Ref(e.Type)
	}
	if s.lambda != nil && len(s.lambda.Params) > 0 {
		l.handlerParam(ev, s.lambda, e)
	}
	b.Params = []*ir.Var{ev}
	// an emitter with the name of the event: the emitter is meant
	if old := l.scope.vars[s.event.Text]; old == nil {
		l.scope.vars[s.event.Text] = ev
	}
}

// handlerParam gives the event the name and type of the lambda's parameter.
func (l *lowerer) handlerParam(ev *ir.Var, x *syntax.Lambda, e *types.Event) {
	for _, p := range x.Params[1:] {
		l.errorf("E0354", p.Span, "a handler takes the event and nothing else")
	}
	p := x.Params[0]
	v := l.paramVar(p)
	if v.Type != types.InvalidT && e != nil {
		if v.Type.Kind == types.Shared || v.Type.Deref() != e.Type {
			d := l.errorf("E0354", p.Type.Place(), "the event is %s, not %s", article(e.Type),
				article(v.Type))
			l.fixText(d, p.Type.Place(), e.Type.String()+"&", "")
			return
		}
		ev.Type = v.Type
	}
	if p.Name != nil {
		ev.Name, ev.Span = v.Name, v.Span
		l.declare(ev)
	}
}

// awaitStmt lowers `x <- f()`. The rest of the block runs when the call is done.
func (l *lowerer) awaitStmt(s *syntax.AwaitStmt) {
	n := &ir.Await{Mark: mark(s)}
	if s.Call == nil {
		return
	}
	call, t := l.awaited(s.Call)
	n.Call = call
	if s.Within != nil {
		n.Within = l.fitted(s.Within, types.DurationT)
		if t.Kind != types.Result && t != types.InvalidT {
			t = l.universe.Result(t)
		}
	}
	if l.held != "" {
		l.errorf("E0343", awaitHead(s), "<- would leave a %s", l.held)
	}
	rest := types.VoidT
	if l.result != types.VoidT && l.result != types.InvalidT {
		rest = types.InvalidT
		d := l.errorf("E0352", awaitHead(s),
			"the code behind <- runs later, but here %s must be returned", article(l.result))
		d.Label = "only a body without a result can wait"
	}
	b := &ir.Body{Kind: ir.Continuation, Result: types.VoidT, Head: awaitHead(s)}
	b.List = listOf(s.Perms, pointAfter(b.Head))
	l.inside(b, s.Perms, func() {
		if s.Var == nil || s.Var.Text == "_" {
			return
		}
		if t == types.VoidT {
			l.errorf("E0352", s.Var.Span, "'%s' has no value: write _ <-", s.Call.Place().Text())
			t = types.InvalidT
		}
		n.Var = l.local(s.Var, t, ir.Bound)
		l.declare(n.Var)
	}, func() {
		l.result, l.joined = rest, false
		l.fill(s.Rest)
	})
	n.Rest = b
	if n.Call != nil {
		l.emit(n)
	}
}

// awaitHead is the line of the statement itself.
func awaitHead(s *syntax.AwaitStmt) source.Span {
	end := s.Call.Place()
	if s.Within != nil {
		end = s.Within.Place()
	}
	if s.Perms != nil {
		end = s.Perms.Span
	}
	return pointAt(s.Span).To(end)
}

// awaited lowers the call behind <-.
func (l *lowerer) awaited(x syntax.Expr) (*ir.Call, *types.Type) {
	c, ok := bare(x).(*syntax.Call)
	if !ok {
		if got := l.expr(x, nil); !broken(got) {
			l.errorf("E0352", x.Place(), "only a call can be awaited")
		}
		return nil, types.InvalidT
	}
	l.awaiting = c
	got := l.expr(c, nil)
	l.awaiting = nil
	call, ok := got.(*ir.Call)
	switch {
	case broken(got):
		return nil, types.InvalidT
	case !ok || call.Fn == nil || !call.Fn.Async && (call.Fn.Extern == nil || !call.Fn.Extern.Slow):
		d := l.errorf("E0352", x.Place(), "this call takes no time: there is nothing to wait for")
		d.Label = "write = or a declaration"
		return nil, types.InvalidT
	}
	return call, call.T
}

// emitStmt emits an event of self.
func (l *lowerer) emitStmt(s *syntax.EmitStmt) {
	if s.Event == nil {
		return
	}
	self := l.scope.find("self")
	x := &callExpr{Call: &syntax.Call{At: s.At, Fun: &syntax.Ident{At: s.Event.At,
		Name: s.Event.Text}, Args: s.Args}}
	if self == nil || self.Type.Kind != types.Ref || self.Type.Elem.Def == nil ||
		!self.Type.Elem.Def.Emitter {
		l.errorf("E0353", s.Span, "only a method of an emitter can emit")
		l.giveUp(x)
		return
	}
	e := l.eventOf(self.Type.Deref(), s.Event)
	if e == nil {
		l.giveUp(x)
		return
	}
	ref := &ir.Ref{Place: place(self.Type, s.Event.Span), Var: self}
	n := &ir.Emit{Mark: mark(s), Event: e,
		Self: &ir.Deref{Place: place(self.Type.Elem, s.Event.Span), X: ref}}
	n.Value = l.eventValue(e.Type, x)
	l.emit(n)
}

// eventValue makes the event from its fields, or from an argument that is an event already.
func (l *lowerer) eventValue(t *types.Type, x *callExpr) ir.Expr {
	if len(x.Args) == 1 && x.Args[0] != nil && x.Args[0].Name == nil && x.Args[0].X != nil {
		if v := l.typeAhead(x.Args[0].X); v != nil && v == t {
			return l.fitted(x.Args[0].X, t)
		}
	}
	if t == types.ErrorT {
		return l.makeError(x, x.Fun.Place())
	}
	return l.construct(t, x, x.Fun.Place())
}

// typeAhead returns the type of an argument that is a variable or constructs a type, without
// lowering it.
func (l *lowerer) typeAhead(x syntax.Expr) *types.Type {
	switch x := bare(x).(type) {
	case *syntax.Ident:
		if v := l.scope.find(x.Name); v != nil && v.Type != nil {
			return v.Type.Deref()
		}
	case *syntax.Call:
		if id, ok := x.Fun.(*syntax.Ident); ok && id.Name == "error" {
			return types.ErrorT
		}
		if tn, ok := l.static(x.Fun).(*typeName); ok && tn != nil {
			return l.bareType(tn, x.Span, nil)
		}
	}
	return nil
}
