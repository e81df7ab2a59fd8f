package check

import (
	"fmt"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// typeOf gives the type that t denotes; it reports what is wrong, and gives InvalidT then.
func (c *checker) typeOf(e *env, t syntax.Type) *types.Type {
	r := c.written(e, t)
	if _, named := t.(*syntax.NamedType); named && r.Kind == types.Slice && !isParam(e, t) {
		c.diags.Add(diag.Diagnostic{
			Code: "E0303", Span: t.Place(), Message: "a slice is a view: write " + t.Place().Text() + "&",
			Fix: &diag.Fix{Text: "write " + t.Place().Text() + "&", Span: t.Place(), New: t.Place().Text() + "&"},
		})
		return types.InvalidT
	}
	return r
}

// isParam says whether t is the name of a type parameter.
func isParam(e *env, t syntax.Type) bool {
	n, ok := t.(*syntax.NamedType)
	return ok && len(n.Path) == 1 && e.params[n.Path[0].Text] != nil
}

// valueType is typeOf for what holds a value: void does not.
func (c *checker) valueType(e *env, t syntax.Type) *types.Type {
	r := c.typeOf(e, t)
	if r.Kind == types.Void {
		c.diags.Errorf("E0314", t.Place(), "void is no value: only results of functions are void")
		return types.InvalidT
	}
	return r
}

// storedType is valueType for what is stored in fields, containers and objects: views are not (R8).
func (c *checker) storedType(e *env, t syntax.Type, where string) *types.Type {
	r := c.valueType(e, t)
	if r.HasView() {
		c.diags.Errorf("E0304", t.Place(), "%s cannot be stored in %s: a view ends with the call or block that made it", r, where)
		return types.InvalidT
	}
	return r
}

// written is typeOf, but for a slice, which needs a & behind it.
func (c *checker) written(e *env, t syntax.Type) *types.Type {
	switch t := t.(type) {
	case *syntax.NamedType:
		return c.named(e, t)
	case *syntax.SuffixType:
		return c.suffixed(e, t)
	case *syntax.FuncType:
		var params []*types.Type
		for _, p := range t.Params {
			params = append(params, c.valueType(e, p))
		}
		result := types.VoidT
		if t.Result != nil {
			result = c.typeOf(e, t.Result)
		}
		if result.HasView() {
			c.diags.Errorf("E0305", t.Result.Place(), "a closure cannot return a view")
			result = types.InvalidT
		}
		return c.universe.Func(params, result, t.Par)
	case *syntax.TupleType:
		var elems []*types.Type
		for _, x := range t.Elems {
			elems = append(elems, c.valueType(e, x))
		}
		if hasInvalid(elems) {
			return types.InvalidT
		}
		return c.universe.Tuple(elems...)
	case *syntax.SizeType:
		c.diags.Errorf("E0302", t.Span, "a type is expected here, not a number")
	}
	return types.InvalidT
}

func hasInvalid(ts []*types.Type) bool {
	for _, t := range ts {
		if t.Kind == types.Invalid {
			return true
		}
	}
	return false
}

// suffixed gives T@, T&, T?, T!.
func (c *checker) suffixed(e *env, t *syntax.SuffixType) *types.Type {
	if t.Suffix == '&' {
		return c.reference(e, t)
	}
	elem := c.typeOf(e, t.X)
	if elem.Kind == types.Invalid {
		return elem
	}
	if elem.Kind == types.Void && t.Suffix != '!' {
		c.diags.Errorf("E0314", t.X.Place(), "void is no value: only results of functions are void")
		return types.InvalidT
	}
	_, again := t.X.(*syntax.SuffixType)
	switch {
	case t.Suffix == '@' && elem.Kind == types.Shared:
		return c.twoMarks(t, "there is no T@@: a handle names its object for good")
	case t.Suffix == '@' && elem.Kind == types.Ref:
		return c.twoMarks(t, "there is no T&@: a view cannot be shared")
	case t.Suffix == '@' && elem.Kind == types.Func:
		return c.universe.Shared(elem)
	case again && (elem.Kind == types.Option || elem.Kind == types.Result):
		if t.Suffix != '@' {
			return c.twoMarks(t, "a type takes one of ? and ! only")
		}
	case elem.HasView() && !e.module.std:
		c.diags.Errorf("E0304", t.X.Place(), "%s cannot be stored in %s%c: a view ends with the call or block that made it",
			elem, elem, t.Suffix)
		return types.InvalidT
	}
	switch t.Suffix {
	case '@':
		return c.universe.Shared(elem)
	case '?':
		return c.universe.Option(elem)
	}
	return c.universe.Result(elem)
}

// reference gives T&.
func (c *checker) reference(e *env, t *syntax.SuffixType) *types.Type {
	elem := c.written(e, t.X)
	_, again := t.X.(*syntax.SuffixType)
	switch {
	case elem.Kind == types.Invalid:
		return elem
	case elem.Kind == types.Void:
		c.diags.Errorf("E0314", t.X.Place(), "void is no value: only results of functions are void")
		return types.InvalidT
	case again && elem.Kind == types.Shared:
		return c.twoMarks(t, "there is no T@&: a handle is passed as it is")
	case elem.Kind == types.Ref || again && elem.Kind == types.Slice:
		return c.twoMarks(t, "there is no T&&: a view of a view is the view")
	case elem.Kind == types.Func:
		return c.twoMarks(t, "a closure is passed as it is")
	}
	return c.universe.Ref(elem)
}

// twoMarks reports a suffix that does not go with what stands before it; the fix drops the suffix.
func (c *checker) twoMarks(t *syntax.SuffixType, message string) *types.Type {
	text := t.X.Place().Text()
	c.diags.Add(diag.Diagnostic{
		Code: "E0303", Span: t.Span, Message: message,
		Fix: &diag.Fix{Text: "write " + text, Span: t.Span, New: text},
	})
	return types.InvalidT
}

// named gives the type of a name with its arguments.
func (c *checker) named(e *env, t *syntax.NamedType) *types.Type {
	if len(t.Path) == 0 {
		return types.InvalidT
	}
	first := t.Path[0]
	if p := e.params[first.Text]; p != nil && len(t.Path) == 1 {
		if len(t.Args) > 0 {
			c.diags.Errorf("E0301", t.Span, "type parameter %s takes no arguments", first.Text)
			return types.InvalidT
		}
		return p
	}
	tn := c.typeNamed(e.module, t.Path)
	if tn == nil {
		return types.InvalidT
	}
	if e.iface == tn && e.self != nil && len(t.Args) == 0 {
		return e.self
	}
	if tn.isInterface() {
		c.diags.Errorf("E0315", t.Span, "'%s' is a constraint, not a type of values: write <type T: %s> and use T", tn.name, tn.name)
		return types.InvalidT
	}
	if sizes[tn.name] && tn.builtin {
		return c.sized(e, tn.name, t)
	}
	if tn.name == "array" && tn.builtin {
		return c.array(e, t)
	}
	where := "another type"
	if tn.builtin {
		where = "a " + tn.name
	}
	var args []*types.Type
	for _, a := range t.Args {
		args = append(args, c.storedType(e, a, where))
	}
	return c.namedType(tn, args, t.Span)
}

// typeNamed gives the type declaration that a dotted name stands for; it reports and gives nil when it is none.
func (c *checker) typeNamed(m *module, path []*syntax.Name) *typeName {
	first := path[0]
	o := c.lookup(m, first.Text)
	if o == nil {
		c.unknown(m, first.Text, first.Span)
		return nil
	}
	at := first.Span
	for i, n := range path[1:] {
		from, ok := o.(*module)
		if !ok {
			c.diags.Errorf("E0302", at, "'%s' is %s, not a module", dotted(path[:i+1]), kindOf(o))
			return nil
		}
		if o = c.member(from, n); o == nil {
			return nil
		}
		at = at.To(n.Span)
	}
	tn, ok := o.(*typeName)
	if !ok {
		c.diags.Errorf("E0302", at, "'%s' is %s, not a type", dotted(path), kindOf(o))
		return nil
	}
	return tn
}

// kindOf says what an object is.
func kindOf(o object) string {
	switch o.(type) {
	case *function:
		return "a function"
	case *typeName:
		return "a type"
	case *module:
		return "a module"
	}
	return "a variable"
}

// sized gives int<8> and the like.
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
		c.diags.Errorf("E0310", t.Args[0].Place(), "there is no %s<%d>: the size is %s", name, n, sizes)
		return types.InvalidT
	}
	return r
}

