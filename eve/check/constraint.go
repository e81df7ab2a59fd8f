package check

import (
	"fmt"

	"interleave/eve/types"
)

// satisfies says whether t satisfies the constraint. A type parameter without a constraint
// satisfies all: the check is then made at each instance.
func (c *checker) satisfies(t, constraint *types.Type) bool { return c.lack(t, constraint) == "" }

// isOpen says whether t is a type parameter without a constraint. Operators and methods on it are
// checked at each instance, not in the generic body.
func (c *checker) isOpen(t *types.Type) bool {
	return t.Kind == types.Param && c.constraints[t] == nil
}

// lack describes what t lacks of the constraint; empty if t satisfies it.
func (c *checker) lack(t, constraint *types.Type) string {
	if t.Kind == types.Invalid || constraint.Kind != types.Named || c.isOpen(t) {
		return ""
	}
	tn := c.decls[constraint]
	if tn == nil {
		return ""
	}
	if tn.module != c.prelude {
		return c.lackMethods(t, constraint, tn)
	}
	if t.Kind == types.Param {
		if implied(c.decls[c.constraints[t]], tn.name) {
			return ""
		}
		return fmt.Sprintf("its constraint is %s", c.constraints[t])
	}
	w := what{c: c, seen: map[*types.Type]bool{}}
	switch tn.name {
	case "ordered":
		return w.ordered(t)
	case "equal":
		return w.equal(t, false)
	case "hashed":
		return w.equal(t, true)
	case "number":
		if !t.IsNumber() || t.Kind == types.Char || t.Kind == types.Duration {
			return "it is neither an integer nor a float"
		}
	case "copyable":
		if !t.Copyable() {
			return "it is copied only by .copy()"
		}
	}
	return ""
}

// implied says whether a constraint of the prelude implies the wanted one.
func implied(have *typeName, want string) bool {
	if have == nil || have.module == nil || !have.module.std {
		return false
	}
	switch want {
	case have.name:
		return true
	case "equal":
		return have.name == "ordered" || have.name == "hashed" || have.name == "number"
	case "ordered", "copyable":
		return have.name == "number" || have.name == "ordered"
	}
	return false
}

// A what finds out which requirement a type lacks. seen holds the types being examined.
type what struct {
	c    *checker
	seen map[*types.Type]bool
}

func (w what) ordered(t *types.Type) string {
	switch {
	case t.IsNumber() || t.Kind == types.String || t.Kind == types.Bool:
		return ""
	case t.Kind == types.Tuple:
		for _, e := range t.Elems {
			if lack := w.ordered(e); lack != "" {
				return lack
			}
		}
		return ""
	case t.Kind == types.Param && implied(w.c.decls[w.c.constraints[t]], "ordered"), w.c.isOpen(t):
		return ""
	}
	return fmt.Sprintf("%s has no <", t)
}

// equal describes why t cannot be compared by ==, or hashed; empty if it can.
func (w what) equal(t *types.Type, hashed bool) string {
	if w.seen[t] {
		return ""
	}
	w.seen[t] = true
	switch t.Kind {
	case types.Param:
		want := map[bool]string{false: "equal", true: "hashed"}[hashed]
		if w.c.isOpen(t) || implied(w.c.decls[w.c.constraints[t]], want) {
			return ""
		}
		return fmt.Sprintf("the constraint of %s is %s", t, w.c.constraints[t])
	case types.Float32, types.Float64:
		if hashed {
			return fmt.Sprintf("%s is not a key: equal numbers may differ in their bits", t)
		}
		return ""
	case types.Ref, types.Slice, types.Func, types.Map, types.Set, types.Result, types.Void:
		return fmt.Sprintf("%s has no ==", t)
	case types.Shared:
		if t.Elem.Kind == types.Func {
			return fmt.Sprintf("%s has no ==", t)
		}
	case types.Vector, types.Array, types.Option:
		return w.equal(t.Elem, hashed)
	case types.Tuple:
		for _, e := range t.Elems {
			if lack := w.equal(e, hashed); lack != "" {
				return lack
			}
		}
	case types.Named:
		return w.named(t, hashed)
	}
	return ""
}

func (w what) named(t *types.Type, hashed bool) string {
	if t.Def == nil {
		return ""
	}
	if t.Def.Form == types.Native && !t.Def.Copyable || t.Def.Emitter {
		return fmt.Sprintf("%s has no ==", t)
	}
	fields := t.Def.Fields
	for _, k := range t.Def.Cases {
		fields = append(fields[:len(fields):len(fields)], k.Fields...)
	}
	for _, f := range fields {
		if lack := w.equal(f.Type, hashed); lack != "" {
			return lack
		}
	}
	return ""
}

// lackMethods describes which method of an interface t lacks.
func (c *checker) lackMethods(t, constraint *types.Type, tn *typeName) string {
	if t.Kind == types.Param && c.constraints[t] == constraint {
		return ""
	}
	for _, want := range tn.ordered() {
		name := want.tree.Name.Text
		have := c.method(t, name)
		if have == nil {
			return fmt.Sprintf("it has no method '%s'", name)
		}
		if len(have.typeParams()) != len(want.typeParams()) || have.hasSelf() != want.hasSelf() {
			return fmt.Sprintf("its method '%s' is another", name)
		}
		e := c.envOf(tn, constraint.Args)
		e.iface, e.self = tn, t
		if lack := c.differ(have, want, t, e); lack != "" {
			return lack
		}
	}
	return ""
}

// differ describes how t's method differs from the interface's method, in the types of e.
func (c *checker) differ(have, want *function, t *types.Type, e *env) string {
	name := want.tree.Name.Text
	own := c.ownParams(want)
	for i, p := range want.typeParams() {
		e.params[p.Name.Text] = own[i]
	}
	got := c.signature(have, t.Deref(), own)
	rest := want.tree.Params
	if want.hasSelf() {
		rest = rest[1:]
	}
	if len(rest) != len(got.params) {
		return fmt.Sprintf("its method '%s' takes %s", name, count(len(got.params), "argument"))
	}
	for i, p := range rest {
		if p.Type == nil {
			continue
		}
		wanted, is := c.typeOf(e, p.Type), got.params[i].t
		if wanted.Kind == types.Invalid || is.Kind == types.Invalid {
			continue
		}
		if wanted != is || p.Take != got.params[i].take {
			return fmt.Sprintf("parameter %d of its method '%s' is %s, not %s", i+1, name, is,
				wanted)
		}
	}
	result := types.VoidT
	if want.tree.Result != nil {
		result = c.typeOf(e, want.tree.Result)
	}
	if result != got.result && result.Kind != types.Invalid && got.result.Kind != types.Invalid {
		return fmt.Sprintf("its method '%s' has the result %s, not %s", name, got.result, result)
	}
	if asksMore(have, want) {
		return fmt.Sprintf("its method '%s' lists permissions that the constraint's does not", name)
	}
	return ""
}

// asksMore says whether a method needs a permission that the interface's method does not list.
func asksMore(have, want *function) bool {
	if have.tree.Perms == nil {
		return false
	}
	listed := map[string]byte{"self": 'r'}
	if want.tree.Perms != nil {
		for _, p := range want.tree.Perms.Entries {
			if p.Name != nil {
				listed[p.Name.Text] = p.Sign
			}
		}
	}
	for _, p := range have.tree.Perms.Entries {
		if p.Name == nil {
			continue
		}
		if sign, ok := listed[p.Name.Text]; !ok || p.Sign == '+' && sign != '+' {
			return true
		}
	}
	return false
}
