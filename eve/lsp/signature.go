package lsp

import (
	"strings"

	"interleave/eve/check"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

type signatureHelp struct {
	Signatures      []signatureInfo `json:"signatures"`
	ActiveSignature int             `json:"activeSignature"`
	ActiveParameter int             `json:"activeParameter"`
}

type signatureInfo struct {
	Label         string          `json:"label"`
	Documentation *markup         `json:"documentation,omitempty"`
	Parameters    []parameterInfo `json:"parameters"`
}

type parameterInfo struct {
	Label string `json:"label"`
}

// A callable is the thing that a call calls: what its arguments are.
type callable struct {
	label  string // before the parameters
	params []string
	names  []string // of the parameters; empty for those of closures
	result string
	text   string // the comment above its declaration
}

// signatureHelp shows the parameters of the call that is being written.
func (r *request) signatureHelp(q placeParams) (any, error) {
	d, err := r.document(q.TextDocument)
	if err != nil {
		return nil, err
	}
	c := cursorAt(d.syntax(), r.view.encoding.offset(d.file, q.Position))
	open, ok := c.call()
	if !ok {
		return nil, nil
	}
	p, callee, err := r.mendedProgram(d, &c, open.callee)
	if err != nil {
		return nil, err
	}
	called, ok := p.callable(callee)
	if !ok {
		return nil, nil
	}
	info := signatureInfo{Parameters: []parameterInfo{}}
	for _, text := range called.params {
		info.Parameters = append(info.Parameters, parameterInfo{text})
	}
	info.Label = called.label + "(" + strings.Join(called.params, ", ") + ")"
	if called.result != "" {
		info.Label += " " + called.result
	}
	if called.text != "" {
		m := markdown(called.text)
		info.Documentation = &m
	}
	active := open.index
	for i, name := range called.names {
		if open.name != "" && name == open.name {
			active = i
		}
	}
	return signatureHelp{[]signatureInfo{info}, 0, active}, nil
}

// mendedProgram checks the program with the statement at the cursor completed, and returns it with
// a place before the cursor in it. The document's own program does when it knows the place.
func (r *request) mendedProgram(d *document, c *cursor, at source.Span) (*program, source.Span,
	error) {
	if d.isChecked() {
		if _, ok := d.program.use(at); ok {
			return d.program, at, nil
		}
	}
	at.File = c.mended().File
	if err := r.ctx.Err(); err != nil {
		return nil, at, err
	}
	return checkAt(r.view, at, r.options), at, nil
}

// callable returns the parameters of the function, type or closure that a name calls.
func (p *program) callable(callee source.Span) (callable, bool) {
	if p.index == nil {
		return callable{}, false
	}
	if i, ok := p.index.Implied(callee, callee.Text()); ok {
		return callable{label: i.Owner + "." + i.Name + ": ", params: i.Params,
			names: make([]string, len(i.Params)), result: i.Result, text: i.About}, true
	}
	u, ok := p.use(callee)
	if !ok {
		return callable{}, false
	}
	found := p.declared(u.Decl)
	called := callable{label: callee.Text(), text: p.comment(u.Decl, found)}
	switch n := found.node.(type) {
	case *syntax.Func:
		called.label = qualified(found.owner, n.Name.Text) + ": "
		if n.Perms != nil {
			called.label += oneLine(n.Perms.Span.Text()) + " "
		}
		called.take(n.Params)
		called.result = typeText(n.Result)
		return called, true
	case *syntax.Case:
		called.label = qualified(found.owner, n.Name.Text)
		called.take(n.Fields)
		return called, true
	case *syntax.TypeDecl:
		for _, m := range n.Members {
			v, ok := m.(*syntax.VarDecl)
			if !ok {
				continue
			}
			for _, name := range v.Names {
				called.params = append(called.params, name.Text+": "+typeText(v.Type))
				called.names = append(called.names, name.Text)
			}
		}
		return called, true
	}
	t := u.Type
	if u.Var != nil {
		t = u.Var.Type
	}
	if t == nil || t.Deref().Kind != types.Func {
		return called, false
	}
	for _, e := range t.Deref().Elems {
		called.params = append(called.params, e.String())
		called.names = append(called.names, "")
	}
	if e := t.Deref().Elem; e != types.VoidT {
		called.result = e.String()
	}
	return called, true
}

// take adds parameters as they are written, without self.
func (c *callable) take(params []*syntax.Param) {
	for _, a := range params {
		if a.Name == nil || a.Name.Text == "self" && a.Type == nil {
			continue
		}
		c.params = append(c.params, oneLine(a.Span.Text()))
		c.names = append(c.names, a.Name.Text)
	}
}

// kindOf is the kind of a name for completion.
func kindOf(role check.Role) int {
	switch role {
	case check.ModuleName:
		return 9
	case check.TypeName:
		return 22
	case check.UnionName:
		return 13
	case check.TypeParamName:
		return 25
	case check.FunctionName:
		return 3
	case check.MethodName:
		return 2
	case check.FieldName:
		return 5
	case check.CaseName:
		return 20
	case check.ConstName:
		return 21
	}
	return 6
}
