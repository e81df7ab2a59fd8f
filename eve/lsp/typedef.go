package lsp

import (
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// typeDefinition goes to the declaration of the type of a name. For a shared object that is the
// type of its value, for a container that of its elements.
func (r *request) typeDefinition(q placeParams) (any, error) {
	p, name, err := r.nameAt(q)
	if err != nil || p == nil {
		return nil, err
	}
	t := name.use.Type
	if name.use.Var != nil {
		t = name.use.Var.Type
	}
	return r.located(p.typeDeclared(t))
}

// typeDeclared is the place of the name where a type is declared; not valid if it has none.
func (p *program) typeDeclared(t *types.Type) source.Span {
	for t != nil && t.Kind != types.Named {
		t = t.Elem
	}
	if t == nil || t.Def == nil || p.ir == nil {
		return source.Span{}
	}
	for _, m := range p.ir.Modules {
		// types of the main module and of the prelude have no module
		if m.Name != t.Def.Module && (t.Def.Module != "" || m.File != p.main && m.Name != prelude) {
			continue
		}
		if tree := p.index.Trees[m.File]; tree != nil {
			if at := typeNamed(tree, t.Name); at.IsValid() {
				return at
			}
		}
	}
	return source.Span{}
}

// prelude is the module that every program has.
const prelude = "prelude"

// typeNamed is the place of the name of a type in a module.
func typeNamed(tree *syntax.File, name string) source.Span {
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *syntax.TypeDecl:
			if d.Name != nil && d.Name.Text == name {
				return d.Name.Span
			}
		case *syntax.UnionDecl:
			if d.Name != nil && d.Name.Text == name {
				return d.Name.Span
			}
		}
	}
	return source.Span{}
}
