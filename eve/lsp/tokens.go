package lsp

import (
	"slices"
	"strings"

	"interleave/eve/check"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
)

// The types of semantic tokens, by their place in tokenTypes.
const (
	tokenNamespace = iota
	tokenType
	tokenEnum
	tokenEnumMember
	tokenTypeParameter
	tokenParameter
	tokenVariable
	tokenProperty
	tokenFunction
	tokenMethod
	tokenKeyword
	tokenComment
	tokenString
	tokenNumber
	tokenEvent
)

var tokenTypes = []string{"namespace", "type", "enum", "enumMember", "typeParameter", "parameter",
	"variable", "property", "function", "method", "keyword", "comment", "string", "number",
	"event"}

// The modifiers of semantic tokens, as bits, by their place in tokenModifiers.
const (
	modifierDeclaration = 1 << iota
	modifierReadonly
	modifierStatic // a variable of a module
	modifierLibrary
)

var tokenModifiers = []string{"declaration", "readonly", "static", "defaultLibrary"}

// A colored is a part of one line with its color.
type colored struct {
	at        source.Span
	kind      int
	modifiers int
}

type semanticTokens struct {
	Data []int `json:"data"`
}

// tokensFull colors a document, tokensRange a part of it.
func (r *request) tokensFull(q documentParams) (any, error) {
	d, err := r.document(q.TextDocument)
	if err != nil {
		return nil, err
	}
	return r.tokens(d, source.Span{File: d.file, Start: 0, End: len(d.file.Text)})
}

func (r *request) tokensRange(q rangeParams) (any, error) {
	d, err := r.document(q.TextDocument)
	if err != nil {
		return nil, err
	}
	return r.tokens(d, r.view.encoding.part(d.file, q.Range))
}

func (r *request) tokens(d *document, within source.Span) (any, error) {
	p, err := r.program(d)
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(p.colors(d.syntax()), func(c colored) bool {
		return c.at.End <= within.Start || within.End <= c.at.Start
	})
	return semanticTokens{r.view.encoding.relative(all)}, nil
}

// relative encodes tokens as the protocol wants them: five numbers each, of which the first two
// are relative to the token before.
func (e encoding) relative(all []colored) []int {
	data := make([]int, 0, 5*len(all))
	last := position{}
	for _, c := range all {
		at := e.position(c.at.File, c.at.Start)
		column := at.Character
		if at.Line == last.Line {
			column -= last.Character
		}
		data = append(data, at.Line-last.Line, column, e.units(c.at.Text()), c.kind, c.modifiers)
		last = at
	}
	return data
}

// colors returns the colored parts of a text in order. None crosses the end of a line, and none
// overlaps another.
func (p *program) colors(tree *syntax.File) []colored {
	var all []colored
	names := p.names()
	next := 0
	for _, t := range tree.Tokens {
		start := t.Span.Start - len(t.Lead)
		all = comments(all, source.Span{File: tree.Source, Start: start, End: t.Span.Start})
		from := next
		for next < len(names) && names[next].at.Start < t.Span.End {
			next++
		}
		inside := names[from:next]
		switch t.Kind {
		case syntax.Keyword:
			all = append(all, colored{t.Span, tokenKeyword, 0})
		case syntax.Int, syntax.Float, syntax.Duration:
			all = append(all, colored{t.Span, tokenNumber, 0})
		case syntax.String, syntax.Char:
			all = lines(all, t.Span, tokenString)
		case syntax.FormatString:
			all = formatString(all, t.Span, inside)
		case syntax.Identifier:
			for _, n := range inside {
				if n.at == t.Span {
					all = append(all, colorOf(n))
				}
			}
		}
	}
	return all
}

// comments adds the comments of the text before a token.
func comments(all []colored, lead source.Span) []colored {
	at := lead.Start
	for line := range strings.Lines(lead.Text()) {
		if i := strings.IndexByte(line, '#'); i >= 0 {
			text := strings.TrimRight(line[i:], "\r\n")
			all = append(all, colored{source.Span{File: lead.File, Start: at + i,
				End: at + i + len(text)}, tokenComment, 0})
		}
		at += len(line)
	}
	return all
}

// lines adds a part of the text, line by line.
func lines(all []colored, s source.Span, kind int) []colored {
	at := s.Start
	for line := range strings.Lines(s.Text()) {
		text := strings.TrimRight(line, "\r\n")
		if text != "" {
			all = append(all, colored{source.Span{File: s.File, Start: at, End: at + len(text)},
				kind, 0})
		}
		at += len(line)
	}
	return all
}

// formatString adds a format string: the names in its braces, and the text around them.
func formatString(all []colored, s source.Span, names []place) []colored {
	at := s.Start
	for _, n := range names {
		if n.at.Start < at || n.at.End > s.End {
			continue
		}
		all = lines(all, source.Span{File: s.File, Start: at, End: n.at.Start}, tokenString)
		all = append(all, colorOf(n))
		at = n.at.End
	}
	return lines(all, source.Span{File: s.File, Start: at, End: s.End}, tokenString)
}

var roleTokens = map[check.Role]int{
	check.ModuleName: tokenNamespace, check.TypeName: tokenType, check.UnionName: tokenEnum,
	check.TypeParamName: tokenTypeParameter, check.FunctionName: tokenFunction,
	check.MethodName: tokenMethod, check.FieldName: tokenProperty, check.CaseName: tokenEnumMember,
	check.ParamName: tokenParameter, check.VarName: tokenVariable, check.ConstName: tokenVariable,
}

// colorOf is the color of a name.
func colorOf(n place) colored {
	c := colored{at: n.at, kind: roleTokens[n.use.Role]}
	switch decl := n.use.Decl; {
	case decl == n.at:
		c.modifiers |= modifierDeclaration
	case !decl.IsValid() || !onDisk(decl.File.Name) && strings.HasPrefix(decl.File.Name, "std/"):
		c.modifiers |= modifierLibrary
	}
	if v := n.use.Var; v != nil {
		switch v.Kind {
		case ir.Constant:
			c.modifiers |= modifierReadonly
		case ir.Global:
			c.modifiers |= modifierStatic
		case ir.EventVar:
			c.kind = tokenEvent
		}
	}
	return c
}
