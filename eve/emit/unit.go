package emit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/std"
	"interleave/eve/types"
)

// A unit is the text of one module while it is written. Functions are written first, since they
// note the declarations that must come before them.
type unit struct {
	*program
	mod        *ir.Module
	usedTypes  map[*types.Type]bool
	typeOrder  []*types.Type // generated types among them, in order of first use
	usedFuncs  map[*ir.Func]bool
	funcOrder  []*ir.Func
	usedVars   map[*ir.Var]bool
	varOrder   []*ir.Var
	headers    map[string]bool // of extern functions
	runtime    map[string]bool // headers of the runtime, besides the one of every program
	sites      map[int]bool    // lines that can fail
	code       []line          // functions, and before each its helpers
	defaults   []string        // heads of the functions that make defaults of fields
	helperName map[string]int
}

func newUnit(g *program, m *ir.Module) *unit {
	return &unit{
		program: g, mod: m, usedTypes: map[*types.Type]bool{}, usedFuncs: map[*ir.Func]bool{},
		usedVars: map[*ir.Var]bool{}, headers: map[string]bool{},
		runtime: map[string]bool{}, sites: map[int]bool{},
		helperName: map[string]int{},
	}
}

func (u *unit) fileName() string {
	if u.mod.File != nil {
		return u.mod.File.Name
	}
	return u.mod.Name + ".eve"
}

// text writes the whole unit.
func (u *unit) text(main bool) Unit {
	for _, f := range u.mod.Funcs {
		if u.written(f) {
			u.function(f)
		}
	}
	u.initialiser()
	if main {
		u.start()
	}
	p := printer{file: u.fileName()}
	p.b.WriteString("// Written by eve from " + u.fileName() + ".\n")
	u.printHead(&p)
	p.print(u.code)
	return Unit{Module: u.mod.Name, Name: u.names.module[u.mod] + ".cpp", Text: p.b.String(),
		Headers: u.headerList(), Runtime: slices.Sorted(maps.Keys(u.runtime))}
}

// printHead writes the declarations that the code needs.
func (u *unit) printHead(p *printer) {
	var w writer
	var defined writer
	u.typeLines(&defined) // before the headers, since the default of a field may need one
	w.put(`#include "` + std.Base + `"`)
	u.headerLines(&w)
	w.lines = append(w.lines, defined.lines...)
	for _, v := range u.varOrder {
		w.put(u.globalLine(v))
	}
	for _, f := range u.funcOrder {
		w.put(u.prototype(f) + ";")
	}
	if len(u.sites) > 0 {
		var at []int
		for n := range u.sites {
			at = append(at, n)
		}
		slices.Sort(at)
		w.put("static constexpr char file_name[] = " + quote(u.fileName()) + ";")
		for _, n := range at {
			w.put(fmt.Sprintf("static constexpr eve::site at_%d{file_name, %d};", n, n))
		}
	}
	p.print(w.lines)
}

func (u *unit) headerLines(w *writer) {
	for _, h := range slices.Sorted(maps.Keys(u.runtime)) {
		w.put(`#include "` + h + `"`)
	}
	for _, h := range u.headerList() {
		w.put("#include <" + h + ">")
	}
}

func (u *unit) headerList() []string { return slices.Sorted(maps.Keys(u.headers)) }

// needs notes a header of the runtime that the unit includes; empty for none.
func (u *unit) needs(header string) {
	if header != "" && header != std.Base {
		u.runtime[header] = true
	}
}

// site is the address of the trap's place for line name.
func (u *unit) site(line int) string {
	u.sites[line] = true
	return fmt.Sprintf("&at_%d", line)
}

// use returns the name of f, and notes that it must be declared.
func (u *unit) use(f *ir.Func) string {
	if !u.usedFuncs[f] {
		u.usedFuncs[f] = true
		u.funcOrder = append(u.funcOrder, f)
		u.prototype(f)
	}
	return u.names.fn[f]
}

// useVar returns the name of a global, and notes that it must be declared.
func (u *unit) useVar(v *ir.Var) string {
	name := u.names.global[v]
	if name == "" {
		panic(bug("global " + v.Name + " belongs to no module"))
	}
	if !strings.HasPrefix(name, "eve::") && !u.usedVars[v] {
		u.usedVars[v] = true
		u.varOrder = append(u.varOrder, v)
		u.ctype(v.Type)
	}
	return name
}

// helper returns a new name for a task, handler or thunk of function f.
func (u *unit) helper(f *ir.Func, what string) string {
	base := u.names.module[u.mod] + "__" + what
	if f != nil {
		base = u.names.fn[f] + "__" + what
	}
	u.helperName[base]++
	return fmt.Sprintf("%s%d", base, u.helperName[base])
}

// local says whether no code outside the unit can name f.
func (u *unit) local(f *ir.Func) bool {
	if f.Module != u.mod || u.facts.shared[f] {
		return false
	}
	return u.mod == u.mainModule() ||
		!f.Pub && f.Recv == nil && len(f.Args) == 0 && !u.crossing[f]
}

// prototype is f's head: static eve::i64 fib__fib(eve::worker* w_, eve::frame* top_, eve::i64 n).
func (u *unit) prototype(f *ir.Func) string {
	return u.head(f, u.names.fn[f], paramNames(newLocals(ownNames...), f))
}

func (u *unit) head(f *ir.Func, name string, params []string) string {
	var b strings.Builder
	if u.local(f) {
		b.WriteString("static ")
	}
	b.WriteString(u.ctype(f.Body.Result) + " " + name + "(" +
		strings.Join(u.params(f, params), ", ") + ")")
	if !u.facts.canFail[f] {
		b.WriteString(" noexcept")
	}
	return b.String()
}

// params are the parameters of f with their types, after worker and frame if it forks.
func (u *unit) params(f *ir.Func, names []string) []string {
	var ps []string
	if u.facts.forks[f] {
		ps = append(ps, "eve::worker* w_", "eve::frame* top_")
	}
	for i, v := range f.Params {
		ps = append(ps, u.param(f, v)+" "+names[i])
	}
	return ps
}

// param is the type of parameter v of f: self is const unless the list says +self.
func (u *unit) param(f *ir.Func, v *ir.Var) string {
	if v.Kind != ir.Self {
		return u.paramType(v.Type, v.Take)
	}
	t := u.ctype(v.Type.Deref())
	if changesSelf(f) {
		return t + "&"
	}
	return "const " + t + "&"
}

func changesSelf(f *ir.Func) bool {
	for _, e := range f.List {
		if e.Name == "self" && e.Sign == '+' {
			return true
		}
	}
	return false
}

func paramNames(l *locals, f *ir.Func) []string {
	var names []string
	for _, v := range f.Params {
		names = append(names, l.name(v.Name))
	}
	return names
}
