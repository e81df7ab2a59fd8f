package lsp

import (
	"fmt"
	"strings"

	"interleave/eve/check"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// hover describes the name at a place: its declaration with its type and permission list, the
// comment above it, and for a shared object the permission that this body has on it.
func (r *request) hover(q placeParams) (any, error) {
	p, name, err := r.nameAt(q)
	if err != nil || p == nil {
		return nil, err
	}
	code, notes := p.describe(name)
	if code == "" {
		return nil, nil
	}
	text := "```eve\n" + code + "\n```"
	if notes != "" {
		text += "\n" + notes
	}
	return hover{markdown(text), r.view.encoding.span(name.at)}, nil
}

// nameAt returns the program of a document and the name at a place in it; no program when there is
// no name.
func (r *request) nameAt(q placeParams) (*program, place, error) {
	d, err := r.document(q.TextDocument)
	if err != nil {
		return nil, place{}, err
	}
	p, err := r.program(d)
	if err != nil {
		return nil, place{}, err
	}
	name, ok := p.nameAt(r.view.encoding.offset(d.file, q.Position))
	if !ok {
		return nil, place{}, nil
	}
	return p, name, nil
}

// describe returns the text of a name's declaration, and what else there is to say.
func (p *program) describe(n place) (code, notes string) {
	u := n.use
	found := p.declared(u.Decl)
	if i, ok := p.index.Implied(n.at, n.at.Text()); ok && u.Role == check.MethodName {
		return i.Owner + "." + i.Name + ": " + i.Head(), i.About
	}
	switch {
	case u.Role == check.ModuleName:
		return "import " + moduleName(p, u.File), fileComment(p.index.Trees[u.File])
	case u.Var != nil:
		code = variable(n.at.Text(), u)
		notes = permission(u)
	case found.node != nil:
		code = outline(found)
	case u.Role == check.TypeParamName:
		code = "type " + n.at.Text()
	case u.Role == check.TypeName:
		code = n.at.Text()
	}
	if comment := p.comment(u.Decl, found); comment != "" {
		notes = strings.TrimSpace(notes + "\n\n" + comment)
	}
	return code, notes
}

// moduleName is the dotted name of a module.
func moduleName(p *program, file *source.File) string {
	if p.ir != nil {
		for _, m := range p.ir.Modules {
			if m.File == file {
				return m.Name
			}
		}
	}
	return strings.TrimSuffix(file.Name, ".eve")
}

// variable is the declaration of a variable, as its user would write it.
func variable(name string, u check.Use) string {
	v := u.Var
	t := "?"
	if v.Type != nil {
		t = v.Type.String()
	}
	switch {
	case v.Kind == ir.Constant:
		if c, ok := v.Init.(*ir.Const); ok {
			return fmt.Sprintf("const %s: %s = %s", name, t, constant(c))
		}
		return "const " + name + ": " + t
	case v.Take:
		return "=" + name + ": " + t
	}
	return name + ": " + t
}

// constant is a constant as a literal.
func constant(c *ir.Const) string {
	switch v := c.Value.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case int64:
		if c.T == types.CharT {
			return fmt.Sprintf("%q", rune(v))
		}
	}
	return fmt.Sprint(c.Value)
}

// permission says what the body around a use may do with the object of a variable, by the rules
// R2 and R3; empty for variables without an object.
func permission(u check.Use) string {
	v := u.Var
	if v.Type == nil || v.Type.Kind != types.Shared || v.Kind == ir.Constant {
		return sign(v)
	}
	body := u.Body.Owner()
	if body == nil {
		return ""
	}
	for _, e := range body.Perms {
		if e.Var == nil || e.Var.Origin() != v.Origin() {
			continue
		}
		switch e.Sign {
		case '+':
			return "`+`: this body may read and change it."
		case '-':
			return "`-`: this body has the handle only."
		case 0:
			return "This body may read it."
		}
	}
	switch {
	case v.Built && v.Body.Owner() == body:
		return "Built here: this body may read and change it."
	case body.Emitter == v:
		return "The emitter of this handler, which may read and change it."
	}
	return "A handle only: this body has no permission on the object."
}

