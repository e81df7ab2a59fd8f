package lsp

import (
	"slices"
	"sort"

	"interleave/eve/check"
	"interleave/eve/source"
	"interleave/eve/syntax"
)

// use returns the meaning of the name at a place in the program.
func (p *program) use(at source.Span) (check.Use, bool) {
	if p.index == nil {
		return check.Use{}, false
	}
	return p.index.At(at)
}

// A place is a name in the text, and what it means.
type place struct {
	at  source.Span
	use check.Use
}

// nameAt returns the name at, or directly before, an offset in the main module.
func (p *program) nameAt(offset int) (place, bool) {
	all := p.names()
	i := sort.Search(len(all), func(i int) bool { return all[i].at.End >= offset })
	// between two names without a gap, the second one is meant
	if i+1 < len(all) && all[i].at.End == offset && all[i+1].at.Start == offset {
		i++
	}
	if i == len(all) || all[i].at.Start > offset {
		return place{}, false
	}
	return all[i], true
}

// names lists the names of the main module in the order of the text.
func (p *program) names() []place {
	p.sorting.Do(func() {
		if p.index == nil {
			return
		}
		for at, u := range p.index.Names() {
			if at.File == p.main {
				p.sorted = append(p.sorted, place{at, u})
			}
		}
		slices.SortFunc(p.sorted, func(a, b place) int { return a.at.Start - b.at.Start })
	})
	return p.sorted
}

// A declaration is the node that declares a name, and the one around it.
type declaration struct {
	node  syntax.Node // *syntax.Func, *syntax.Param, *syntax.Case, ...
	owner syntax.Decl // of members, cases and parameters; nil for others
}

// declared finds the declaration of the name at a place, in any module of the program. The node is
// nil when no declaration of a module, a type or a function has that name: it is a variable in a
// body, then.
func (p *program) declared(name source.Span) declaration {
	if p.index == nil || !name.IsValid() {
		return declaration{}
	}
	tree := p.index.Trees[name.File]
	if tree == nil {
		return declaration{}
	}
	for _, d := range tree.Decls {
		if at := d.Place(); at.Start <= name.Start && name.End <= at.End {
			if found := inDecl(d, nil, name); found.node != nil {
				return found
			}
		}
	}
	return declaration{}
}

func inDecl(d, owner syntax.Decl, name source.Span) declaration {
	is := func(n *syntax.Name) bool { return n != nil && n.Span == name }
	switch d := d.(type) {
	case *syntax.Func:
		if is(d.Name) {
			return declaration{d, owner}
		}
		return inParams(d.Params, d, name)
	case *syntax.VarDecl:
		if slices.ContainsFunc(d.Names, is) {
			return declaration{d, owner}
		}
	case *syntax.ConstDecl:
		if is(d.Name) {
			return declaration{d, owner}
		}
	case *syntax.TypeDecl:
		if is(d.Name) {
			return declaration{d, owner}
		}
		for _, m := range d.Members {
			if found := inDecl(m, d, name); found.node != nil {
				return found
			}
		}
	case *syntax.UnionDecl:
		if is(d.Name) {
			return declaration{d, owner}
		}
		for _, k := range d.Cases {
			if is(k.Name) {
				return declaration{k, d}
			}
			if found := inParams(k.Fields, d, name); found.node != nil {
				return found
			}
		}
	case *syntax.ExternDecl:
		for _, f := range d.Funcs {
			if found := inDecl(f, nil, name); found.node != nil {
				return found
			}
		}
	}
	return declaration{}
}

func inParams(params []*syntax.Param, owner syntax.Decl, name source.Span) declaration {
	for _, a := range params {
		if a.Name != nil && a.Name.Span == name {
			return declaration{a, owner}
		}
	}
	return declaration{}
}
