package check

import (
	"interleave/eve/diag"
	"interleave/eve/source"
	"interleave/eve/types"
)

// infer returns f's own type arguments. It uses the written ones (explicit, may be fewer), the
// types of the arguments (nil if not known yet; without self) and the wanted type (nil for none).
// It reports type parameters that it cannot infer, and arguments that do not satisfy their
// constraint. It must be called for functions without type parameters too, since a method may
// narrow the constraints of its receiver.
func (c *checker) infer(f *function, recv *types.Type, explicit, args []*types.Type,
	want *types.Type, at source.Span) ([]*types.Type, bool) {
	own := f.typeParams()
	if len(explicit) > len(own) {
		c.arguments(f.fullName(), len(own), len(explicit), at)
		return nil, false
	}
	if !c.narrowedFit(f, recv, at) {
		return nil, false
	}
	if len(own) == 0 {
		return nil, true
	}
	params := c.patterns(f)
	s := c.signature(f, recv, params)
	u := unifier{c: c, open: map[*types.Type]bool{}, found: map[*types.Type]*types.Type{}}
	for i, p := range params {
		u.open[p] = true
		if i < len(explicit) {
			u.found[p] = explicit[i]
		}
	}
	u.signature(s, args, want)
	bound := make([]*types.Type, len(params))
	for i, p := range params {
		bound[i] = u.found[p]
		if bound[i] == nil && !f.module.mentions(own[i].Name, f.tree.Span) {
			// it cannot be inferred at all, which was reported at the declaration
			return nil, false
		}
		if bound[i] == nil {
			for _, a := range args {
				if a != nil && a.Kind == types.Invalid {
					return nil, false
				}
			}
			c.diags.Errorf("E0504", at, "cannot infer %s of '%s'; write %s<...>(...)",
				own[i].Name.Text, f.fullName(), f.tree.Name.Text)
			return nil, false
		}
		if bound[i].Kind == types.Invalid {
			return nil, false
		}
	}
	return bound, c.argumentsFit(f, recv, bound, at)
}

// patterns returns the parameters to infer as types that occur nowhere else in the program, so
// that a generic may call itself.
func (c *checker) patterns(f *function) []*types.Type {
	var params []*types.Type
	for _, p := range f.typeParams() {
		params = append(params, c.universe.Param("of call "+f.id(), p.Name.Text))
	}
	return params
}

// startsElements are the natives that make new elements as zero values.
var startsElements = map[string]bool{"prelude.vector.resize": true, "prelude.map.get_or_add": true}

// narrowedFit says whether the receiver's type arguments satisfy the constraints that f adds to
// those of its owner.
func (c *checker) narrowedFit(f *function, recv *types.Type, at source.Span) bool {
	if recv == nil || f.owner == nil {
		return true
	}
	narrowed := f.narrowed()
	args := c.ownerArgs(recv)
	if startsElements[f.id()] && len(args) > 0 {
		elem := args[len(args)-1]
		if why := (&lowerer{checker: c}).noZero(elem, map[*types.Type]bool{}); why != "" {
			c.diags.Errorf("E0501", at, "'%s' needs a zero value of %s to start with: %s",
				f.fullName(), elem, why)
			return false
		}
	}
	for i, p := range f.owner.typeParams() {
		n := narrowed[p.Name.Text]
		if n == nil || n.Constraint == nil || i >= len(args) {
			continue
		}
		e := c.envOf(f.owner, args)
		k := c.constraint(e, n.Constraint)
		if k != nil && !c.satisfies(args[i], k) {
			d := c.diags.Errorf("E0501", at, "'%s' needs %s to be %s: %s", f.fullName(), args[i], k,
				c.lack(args[i], k))
			oneConstraint(d, args[i])
			return false
		}
	}
	return true
}

// argumentsFit says whether type arguments satisfy their constraints and make valid types.
func (c *checker) argumentsFit(f *function, recv *types.Type, bound []*types.Type,
	at source.Span) bool {
	if tooLarge(bound) {
		c.diags.Errorf("E0313", at, "'%s' calls itself with ever new type arguments", f.fullName())
		return false
	}
	e := c.envFor(f, recv, bound)
	for i, p := range f.typeParams() {
		if bound[i].HasView() || bound[i].Kind == types.Void {
			c.diags.Errorf("E0506", at,
				"%s = %s: a type argument cannot be a view, a closure or void", p.Name.Text,
				bound[i])
			return false
		}
		if p.Constraint == nil {
			continue
		}
		k := c.quiet(func() *types.Type { return c.orInvalid(c.constraint(e, p.Constraint)) })
		if k.Kind != types.Invalid && !c.satisfies(bound[i], k) {
			c.unsatisfied(p.Name.Text, bound[i], k, at)
			return false
		}
	}
	return c.signatureFits(f, recv, bound, at)
}