// sign says how a plain variable came into a body.
func sign(v *ir.Var) string {
	switch {
	case v.Kind == ir.Capture && v.Sign == '=':
		return "`=`: a copy, or moved on its last use."
	case v.Kind == ir.Capture && v.Sign == '&':
		return "`&`: lent by the body around."
	case v.Kind == ir.Param && !v.Take && v.Type != nil && v.Type.Kind != types.Ref:
		return "Lent for the call: it can only be read."
	}
	return ""
}

// outline is the head of a declaration, without bodies.
func outline(d declaration) string {
	switch n := d.node.(type) {
	case *syntax.Func:
		return qualified(d.owner, n.Name.Text) + ": " + head(n.Name, n)
	case *syntax.Param:
		return oneLine(n.Span.Text())
	case *syntax.Case:
		return qualified(d.owner, oneLine(n.Span.Text()))
	case *syntax.VarDecl:
		text := oneLine(withoutComments(n.Span.Text()))
		if len(n.Names) > 1 {
			return text
		}
		return qualified(d.owner, text)
	case *syntax.ConstDecl:
		return oneLine(withoutComments(n.Span.Text()))
	case *syntax.TypeDecl:
		return firstLine(n.Span) + fields(n)
	case *syntax.UnionDecl:
		text := firstLine(n.Span)
		for _, k := range n.Cases {
			text += "\n    " + oneLine(k.Span.Text())
		}
		return text
	}
	return ""
}

// fields lists the fields of a type, one a line.
func fields(d *syntax.TypeDecl) string {
	text := ""
	for _, m := range d.Members {
		if v, ok := m.(*syntax.VarDecl); ok {
			text += "\n    " + oneLine(withoutComments(v.Span.Text()))
		}
	}
	return text
}

// qualified is a name with that of its type.
func qualified(owner syntax.Decl, name string) string {
	switch o := owner.(type) {
	case *syntax.TypeDecl:
		return o.Name.Text + "." + name
	case *syntax.UnionDecl:
		return o.Name.Text + "." + name
	}
	return name
}

// firstLine is the first line of a declaration, without a comment.
func firstLine(s source.Span) string {
	line, _, _ := strings.Cut(withoutComments(s.Text()), "\n")
	return strings.TrimSpace(line)
}

// comment is the comment above a declaration or behind it on its line.
func (p *program) comment(name source.Span, found declaration) string {
	if found.node == nil || !name.IsValid() {
		return ""
	}
	if _, ok := found.node.(*syntax.Param); ok {
		return ""
	}
	tree := p.index.Trees[name.File]
	start := found.node.Place().Start
	for i, t := range tree.Tokens {
		if t.Span.Start == start && t.Text() != "" {
			if text := commentAbove(t.Lead, i == 0); text != "" {
				return text
			}
			break
		}
	}
	line := name.File.Line(name.Line())
	if _, text, ok := strings.Cut(line, " #"); ok && !strings.ContainsAny(line, `"'`) {
		return strings.TrimSpace(text)
	}
	return ""
}

// commentAbove is the comment that ends directly above a token, whose leading text is given. The
// comment behind the line before does not count, unless there is no line before.
func commentAbove(lead string, first bool) string {
	lines := strings.Split(lead, "\n")
	if !first {
		lines = lines[1:]
	}
	var text []string
	for i := len(lines) - 2; i >= 0; i-- { // the last one is the indentation of the token
		line, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), "#")
		if !ok {
			break
		}
		text = append([]string{strings.TrimPrefix(line, " ")}, text...)
	}
	return strings.Join(text, "\n")
}

// fileComment is the comment at the head of a module.
func fileComment(tree *syntax.File) string {
	if tree == nil || len(tree.Tokens) == 0 {
		return ""
	}
	var text []string
	for line := range strings.Lines(tree.Tokens[0].Lead) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !ok {
			break
		}
		text = append(text, strings.TrimPrefix(comment, " "))
	}
	return strings.Join(text, "\n")
}
