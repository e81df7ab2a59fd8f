package check

import (
	"interleave/eve/diag"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// typeOf returns the type that t denotes. It reports errors, and returns InvalidT then.
func (c *checker) typeOf(e *env, t syntax.Type) *types.Type {
	r := c.written(e, t)
	if _, named := t.(*syntax.NamedType); named && r.Kind == types.Slice && !isParam(e, t) {
		c.diags.Add(diag.Diagnostic{
			Code: "E0303", Span: t.Place(), Message: "a slice is a view: write " +
				t.Place().Text() + "&",
			Fix: &diag.Fix{Text: "write " + t.Place().Text() + "&", Span: t.Place(),
				New: t.Place().Text() + "&"},
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

// valueType is typeOf for the type of a value, which void is not.
func (c *checker) valueType(e *env, t syntax.Type) *types.Type {
	r := c.typeOf(e, t)
	if r.Kind == types.Void {
		c.diags.Errorf("E0314", t.Place(),
			"void is not a value: only results of functions are void")
		return types.InvalidT
	}
	return r
}

// storedType is valueType for types in fields, containers and objects, which must not be views
// (R8).
func (c *checker) storedType(e *env, t syntax.Type, where string) *types.Type {
	r := c.valueType(e, t)
	if r.HasView() {
		c.cannotKeep(t.Place(), r, where)
		return types.InvalidT
	}
	return r
}

// cannotKeep reports a value that ends with the call or block that made it, in a place that
// outlives these.
func (c *checker) cannotKeep(at source.Span, t *types.Type, where string) {
	what, label := "a view", ""
	switch t.Kind {
	case types.Ref:
		what, label = "a reference", "a value, "+t.Elem.String()+
			", can be kept, and so can a handle, "+t.Elem.String()+"@"
	case types.Slice:
		label = "vector<" + t.Elem.String() + "> can be kept: to_vector() copies a view"
	case types.Func:
		what, label = "a closure", "a callback, "+t.String()+"@, can be kept"
	}
	d := c.diags.Errorf("E0304", at,
		"%s cannot be stored in %s: %s ends with the call or block that made it", t, where, what)
	d.Label = label
}

// written is typeOf, except for a slice, which needs a & behind it.
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

// suffixed returns T@, T&, T?, T!.
func (c *checker) suffixed(e *env, t *syntax.SuffixType) *types.Type {
	if t.Suffix == '&' {
		return c.reference(e, t)
	}
	elem := c.typeOf(e, t.X)
	if elem.Kind == types.Invalid {
		return elem
	}
	if elem.Kind == types.Void && t.Suffix != '!' {
		c.diags.Errorf("E0314", t.X.Place(),
			"void is not a value: only results of functions are void")
		return types.InvalidT
	}
	_, again := t.X.(*syntax.SuffixType)
	switch {
	case t.Suffix == '@' && elem.Kind == types.Shared:
		return c.twoMarks(t, "there is no T@@: a handle names its object for good")
	case t.Suffix == '@' && elem.Kind == types.Ref:
		return c.twoMarks(t, "there is no T&@: a view cannot be shared")
	case t.Suffix == '@' && elem.Kind == types.Func:
		return c.callback(t, elem)
	case again && (elem.Kind == types.Option || elem.Kind == types.Result):
		if t.Suffix != '@' {
			return c.twoMarks(t, "a type takes one of ? and ! only")
		}
	case elem.HasView() && !e.module.std:
		c.cannotKeep(t.X.Place(), elem, elem.String()+string(t.Suffix))
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

// callback returns <(A) R>@. It runs later, so its parameters cannot be values that the caller
// only lends.
func (c *checker) callback(t *syntax.SuffixType, f *types.Type) *types.Type {
	for _, p := range f.Elems {
		if p.HasView() {
			c.diags.Errorf("E0304", t.Span,
				"a callback runs later than its call, so it cannot take %s", p)
			return types.InvalidT
		}
	}
	return c.universe.Shared(f)
}

// reference returns T&.
func (c *checker) reference(e *env, t *syntax.SuffixType) *types.Type {
	elem := c.written(e, t.X)
	_, again := t.X.(*syntax.SuffixType)
	switch {
	case elem.Kind == types.Invalid:
		return elem
	case elem.Kind == types.Void:
		c.diags.Errorf("E0314", t.X.Place(),
			"void is not a value: only results of functions are void")
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

// twoMarks reports a suffix that does not go with the one before it. The fix drops the suffix.
func (c *checker) twoMarks(t *syntax.SuffixType, message string) *types.Type {
	text := t.X.Place().Text()
	c.diags.Add(diag.Diagnostic{
		Code: "E0303", Span: t.Span, Message: message,
		Fix: &diag.Fix{Text: "write " + text, Span: t.Span, New: text},
	})
	return types.InvalidT
}

// named returns the type of a name with its arguments.
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
		c.noteTypeParam(c.moduleOf(first.Span), first)
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
		c.diags.Errorf("E0315", t.Span,
			"'%s' is a constraint, not a type of values: write <type T: %s> and use T", tn.name,
			tn.name)
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

// typeNamed returns the type declaration that a dotted name stands for. If it is not one, it
// reports that and returns nil.
func (c *checker) typeNamed(m *module, path []*syntax.Name) *typeName {
	first := path[0]
	o := c.lookup(m, first.Text)
	if o == nil {
		c.unknown(m, first.Text, first.Span)
		return nil
	}
	c.noteObject(c.moduleOf(first.Span), first.Span, o, nil)
	at := first.Span
	for i, n := range path[1:] {
		from, ok := o.(*module)
		if !ok {
			c.diags.Errorf("E0302", at, "'%s' is %s, not a module", dotted(path[:i+1]), kindOf(o))
			return nil
		}
		c.noteLeft(n, left{module: from})
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

// kindOf names the kind of an object.
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
