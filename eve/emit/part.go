package emit

import (
	"slices"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// A passing says how a captured variable enters a child's frame and comes back.
type passing uint8

const (
	copied passing = iota // its value
	// its value in, and its new value out: an object that is a plain local
	carried
	carriedOut // only out: the child stores to it first
	pointed    // the address of the parent's variable
	lodged     // the address of a copy that the parent made
)

// A part is a captured variable of a child.
type part struct {
	inner  *ir.Var
	how    passing
	field  string  // in the frame
	ctype  string  // of the field
	sent   string  // the value stored there
	target string  // the place for a value that comes back
	here   binding // if the child runs inline in its parent
	there  binding // in the thunk, once the field is loaded
	load   string  // the declaration that loads it in the thunk
	words  int
}

// parts finds the variables that a child needs of its parent. shared says that several children of
// one spawn run at once, so that no value comes back through frames.
func (f *function) parts(b *ir.Body, shared bool) []part {
	var all []part
	names := newLocals(ownNames...)
	for _, e := range b.Perms {
		if e.Var == nil || e.From == nil || e.Var.Kind == ir.Global ||
			e.Var == b.Each && b.Kind == ir.Child && shared {
			continue
		}
		p := part{inner: e.Var, field: names.name(e.Var.Name), words: 1}
		f.pass(&p, e, b, shared)
		all = append(all, p)
	}
	if b.Each != nil && !shared {
		all = append(all, f.eachPart(b, names))
	}
	return all
}

// pass decides how entry e enters the child.
func (f *function) pass(p *part, e *ir.Entry, b *ir.Body, shared bool) {
	from := f.variable(e.From)
	t := e.Var.Type
	switch {
	case e.Sign == '=' && t.Kind != types.Shared:
		f.passCopy(p, e, from)
	case t.Kind == types.Shared && from.name == "" && byValue(t.Elem) && !shared:
		f.passCarried(p, e, b, from)
	case t.Kind == types.Shared && from.name == "":
		c := f.ctype(t.Elem)
		p.how, p.ctype, p.sent = pointed, c+"*", address(from.value)
		p.here = from
		p.load = c + "& " + p.field + " = *args_." + p.field + ";"
		p.there = binding{value: p.field}
	case byValue(t) && (e.Sign != '&' || t.Kind == types.Slice || t.Kind == types.Func):
		p.how, p.ctype, p.words = copied, f.ctype(t), words(t)
		p.sent, p.here = from.name, from
		p.load = p.ctype + " " + p.field + " = args_." + p.field + ";"
		p.there = plainly(p.field)
	default:
		c := strings.TrimSuffix(f.ctype(t), "&")
		if t.Kind == types.Shared || from.fixed {
			c = "const " + c
		}
		p.how, p.ctype, p.sent, p.here = pointed, c+"*", address(from.name), from
		p.load = c + "& " + p.field + " = *args_." + p.field + ";"
		p.there = bind(t, p.field)
		p.there.fixed = from.fixed
	}
}

// passCopy copies a plain local, or the value of an object, at the spawn. If the copy needs a
// constructor it stays with the parent, and the frame has its address.
func (f *function) passCopy(p *part, e *ir.Entry, from binding) {
	t := e.Var.Type
	x := from.name
	if e.From.Type.Kind == types.Shared {
		x = from.value
	}
	switch {
	case byValue(t):
	case !t.Copyable() && e.From.Type.Kind != types.Shared:
		x = "eve::move(" + x + ")"
	case !t.Copyable():
		x = "eve::copy_of(" + x + ")"
	}
	own := f.locals.name(e.Var.Name)
	c := f.ctype(t)
	f.put(c + " " + own + " = " + x + ";")
	p.here = plainly(own)
	p.there = plainly(p.field)
	if byValue(t) {
		p.how, p.ctype, p.sent, p.words = copied, c, own, words(t)
		p.load = c + " " + p.field + " = args_." + p.field + ";"
		return
	}
	p.how, p.ctype, p.sent = lodged, c+"*", "&"+own
	p.load = c + "& " + p.field + " = *args_." + p.field + ";"
}

// owned makes the arguments of a child own the copies that were made for it, which otherwise
// belong to one turn of a loop. The finish then stores the arguments, and the child moves its
// values out.
func owned(parts []part) []part {
	own := slices.Clone(parts)
	for i := range own {
		if p := &own[i]; p.how == lodged {
			p.ctype = strings.TrimSuffix(p.ctype, "*")
			p.sent = "eve::move(" + p.here.name + ")"
			p.load = p.ctype + " " + p.field + " = eve::move(args_." + p.field + ");"
		}
	}
	return own
}

// passCarried passes the value of a scalar object that is a plain local through the frame. Its
// address is then never taken, and it can be in a register.
func (f *function) passCarried(p *part, e *ir.Entry, b *ir.Body, from binding) {
	c := f.ctype(e.Var.Type.Elem)
	p.ctype, p.sent, p.target, p.here = c, from.value, from.value, from
	p.there = binding{value: p.field}
	p.load = c + " " + p.field + " = args_." + p.field + ";"
	switch {
	case e.Sign != '+':
		p.how = copied
	case storesFirst(b.Block, e.Var):
		p.how = carriedOut
		p.load = c + " " + p.field + ";"
	default:
		p.how = carried
	}
}

// storesFirst says whether b always stores to the object of v before it reads it.
func storesFirst(b *ir.Block, v *ir.Var) bool {
	for _, s := range b.Stmts {
		a, ok := s.(*ir.Assign)
		if ok && a.Op == "" && !mentions(a.Value, v) {
			if d, ok := a.Target.(*ir.Deref); ok {
				if r, ok := d.X.(*ir.Ref); ok && r.Var == v {
					return true
				}
			}
		}
		leaves := contains(s, func(n ir.Node) bool { _, ok := n.(*ir.Return); return ok })
		if leaves || mentions(s, v) {
			return false
		}
	}
	return false
}

// eachPart passes the element of `@ for`: a handle, a plain value, or the place of a loan.
func (f *function) eachPart(b *ir.Body, names *locals) part {
	v := b.Each
	from := f.variable(v)
	p := part{inner: v, field: names.name(v.Name), words: 1, here: from}
	if v.Type.Kind != types.Ref && byValue(v.Type) {
		p.how, p.ctype, p.sent, p.words = copied, f.ctype(v.Type), from.name, words(v.Type)
		p.load = p.ctype + " " + p.field + " = args_." + p.field + ";"
		p.there = plainly(p.field)
		return p
	}
	c := f.ctype(v.Type.Deref())
	if v.Type.Kind == types.Shared {
		c = "const " + f.ctype(v.Type)
	}
	p.how, p.ctype, p.sent = pointed, c+"*", address(from.name)
	p.load = c + "& " + p.field + " = *args_." + p.field + ";"
	p.there = bind(v.Type, p.field)
	return p
}

func address(s string) string {
	if strings.HasPrefix(s, "*") && atom(s[1:]) {
		return s[1:]
	}
	return "&" + paren(s)
}

// wide says whether the parts exceed the 56 bytes of a frame.
func wide(parts []part) bool {
	n := 0
	for _, p := range parts {
		n += p.words
	}
	return n > 7
}

// thunk writes the struct of a child's arguments, and the function that runs the child from it.
// The struct is in the frame, or with apart elsewhere, and the frame has its address.
func (f *function) thunk(b *ir.Body, parts []part, apart bool) (args, name string) {
	name = f.helper(f.owner, "child")
	args = name + "_args"
	g := f.unit.newFunction(f.owner)
	g.shared = f.shared
	g.at, g.indent = b.Head.Line(), 0
	if g.at == 0 {
		g.at = f.at
	}
	g.put("struct " + args + " {")
	for _, p := range parts {
		g.put("    " + p.ctype + " " + p.field + ";")
	}
	g.put("};")
	g.put("static void " + name + "(eve::worker* w_, eve::frame* top_, eve::frame* frame_) {")
	g.indent = 1
	if apart {
		g.put(args + "& args_ = *frame_->as<" + args + "*>();")
	} else if len(parts) > 0 {
		g.put(args + "& args_ = frame_->as<" + args + ">();")
	}
	for _, p := range parts {
		g.locals.taken[p.field] = true
		g.put(p.load)
		g.vars[p.inner] = p.there
	}
	g.ctx.label = "done_"
	g.ctx.result = types.VoidT
	g.put("{")
	g.indent++
	g.traced(b, func() { g.childBody(b) })
	g.indent--
	g.put("}")
	if g.ctx.labels {
		g.put("done_:;")
	}
	for _, p := range parts {
		if p.how == carried || p.how == carriedOut {
			g.put("args_." + p.field + " = " + p.there.value + ";")
		}
	}
	g.indent = 0
	g.put("}")
	f.unit.code = append(f.unit.code, g.lines...)
	return args, name
}
