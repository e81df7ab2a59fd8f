package emit

import (
	"strings"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// A task is the struct of a body that runs later: its captures, and how they are filled.
type task struct {
	name   string
	init   []string // values of the fields
	grants []string
}

func (t task) make() string { return t.name + "{" + joinStrings(t.init) + "}" }

func (t task) with(args ...string) string { return joinStrings(append(args, t.grants...)) }

// A field of a task.
type field struct {
	v     *ir.Var
	ctype string
	name  string
	init  string
}

// fields finds the captures of body b: handles, copies, and the element of `@ for`.
func (f *function) fields(b *ir.Body, names *locals) []field {
	var all []field
	for _, e := range b.Perms {
		if e.Var == nil || e.From == nil || e.Var == b.Emitter || e.Var == b.Each {
			continue
		}
		all = append(all, field{e.Var, f.ctype(e.Var.Type), names.name(e.Var.Name), f.taken(e)})
	}
	if b.Each != nil {
		c := f.ctype(b.Each.Type)
		init := f.variable(b.Each).name
		if b.Each.Type.Kind == types.Ref {
			c, init = strings.TrimSuffix(c, "&")+"*", "&"+paren(init)
		}
		all = append(all, field{b.Each, c, names.name(b.Each.Name), init})
	}
	return all
}

// taken is the value that entry e puts into a task.
func (f *function) taken(e *ir.Entry) string {
	from := f.variable(e.From)
	t := e.Var.Type
	if e.From.Type.Kind == types.Shared && t.Kind != types.Shared {
		return "eve::copy_of(" + from.value + ")"
	}
	if t.Kind == types.Shared && from.name == "" {
		panic(bug("handle of " + e.Name + " is out of reach"))
	}
	if !t.Copyable() && !byValue(t) && !from.keep {
		return "eve::move(" + from.name + ")"
	}
	if !t.Copyable() && !byValue(t) {
		return "eve::copy_of(" + from.name + ")"
	}
	return from.name
}

// grants are the permissions in the list of body b, in the creator's names. The emitter of a
// handler is not among them.
func (f *function) grants(b *ir.Body) []string {
	var all []string
	for _, e := range b.Perms {
		if e.Sign != '+' && e.Sign != 0 || e.Var == nil || e.Var == b.Emitter ||
			e.Var.Type.Kind != types.Shared {
			continue
		}
		from := e.Var
		if e.From != nil {
			from = e.From
		}
		x := f.variable(from).name
		if e.Sign == '+' {
			all = append(all, "eve::write("+x+")")
		} else {
			all = append(all, "eve::read("+x+")")
		}
	}
	return all
}

// A shape is the struct of a body without its captures: the parameters of its call operator behind
// worker and frame, and further fields.
type shape struct {
	params []string
	fields []dataMember
}

// task writes the struct of body b. prepare binds the body's parameters.
func (f *function) task(b *ir.Body, what string, prepare func(g *function) shape) task {
	t := task{name: f.helper(f.owner, what), grants: f.grants(b)}
	g := f.unit.newFunction(f.owner)
	g.shared = f.shared
	fields := f.fields(b, g.locals)
	g.at, g.indent = b.Head.Line(), 0
	if g.at == 0 {
		g.at = f.at
	}
	g.openTask(t.name)
	var members []dataMember
	for _, x := range fields {
		g.put(x.ctype + " " + x.name + ";")
		members = append(members, dataMember{x.ctype, x.name})
		t.init = append(t.init, x.init)
		bound := bind(x.v.Type, x.name)
		if x.v.Type.Kind == types.Ref {
			bound = plainly("*" + x.name)
		}
		bound.keep = b.Kind == ir.Handler
		g.vars[x.v] = bound
	}
	result := "void"
	if b.Kind == ir.Handler && b.Result != nil {
		result = f.ctype(b.Result)
	}
	more := prepare(g)
	for _, x := range more.fields {
		g.put(x.ctype + " " + x.name + ";")
	}
	if members = append(members, more.fields...); len(members) > 0 {
		g.put(constructor(t.name, members))
	}
	g.put(result + " operator()(" +
		joinStrings(append([]string{"eve::worker* w_", "eve::frame* top_"}, more.params...)) +
		") {")
	g.indent = 2
	g.traced(b, func() { g.body(b) })
	g.indent = 1
	g.put("}")
	g.indent = 0
	g.put("};")
	f.unit.code = append(f.unit.code, g.lines...)
	return t
}

// openTask begins the struct of a body. Recordings name its place.
func (f *function) openTask(name string) {
	f.put("struct " + name + " {")
	f.indent = 1
	f.put("static constexpr const eve::site* place_ = " + f.site(f.at) + ";")
}

func contained(b *ir.Body) string {
	if b.Contained {
		return "true"
	}
	return "false"
}

// root writes a detached `@`.
func (f *function) root(b *ir.Body) {
	t := f.task(b, "task", func(*function) shape { return shape{} })
	spawn := "eve::spawn("
	if b.Contained {
		spawn = "eve::spawn_contained("
	}
	f.put(spawn + t.with(t.make()) + ");")
}

// spawnQueued writes a child of a scope. Its struct has handles of its own, since those of a loop
// end before it.
func (f *function) spawnQueued(fin *finish, b *ir.Body) {
	t := f.queuedTask(b)
	f.put(fin.scope + ".spawn(" + t.with(t.make()) + ");")
}

// queuedTask is task for the child of a scope. The child can also use locals of its parent:
// objects that are plain locals, and loans.
func (f *function) queuedTask(b *ir.Body) task {
	t := task{name: f.helper(f.owner, "child"), grants: f.scopeGrants(b)}
	g := f.unit.newFunction(f.owner)
	g.shared = f.shared
	g.at, g.indent = b.Head.Line(), 0
	if g.at == 0 {
		g.at = f.at
	}
	g.openTask(t.name)
	var members []dataMember
	for _, e := range b.Perms {
		if e.Var == nil || e.From == nil || e.Var == b.Each {
			continue
		}
		members = append(members, f.queuedField(g, &t, e.Var, f.variable(e.From), e.Sign == '&',
			func() string { return f.taken(e) }))
	}
	if b.Each != nil {
		from := f.variable(b.Each)
		members = append(members, f.queuedField(g, &t, b.Each, from, false,
			func() string { return from.name }))
	}
	if len(members) > 0 {
		g.put(constructor(t.name, members))
	}
	g.put("void operator()(eve::worker* w_, eve::frame* top_) {")
	g.indent = 2
	g.ctx.result = types.VoidT
	g.traced(b, func() { g.childBody(b) })
	g.indent = 1
	g.put("}")
	g.indent = 0
	g.put("};")
	f.unit.code = append(f.unit.code, g.lines...)
	return t
}

func (f *function) queuedField(g *function, t *task, v *ir.Var, from binding, loan bool,
	taken func() string) dataMember {
	m := dataMember{name: g.locals.name(v.Name)}
	switch {
	case v.Type.Kind == types.Shared && from.name == "":
		m.ctype = f.ctype(v.Type.Elem) + "*"
		t.init = append(t.init, address(from.value))
		g.vars[v] = binding{value: "*" + m.name}
	case v.Type.Kind == types.Ref || loan && v.Type.Kind != types.Slice &&
		v.Type.Kind != types.Func:
		m.ctype = strings.TrimSuffix(f.ctype(v.Type), "&") + "*"
		if from.fixed {
			m.ctype = "const " + m.ctype
		}
		t.init = append(t.init, address(from.name))
		g.vars[v] = plainly("*" + m.name)
	default:
		m.ctype = f.ctype(v.Type)
		t.init = append(t.init, taken())
		g.vars[v] = bind(v.Type, m.name)
	}
	g.put(m.ctype + " " + m.name + ";")
	return m
}

// scopeGrants are grants on objects that may have no header: their address identifies them.
func (f *function) scopeGrants(b *ir.Body) []string {
	var all []string
	for _, e := range b.Perms {
		if e.Sign != '+' && e.Sign != 0 || e.Var == nil || e.Var.Type.Kind != types.Shared {
			continue
		}
		from := e.Var
		if e.From != nil {
			from = e.From
		}
		x := f.variable(from)
		name := x.name
		if name == "" {
			name = x.value
		}
		if e.Sign == '+' {
			all = append(all, "eve::write("+name+")")
		} else {
			all = append(all, "eve::read("+name+")")
		}
	}
	return all
}
