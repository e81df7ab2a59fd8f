package check

import (
	"slices"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/std"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// A Role says what kind of thing a name stands for.
type Role uint8

// The roles of names.
const (
	ModuleName Role = iota + 1
	TypeName        // of a struct, a constraint, a type of std or a basic type
	UnionName
	TypeParamName
	FunctionName
	MethodName // of a type, static functions among them
	FieldName  // of a struct, or of a case of a union
	CaseName   // of a union
	ParamName  // of a function or closure
	VarName    // any other variable
	ConstName
)

// A Use is the meaning of a name at one place.
type Use struct {
	Role Role
	// Decl is the place of the name where it is declared. It is the zero span for names without a
	// declaration in Eve: int, process. The Decl of a module is the name that the import gives it.
	Decl source.Span
	Var  *ir.Var      // of a variable, parameter or constant; nil otherwise
	Type *types.Type  // of a field; nil otherwise
	File *source.File // of a module
	Body *ir.Body     // the body around the use, if it is in code that runs
}

// A Member is a name that may follow a dot, or that a module can use.
type Member struct {
	Name string
	Role Role
	Decl source.Span // as in Use
}

// An Index says what the names in the text of a program mean. It is for editors. Names in std have
// no uses.
type Index struct {
	Trees   map[*source.File]*syntax.File // of all modules, std's among them
	names   map[source.Span]Use
	lefts   map[source.Span]left
	modules map[*source.File]*module
	checker *checker
}

// A left is the part before a name that belongs to something: x in `x.name`, `on x name`.
type left struct {
	module *module
	t      *types.Type
	static bool // t is named, and no value of it
	events bool
}

// Indexed is Program with an index of the names. The index does not change the program or the
// diagnostics.
func Indexed(main *source.File, load Loader, diags *diag.List) (*ir.Program, *Index) {
	c := newChecker(load, diags)
	c.index = newIndex(c)
	return c.program(main), c.index
}

func newIndex(c *checker) *Index {
	return &Index{
		Trees: map[*source.File]*syntax.File{}, names: map[source.Span]Use{},
		lefts: map[source.Span]left{}, modules: map[*source.File]*module{}, checker: c,
	}
}

// IndexedAt is Indexed for a place in main of which alone the names are asked for. It checks all
// declarations, but only the body around the place, so a large program costs little.
func IndexedAt(main *source.File, load Loader, offset int) (*ir.Program, *Index) {
	c := newChecker(load, &diag.List{})
	c.index = newIndex(c)
	c.only = source.Span{File: main, Start: offset, End: offset}
	return c.program(main), c.index
}

// skips says whether the body of a declaration is not to be checked.
func (c *checker) skips(decl source.Span) bool {
	return c.only.IsValid() && (decl.File != c.only.File || c.only.Start < decl.Start ||
		decl.End < c.only.End)
}

// At returns the meaning of the name at a place; false when it has none.
func (x *Index) At(name source.Span) (Use, bool) {
	u, ok := x.names[name]
	return u, ok
}

// Names returns the place and the meaning of every name of the modules outside std.
func (x *Index) Names() map[source.Span]Use { return x.names }

func (f *function) role() Role {
	if f.owner != nil {
		return MethodName
	}
	return FunctionName
}

func (tn *typeName) role() Role {
	if tn.union != nil {
		return UnionName
	}
	return TypeName
}

// declared is the place of the type's name; the zero span for int and the like.
func (tn *typeName) declared() source.Span {
	if tn.union == nil && tn.structure == nil {
		return source.Span{}
	}
	return tn.tree().Span
}

// Members lists the names that may stand where `name` does, behind a dot or as an event. It is
// false when nothing is known of what stands before it.
func (x *Index) Members(name source.Span) ([]Member, bool) {
	l, ok := x.lefts[name]
	switch {
	case !ok:
		return nil, false
	case l.module != nil:
		return l.module.members(false), true
	case l.events:
		return x.events(l.t), true
	case l.static:
		return append(x.statics(l.t), x.unwritten(name, l)...), true
	}
	return append(x.parts(l.t), x.unwritten(name, l)...), true
}

// unwritten lists the members that no text declares.
func (x *Index) unwritten(name source.Span, l left) []Member {
	var all []Member
	for _, i := range x.implied(x.modules[name.File], l) {
		all = append(all, Member{Name: i.Name, Role: MethodName})
	}
	return all
}

// members lists the names that m declares; without private only those that others can use.
func (m *module) members(private bool) []Member {
	var all []Member
	for _, name := range sortedNames(m.names) {
		if private || m.pub[name] {
			all = append(all, Member{name, roleOf(m.names[name]), m.places[name]})
		}
	}
	return all
}

func roleOf(o object) Role {
	switch o := o.(type) {
	case *function:
		return o.role()
	case *typeName:
		return o.role()
	case *module:
		return ModuleName
	case *ir.Var:
		if o.Kind == ir.Constant {
			return ConstName
		}
	}
	return VarName
}

// parts lists the fields and methods of a value.
func (x *Index) parts(t *types.Type) []Member {
	var all []Member
	seen := map[string]bool{}
	for _, tn := range x.checker.owners(t.Deref()) {
		if tn.structure == nil {
			continue
		}
		for _, d := range tn.structure.Members {
			switch d := d.(type) {
			case *syntax.VarDecl:
				for _, n := range d.Names {
					all = append(all, Member{n.Text, FieldName, n.Span})
				}
			case *syntax.Func:
				f := tn.methods[d.Name.Text]
				if f != nil && f.tree == d && !f.isStatic() && !seen[d.Name.Text] {
					seen[d.Name.Text] = true
					all = append(all, Member{d.Name.Text, MethodName, d.Name.Span})
				}
			}
		}
	}
	return all
}

// statics lists the cases of a union, and the functions of a type that need no value.
func (x *Index) statics(t *types.Type) []Member {
	var all []Member
	for _, tn := range x.checker.owners(t) {
		if tn.union != nil {
			for _, k := range tn.union.Cases {
				all = append(all, Member{k.Name.Text, CaseName, k.Name.Span})
			}
		}
		for _, f := range tn.ordered() {
			if f.isStatic() {
				all = append(all, Member{f.tree.Name.Text, MethodName, f.tree.Name.Span})
			}
		}
	}
	return all
}

func (x *Index) events(t *types.Type) []Member {
	var all []Member
	if t.Def == nil {
		return nil
	}
	for _, e := range t.Def.Emits {
		m := Member{Name: e.Name, Role: TypeName}
		if tn := x.checker.decls[e.Type]; tn != nil {
			m.Decl = tn.declared()
		}
		all = append(all, m)
	}
	return all
}

// Visible lists the names that the module of a file can use at its outermost level: its own, those
// that it imports, and those that every module has.
func (x *Index) Visible(file *source.File) []Member {
	m := x.modules[file]
	if m == nil {
		return nil
	}
	all := m.members(true)
	seen := map[string]bool{}
	add := func(more ...Member) {
		for _, k := range more {
			if !seen[k.Name] {
				seen[k.Name] = true
				all = append(all, k)
			}
		}
	}
	for _, k := range all {
		seen[k.Name] = true
	}
	for _, name := range sortedNames(m.imports) {
		add(Member{name, ModuleName, m.places[name]})
	}
	for _, from := range m.opened {
		add(from.members(false)...)
	}
	for _, k := range x.checker.prelude.members(true) {
		if x.checker.prelude.pub[k.Name] || builtinOwners[k.Name] {
			add(k)
		}
	}
	for _, name := range basicNames {
		add(Member{Name: name, Role: TypeName})
	}
	for _, name := range std.InScope() {
		add(Member{Name: name, Role: ModuleName})
	}
	slices.SortFunc(all, func(a, b Member) int {
		switch {
		case a.Name < b.Name:
			return -1
		case a.Name > b.Name:
			return 1
		}
		return 0
	})
	return all
}
