package lsp

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"interleave/eve/check"
	"interleave/eve/source"
	"interleave/eve/syntax"
)

// definition goes to the declaration of a name: of a module, to its file.
func (r *request) definition(q placeParams) (any, error) {
	p, name, err := r.nameAt(q)
	if err != nil || p == nil {
		return nil, err
	}
	at := name.use.Decl
	if name.use.Role == check.ModuleName {
		at = source.Span{File: name.use.File}
	}
	return r.located(at)
}

// located is the location of a declaration; nil if an editor cannot show it.
func (r *request) located(at source.Span) (any, error) {
	if !at.IsValid() {
		return nil, nil
	}
	if l, ok := r.view.location(at); ok {
		return l, nil
	}
	return r.shown(at)
}

// shown is a place in a module of std. Its text is written to the cache, where an editor can open
// it.
func (r *request) shown(at source.Span) (any, error) {
	if r.options.Cache == "" || !strings.HasPrefix(at.File.Name, "std/") {
		return nil, nil
	}
	path := filepath.Join(r.options.Cache, filepath.FromSlash(at.File.Name))
	if err := writeOnce(path, at.File.Text); err != nil {
		return nil, failed("showing %s: %v", at.File.Name, err)
	}
	return location{uriOf(path), r.view.encoding.span(at)}, nil
}

// writeOnce writes a file that nobody should change, unless it is there with this text.
func writeOnce(path, text string) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".std-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(0o444), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		if gone := os.Remove(f.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

type referenceParams struct {
	placeParams
	Context struct {
		IncludeDeclaration bool `json:"includeDeclaration"`
	} `json:"context"`
}

// references lists all uses of a name, in every program of the workspace that has its module.
func (r *request) references(q referenceParams) (any, error) {
	all := []location{}
	p, name, err := r.nameAt(q.placeParams)
	if err != nil || p == nil {
		return all, err
	}
	if !name.use.Decl.IsValid() {
		return all, nil
	}
	err = r.eachUse(p, name.use, func(p *program, at source.Span, l location) error {
		if at != p.here(name.use.Decl) || q.Context.IncludeDeclaration {
			all = append(all, l)
		}
		return nil
	})
	return all, err
}

// eachUse visits the places of a name in every program of the workspace that has its module, each
// place once, with the program that has it.
func (r *request) eachUse(p *program, u check.Use,
	visit func(*program, source.Span, location) error) error {
	programs, err := r.programsWith(p, u)
	if err != nil {
		return err
	}
	seen := map[location]bool{}
	for _, p := range programs {
		for _, at := range p.sameAs(u) {
			l, ok := r.view.location(at)
			if !ok || seen[l] {
				continue
			}
			seen[l] = true
			if err := visit(p, at, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// here is the same place in this program's files. Every program has its own copies of the files.
func (p *program) here(at source.Span) source.Span {
	if at.IsValid() {
		at.File = p.fileAt(at.File.Name)
	}
	return at
}

// fileAt is the file of the program at a path; nil when it has no such file.
func (p *program) fileAt(path string) *source.File {
	if p.index != nil {
		for f := range p.index.Trees {
			if f.Name == path {
				return f
			}
		}
	}
	return nil
}

// sameAs lists the places of the names that mean the same as u, whose declaration may be that of
// another program, in order.
func (p *program) sameAs(u check.Use) []source.Span {
	var all []source.Span
	decl := p.here(u.Decl)
	if p.index == nil || !decl.IsValid() {
		return nil
	}
	for at, other := range p.index.Names() {
		if other.Decl == decl {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, func(a, b source.Span) int {
		if a.Less(b) {
			return -1
		}
		return 1
	})
	return all
}

// programsWith returns p, and the other programs of the workspace that have the module in which
// u is declared. A name inside a body has no uses elsewhere.
func (r *request) programsWith(p *program, u check.Use) ([]*program, error) {
	all := []*program{p}
	path := u.Decl.File.Name
	if !onDisk(path) || !p.isOutside(u) {
		return all, nil
	}
	for _, main := range r.importers(path) {
		if main == p.main.Name {
			continue
		}
		other, err := r.programAt(main)
		if err != nil {
			return nil, err
		}
		if other != nil && other.fileAt(path) != nil {
			all = append(all, other)
		}
	}
	return all, nil
}

// isOutside says whether a name can be used outside of the function or type that declares it.
func (p *program) isOutside(u check.Use) bool {
	switch u.Role {
	case check.VarName, check.ConstName:
		return p.declared(u.Decl).node != nil
	case check.TypeParamName, check.ModuleName:
		return false
	}
	return true
}

// programAt checks the program of an open document or of a file.
func (r *request) programAt(path string) (*program, error) {
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	if d := r.view.docs[path]; d != nil {
		return r.program(d)
	}
	file, ok := r.view.read(path, map[string]bool{})
	if !ok {
		return nil, nil
	}
	return checkFile(r.view, file, r.options), nil
}

// importers lists the files of the workspace that import the module at path, directly or through
// others, and path itself.
func (r *request) importers(path string) []string {
	imports := map[string][]string{}
	for _, f := range r.view.files() {
		tree := r.tree(f)
		if tree == nil {
			continue
		}
		dir := r.view.base(tree.Source, map[string]bool{})
		for _, m := range imported(tree.Source) {
			imports[f] = append(imports[f], modulePath(dir, m))
		}
	}
	found := []string{path}
	for i := 0; i < len(found); i++ {
		for f, all := range imports {
			if slices.Contains(all, found[i]) && !slices.Contains(found, f) {
				found = append(found, f)
			}
		}
	}
	slices.Sort(found)
	return found
}

// The kinds of highlights.
const (
	highlightRead  = 2
	highlightWrite = 3
)

type highlight struct {
	Range span `json:"range"`
	Kind  int  `json:"kind"`
}

// highlights marks the uses of a name in its document; declarations and targets of assignments as
// writes.
func (r *request) highlights(q placeParams) (any, error) {
	all := []highlight{}
	p, name, err := r.nameAt(q)
	if err != nil || p == nil || !name.use.Decl.IsValid() {
		return all, err
	}
	written := targets(p.index.Trees[p.main])
	for _, at := range p.sameAs(name.use) {
		if at.File != p.main {
			continue
		}
		kind := highlightRead
		if written[at.Start] || at == name.use.Decl {
			kind = highlightWrite
		}
		all = append(all, highlight{r.view.encoding.span(at), kind})
	}
	return all, nil
}

// targets returns the places of the variables that assignments change.
func targets(tree *syntax.File) map[int]bool {
	all := map[int]bool{}
	syntax.Walk(tree, func(n syntax.Node) bool {
		if a, ok := n.(*syntax.AssignStmt); ok {
			all[stored(a.Target)] = true
		}
		return true
	})
	return all
}

// stored is the place of the name that an assignment to x changes: the field in a.b, the variable
// in a[i].
func stored(x syntax.Expr) int {
	switch x := x.(type) {
	case *syntax.Ident:
		return x.Span.Start
	case *syntax.Selector:
		if x.Name != nil {
			return x.Name.Span.Start
		}
	case *syntax.Index:
		return stored(x.X)
	case *syntax.Paren:
		return stored(x.X)
	}
	return -1
}
