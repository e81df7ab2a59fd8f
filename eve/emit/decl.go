package emit

import (
	"fmt"
	"strconv"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// typeLines declares all generated types, then defines each after those that it contains by value.
func (u *unit) typeLines(w *writer) {
	// Default values may add types while they are written, hence no range.
	var bodies [][]line
	for i := 0; i < len(u.typeOrder); i++ {
		bodies = append(bodies, u.definition(u.typeOrder[i]))
	}
	index := map[*types.Type]int{}
	for i, t := range u.typeOrder {
		index[t] = i
		if t.Def.Form == types.Union {
			for _, c := range t.Def.Cases {
				w.put("struct " + u.caseName(t, c) + ";")
			}
		}
		w.put("struct " + u.names.typ[t] + ";")
	}
	for _, head := range u.defaults {
		w.put(head)
	}
	done := map[*types.Type]bool{}
	var define func(t *types.Type)
	define = func(t *types.Type) {
		if done[t] {
			return
		}
		done[t] = true
		for _, p := range heldBy(t) {
			define(p)
		}
		w.lines = append(w.lines, bodies[index[t]]...)
	}
	for _, t := range u.typeOrder {
		define(t)
	}
}

// heldBy returns the generated types that must be complete for a value of t: first those that it
// contains by value, then those in its containers, unless they contain t.
func heldBy(t *types.Type) []*types.Type {
	direct := parts(t, false)
	for _, p := range parts(t, true) {
		if !reaches(p, t, map[*types.Type]bool{}) {
			direct = append(direct, p)
		}
	}
	return direct
}

// parts returns the named types in the fields of t, and with deep also in containers and behind
// handles.
func parts(t *types.Type, deep bool) []*types.Type {
	var found []*types.Type
	var look func(t *types.Type)
	look = func(t *types.Type) {
		switch t.Kind {
		case types.Named:
			if t.Def.Runtime == "" {
				found = append(found, t)
			}
		case types.Array, types.Option, types.Result:
			look(t.Elem)
		case types.Tuple:
			for _, e := range t.Elems {
				look(e)
			}
		case types.Vector, types.Set, types.Shared:
			if deep && t.Elem.Kind != types.Func {
				look(t.Elem)
			}
		case types.Map:
			if deep {
				look(t.Key)
				look(t.Elem)
			}
		}
	}
	for _, f := range t.Def.Fields {
		look(f.Type)
	}
	for _, c := range t.Def.Cases {
		for _, f := range c.Fields {
			look(f.Type)
		}
	}
	return found
}

func reaches(from, to *types.Type, seen map[*types.Type]bool) bool {
	if from == to {
		return true
	}
	if seen[from] {
		return false
	}
	seen[from] = true
	for _, p := range parts(from, true) {
		if reaches(p, to, seen) {
			return true
		}
	}
	return false
}

// definition writes the struct of t; nothing for types of the runtime.
func (u *unit) definition(t *types.Type) []line {
	w := &writer{}
	name := u.names.typ[t]
	if t.Def.Form == types.Union {
		var cases []string
		for _, c := range t.Def.Cases {
			u.structLines(w, u.caseName(t, c), c.Name, "", c.Fields, copyableFields(c.Fields))
			cases = append(cases, u.caseName(t, c))
		}
		w.put("struct " + name + " : eve::choice<" + strings.Join(cases, ", ") + "> {")
		w.put("    using choice::choice;")
		if !t.Copyable() && all([]types.Field{{Type: t}}, clonable) {
			w.put("    " + name + " copy() const { return *this; }")
		}
		w.put("};")
		return w.lines
	}
	base := ""
	if t.Def.Emitter {
		base = " : eve::emitter_base"
	}
	u.structLines(w, name, t.Name, base, t.Def.Fields, t.Copyable())
	return w.lines
}

func (u *unit) caseName(t *types.Type, c types.Case) string {
	return u.names.typ[t] + "__" + word(c.Name)
}

// structLines writes a struct with equality, hash and copy if its fields have them. Emitters have
// none: they are identified by their handles.
func (u *unit) structLines(w *writer, name, shown, base string, fields []types.Field,
	copyable bool) {
	w.put("struct " + name + base + " {")
	w.indent++
	for i, f := range fields {
		member := fieldName(fields, i)
		w.put(u.ctype(f.Type) + " " + member + u.fieldDefault(name+"__"+member, f) + ";")
	}
	if len(fields) > 0 {
		var members []dataMember
		for i, f := range fields {
			members = append(members, dataMember{u.ctype(f.Type), fieldName(fields, i)})
		}
		w.put(name + "() = default;")
		w.put(constructor(name, members))
	}
	if base == "" {
		if !copyable && all(fields, clonable) {
			u.copyMethod(w, name, fields)
		}
		if all(fields, comparable) {
			w.put("bool operator==(const " + name + "&) const = default;")
		}
		if all(fields, hashable) {
			w.put("eve::u64 hash_value() const { return " + hashText(fields) + "; }")
		}
	}
	if base == "" && all(fields, printable) {
		u.printMethod(w, shown, fields)
	}
	w.indent--
	w.put("};")
}

// A dataMember is a data member of a generated struct.
type dataMember struct{ ctype, name string }

// constructor writes the constructor from all members. Without one, g++ attributes an aggregate in
// an expression to the last line of the function, and the debugger jumps about.
func constructor(name string, members []dataMember) string {
	var params, inits []string
	for _, m := range members {
		params = append(params, m.ctype+" "+m.name+"_")
		inits = append(inits, m.name+"(static_cast<"+m.ctype+"&&>("+m.name+"_))")
	}
	return "explicit " + name + "(" + joinStrings(params) + ") : " + joinStrings(inits) + " {}"
}

// printMethod writes the text of a value for %v: account(cents = 5), empty.
func (u *unit) printMethod(w *writer, shown string, fields []types.Field) {
	w.put("template <class Spec> void print_to(eve::formatter& f_, const Spec& how_) const {")
	put := func(text string) {
		w.put(fmt.Sprintf("    f_.text(%s, %d);", quote(text), len(text)))
	}
	before, end := types.TextParts(shown, fields)
	for i, f := range fields {
		put(before[i])
		w.put("    f_.put(" + fieldName(fields, i) + specText(ir.FormatPart{Verb: 'v',
			X: &ir.Zero{Place: ir.Place{T: f.Type}}, Width: -1, Prec: -1}) + ");")
	}
	put(end)
	w.put("}")
}

func (u *unit) copyMethod(w *writer, name string, fields []types.Field) {
	var copies []string
	for i, f := range fields {
		x := fieldName(fields, i)
		if !f.Type.Copyable() {
			x = "eve::copy_of(" + x + ")"
		}
		copies = append(copies, x)
	}
	w.put(name + " copy() const { return " + name + "{" + strings.Join(copies, ", ") + "}; }")
}

func hashText(fields []types.Field) string {
	text := strconv.Itoa(len(fields))
	for i := range fields {
		text = "eve::hash_join(" + text + ", eve::hash_of(" + fieldName(fields, i) + "))"
	}
	return text
}

// fieldName is the C++ name of field i. Fields of cases may have no name.
func fieldName(fields []types.Field, i int) string {
	if n := fields[i].Name; n != "" {
		return notKeyword(strings.ReplaceAll(n, "__", "_0_"))
	}
	return fmt.Sprintf("field_%d", i)
}

// fieldDefault is the initialiser of a data member: the declared default, or the zero value if C++
// has none. member is a name of the member that no other member of the unit has.
func (u *unit) fieldDefault(member string, f types.Field) string {
	switch e, ok := f.Default.(ir.Expr); {
	case ok && e != nil && u.needsDeclarations(e):
		return " = " + u.defaultFunction(member+"_default_", e, f.Type) + "()"
	case ok && e != nil:
		return " = " + u.outside(e, f.Type)
	case !zeroable(f.Type, map[*types.Type]bool{}):
		return ""
	}
	return " = " + u.zero(f.Type)
}

// needsDeclarations says whether C++ for e uses functions, variables or places of traps. They are
// declared behind the types.
func (u *unit) needsDeclarations(e ir.Expr) bool {
	return u.facts.fails(e, u.o.Checked) || contains(e, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Call:
			return true
		case *ir.Ref:
			return ownGlobal(n.Var)
		}
		return false
	})
}

// defaultFunction writes a function that returns the default of a data member. Only its head stands
// before the types.
func (u *unit) defaultFunction(name string, e ir.Expr, t *types.Type) string {
	f := u.newFunction(nil)
	f.at = e.At().Line()
	if contains(e, u.forks) { // it may call closures, but starts no task: flow has seen to that
		f.put("eve::worker* w_ = eve::self();")
		f.put("eve::frame* top_ = w_->top();")
	}
	x := f.typed(e, f.owned(e))
	f.put("return " + x + ";")
	head := "static " + u.ctype(t) + " " + name + "()"
	u.defaults = append(u.defaults, head+";")
	u.code = append(u.code, line{text: head + " {", at: f.at})
	u.code = append(u.code, f.lines...)
	u.code = append(u.code, line{text: "}", at: f.at})
	return name
}

// forks says whether n calls a function that gets the worker and its frames.
func (u *unit) forks(n ir.Node) bool {
	c, ok := n.(*ir.Call)
	return ok && u.facts.forks[c.Fn]
}
