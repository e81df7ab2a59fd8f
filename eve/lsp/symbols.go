package lsp

import (
	"path/filepath"
	"strings"

	"interleave/eve/source"
	"interleave/eve/syntax"
)

// maxSymbols bounds the answer to a query in the workspace: people look at the first few. A guess.
const maxSymbols = 500

// documentSymbols lists the declarations of a document, with members below their types.
func (r *request) documentSymbols(p documentParams) (any, error) {
	d, err := r.document(p.TextDocument)
	if err != nil {
		return nil, err
	}
	all := r.view.encoding.symbols(d.syntax())
	if r.flat {
		return flatten([]symbolInformation{}, d.uri, "", all), nil
	}
	return all, nil
}

// flatten appends symbols and those below them to a list.
func flatten(list []symbolInformation, uri, container string, all []symbol) []symbolInformation {
	for _, s := range all {
		list = append(list, symbolInformation{s.Name, s.Kind, location{uri, s.Range}, container})
		list = flatten(list, uri, s.Name, s.Children)
	}
	return list
}

// symbols lists the declarations of a tree.
func (e encoding) symbols(tree *syntax.File) []symbol {
	all := []symbol{}
	for _, d := range tree.Decls {
		all = append(all, e.declared(d, false)...)
	}
	return all
}

// declared lists what one declaration declares.
func (e encoding) declared(d syntax.Decl, member bool) []symbol {
	switch d := d.(type) {
	case *syntax.Func:
		kind := symbolFunction
		if member {
			kind = symbolMethod
		}
		return e.named(d.Name, kind, d.Span, head(d.Name, d), nil)
	case *syntax.VarDecl:
		kind := symbolVariable
		if member {
			kind = symbolField
		}
		var all []symbol
		for _, n := range d.Names {
			all = append(all, e.named(n, kind, d.Span, typeText(d.Type), nil)...)
		}
		return all
	case *syntax.ConstDecl:
		return e.named(d.Name, symbolConstant, d.Span, typeText(d.Type), nil)
	case *syntax.TypeDecl:
		kind := symbolStruct
		var below []symbol
		for _, m := range d.Members {
			below = append(below, e.declared(m, true)...)
		}
		if isConstraint(d) {
			kind = symbolInterface
		}
		return e.named(d.Name, kind, d.Span, "", below)
	case *syntax.UnionDecl:
		var below []symbol
		for _, k := range d.Cases {
			below = append(below, e.named(k.Name, symbolEnumMember, k.Span, "", nil)...)
		}
		return e.named(d.Name, symbolEnum, d.Span, "", below)
	case *syntax.ExternDecl:
		var below []symbol
		for _, f := range d.Funcs {
			below = append(below, e.declared(f, false)...)
		}
		if d.Header == "" {
			return below
		}
		at := e.span(d.Span)
		return []symbol{{Name: d.Header, Kind: symbolModule, Range: at, SelectionRange: at,
			Children: below}}
	case *syntax.TestDecl:
		at := e.span(d.Span)
		return []symbol{{Name: "test \"" + d.Name + "\"", Kind: symbolFunction, Range: at,
			SelectionRange: at}}
	}
	return nil
}

// isConstraint says whether a type has only methods without bodies.
func isConstraint(d *syntax.TypeDecl) bool {
	for _, m := range d.Members {
		if f, ok := m.(*syntax.Func); !ok || f.Body != nil {
			return false
		}
	}
	return len(d.Members) > 0 && !d.IsEmitter
}

// named makes a symbol; none for a name that is missing.
func (e encoding) named(n *syntax.Name, kind int, whole source.Span, detail string,
	below []symbol) []symbol {
	if n == nil || n.Text == "" {
		return nil
	}
	return []symbol{{Name: n.Text, Detail: detail, Kind: kind, Range: e.span(whole),
		SelectionRange: e.span(n.Span), Children: below}}
}

func typeText(t syntax.Type) string {
	if t == nil {
		return ""
	}
	return oneLine(t.Place().Text())
}

// head is the text of a function's head behind its name: permissions, parameters, result.
func head(name *syntax.Name, f *syntax.Func) string {
	whole := f.Span
	if name == nil || whole.File == nil || name.Span.End > whole.End {
		return ""
	}
	end := whole.End
	if f.Body != nil && f.Body.Span.Start > name.Span.End {
		end = min(end, f.Body.Span.Start)
	}
	text := source.Span{File: whole.File, Start: name.Span.End, End: end}.Text()
	text = withoutComments(text)
	text = strings.TrimSuffix(strings.TrimSpace(oneLine(text)), ":")
	return strings.TrimSpace(strings.TrimPrefix(text, ":"))
}

// withoutComments drops the comments of a text that has no strings with # in it.
func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		code, _, found := strings.Cut(line, "#")
		b.WriteString(code)
		if found {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// oneLine joins the lines of a text by single spaces.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

type queryParams struct {
	Query string `json:"query"`
}

// workspaceSymbols lists the declarations of all files that match the query.
func (r *request) workspaceSymbols(p queryParams) (any, error) {
	all := []symbolInformation{}
	for _, path := range r.view.files() {
		if r.ctx.Err() != nil {
			return nil, r.ctx.Err()
		}
		tree := r.tree(path)
		if tree == nil {
			continue
		}
		uri := uriOf(path)
		if d := r.view.docs[path]; d != nil {
			uri = d.uri
		}
		found := flatten(nil, uri, "", r.view.encoding.symbols(tree))
		for _, s := range found {
			if len(all) == maxSymbols {
				return all, nil
			}
			if !matches(s.Name, p.Query) {
				continue
			}
			if s.Container == "" {
				s.Container = strings.TrimSuffix(filepath.Base(path), ".eve")
			}
			all = append(all, s)
		}
	}
	return all, nil
}

// matches says whether the letters of the query occur in name in this order, as editors expect it.
func matches(name, query string) bool {
	rest := strings.ToLower(query)
	for _, c := range strings.ToLower(name) {
		if rest == "" {
			break
		}
		if strings.HasPrefix(rest, string(c)) {
			rest = rest[len(string(c)):]
		}
	}
	return rest == ""
}
