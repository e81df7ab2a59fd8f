// Package emit writes a checked program as C++: one text for each module, made of structs,
// functions and templates of Eve's runtime. The text is the same in every run and depends only on
// what the module uses, so that an unchanged module need not be compiled again.
package emit

import (
	"fmt"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// Options say which kind of program to write.
type Options struct {
	Checked bool // arithmetic that overflows fails; otherwise it wraps
	// main runs one test, named by its number in Program.Tests, instead of the program's main
	Test bool
	// no second copies of functions: quick to compile, one C++ function for each Eve function
	Debug bool
}

// A Unit is the C++ text of one module.
type Unit struct {
	Module  string // "io.socket", "chat"
	Name    string // a file name for it: "io_socket.cpp"
	Text    string
	Headers []string // of C libraries that it calls: the linker needs the libraries
	Runtime []string // headers of the runtime that it includes, besides that of every program
}

// Program writes every module that has code. An error is a bug of the compiler: the checker
// accepts only programs that can be written.
func Program(p *ir.Program, o Options) (units []Unit, err error) {
	g := &program{p: p, o: o, facts: findFacts(p, o.Checked)}
	g.names = findNames(p)
	g.crossing = findCrossing(p)
	defer func() {
		if r := recover(); r != nil {
			b, ok := r.(bug)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("emit: %s", string(b))
		}
	}()
	main := g.mainModule()
	for _, m := range p.Modules {
		if m == main || g.hasCode(m) {
			units = append(units, newUnit(g, m).text(m == main))
		}
	}
	return units, nil
}

// A bug is the panic for a program that the checker should have rejected.
type bug string

// A program is the state that all units of one compilation share.
type program struct {
	p     *ir.Program
	o     Options
	facts *facts
	names *names
	// private functions that other units name
	crossing map[*ir.Func]bool
}

// findCrossing finds functions that a module other than their own calls. A private one is named by
// the default of a parameter, which is written at the call, or of a field, which is written with
// its type in every unit.
func findCrossing(p *ir.Program) map[*ir.Func]bool {
	found := map[*ir.Func]bool{}
	look := func(n ir.Node, from *ir.Module) {
		ir.Walk(n, func(n ir.Node) bool {
			if c, ok := n.(*ir.Call); ok && c.Fn != nil && c.Fn.Module != from {
				found[c.Fn] = true
			}
			return true
		})
	}
	for _, m := range p.Modules {
		for _, f := range m.Funcs {
			if f.Body != nil {
				look(f.Body, m)
			}
		}
		for _, v := range m.Globals {
			if v.Init != nil {
				look(v.Init, m)
			}
		}
		for _, t := range m.Named {
			for _, field := range t.Def.Fields {
				if x, ok := field.Default.(ir.Expr); ok && x != nil {
					look(x, nil)
				}
			}
		}
	}
	return found
}

// mainModule is the module that gets C++'s main.
func (g *program) mainModule() *ir.Module {
	if g.p.Main != nil {
		return g.p.Main.Module
	}
	if len(g.p.Tests) > 0 {
		return g.p.Tests[0].Module
	}
	if n := len(g.p.Modules); n > 0 {
		return g.p.Modules[n-1]
	}
	return nil
}

// hasCode says whether m has code that is not in the runtime.
func (g *program) hasCode(m *ir.Module) bool {
	for _, f := range m.Funcs {
		if g.written(f) {
			return true
		}
	}
	for _, v := range m.Globals {
		if ownGlobal(v) {
			return true
		}
	}
	return false
}

// written says whether f is an Eve function to write: not a native, not generic, not a test of
// another run.
func (g *program) written(f *ir.Func) bool {
	return f.Body != nil && f.Body.Block != nil && f.Native == "" && !f.Opaque && f.Extern == nil &&
		(f.Test == "" || g.o.Test)
}

// ofRuntime says whether v is an object that the runtime makes: stdout, the source of signals.
func ofRuntime(v *ir.Var) bool {
	if v.Kind != ir.Global || v.Module == nil || !v.Module.Std {
		return false
	}
	t := v.Type.Deref()
	return t.Kind == types.Named && t.Def.Runtime != ""
}

// ownGlobal says whether generated code stores v. Constants of simple types are written at their
// uses.
func ownGlobal(v *ir.Var) bool {
	if v.Init == nil || ofRuntime(v) {
		return false
	}
	_, simple := v.Init.(*ir.Const)
	return v.Kind == ir.Global || !simple
}