func (c *checker) orInvalid(t *types.Type) *types.Type {
	if t == nil {
		return types.InvalidT
	}
	return t
}

// signatureFits makes the signature of an instance and says whether it is valid. Invalid types,
// like T@@, are reported at the call.
func (c *checker) signatureFits(f *function, recv *types.Type, bound []*types.Type,
	at source.Span) bool {
	if c.signatures[instanceID(f, recv, bound)] != nil {
		return true
	}
	diags := c.diags
	mine := &diag.List{}
	c.diags = mine
	c.signature(f, recv, bound)
	c.diags = diags
	if mine.HasErrors() {
		c.blame(mine, "'"+f.fullName()+"'", at)
	}
	return !mine.HasErrors()
}

// A unifier infers type parameters by matching the types of parameters with the types of
// arguments.
type unifier struct {
	c     *checker
	open  map[*types.Type]bool
	found map[*types.Type]*types.Type
}

// signature matches all types: first arguments with a type of their own, then number literals,
// then the wanted result.
func (u *unifier) signature(s *signature, args []*types.Type, want *types.Type) {
	for i, a := range args {
		if i < len(s.params) && a != nil && !untyped(a) {
			u.argument(s.params[i].t, a)
		}
	}
	if want != nil && want.Kind != types.Void && want.Kind != types.Invalid {
		u.wanted(s.result, want)
	}
	byLiteral := map[*types.Type]bool{} // min(1, 2.5) has the type float
	for i, a := range args {
		if i >= len(s.params) || a == nil || !untyped(a) {
			continue
		}
		t := types.IntT
		if a.Kind == types.UntypedFloat {
			t = types.FloatT
		}
		p := s.params[i].t
		if p.Kind == types.Option || p.Kind == types.Result {
			p = p.Elem
		}
		if u.open[p] && (u.found[p] == nil || a.Kind == types.UntypedFloat && byLiteral[p]) {
			u.found[p], byLiteral[p] = t, true
		}
	}
}

func untyped(t *types.Type) bool {
	return t.Kind == types.UntypedInt || t.Kind == types.UntypedFloat
}

// argument matches a parameter's type with that of an argument, which may be converted implicitly.
func (u *unifier) argument(p, a *types.Type) {
	switch {
	case a.Kind == types.Invalid || a.Kind == types.None:
	case u.open[p]:
		u.bind(p, a.Deref())
	case p.Kind == types.Shared && a.Kind != types.Shared:
		u.lay(p.Elem, a)
	case p.Kind == types.Shared:
		u.lay(p, a)
	case p.Kind == types.Slice:
		a = a.Deref()
		if a.Kind == types.Vector || a.Kind == types.Array || a.Kind == types.Slice {
			u.lay(p.Elem, a.Elem)
		}
	case (p.Kind == types.Option || p.Kind == types.Result) && a.Deref().Kind != p.Kind:
		u.argument(p.Elem, a)
	case p.Kind == types.Ref:
		u.lay(p.Elem, a.Deref())
	default:
		u.lay(p, a.Deref())
	}
}

// wanted matches the type of the result with the wanted type.
func (u *unifier) wanted(r, want *types.Type) {
	if want.Kind != r.Kind && (want.Kind == types.Option || want.Kind == types.Result) &&
		!u.open[r] {
		want = want.Elem
	}
	if u.open[r] {
		u.bind(r, want.Deref())
		return
	}
	u.lay(r, want)
}

func (u *unifier) bind(p, t *types.Type) {
	if u.found[p] == nil && t.Kind != types.Invalid {
		u.found[p] = t
	}
}

// lay matches p with t. If their shapes differ it infers nothing.
func (u *unifier) lay(p, t *types.Type) {
	if u.open[p] {
		if !untyped(t) && t.Kind != types.None {
			u.bind(p, t)
		}
		return
	}
	if p.Kind != t.Kind || len(p.Elems) != len(t.Elems) || u.c.decls[p] != u.c.decls[t] {
		return
	}
	for i, e := range p.Elems {
		u.lay(e, t.Elems[i])
	}
	for i, a := range p.Args {
		u.lay(a, t.Args[i])
	}
	if p.Elem != nil && t.Elem != nil {
		u.lay(p.Elem, t.Elem)
	}
	if p.Key != nil && t.Key != nil {
		u.lay(p.Key, t.Key)
	}
}
