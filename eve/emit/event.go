package emit

import (
	"interleave/eve/ir"
	"interleave/eve/types"
)

// on writes the registration of a handler.
func (f *function) on(s *ir.On) {
	emitter := f.value(s.Emitter)
	if !isPlace(s.Emitter) {
		t := f.temp()
		f.put("auto " + t + " = " + emitter + ";")
		emitter = t
	}
	b := s.Handler
	event := f.ctype(s.Event.Type)
	t := f.task(b, "on_"+word(s.Event.Name), func(g *function) shape {
		name := "emitter_"
		if b.Emitter != nil {
			if b.Emitter.Name != "" {
				name = g.locals.name(b.Emitter.Name)
			}
			g.vars[b.Emitter] = bind(b.Emitter.Type, name)
		}
		handle := "eve::ref<" + f.ctype(s.Emitter.Type().Elem) + ">& " + name
		return shape{params: []string{handle, event + "& " + eventName(g, b, s.Event.Name)}}
	})
	f.put("eve::on<" + event + ">(" + t.with(emitter, t.make(), "eve::hold::"+hold(b),
		contained(b)) + ");")
}

// eventName binds all names of the event in the handler to one C++ name, which it returns.
func eventName(g *function, b *ir.Body, event string) string {
	name := ""
	for _, v := range b.Params {
		if name == "" {
			name = g.locals.name(v.Name)
		}
		g.vars[v] = bind(v.Type, name)
	}
	if name == "" {
		name = g.locals.name(event)
	}
	return name
}

// hold is the permission of a handler on its emitter: full, unless its list says less.
func hold(b *ir.Body) string {
	for _, e := range b.Perms {
		if b.Emitter == nil || e.Var != b.Emitter {
			continue
		}
		switch e.Sign {
		case '-':
			return "null"
		case 0:
			return "read"
		}
	}
	return "write"
}

// await writes x <- call: the rest of the block is a root that starts when the value is there.
func (f *function) await(s *ir.Await) {
	call := f.awaited(s.Call)
	within := ""
	if s.Within != nil {
		within = f.value(s.Within)
	}
	t := s.Call.T
	if s.Within != nil && t.Kind != types.Result {
		t = f.p.Universe.Result(t)
	}
	task := f.task(s.Rest, "then", func(g *function) shape {
		if t.Kind == types.Void {
			return shape{}
		}
		name := g.locals.name("value")
		if s.Var != nil {
			name = g.locals.name(s.Var.Name)
			g.vars[s.Var] = bind(s.Var.Type, name)
		}
		return shape{params: []string{f.ctype(t) + "& " + name}}
	})
	if s.Within != nil {
		f.put("eve::await_within(" + task.with(call, within, task.make(), contained(s.Rest)) + ");")
	} else {
		f.put("eve::await(" + task.with(call, task.make(), contained(s.Rest)) + ");")
	}
}

// awaited writes the call behind <- and returns the operation to wait for. A function written in
// Eve has run then, and may have answered.
func (f *function) awaited(e *ir.Call) string {
	if !e.Fn.Answers() {
		// The call comes first: the rest may move variables that its arguments read.
		call := f.temp()
		f.put("auto " + call + " = " + f.value(e) + ";")
		return "eve::move(" + call + ")"
	}
	result := f.ctype(e.Fn.Result)
	what, owner := f.temp(), f.temp()
	f.put("auto* " + what + " = eve::create<eve::answering<" + result + ">>();")
	f.put("eve::async<" + result + "> " + owner + "(" + what + ");")
	f.put(f.callWith(e, "eve::replier<"+result+">("+what+")") + ";")
	return "eve::move(" + owner + ")"
}

// emitEvent writes emit.
func (f *function) emitEvent(s *ir.Emit) {
	event := f.ctype(s.Event.Type)
	value := event + "{}"
	list := []operand{{x: s.Self, how: byRef}}
	if s.Value != nil {
		list = append(list, operand{x: s.Value, how: byOwn})
	}
	texts := f.exprs(list...)
	if s.Value != nil {
		value = texts[1]
	}
	f.put("eve::emit<" + event + ">(" + texts[0] + ", " + value + ");")
}

// callback writes a closure of kind Callback. A call of it makes a root with a copy of the
// captures.
func (f *function) callback(b *ir.Body) string {
	var names, passed, params, signature []string
	run := f.task(b, "callback", func(g *function) shape {
		var more shape
		for _, v := range b.Params {
			name := g.locals.name(v.Name)
			g.vars[v] = bind(v.Type, name)
			names = append(names, name)
			if v.Take && !byValue(v.Type) {
				name = "eve::move(" + name + ")"
			}
			passed = append(passed, name)
			signature = append(signature, f.paramType(v.Type, v.Take))
			params = append(params, f.paramType(v.Type, v.Take)+" "+names[len(names)-1])
			more.fields = append(more.fields, dataMember{f.ctype(v.Type), names[len(names)-1]})
		}
		return more
	})
	name := run.name + "_post"
	g := f.unit.newFunction(f.owner, names...)
	g.at, g.indent = b.Head.Line(), 0
	g.put("struct " + name + " {")
	g.indent = 1
	var init, args []string
	var members []dataMember
	for _, x := range f.fields(b, g.locals) {
		g.put(x.ctype + " " + x.name + ";")
		members = append(members, dataMember{x.ctype, x.name})
		init = append(init, x.init)
		args = append(args, "eve::copy_of("+x.name+")")
		g.vars[x.v] = bind(x.v.Type, x.name)
		if x.v.From != nil {
			g.vars[x.v.From] = g.vars[x.v]
		}
	}
	if len(members) > 0 {
		g.put(constructor(name, members))
	}
	spawn := "eve::spawn("
	if b.Contained {
		spawn = "eve::spawn_contained("
	}
	body := run.name + "{" + joinStrings(append(args, passed...)) + "}"
	call := joinStrings(append([]string{body}, g.grants(b)...))
	g.put("void operator()(" + joinStrings(params) + ") { " + spawn + call + "); }")
	g.indent = 0
	g.put("};")
	f.unit.code = append(f.unit.code, g.lines...)
	return "eve::callback<void(" + joinStrings(signature) + ")>(" + name + "{" + joinStrings(init) +
		"})"
}
