package check

import (
	"fmt"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// sized returns int<8> and the like.
func (c *checker) sized(e *env, name string, t *syntax.NamedType) *types.Type {
	if len(t.Args) == 0 {
		return basicType(name)
	}
	if len(t.Args) > 1 {
		c.diags.Errorf("E0301", t.Span, "'%s' takes one size, as in %s<32>", name, name)
		return types.InvalidT
	}
	n, ok := c.size(e, t.Args[0])
	if !ok {
		return types.InvalidT
	}
	r := basicType(fmt.Sprintf("%s<%d>", name, n))
	if r == nil {
		sizes := "8, 16, 32 or 64"
		if name == "float" {
			sizes = "32 or 64"
		}
		c.diags.Errorf("E0310", t.Args[0].Place(), "there is no %s<%d>: the size is %s", name, n,
			sizes)
		return types.InvalidT
	}
	return r
}

// array returns array<T, N>.
func (c *checker) array(e *env, t *syntax.NamedType) *types.Type {
	if len(t.Args) != 2 {
		c.diags.Errorf("E0301", t.Span, "an array takes a type and a size: array<int, 16>")
		return types.InvalidT
	}
	elem := c.storedType(e, t.Args[0], "an array")
	n, ok := c.size(e, t.Args[1])
	if !ok || elem.Kind == types.Invalid {
		return types.InvalidT
	}
	if n < 0 || n > maxArray {
		c.diags.Errorf("E0307", t.Args[1].Place(), "the size of an array is between 0 and %d",
			maxArray)
		return types.InvalidT
	}
	if inner := elements(elem); n > 0 && inner > maxArray/n {
		c.diags.Errorf("E0307", t.Args[1].Place(),
			"this array holds more than %d elements in all: a vector has no such bound", maxArray)
		return types.InvalidT
	}
	return c.universe.Array(elem, n)
}

// maxArray is in elements. Arrays are values, stored in frames and objects; larger data needs a
// vector.
const maxArray = 1 << 24

// elements counts the elements of nested arrays; any other value counts as one.
func elements(t *types.Type) int64 {
	switch t.Kind {
	case types.Array:
		return max(t.Len*elements(t.Elem), 1)
	case types.Option, types.Result:
		return elements(t.Elem)
	case types.Tuple:
		var n int64
		for _, e := range t.Elems {
			n += elements(e)
		}
		return max(n, 1)
	}
	return 1
}

// size returns the constant in a type argument.
func (c *checker) size(e *env, t syntax.Type) (int64, bool) {
	var x syntax.Expr
	at := t.Place()
	switch t := t.(type) {
	case *syntax.SizeType:
		x = t.X
	case *syntax.NamedType:
		if len(t.Args) == 0 && len(t.Path) > 0 {
			x = pathExpr(t.Path)
		}
	}
	if x == nil {
		c.diags.Errorf("E0307", at, "a number is expected here")
		return 0, false
	}
	if t, ok := t.(*syntax.NamedType); ok {
		if _, isType := c.lookup(e.module, t.Path[0].Text).(*typeName); isType || isParam(e, t) {
			c.diags.Errorf("E0307", at, "a number is expected here, not a type")
			return 0, false
		}
	}
	k, local := c.sizeConst(e, x)
	if k == nil && !local {
		return 0, false
	}
	if k == nil {
		c.sizeUnknown(at)
		return 0, false
	}
	n, ok := k.Value.(int64)
	if !ok && k.T.Kind != types.Invalid {
		c.sizeUnknown(at)
	}
	return n, ok
}

// sizeConst returns the constant value of x. It is nil when x is not constant; value then says
// whether x is a value, which is still to be reported.
func (c *checker) sizeConst(e *env, x syntax.Expr) (k *ir.Const, value bool) {
	diags := c.diags
	mine := &diag.List{}
	c.diags = mine
	v := c.initExpr(e.module, e, x, nil)
	if !mine.HasErrors() && v.Type().Kind != types.Invalid {
		v = c.coerce(v, types.IntT)
		value = !mine.HasErrors()
		k = c.fold(v)
	}
	c.diags = diags
	for _, d := range mine.Sorted() {
		if d.Code != "E0202" {
			c.diags.Add(d)
		} else if !c.saidUnknown(e.module, d.Span.Text(), d.Span) {
			c.diags.Errorf("E0307", d.Span,
				"'%s' is not a constant of this module: the size must be one",
				d.Span.Text())
		}
	}
	return k, value && !mine.HasErrors()
}

func (c *checker) sizeUnknown(at source.Span) {
	c.diags.Errorf("E0307", at, "the size must be a constant")
}

// pathExpr makes an expression from a dotted name.
func pathExpr(path []*syntax.Name) syntax.Expr {
	var x syntax.Expr = &syntax.Ident{At: path[0].At, Name: path[0].Text}
	for _, n := range path[1:] {
		x = &syntax.Selector{At: syntax.At{Span: x.Place().To(n.Span)}, X: x, Name: n}
	}
	return x
}
