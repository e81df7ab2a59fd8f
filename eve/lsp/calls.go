package lsp

import (
	"cmp"
	"slices"

	"interleave/eve/check"
	"interleave/eve/source"
	"interleave/eve/syntax"
)

// A callItem is a function in a hierarchy of calls. A client sends it back to ask for its calls.
type callItem struct {
	Name           string `json:"name"`
	Detail         string `json:"detail,omitempty"`
	Kind           int    `json:"kind"`
	URI            string `json:"uri"`
	Range          span   `json:"range"`
	SelectionRange span   `json:"selectionRange"`
}

type callParams struct {
	Item callItem `json:"item"`
}

type incomingCall struct {
	From       callItem `json:"from"`
	FromRanges []span   `json:"fromRanges"`
}

type outgoingCall struct {
	To         callItem `json:"to"`
	FromRanges []span   `json:"fromRanges"`
}

// A caller is a function or a test, and the type around it.
type caller struct {
	node  syntax.Decl
	owner syntax.Decl
}

// prepareCalls returns the function at a place.
func (r *request) prepareCalls(q placeParams) (any, error) {
	p, name, err := r.nameAt(q)
	if err != nil || p == nil || !isFunction(name.use) {
		return nil, err
	}
	found := p.declared(name.use.Decl)
	f, ok := found.node.(*syntax.Func)
	if !ok {
		return nil, nil
	}
	item, ok, err := r.callItem(caller{f, found.owner})
	if err != nil || !ok {
		return nil, err
	}
	return []callItem{item}, nil
}

func isFunction(u check.Use) bool {
	return u.Role == check.FunctionName || u.Role == check.MethodName
}

// callItem describes a function or a test; false if an editor cannot show it.
func (r *request) callItem(c caller) (callItem, bool, error) {
	item := callItem{Kind: symbolFunction}
	var at source.Span
	switch n := c.node.(type) {
	case *syntax.Func:
		if n.Name == nil {
			return item, false, nil
		}
		at = n.Name.Span
		item.Name, item.Detail = qualified(c.owner, n.Name.Text), head(n.Name, n)
		if c.owner != nil {
			item.Kind = symbolMethod
		}
	case *syntax.TestDecl:
		at = n.Span
		item.Name = "test \"" + n.Name + "\""
	}
	where, err := r.located(at)
	l, ok := where.(location)
	if err != nil || !ok {
		return item, false, err
	}
	item.URI, item.SelectionRange = l.URI, l.Range
	item.Range = r.view.encoding.span(c.node.Place())
	return item, true, nil
}

// itemAt returns the program and the meaning of a function that a client has sent back; no program
// if it has gone.
func (r *request) itemAt(item callItem) (*program, place, error) {
	p, err := r.programAt(pathOf(item.URI))
	if err != nil || p == nil {
		return nil, place{}, err
	}
	name, ok := p.nameAt(r.view.encoding.offset(p.main, item.SelectionRange.Start))
	if !ok || !isFunction(name.use) {
		return nil, place{}, nil
	}
	return p, name, nil
}

// incomingCalls lists the functions that use one, in all programs of the workspace.
func (r *request) incomingCalls(q callParams) (any, error) {
	all := []incomingCall{}
	p, name, err := r.itemAt(q.Item)
	if err != nil || p == nil {
		return all, err
	}
	err = r.eachUse(p, name.use, func(p *program, at source.Span, l location) error {
		if at == p.here(name.use.Decl) {
			return nil
		}
		item, ok, err := r.callItem(callerAt(p.index.Trees[at.File], at))
		i := slices.IndexFunc(all, func(c incomingCall) bool { return c.From == item })
		switch {
		case err != nil || !ok:
		case i < 0:
			all = append(all, incomingCall{item, []span{l.Range}})
		default:
			all[i].FromRanges = append(all[i].FromRanges, l.Range)
		}
		return err
	})
	return all, err
}

// callerAt is the function or the test around a place; without a node if there is none.
func callerAt(tree *syntax.File, at source.Span) caller {
	found := caller{}
	look := func(d, owner syntax.Decl) {
		switch d.(type) {
		case *syntax.Func, *syntax.TestDecl:
			if s := d.Place(); s.Start <= at.Start && at.End <= s.End {
				found = caller{d, owner}
			}
		}
	}
	for _, d := range tree.Decls {
		look(d, nil)
		if t, ok := d.(*syntax.TypeDecl); ok {
			for _, m := range t.Members {
				look(m, t)
			}
		}
	}
	return found
}

// outgoingCalls lists the functions that one uses.
func (r *request) outgoingCalls(q callParams) (any, error) {
	all := []outgoingCall{}
	p, name, err := r.itemAt(q.Item)
	if err != nil || p == nil {
		return all, err
	}
	f := p.declared(name.use.Decl).node
	if f == nil {
		return all, nil
	}
	whole := f.Place()
	used := map[source.Span][]source.Span{} // by the place of the declaration
	for at, u := range p.index.Names() {
		if isFunction(u) && at.File == whole.File && whole.Start <= at.Start &&
			at.End <= whole.End && u.Decl != at && u.Decl.IsValid() {
			used[u.Decl] = append(used[u.Decl], at)
		}
	}
	for decl, places := range used {
		found := p.declared(decl)
		d, ok := found.node.(*syntax.Func)
		if !ok {
			continue
		}
		item, ok, err := r.callItem(caller{d, found.owner})
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		call := outgoingCall{To: item}
		slices.SortFunc(places, func(a, b source.Span) int { return a.Start - b.Start })
		for _, at := range places {
			call.FromRanges = append(call.FromRanges, r.view.encoding.span(at))
		}
		all = append(all, call)
	}
	slices.SortFunc(all, func(a, b outgoingCall) int {
		x, y := a.FromRanges[0].Start, b.FromRanges[0].Start
		return cmp.Or(x.Line-y.Line, x.Character-y.Character)
	})
	return all, nil
}
