package emit

import (
	"slices"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// pushChild writes the arguments of a child into the next free frame and pushes it.
func (f *function) pushChild(fin *finish, s *ir.Spawn) {
	c := &child{body: s.Body, parts: f.parts(s.Body, false), at: f.at}
	args, thunk := f.thunk(s.Body, c.parts, wide(c.parts))
	c.args = args
	f.fillFrame(args, c.parts)
	f.put("eve::push(" + f.ctx.worker + ", " + f.frame() + ", " + thunk + ");")
	f.ctx.above++
	if fin.joiner != "" {
		f.put(fin.joiner + ".top = " + f.frame() + ";")
	}
	f.outlive(fin, c.parts)
	fin.children = append(fin.children, c)
}

// outlive keeps the data that a child's frame points to until the child is done, also when the
// finish fails: locals are destroyed in reverse order of declaration, and the joiner was declared
// first.
func (f *function) outlive(fin *finish, parts []part) {
	points := func(p part) bool { return p.how == pointed || p.how == lodged }
	if fin.joiner == "" || !wide(parts) && !slices.ContainsFunc(parts, points) {
		return
	}
	f.put("eve::outlived " + f.temp() + "(" + fin.joiner + ");")
}

// fillFrame puts the arguments of a child into the first free frame, or into a local that the
// frame points to. It leaves out values that only come back.
func (f *function) fillFrame(args string, parts []part) {
	local := f.temp()
	if wide(parts) {
		f.put(args + " " + local + ";")
		f.put(paren(f.frame()) + "->emplace<" + args + "*>(&" + local + ");")
	} else if len(parts) > 0 {
		f.put(args + "& " + local + " = " + paren(f.frame()) + "->as<" + args + ">();")
	}
	for _, p := range parts {
		if p.how != carriedOut {
			f.put(local + "." + p.field + " = " + p.sent + ";")
		}
	}
}

// keepArguments stores the arguments of a child of a loop in the finish, and makes the first free
// frame point to them.
func (f *function) keepArguments(fin *finish, args string, parts []part) {
	if fin.arguments == "" {
		fin.arguments = f.locals.name("kept_")
	}
	var list []string
	for _, p := range parts {
		list = append(list, p.sent)
	}
	f.put(paren(f.frame()) + "->emplace<" + args + "*>(" + fin.arguments + ".keep(" + args + "{" +
		joinStrings(list) + "}));")
}

// popChild joins the newest child: it runs the child inline, or loads the results of a thief.
func (f *function) popChild(fin *finish, c *child) {
	f.ctx.above--
	k := f.frame()
	f.at = c.at
	if fin.joiner != "" {
		f.put(fin.joiner + ".top = " + k + ";")
	}
	f.put("if (eve::pop(" + f.ctx.worker + ", " + k + ")) {")
	f.indent++
	f.inlineChild(c.body, c.parts)
	f.indent--
	f.at = c.at
	f.put("} else {")
	f.indent++
	if fin.joiner != "" {
		f.put("if (" + paren(k) + "->failed()) eve::rethrow(" + k + ");")
	}
	for _, p := range c.parts {
		if p.how == carriedOut || p.how == carried {
			f.put(p.target + " = " + f.argsOf(c, k) + "." + p.field + ";")
		}
	}
	f.indent--
	f.put("}")
}

// argsOf is the argument struct of the child in frame k.
func (f *function) argsOf(c *child, k string) string {
	if wide(c.parts) {
		return "(*" + paren(k) + "->as<" + c.args + "*>())"
	}
	return paren(k) + "->as<" + c.args + ">()"
}

// inlineChild writes the body of a child, for the parent to run it itself.
func (f *function) inlineChild(b *ir.Body, parts []part) {
	f.nested(func() {
		for _, p := range parts {
			f.vars[p.inner] = p.here
		}
		f.ctx.label = f.locals.name("done_")
		f.ctx.labels = false
		f.ctx.result = types.VoidT
		f.put("{")
		f.indent++
		f.traced(b, func() { f.childBody(b) })
		f.indent--
		f.put("}")
		if f.ctx.labels {
			f.put(f.ctx.label + ":;")
		}
	})
}

// traced writes the code of a task. A failure that leaves it records that it came through this
// task, which costs nothing until then.
func (f *function) traced(b *ir.Body, code func()) {
	if !f.facts.fails(b.Block, f.o.Checked) {
		code()
		return
	}
	line := b.Head.Line()
	if line == 0 {
		line = f.at
	}
	f.put("try {")
	f.indent++
	code()
	f.indent--
	f.put("} catch (...) { eve::pass_on(" + f.site(line) + "); }")
}

// childBody writes the statements of a child. Children of its own without a finish inside it
// belong to the finish around it. That finish waits for them, since it waits for this child.
func (f *function) childBody(b *ir.Body) {
	if f.ctx.finish == nil || f.ctx.finish.kind != atOnce {
		f.ctx.finish = nil
	}
	if spawnsOutsideFinish(b.Block) {
		f.finishBlock(b.Block, false)
		return
	}
	f.stmts(b.Block)
}

// outlives says whether all data that the frame of a child in a loop would point to stays until
// the finish ends. Data of one turn does not, and the child is then run at once.
func (fin *finish) outlives(b *ir.Body, parts []part) bool {
	points := map[*ir.Var]bool{}
	for _, p := range parts {
		points[p.inner] = p.how == pointed
	}
	for _, e := range b.Perms {
		if e.Var != nil && e.From != nil && points[e.Var] && fin.inside[e.From] &&
			e.From.Type.Kind != types.Ref {
			return false
		}
	}
	return true
}

// pushCounted writes a child in a loop. If the frames are used up it runs at once.
func (f *function) pushCounted(fin *finish, b *ir.Body) {
	parts := f.parts(b, true)
	loops := f.indent > fin.indent
	if loops && !fin.outlives(b, parts) {
		f.inlineChild(b, parts)
		return
	}
	own := parts
	keeps := wide(parts) || loops &&
		slices.ContainsFunc(parts, func(p part) bool { return p.how == lodged })
	if keeps {
		own = owned(parts)
	}
	args, thunk := f.thunk(b, own, keeps)
	f.put("if (eve::room(" + f.ctx.worker + ", " + f.frame() + ")) {")
	f.indent++
	if keeps {
		f.keepArguments(fin, args, own)
	} else {
		f.fillFrame(args, parts)
	}
	f.put("eve::push(" + f.ctx.worker + ", " + fin.joiner + ".top++, " + thunk + ");")
	f.indent--
	f.put("} else {")
	f.indent++
	f.inlineChild(b, parts)
	f.indent--
	f.put("}")
	if f.indent == fin.indent {
		f.outlive(fin, parts)
	}
}
