package lsp

import (
	"slices"
	"strings"

	"interleave/eve/check"
	"interleave/eve/source"
	"interleave/eve/std"
	"interleave/eve/syntax"
)

type completionList struct {
	IsIncomplete bool         `json:"isIncomplete"`
	Items        []completion `json:"items"`
}

type completion struct {
	Label         string  `json:"label"`
	Kind          int     `json:"kind"`
	Detail        string  `json:"detail,omitempty"`
	Documentation *markup `json:"documentation,omitempty"`
	SortText      string  `json:"sortText,omitempty"`

	AdditionalTextEdits []textEdit `json:"additionalTextEdits,omitempty"`
}

// The kinds of completions that no role has.
const (
	kindVariable = 6
	kindModule   = 9
	kindKeyword  = 14
)

// completion lists the names that may stand at a place.
func (r *request) completion(q placeParams) (any, error) {
	d, err := r.document(q.TextDocument)
	if err != nil {
		return nil, err
	}
	c := cursorAt(d.syntax(), r.view.encoding.offset(d.file, q.Position))
	list := completionList{Items: []completion{}}
	if c.quiet() {
		return list, nil
	}
	switch {
	case c.last(len(c.before)) == "import" && c.last(1) != "as":
		list.Items = r.modules(d, &c)
	case c.last(1) == "." || c.last(len(c.before)) == "on" && len(c.before) > 1:
		list.Items, err = r.members(d, &c)
	default:
		list.Items, err = r.scope(d, &c)
	}
	return list, err
}

// members lists what may stand behind the dot, or as the event of an on statement.
func (r *request) members(d *document, c *cursor) ([]completion, error) {
	at := c.mended()
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	p := checkAt(r.view, at, r.options)
	items := []completion{}
	if p.index == nil {
		return items, nil
	}
	all, ok := p.index.Members(at)
	if !ok && c.last(1) != "." {
		return r.scope(d, c) // still the emitter
	}
	for _, m := range all {
		item := p.item(m)
		if i, ok := p.index.Implied(at, m.Name); ok && !m.Decl.IsValid() {
			doc := markdown(i.About)
			item.Detail, item.Documentation = i.Head(), &doc
		}
		items = append(items, item)
	}
	return beginning(items, c.word.Text()), nil
}

// item describes a name by its declaration.
func (p *program) item(m check.Member) completion {
	item := completion{Label: m.Name, Kind: kindOf(m.Role)}
	found := p.declared(m.Decl)
	switch n := found.node.(type) {
	case *syntax.Func:
		item.Detail = head(n.Name, n)
	case *syntax.VarDecl:
		item.Detail = typeText(n.Type)
	case *syntax.ConstDecl:
		item.Detail = oneLine(n.Span.Text())
	case *syntax.Case:
		item.Detail = oneLine(n.Span.Text())
	case *syntax.TypeDecl, *syntax.UnionDecl:
		item.Detail = firstLine(found.node.Place())
	}
	if text := p.comment(m.Decl, found); text != "" {
		doc := markdown(text)
		item.Documentation = &doc
	}
	return item
}

// beginning keeps the completions that begin with what is written already.
func beginning(items []completion, word string) []completion {
	return slices.DeleteFunc(items, func(i completion) bool {
		return !strings.HasPrefix(strings.ToLower(i.Label), strings.ToLower(word))
	})
}

// modules lists what may stand in an import: the modules of std, and those beside the document.
func (r *request) modules(d *document, c *cursor) []completion {
	written := ""
	for _, t := range c.before[1:] {
		written += t.Text()
	}
	names := std.Modules()
	dir := r.view.base(d.file, map[string]bool{})
	for _, path := range r.view.files() {
		if within(path, dir) && path != d.path && len(path) > len(dir) {
			name := strings.TrimSuffix(path[len(strings.TrimSuffix(dir, "/"))+1:], ".eve")
			names = append(names, strings.ReplaceAll(name, "/", "."))
		}
	}
	items := []completion{}
	seen := map[string]bool{}
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, written)
		rest, _, more := strings.Cut(rest, ".")
		if ok && rest != "" && nameForm.MatchString(rest) && !seen[rest] {
			seen[rest] = true
			item := completion{Label: rest, Kind: kindModule}
			if !more {
				item.Detail = "import " + name
			}
			items = append(items, item)
		}
	}
	return beginning(items, c.word.Text())
}

// scope lists the names that can be used at a place, the nearest first: parameters of the open
// call, variables, the module's names, keywords.
func (r *request) scope(d *document, c *cursor) ([]completion, error) {
	p, err := r.program(d)
	if err != nil {
		return nil, err
	}
	items := []completion{}
	seen := map[string]bool{}
	add := func(rank string, i completion) {
		if !seen[i.Label] && i.Label != "" {
			seen[i.Label] = true
			i.SortText = rank + i.Label
			items = append(items, i)
		}
	}
	inList := c.inList()
	if !inList {
		for _, i := range r.arguments(d, c) {
			add("0", i)
		}
	}
	for _, n := range localsAt(d.syntax(), c.offset) {
		add("1", p.local(n))
	}
	if p.index != nil {
		for _, m := range p.index.Visible(d.file) {
			if !inList || m.Role == check.VarName {
				add("2", p.item(m))
			}
		}
	}
	if !inList {
		for _, word := range syntax.Keywords() {
			add("3", completion{Label: word, Kind: kindKeyword})
		}
		for _, i := range r.imports(d, c) {
			add("4", i)
		}
	}
	return beginning(items, c.word.Text()), nil
}

