package lsp

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"interleave/eve/check"
	"interleave/eve/diag"
	"interleave/eve/source"
	"interleave/eve/syntax"
)

type renameParams struct {
	placeParams
	NewName string `json:"newName"`
}

type preparedRename struct {
	Range       span   `json:"range"`
	Placeholder string `json:"placeholder"`
}

// prepareRename says whether the name at a place can be renamed, and why not.
func (r *request) prepareRename(q placeParams) (any, error) {
	p, name, err := r.nameAt(q)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, failed("there is no name here that the compiler knows")
	}
	if err := p.renamable(name); err != nil {
		return nil, err
	}
	return preparedRename{r.view.encoding.span(name.at), name.at.Text()}, nil
}

// renamable says why a name cannot be renamed; nil if it can.
func (p *program) renamable(n place) error {
	text, decl := n.at.Text(), n.use.Decl
	switch {
	case !decl.IsValid() || strings.HasPrefix(decl.File.Name, "std/") && !onDisk(decl.File.Name):
		return failed("'%s' belongs to the language or its library", text)
	case decl.Text() == "self":
		return failed("self is a word of the language")
	case decl.Text() != text:
		return failed("'%s' has its name from the language", text)
	case text == "main" && n.use.Role == check.FunctionName && decl.File == p.main:
		return failed("main is where the program starts")
	case p.index.MakesText(decl, text):
		return failed("%%v and f-strings call '%s' by this name", text)
	case n.use.Role == check.ModuleName && !isAlias(p.index.Trees[decl.File], decl):
		return failed("a module has the name of its file: rename the file, or import it with as")
	}
	return nil
}

// isAlias says whether a name is the one behind `as` of an import.
func isAlias(tree *syntax.File, name source.Span) bool {
	return tree != nil && slices.ContainsFunc(tree.Imports, func(i *syntax.Import) bool {
		return i.As != nil && i.As.Span == name
	})
}

var nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]*$`)

// rename gives a name another text wherever it is used. It makes the edits only if the renamed
// programs mean the same: every name in them stands for what it stood for before, and the compiler
// reports the same.
func (r *request) rename(q renameParams) (any, error) {
	p, name, err := r.nameAt(q.placeParams)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, failed("there is no name here that the compiler knows")
	}
	if err := p.renamable(name); err != nil {
		return nil, err
	}
	if !nameForm.MatchString(q.NewName) || q.NewName == "_" {
		return nil, failed("'%s' is not a name: letters, digits and _", q.NewName)
	}
	if p.index.MakesText(name.use.Decl, q.NewName) {
		return nil, failed("'%s' would then print the values of its type", name.at.Text())
	}
	programs, err := r.programsWith(p, name.use)
	if err != nil {
		return nil, err
	}
	renamed := edited{places: map[string][]int{}, old: len(name.at.Text()), new: q.NewName}
	for _, p := range programs {
		for _, at := range p.sameAs(name.use) {
			if at.Text() == name.at.Text() {
				renamed.add(at)
			}
		}
	}
	for _, p := range programs {
		if err := r.staysSame(p, &renamed); err != nil {
			return nil, err
		}
	}
	return workspaceEdit{r.changes(programs, &renamed)}, nil
}

// An edited is a set of names in files that get another text.
type edited struct {
	places map[string][]int // where the names start, by path, in order
	old    int              // the length of the old name in bytes
	new    string
}

func (e *edited) add(at source.Span) {
	all := e.places[at.File.Name]
	i, found := slices.BinarySearch(all, at.Start)
	if !found {
		e.places[at.File.Name] = slices.Insert(all, i, at.Start)
	}
}

// text is the text of a file with the new name.
func (e *edited) text(f *source.File) string {
	var b strings.Builder
	from := 0
	for _, at := range e.places[f.Name] {
		b.WriteString(f.Text[from:at] + e.new)
		from = at + e.old
	}
	b.WriteString(f.Text[from:])
	return b.String()
}

// moved is where an offset of a file is in the text with the new name.
func (e *edited) moved(path string, offset int) int {
	before, _ := slices.BinarySearch(e.places[path], offset)
	return offset + before*(len(e.new)-e.old)
}

// changes are the edits for the client.
func (r *request) changes(programs []*program, e *edited) map[string][]textEdit {
	all := map[string][]textEdit{}
	for path, places := range e.places {
		for _, p := range programs {
			f := p.fileAt(path)
			if f == nil {
				continue
			}
			var edits []textEdit
			for _, at := range places {
				part := source.Span{File: f, Start: at, End: at + e.old}
				edits = append(edits, textEdit{r.view.encoding.span(part), e.new})
			}
			uri := uriOf(path)
			if d := r.view.docs[path]; d != nil {
				uri = d.uri
			}
			all[uri] = edits
			break
		}
	}
	return all
}

// staysSame checks the renamed program, and says how it differs; nil if it means the same.
func (r *request) staysSame(p *program, e *edited) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	for _, d := range p.diags {
		if d.Code.IsError() {
			return failed("the program has errors: %s", where(d))
		}
	}
	v := *r.view
	v.docs = map[string]*document{}
	for path, d := range r.view.docs {
		v.docs[path] = newDocument(d.uri, d.version, e.text(d.file))
	}
	for path := range e.places {
		if f := p.fileAt(path); f != nil && v.docs[path] == nil {
			v.docs[path] = newDocument(uriOf(path), 0, e.text(f))
		}
	}
	after := checkFile(&v, newFile(p.main.Name, e.text(p.main)), r.options)
	for _, d := range after.diags {
		if !slices.ContainsFunc(p.diags, func(o diag.Diagnostic) bool { return e.same(o, d) }) {
			return failed("'%s' does not fit: %s", e.new, where(d))
		}
	}
	if after.index == nil || len(after.index.Names()) != len(p.index.Names()) {
		return failed("'%s' would change the meaning of the program", e.new)
	}
	return p.boundAs(after, e)
}

// where is a diagnostic in one line.
func where(d diag.Diagnostic) string {
	if !d.Span.IsValid() {
		return d.Message
	}
	return fmt.Sprintf("line %d: %s", d.Span.Line(), d.Message)
}

// same says whether d is the diagnostic o after the renaming.
func (e *edited) same(o, d diag.Diagnostic) bool {
	return o.Code == d.Code && e.samePlace(o.Span, d.Span)
}

// samePlace says whether b is the place a after the renaming.
func (e *edited) samePlace(a, b source.Span) bool {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	return a.File.Name == b.File.Name && e.moved(a.File.Name, a.Start) == b.Start
}

// boundAs says whether every name of the program stands for the same in the program after the
// renaming. It returns what differs.
func (p *program) boundAs(after *program, e *edited) error {
	type key struct {
		path  string
		start int
	}
	names := map[key]check.Use{}
	for at, u := range after.index.Names() {
		names[key{at.File.Name, at.Start}] = u
	}
	var first source.Span
	for at, u := range p.index.Names() {
		now, ok := names[key{at.File.Name, e.moved(at.File.Name, at.Start)}]
		differs := !ok || now.Role != u.Role || !e.samePlace(u.Decl, now.Decl)
		if differs && (!first.IsValid() || at.Less(first)) {
			first = at
		}
	}
	if !first.IsValid() {
		return nil
	}
	return failed("'%s' is in use: '%s' in line %d would mean something else", e.new,
		first.Text(), first.Line())
}
