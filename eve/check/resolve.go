package check

import (
	"fmt"
	"slices"
	"strings"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/std"
	"interleave/eve/syntax"
)

// lookup returns the meaning of a name in a module: declared there, imported, of the prelude, or a
// std module that is always in scope. It is nil for an unknown name. Globals and constants have
// their type.
func (c *checker) lookup(m *module, name string) object {
	if o := m.names[name]; o != nil {
		return c.typed(m, o)
	}
	if o := m.imports[name]; o != nil {
		return o
	}
	for _, from := range m.opened {
		// log.error is a function of the library; opened, it would hide the type error
		if o := from.names[name]; o != nil && from.pub[name] && !reserved(name) {
			return c.typed(from, o)
		}
	}
	if o := c.prelude.names[name]; o != nil {
		return c.typed(c.prelude, o)
	}
	if t := basicType(name); t != nil {
		return &typeName{name: name, builtin: true}
	}
	if _, failed := m.imports[name]; failed {
		return nil
	}
	if slices.Contains(std.InScope(), name) {
		from := c.library(name)
		m.imports[name] = from
		if from != m {
			m.uses = append(m.uses, from)
		}
		return from
	}
	return nil
}

// typed determines the type of a global or constant.
func (c *checker) typed(m *module, o object) object {
	if v, ok := o.(*ir.Var); ok {
		c.typeVar(m, v)
	}
	return o
}

// member returns the public object that n names in module m. If there is none, it reports that and
// returns nil.
func (c *checker) member(m *module, n *syntax.Name) object {
	o := m.names[n.Text]
	if o == nil {
		var names []string
		for _, name := range sortedNames(m.names) {
			if m.pub[name] {
				names = append(names, name)
			}
		}
		c.missing(n.Span, fmt.Sprintf("module '%s' has no '%s'", m.ir.Name, n.Text), n.Text, names)
		return nil
	}
	if !m.pub[n.Text] {
		c.diags.Add(diag.Diagnostic{
			Code: "E0205", Span: n.Span, Message: fmt.Sprintf("'%s' of module '%s' is not pub",
				n.Text, m.ir.Name),
			Also: []diag.Label{{Span: m.places[n.Text], Text: "write pub before it"}},
		})
		return nil
	}
	c.noteObject(c.moduleOf(n.Span), n.Span, o, nil)
	return c.typed(m, o)
}

// unknown reports an unknown name. It suggests one of the module's names or of `more`. It is
// silent when a failed import may have declared the name.
func (c *checker) unknown(m *module, name string, at source.Span, more ...string) {
	if _, failed := m.imports[name]; failed || m.partial || name == "" || m.torn[name] ||
		c.saidUnknown(m, name, at) {
		return
	}
	if c.habit(m, name, at) {
		return
	}
	names := append(more, sortedNames(m.names)...)
	for name := range m.imports {
		names = append(names, name)
	}
	for _, from := range append(m.opened, c.prelude) {
		for _, name := range sortedNames(from.names) {
			if from.pub[name] || builtinOwners[name] {
				names = append(names, name)
			}
		}
	}
	names = append(names, basicNames...)
	c.missing(at, fmt.Sprintf("unknown name '%s'", name), name, append(names, std.InScope()...))
}

// tornWords returns the words of the lines of file that could not be parsed.
func tornWords(file *source.File, diags *diag.List) map[string]bool {
	words := map[string]bool{}
	for _, d := range diags.Sorted() {
		if !d.Code.IsText() || d.Span.File != file {
			continue
		}
		for _, w := range strings.FieldsFunc(file.Line(d.Span.Line()), notOfName) {
			words[w] = true
		}
	}
	return words
}

func notOfName(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// saidUnknown says whether the name was reported in the same declaration before, as one message is
// enough. Reports of an attempt that is dropped do not count.
func (c *checker) saidUnknown(m *module, name string, at source.Span) bool {
	if c.diags != c.base {
		return false
	}
	where := unknownName{name: name}
	for _, d := range m.tree.Decls {
		if p := d.Place(); p.Start <= at.Start && at.End <= p.End && p.File == at.File {
			where.decl = d
		}
	}
	first, said := m.unknown[where]
	if !said {
		m.unknown[where] = at
	}
	return said && first != at
}

// An unknownName is a name in a declaration.
type unknownName struct {
	name string
	decl syntax.Decl
}

// missing reports E0202 and suggests the most similar of the names.
func (c *checker) missing(at source.Span, message, name string, names []string) {
	d := c.diags.Errorf("E0202", at, "%s", message)
	best := elsewhere[name]
	if best == "" {
		best = nearest(name, names)
	}
	if best != "" {
		d.Message += fmt.Sprintf("; did you mean '%s'?", best)
		d.Fix = &diag.Fix{Text: "write " + best, Span: at, New: best}
	}
}
