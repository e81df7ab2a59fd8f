// Package document makes documentation of declarations and of the comments above them: as text for
// a terminal, and as one page of HTML with a search.
package document

import (
	"slices"
	"strings"

	"interleave/eve/diag"
	"interleave/eve/source"
	"interleave/eve/std"
	"interleave/eve/syntax"
)

// A Module has the declarations of one file.
type Module struct {
	Name  string
	About string // the comment at its head
	Items []Item
}

// An Item is a declaration, or a member of a type or union.
type Item struct {
	Name    string
	Text    string // the declaration without its body, as it is written
	About   string // its comment; empty if there is none
	Members []Item
	Behind  bool // the comment stands on the declaration's own line
	// Joined: a constant on the line below another one. The comment above the first of such lines
	// is for all of them.
	Joined bool
}

// Library reads the modules that come with Eve: first those that are in scope everywhere.
func Library() []Module {
	var all []Module
	for _, name := range slices.Concat([]string{"prelude"}, std.InScope(), std.Modules()) {
		file, text, ok := std.Text(name)
		// A module without public names is a part of the compiler: programs call nothing of it.
		if ok && strings.Contains(text, "\npub ") {
			all = append(all, Read(name, source.NewFile(file, text)))
		}
	}
	return all
}

// Read reads the documentation of a file: of its public declarations, or of all if none is public.
// A file with errors gives what could be parsed.
func Read(name string, file *source.File) Module {
	var ignored diag.List
	tree := syntax.Parse(file, &ignored)
	r := reader{file}
	m := Module{Name: name, About: r.head(tree)}
	// The prelude also describes the built-in types, which are not public.
	all := name == "prelude" || !slices.ContainsFunc(tree.Decls, public)
	last := 0 // the line of the constant before
	for _, d := range tree.Decls {
		item, ok := r.item(d)
		if !ok || !all && !public(d) {
			continue
		}
		if _, is := d.(*syntax.ConstDecl); is {
			item.Joined = last > 0 && d.Place().Line() == last+1
			last = d.Place().Line() + strings.Count(d.Place().Text(), "\n")
		} else {
			last = 0
		}
		m.Items = append(m.Items, item)
	}
	return m
}

func public(d syntax.Decl) bool {
	switch d := d.(type) {
	case *syntax.Func:
		return d.Pub
	case *syntax.VarDecl:
		return d.Pub
	case *syntax.TypeDecl:
		return d.Pub
	case *syntax.UnionDecl:
		return d.Pub
	case *syntax.ConstDecl:
		return d.Pub
	}
	return false
}

// A reader reads the declarations of a file.
type reader struct{ file *source.File }

// head is the comment at the head of a file: one that an empty line divides from what follows.
func (r reader) head(tree *syntax.File) string {
	n := 1
	for n <= r.file.Lines() && strings.HasPrefix(r.file.Line(n), "#") {
		n++
	}
	if n <= r.file.Lines() && strings.TrimSpace(r.file.Line(n)) != "" && len(tree.Imports) == 0 {
		return ""
	}
	return r.comment(1, n)
}

// cutComment cuts a line before its comment. A # in a string or a character is none.
func cutComment(line string) (code, comment string, found bool) {
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '#':
			return line[:i], strings.TrimSpace(line[i+1:]), true
		}
	}
	return line, "", false
}

// item reads one declaration. Tests and functions of C have no documentation.
func (r reader) item(d syntax.Decl) (item Item, ok bool) {
	switch d := d.(type) {
	case *syntax.Func:
		item.Name, item.Text = d.Name.Text, r.funcHead(d)
	case *syntax.VarDecl:
		var names []string
		for _, n := range d.Names {
			names = append(names, n.Text)
		}
		item.Name, item.Text = strings.Join(names, ", "), r.clean(d.Span.Text())
		if strings.Contains(item.Text, "\n") {
			item.Text = r.until(d, d.Init)
		}
	case *syntax.ConstDecl:
		item.Name, item.Text = d.Name.Text, r.clean(d.Span.Text())
		if strings.Contains(item.Text, "\n") { // a table is too long to be shown
			item.Text = r.until(d, d.Init)
		}
	case *syntax.TypeDecl:
		item.Name, item.Text = d.Name.Text, r.firstLine(d)
		for _, m := range d.Members {
			if member, ok := r.item(m); ok {
				item.Members = append(item.Members, member)
			}
		}
	case *syntax.UnionDecl:
		item.Name, item.Text = d.Name.Text, r.firstLine(d)
		for _, c := range d.Cases {
			text := r.clean(c.Span.Text())
			member := Item{Name: c.Name.Text, Text: text}
			member.About, member.Behind = r.about(c, text)
			item.Members = append(item.Members, member)
		}
	default:
		return Item{}, false
	}
	item.About, item.Behind = r.about(d, item.Text)
	return item, true
}

// funcHead is the declaration of a function without its body.
func (r reader) funcHead(f *syntax.Func) string {
	text := f.Span.Text()
	if f.Body != nil {
		text = source.Span{File: r.file, Start: f.Span.Start, End: f.Body.Span.Start}.Text()
	}
	return strings.TrimSuffix(r.clean(text), ":")
}

// until is a declaration up to its initial value.
func (r reader) until(d syntax.Node, init syntax.Expr) string {
	text := d.Place().Text()
	if init != nil {
		text = source.Span{File: r.file, Start: d.Place().Start, End: init.Place().Start}.Text()
	}
	return strings.TrimSpace(strings.TrimSuffix(r.clean(text), "="))
}

// firstLine is the head of a type.
func (r reader) firstLine(d syntax.Node) string {
	line, _, _ := strings.Cut(d.Place().Text(), "\n")
	return strings.TrimSuffix(r.clean(line), ":")
}

// clean removes the comments of a declaration, and the indentation of its further lines.
func (r reader) clean(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		code, _, _ := cutComment(line)
		if code = strings.TrimSpace(code); code == "" {
			continue
		}
		if len(lines) > 0 {
			code = "    " + code
		}
		lines = append(lines, code)
	}
	return strings.Join(lines, "\n")
}
