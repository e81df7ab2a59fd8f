package lsp

import (
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

type inlayHint struct {
	Position    position `json:"position"`
	Label       string   `json:"label"`
	Kind        int      `json:"kind,omitempty"`
	PaddingLeft bool     `json:"paddingLeft,omitempty"`
	Tooltip     string   `json:"tooltip,omitempty"`
}

// hintType is the kind of a hint that shows a type.
const hintType = 1

// inlayHints shows what the text leaves out: the types of variables without one, and the
// permission of a handler on its emitter, which its list need not name.
func (r *request) inlayHints(q rangeParams) (any, error) {
	d, err := r.document(q.TextDocument)
	if err != nil {
		return nil, err
	}
	p, err := r.program(d)
	if err != nil {
		return nil, err
	}
	within := r.view.encoding.part(d.file, q.Range)
	all := []inlayHint{}
	for _, n := range untyped(d.syntax()) {
		u, ok := p.use(n.Span)
		if !ok || u.Var == nil || u.Var.Type == nil || u.Var.Type == types.InvalidT ||
			n.Span.End < within.Start || within.End < n.Span.End {
			continue
		}
		at := r.view.encoding.position(d.file, n.Span.End)
		all = append(all, inlayHint{Position: at, Label: ": " + u.Var.Type.String(),
			Kind: hintType})
	}
	for _, b := range p.handlers() {
		if b.List.File == d.file && within.Start <= b.List.Start && b.List.Start <= within.End {
			all = append(all, r.emitterHint(b))
		}
	}
	return all, nil
}

// untyped lists the variables that are declared without a type, in order.
func untyped(tree *syntax.File) []*syntax.Name {
	var all []*syntax.Name
	add := func(names ...*syntax.Name) {
		for _, n := range names {
			if n != nil && n.Text != "_" {
				all = append(all, n)
			}
		}
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ConstDecl:
			if n.Type == nil {
				add(n.Name)
			}
		case *syntax.ForInStmt:
			if n.Type == nil {
				add(n.Var)
			}
		case *syntax.TaskForStmt:
			if n.Type == nil {
				add(n.Var)
			}
		case *syntax.AwaitStmt:
			add(n.Var)
		case *syntax.CasePattern:
			add(n.Names...)
		}
		return true
	})
	return all
}

// handlers lists the handlers of the main module whose lists do not name the emitter, which has a
// name.
func (p *program) handlers() []*ir.Body {
	var all []*ir.Body
	if p.ir == nil {
		return nil
	}
	seen := map[source.Span]bool{}
	for _, m := range p.ir.Modules {
		if m.File != p.main {
			continue
		}
		for _, f := range m.Funcs {
			if f.Body == nil {
				continue
			}
			ir.Walk(f.Body, func(n ir.Node) bool {
				b, ok := n.(*ir.Body)
				if ok && b.Kind == ir.Handler && !seen[b.List] && implied(b) {
					seen[b.List] = true
					all = append(all, b)
				}
				return true
			})
		}
	}
	return all
}

// implied says whether a handler has its permission on the emitter without listing it.
func implied(b *ir.Body) bool {
	if b.Emitter == nil || b.Emitter.Name == "" || !b.List.IsValid() {
		return false
	}
	for _, e := range b.Perms {
		if e.Name == b.Emitter.Name {
			return false
		}
	}
	return true
}

// emitterHint shows the entry of the emitter, in the list of a handler or in place of one.
func (r *request) emitterHint(b *ir.Body) inlayHint {
	entry := "+" + b.Emitter.Name
	hint := inlayHint{Tooltip: "A handler may read and change its emitter."}
	at := b.List.Start
	switch {
	case b.List.Start == b.List.End:
		hint.Label, hint.PaddingLeft = "["+entry+"]", true
	case len(b.Perms) == 0:
		hint.Label = entry
		at++
	default:
		hint.Label = entry + ", "
		at++
	}
	hint.Position = r.view.encoding.position(b.List.File, at)
	return hint
}