// array gives array<T, N>.
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
		c.diags.Errorf("E0307", t.Args[1].Place(), "the size of an array is between 0 and %d", maxArray)
		return types.InvalidT
	}
	return c.universe.Array(elem, n)
}

// maxArray is in elements. Arrays are values that live in frames and objects; what is bigger is a vector.
const maxArray = 1 << 24

// size gives the constant that stands as a type argument.
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

// sizeConst gives the constant that x is. It is nil when x is none, which is still to be said when local is
// true: names of variables mean nothing in a type.
func (c *checker) sizeConst(e *env, x syntax.Expr) (k *ir.Const, local bool) {
	diags := c.diags
	mine := &diag.List{}
	c.diags = mine
	v := c.initExpr(e.module, e, x, types.IntT)
	if !mine.HasErrors() {
		k = c.fold(v)
	}
	c.diags = diags
	for _, d := range mine.Sorted() {
		if d.Code == "E0202" {
			return nil, true
		}
		c.diags.Add(d)
	}
	return k, !mine.HasErrors()
}

func (c *checker) sizeUnknown(at source.Span) {
	c.diags.Errorf("E0307", at, "the size must be a constant that is known in the text")
}

// pathExpr makes an expression of a dotted name.
func pathExpr(path []*syntax.Name) syntax.Expr {
	var x syntax.Expr = &syntax.Ident{At: path[0].At, Name: path[0].Text}
	for _, n := range path[1:] {
		x = &syntax.Selector{At: syntax.At{Span: x.Place().To(n.Span)}, X: x, Name: n}
	}
	return x
}
