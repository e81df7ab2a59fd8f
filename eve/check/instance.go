package check

import (
	"fmt"
	"path"
	"strings"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// A site is the place that uses an instance of a generic, and the instance around it.
type site struct {
	name  string
	at    source.Span
	outer *site
	depth int
}

// instance returns the function for a receiver type (nil for functions) and type arguments. Each
// list of arguments has one instance, whose body is checked later.
func (c *checker) instance(f *function, recv *types.Type, targs []*types.Type,
	at source.Span) *ir.Func {
	return c.instanceOf(f, recv, targs, at, false)
}

// instanceOf is instance. own says that the generic itself is checked.
func (c *checker) instanceOf(f *function, recv *types.Type, targs []*types.Type, at source.Span,
	own bool) *ir.Func {
	id := instanceID(f, recv, targs)
	fn := c.instances[id]
	if fn == nil {
		fn = c.make(f, recv, targs, id)
		c.instances[id] = fn
		if !fn.Opaque {
			c.enqueue(f, fn, at)
		}
	}
	if own && fn.Opaque && !c.checked[fn] {
		c.checked[fn] = true
		c.enqueue(f, fn, at)
	}
	return fn
}

// make makes the function without its body.
func (c *checker) make(f *function, recv *types.Type, targs []*types.Type, id string) *ir.Func {
	s := c.signature(f, recv, targs)
	fn := &ir.Func{
		Name: f.fullName(), ID: id, Module: f.module.ir, Span: f.tree.Name.Span, Recv: recv,
		Static: f.isStatic(),
		Args:   targs, Result: s.result, Async: f.tree.Async, Pub: f.tree.Pub, Opaque: s.env.opaque,
		Extern: f.extern,
	}
	if f.extern != nil {
		fn.Async = fn.Async || f.extern.Slow
	} else if f.tree.Body == nil && f.module.std {
		fn.Native = c.native(f)
	}
	if s.self != nil {
		fn.Params = append(fn.Params, &ir.Var{Name: "self", Type: s.self, Kind: ir.Self,
			Span: f.tree.Params[0].Span})
	}
	for _, p := range s.params {
		at := p.tree.Span
		if p.tree.Name != nil {
			at = p.tree.Name.Span
		}
		fn.Params = append(fn.Params, &ir.Var{Name: p.name, Type: p.t, Kind: ir.Param, Span: at,
			Take: p.take})
	}
	if f.tree.Async && f.tree.Body != nil {
		fn.Params = append(fn.Params, c.answer(s.result, f.tree.Result))
	}
	if f.tree.Perms != nil {
		fn.List = c.list(f.module, f.tree.Perms, fn,
			func(p *syntax.Perm, v *ir.Var) { c.listable(f, p, v) })
	}
	c.noteParams(f.module, fn.Params, s.env)
	return fn
}

// list resolves the permission list of a function or test, whose names are parameters and module
// variables. It calls outer for each of them.
func (c *checker) list(m *module, perms *syntax.Perms, fn *ir.Func,
	outer func(*syntax.Perm, *ir.Var)) []*ir.Entry {
	var list []*ir.Entry
	for _, p := range perms.Entries {
		if p.Name == nil {
			continue
		}
		entry := &ir.Entry{Sign: p.Sign, Name: p.Name.Text, Span: p.Span}
		list = append(list, entry)
		var names []string
		for _, v := range fn.Params {
			names = append(names, v.Name)
			if v.Name == p.Name.Text {
				entry.Var = v
			}
		}
		if entry.Var != nil {
			c.noteVar(m, p.Name.Span, entry.Var, nil)
			continue
		}
		o := c.lookup(m, p.Name.Text)
		c.noteObject(m, p.Name.Span, o, nil)
		switch o := o.(type) {
		case nil:
			c.unknown(m, p.Name.Text, p.Name.Span, names...)
		case *ir.Var:
			entry.Var = o
			if outer != nil {
				outer(p, o)
			}
		default:
			c.diags.Errorf("E0215", p.Name.Span,
				"'%s' is %s: a permission list names parameters and module variables", p.Name.Text,
				kindOf(o))
		}
	}
	return list
}

// listable reports a variable in f's list that callers in other modules cannot list.
func (c *checker) listable(f *function, p *syntax.Perm, v *ir.Var) {
	m := f.module
	visible := f.tree.Pub && f.owner == nil || f.owner != nil && m.pub[f.owner.name]
	if m.std || !visible || p.Sign == '-' || m.names[v.Name] != object(v) || m.pub[v.Name] {
		return
	}
	c.diags.Add(diag.Diagnostic{
		Code: "E0205", Span: p.Name.Span,
		Message: fmt.Sprintf("'%s' is not pub, and callers of '%s' must list it", v.Name,
			f.tree.Name.Text),
		Also: []diag.Label{{Span: m.places[v.Name], Text: "write pub before it"}},
	})
}

// native is the runtime's name of f.
func (c *checker) native(f *function) string {
	switch {
	case f.owner != nil:
		return f.fullName()
	case f.module == c.prelude:
		return f.tree.Name.Text
	}
	name := strings.ReplaceAll(f.module.ir.Name, ".", "/")
	return path.Base(name) + "." + f.tree.Name.Text
}

// maxInstances bounds how deep instances need further instances. A generic that reaches it would
// go on forever.
const maxInstances = 64

// enqueue queues the check of the body of fn.
func (c *checker) enqueue(f *function, fn *ir.Func, at source.Span) {
	f.module.ir.Funcs = append(f.module.ir.Funcs, fn)
	if f.tree.Body == nil || c.skips(f.tree.Span) {
		return
	}
	generic := len(fn.Args) > 0 || fn.Recv != nil && len(fn.Recv.Args) > 0
	if !generic || fn.Opaque {
		c.queue = append(c.queue, func() { c.body(fn, f, c.signature(f, fn.Recv, fn.Args).env) })
		return
	}
	s := &site{name: instanceName(f, fn), at: at, outer: c.current}
	if s.outer != nil {
		s.depth = s.outer.depth + 1
	}
	if s.depth > maxInstances {
		c.diags.Errorf("E0313", at, "'%s' calls itself with ever new type arguments", f.fullName())
		return
	}
	c.queue = append(c.queue, func() {
		c.within(s, func() { c.body(fn, f, c.signature(f, fn.Recv, fn.Args).env) })
	})
}

// instanceName names a function with its type arguments: "sort with T = room".
func instanceName(f *function, fn *ir.Func) string {
	var parts []string
	if fn.Recv != nil && f.owner != nil {
		for i, p := range f.owner.typeParams() {
			if i < len(fn.Recv.Args) {
				parts = append(parts, p.Name.Text+" = "+fn.Recv.Args[i].String())
			}
		}
	}
	for i, p := range f.typeParams() {
		if i < len(fn.Args) {
			parts = append(parts, p.Name.Text+" = "+fn.Args[i].String())
		}
	}
	return fmt.Sprintf("'%s' with %s", f.fullName(), strings.Join(parts, ", "))
}

// within runs f, which checks an instance. An error in the instance that the generic itself does
// not have is reported once, at the place that uses the instance.
func (c *checker) within(s *site, f func()) {
	diags, current := c.diags, c.current
	mine := &diag.List{}
	c.diags, c.current = mine, s
	f()
	c.diags, c.current = c.base, nil
	at := s.at
	for o := s.outer; o != nil; o = o.outer {
		at = o.at
	}
	c.blame(mine, s.name, at)
	c.diags, c.current = diags, current
}

// blame reports, once and at the given place, the first of an instance's errors that was not
// reported before.
func (c *checker) blame(faults *diag.List, who string, at source.Span) {
	for _, d := range faults.Sorted() {
		if !d.Code.IsError() || c.known(d) || d.Code == "E0202" && c.base.HasErrors() {
			continue // a name is unknown in all instances or in none
		}
		if d.Code == "E0502" {
			d.Span = at
			c.diags.Add(d)
			return
		}
		c.diags.Add(diag.Diagnostic{
			Code: "E0502", Span: at, Message: who + " does not work: " + d.Message,
			Also: []diag.Label{{Span: d.Span, Text: "here"}},
		})
		return
	}
}

// known says whether d was reported before.
func (c *checker) known(d diag.Diagnostic) bool {
	if c.base.HasErrors() {
		for _, o := range c.base.Sorted() {
			if o.Code == d.Code && o.Span == d.Span {
				return true
			}
		}
	}
	return false
}