// imports lists the modules of std that begin with what is written already. The import is written
// with the name.
func (r *request) imports(d *document, c *cursor) []completion {
	var items []completion
	if c.word.Start == c.word.End {
		return nil
	}
	for _, module := range std.Modules() {
		at, text := check.NewImport(d.syntax(), module)
		items = append(items, completion{
			Label: module[strings.LastIndexByte(module, '.')+1:], Kind: kindModule,
			Detail:              "import " + module,
			AdditionalTextEdits: []textEdit{{r.view.encoding.span(at), text}},
		})
	}
	return items
}

// local describes a variable of a body.
func (p *program) local(n *syntax.Name) completion {
	item := completion{Label: n.Text, Kind: kindVariable}
	if u, ok := p.use(n.Span); ok && u.Var != nil && u.Var.Type != nil {
		item.Detail = u.Var.Type.String()
	}
	return item
}

// arguments are the parameters of the open call that can be given by name here.
func (r *request) arguments(d *document, c *cursor) []completion {
	open, ok := c.call()
	if last := c.last(1); !ok || last != "(" && last != "," {
		return nil
	}
	p, callee, err := r.mendedProgram(d, c, open.callee)
	if err != nil {
		return nil
	}
	called, _ := p.callable(callee)
	var items []completion
	for i, name := range called.names {
		if i >= open.index && name != "" {
			items = append(items, completion{Label: name + " =", Kind: kindVariable,
				Detail: called.params[i]})
		}
	}
	return items
}

// inList says whether the cursor is in a permission list: in brackets that no value stands before.
func (c *cursor) inList() bool {
	depth := 0
	for i := len(c.before) - 1; i >= 0; i-- {
		switch c.before[i].Text() {
		case "]":
			depth++
		case "[":
			if depth--; depth >= 0 {
				continue
			}
			if i == 0 {
				return false
			}
			switch before := c.before[i-1].Text(); before {
			case "@", ":", ">", "=":
				return before != "=" || c.before[0].Text() == "on"
			case ")":
				return c.before[0].Text() == "@" || c.before[0].Text() == "test"
			default:
				return c.before[0].Text() == "on" || c.before[0].Kind == syntax.Keyword &&
					c.before[0].Text() == "test"
			}
		}
	}
	return false
}

// localsAt lists the names of variables, parameters and type parameters that are declared in the
// blocks around an offset, before it; the innermost come first.
func localsAt(tree *syntax.File, offset int) []*syntax.Name {
	var all []*syntax.Name
	inside := func(s source.Span) bool { return s.Start <= offset && offset <= reach(tree, s) }
	add := func(names ...*syntax.Name) {
		for _, n := range names {
			if n != nil && n.Text != "_" && n.Span.End < offset {
				all = append(all, n)
			}
		}
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DeclStmt:
			add(n.Var.Names...)
			return inside(n.Span)
		case *syntax.File, *syntax.Block:
			return inside(n.Place())
		case *syntax.Param:
			add(n.Name)
		case *syntax.TypeParam:
			add(n.Name)
		case *syntax.Case, *syntax.NamedType, *syntax.Perms:
			return false
		default:
			if !inside(n.Place()) {
				return false
			}
			add(binds(n)...)
		}
		return true
	})
	slices.Reverse(all)
	return all
}

// binds lists the names that a statement declares for its block.
func binds(n syntax.Node) []*syntax.Name {
	switch n := n.(type) {
	case *syntax.ForInStmt:
		return []*syntax.Name{n.Var}
	case *syntax.TaskForStmt:
		return []*syntax.Name{n.Var}
	case *syntax.AwaitStmt:
		return []*syntax.Name{n.Var}
	case *syntax.OnStmt:
		return []*syntax.Name{n.Event}
	case *syntax.Arm:
		if k, ok := n.Pattern.(*syntax.CasePattern); ok {
			return k.Names
		}
	}
	return nil
}

// reach is where a node ends for somebody who writes behind it: at the next token, since a line
// that is not finished belongs to the block above it.
func reach(tree *syntax.File, s source.Span) int {
	i, _ := slices.BinarySearchFunc(tree.Tokens, s.End, func(t syntax.Token, end int) int {
		return t.Span.Start - end
	})
	for ; i < len(tree.Tokens); i++ {
		if t := tree.Tokens[i]; t.Span.Start >= s.End && t.Text() != "" {
			return t.Span.Start
		}
	}
	return len(tree.Source.Text)
}
