package check

import (
	"path"
	"slices"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/std"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// program loads, declares and checks main and all that it imports.
func (c *checker) program(main *source.File) *ir.Program {
	prelude, _ := parseLibrary("prelude")
	c.prelude = c.read("prelude", prelude.file, prelude)
	m := c.read(strings.TrimSuffix(path.Base(main.Name), ".eve"), main, nil)
	c.started = true
	for i := 0; i < len(c.order); i++ {
		c.resolve(c.order[i])
	}
	for len(c.queue) > 0 {
		next := c.queue[0]
		c.queue = c.queue[1:]
		next()
	}
	for _, m := range c.order {
		c.orderGlobals(m.ir)
	}
	p := &ir.Program{Universe: c.universe, Main: c.mainOf(m), Tests: m.tests}
	seen := map[*module]bool{}
	p.Modules = arrange(p.Modules, c.prelude, seen)
	for _, m := range c.order {
		p.Modules = arrange(p.Modules, m, seen)
	}
	return p
}

// arrange appends m's module after all that it uses.
func arrange(all []*ir.Module, m *module, seen map[*module]bool) []*ir.Module {
	if seen[m] {
		return all
	}
	seen[m] = true
	for _, u := range m.uses {
		all = arrange(all, u, seen)
	}
	return append(all, m.ir)
}

// read declares the names of a module and reads its imports. A module of the library is parsed, one
// of the project (nil) is not.
func (c *checker) read(name string, file *source.File, library *parsed) *module {
	isStd := library != nil
	m := &module{
		ir: &ir.Module{Name: name, Std: isStd, File: file}, id: name, std: isStd, loading: true,
		names: map[string]object{}, imports: map[string]object{}, pub: map[string]bool{},
		places: map[string]source.Span{}, pending: map[*ir.Var]*global{},
		unknown: map[unknownName]source.Span{},
	}
	if isStd {
		m.ir.Runtime = std.Runtime(name)
	} else {
		m.id = projectID(name)
	}
	c.modules[m.id] = m
	if !isStd && c.main == nil {
		c.main = m
	}
	c.loading = append(c.loading, m)
	diags, current := c.diags, c.current
	c.diags, c.current = c.base, nil
	if isStd {
		m.tree = library.tree
		for _, d := range library.diags {
			c.diags.Add(d)
		}
	} else {
		m.tree = syntax.Parse(file, c.diags)
	}
	m.torn = tornWords(file, c.diags)
	if c.index != nil {
		c.index.Trees[file], c.index.modules[file] = m.tree, m
	}
	c.declare(m)
	for _, i := range m.tree.Imports {
		c.bring(m, i)
	}
	m.loading = false
	c.loading = c.loading[:len(c.loading)-1]
	c.order = append(c.order, m)
	if c.started {
		c.resolve(m)
	}
	c.diags, c.current = diags, current
	return m
}

// projectID is the id of a module of the project.
func projectID(name string) string {
	if _, _, taken := std.Text(name); taken {
		return "./" + name
	}
	return name
}

// find returns the module that `from` imports by a dotted name, and reads it if necessary; nil
// when there is none. In a project the project's own module goes before the library's, so that a
// new module of the library breaks no program.
func (c *checker) find(name string, from *module) *module {
	if !from.std {
		if m := c.modules[projectID(name)]; m != nil && !m.std {
			return m
		}
		if c.load != nil {
			if file, ok := c.load(name); ok {
				return c.read(name, file, nil)
			}
		}
	}
	return c.library(name)
}

// library returns a module of std, and reads it if necessary; nil when there is none.
func (c *checker) library(name string) *module {
	p, ok := parseLibrary(name)
	if !ok {
		return nil
	}
	if m := c.modules[name]; m != nil {
		return m
	}
	return c.read(name, p.file, p)
}

// bring adds the names of one import to m.
func (c *checker) bring(m *module, i *syntax.Import) {
	if len(i.Path) == 0 {
		return
	}
	name, at := dotted(i.Path), i.Path[0].Span.To(i.Path[len(i.Path)-1].Span)
	bound := bound(i)
	from := c.find(name, m)
	switch {
	case from == nil:
		c.noModule(name, at)
		if !i.All {
			m.imports[bound.Text] = nil
		} else {
			m.partial = true
		}
		return
	case from.loading:
		c.cycle(from, at)
	}
	if !slices.Contains(m.uses, from) && from != m {
		m.uses = append(m.uses, from)
	}
	if i.All {
		c.open(m, from, at)
		c.noteObject(m, i.Path[len(i.Path)-1].Span, from, nil)
		return
	}
	if first, taken := m.places[bound.Text]; taken {
		c.twice(bound, first).Label = "import it under another name: as other"
		return
	}
	m.places[bound.Text] = bound.Span
	m.imports[bound.Text] = from
	c.noteObject(m, bound.Span, from, nil)
}

// bound is the name under which a module knows what it imports.
func bound(i *syntax.Import) *syntax.Name {
	if i.As != nil {
		return i.As
	}
	return i.Path[len(i.Path)-1]
}

// open adds the public names of from to m, without their module's name.
func (c *checker) open(m, from *module, at source.Span) {
	if slices.Contains(m.opened, from) {
		return
	}
	for _, other := range m.opened {
		for _, name := range sortedNames(from.names) {
			if from.pub[name] && other.pub[name] && m.names[name] == nil {
				c.diags.Errorf("E0213", at,
					"'%s' comes from %s and from %s; import one of them without .*",
					name, other.ir.Name, from.ir.Name)
				return
			}
		}
	}
	m.opened = append(m.opened, from)
}

// cycle reports that the import at `at` closes an import cycle.
func (c *checker) cycle(from *module, at source.Span) {
	var names []string
	for i := slices.Index(c.loading, from); i >= 0 && i < len(c.loading); i++ {
		names = append(names, c.loading[i].ir.Name)
	}
	names = append(names, from.ir.Name)
	c.diags.Errorf("E0204", at, "modules import each other: %s", strings.Join(names, " -> "))
}

func dotted(path []*syntax.Name) string {
	var parts []string
	for _, n := range path {
		parts = append(parts, n.Text)
	}
	return strings.Join(parts, ".")
}

// mainOf returns the main function of the main module; nil when there is none or it has an error.
func (c *checker) mainOf(m *module) *ir.Func {
	f, _ := m.names["main"].(*function)
	if f == nil || f.tree.Body == nil {
		return nil
	}
	if len(f.tree.TypeParams) > 0 || len(f.tree.Params) > 0 {
		c.diags.Errorf("E0206", f.tree.Name.Span,
			"main takes no parameters: the arguments are process.args()")
		return nil
	}
	fn := c.instance(f, nil, nil, f.tree.Name.Span)
	if fn.Result != types.VoidT && fn.Result != types.InvalidT {
		c.diags.Errorf("E0206", f.tree.Result.Place(),
			"main has no result: end with process.exit(status)")
		return nil
	}
	return fn
}
