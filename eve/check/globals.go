package check

import (
	"fmt"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// typeVar finds the type and value of a global or constant of m, once.
func (c *checker) typeVar(m *module, v *ir.Var) {
	g := m.pending[v]
	switch {
	case g == nil:
		return
	case g.busy && g.konst != nil && !c.circles[v]:
		c.circles[v] = true
		c.diags.Errorf("E0212", g.name.Span, "constant '%s' is defined by itself", v.Name)
		if v.Type == nil {
			v.Type = types.InvalidT
		}
		return
	case g.busy:
		return
	}
	g.busy = true
	diags := c.diags
	c.diags = c.base
	if g.konst != nil {
		c.typeConst(m, v, g.konst)
	} else {
		c.typeGlobal(m, v, g.vars)
	}
	c.diags = diags
	delete(m.pending, v)
	m.ir.Globals = append(m.ir.Globals, v)
}

func (c *checker) typeConst(m *module, v *ir.Var, d *syntax.ConstDecl) {
	e := &env{module: m}
	if d.Type != nil {
		v.Type = c.valueType(e, d.Type)
	}
	if v.Type != nil && holdsHandle(v.Type) {
		c.noHandle(v, d.Type.Place())
		return
	}
	init := c.initExpr(m, e, d.Init, v.Type)
	if v.Type == nil || v.Type.Kind == types.Invalid {
		init = c.defaultType(init)
		v.Type = init.Type()
	}
	if holdsHandle(v.Type) {
		c.noHandle(v, d.Init.Place())
		return
	}
	init = c.coerce(init, v.Type)
	c.closed(init)
	if k := c.fold(init); k != nil {
		init = k
	}
	v.Init = init
}

// noHandle reports a constant that would hold a handle.
func (c *checker) noHandle(v *ir.Var, at source.Span) {
	c.diags.Errorf("E0211", at,
		"a constant cannot hold a shared object; declare a module variable of type T@")
	v.Type = types.InvalidT
	v.Init = &ir.Zero{Place: ir.Place{T: types.InvalidT, Span: at}}
}

func (c *checker) typeGlobal(m *module, v *ir.Var, d *syntax.VarDecl) {
	e := &env{module: m}
	t := c.valueType(e, d.Type)
	v.Type = t
	if t.Kind == types.Invalid {
		return
	}
	if t.Kind != types.Shared {
		at := d.Type.Place()
		c.diags.Add(diag.Diagnostic{
			Code: "E0210", Span: at, Label: "make it shared, or a const",
			Message: fmt.Sprintf("module variable '%s' must be a shared object or a constant",
				v.Name),
			Fix: &diag.Fix{Text: fmt.Sprintf("write %s: %s@", v.Name, at.Text()), Span: at,
				New:  at.Text() + "@",
				Note: fmt.Sprintf("or const %s if it never changes", v.Name)},
		})
		v.Type = types.InvalidT
		return
	}
	init := d.Init
	if d.Args != nil && init == nil {
		init = &syntax.Call{At: syntax.At{Span: d.Type.Place()},
			Fun: &syntax.TypeExpr{At: syntax.At{Span: d.Type.Place()},
				Type: objectType(d.Type)}, Args: d.Args}
	}
	if init == nil {
		if why := (&lowerer{checker: c}).noZero(t.Elem, map[*types.Type]bool{}); why != "" &&
			!m.std {
			c.diags.Errorf("E0312", d.Type.Place(), "%s has no zero value to start with: %s",
				t.Elem, why)
		}
		v.Init = (&lowerer{checker: c}).zeroOf(t.Elem, d.Type.Place())
		return
	}
	x := c.initExpr(m, e, init, t.Elem)
	if d, ok := x.(*ir.Deref); ok && !isPlace(d.X) {
		x = d.X
	}
	if x.Type().Kind == types.Shared {
		c.diags.Errorf("E0211", x.At(),
			"a module variable builds its own object; it cannot take over another")
		x = &ir.Zero{Place: ir.Place{T: t.Elem, Span: x.At()}}
	}
	v.Init = c.coerce(x, t.Elem)
	c.closed(v.Init)
}

// objectType removes the @ of a type in the text.
func objectType(t syntax.Type) syntax.Type {
	if s, ok := t.(*syntax.SuffixType); ok && s.Suffix == '@' {
		return s.X
	}
	return t
}

// closed reports uses that an initial value must not make: of module variables, which may not
// exist yet and on which nobody has a permission.
func (c *checker) closed(x ir.Expr) {
	eachExpr(x, func(x ir.Expr) {
		switch x := x.(type) {
		case *ir.Ref:
			if x.Var != nil && x.Var.Kind == ir.Global {
				c.diags.Errorf("E0211", x.Span,
					"the initial value of a module variable or constant cannot use '%s'",
					x.Var.Name)
			}
		case *ir.Call:
			for _, e := range x.Fn.List {
				if e.Var != nil && e.Var.Kind == ir.Global {
					c.diags.Errorf("E0211", x.Span,
						"the initial value of a module variable or constant cannot use '%s', "+
							"which '%s' needs",
						e.Name, x.Fn.Name)
				}
			}
		}
	})
}

// eachExpr calls f for x and the expressions in it; bodies of closures are not entered.
func eachExpr(x ir.Expr, f func(ir.Expr)) {
	ir.Walk(x, func(n ir.Node) bool {
		e, ok := n.(ir.Expr)
		if ok {
			f(e)
		}
		return ok
	})
}
