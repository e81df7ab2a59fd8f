package emit

import (
	"fmt"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// globalLine declares a global or constant: it is defined in its own module and declared in
// others.
func (u *unit) globalLine(v *ir.Var) string {
	name := u.names.global[v]
	if v.Module != u.mod {
		return "extern " + u.ctype(v.Type) + " " + name + ";"
	}
	if v.Kind == ir.Constant && v.Type.Kind != types.Shared {
		return u.ctype(v.Type) + " " + name + "{};"
	}
	return u.ctype(v.Type) + " " + name + ";"
}

// initName is the function that initialises a module's globals.
func (u *unit) initName(m *ir.Module) string { return u.names.module[m] + "__init_" }

// hasGlobals says whether generated code initialises globals of the module.
func hasGlobals(m *ir.Module) bool {
	for _, v := range m.Globals {
		if ownGlobal(v) {
			return true
		}
	}
	return false
}

// initialiser writes the function that initialises the module's globals and constants, in order.
func (u *unit) initialiser() {
	if !hasGlobals(u.mod) {
		return
	}
	f := u.newFunction(nil)
	f.indent = 0
	f.put("void " + u.initName(u.mod) + "(eve::worker* w_, eve::frame* top_) {")
	f.indent = 1
	for _, v := range u.mod.Globals {
		if !ownGlobal(v) {
			continue
		}
		f.at = v.Span.Line()
		name := u.useVar(v)
		x := f.owned(v.Init)
		if v.Type.Kind == types.Shared {
			x = "eve::make<" + f.ctype(v.Type.Elem) + ">(" + x + ")"
		}
		f.put(name + " = " + x + ";")
	}
	f.indent = 0
	f.put("}")
	u.code = append(u.code, f.lines...)
}

// outside writes an expression outside functions: the default of a field.
func (u *unit) outside(e ir.Expr, t *types.Type) string {
	f := u.newFunction(nil)
	x := f.typed(e, f.owned(e))
	if len(f.lines) == 0 {
		return x
	}
	s := "[]() -> " + u.ctype(t) + " { "
	for _, l := range f.lines {
		s += trimIndent(l.text) + " "
	}
	return s + "return " + x + "; }()"
}

// start writes C++'s main: it initialises the globals of all modules, then starts main as a root
// with its permissions.
func (u *unit) start() {
	f := u.newFunction(nil)
	f.indent = 0
	var w writer
	for _, m := range u.p.Modules {
		if m != u.mod && hasGlobals(m) {
			w.put("void " + u.initName(m) + "(eve::worker*, eve::frame*);")
		}
	}
	body := f.capture(func() {
		f.indent = 1
		for _, m := range u.p.Modules {
			if hasGlobals(m) {
				f.put(u.initName(m) + "(w_, top_);")
			}
		}
		if u.o.Test {
			f.startTest()
		} else if u.p.Main != nil {
			f.startFunction(u.p.Main)
		}
		f.indent = 0
	})
	u.code = append(u.code, w.lines...)
	f.put("static void start_(eve::worker* w_, eve::frame* top_) {")
	f.lines = append(f.lines, body...)
	f.indent = 0
	f.put("}")
	before := ""
	if u.o.Test {
		before = "eve::contain_nothing(); " + fakeTime(u.p.Tests)
	}
	f.put("int main(int argc, char** argv) { " + before + "return eve::run(argc, argv, start_); }")
	u.code = append(u.code, f.lines...)
}

// fakeTime gives the tests that begin with testing.fake_time() their clock, before anything reads
// the time.
func fakeTime(tests []*ir.Func) string {
	cases := ""
	for i, t := range tests {
		if t.FakesTime() {
			cases += fmt.Sprintf("case %d: ", i)
		}
	}
	if cases == "" {
		return ""
	}
	return "switch (*eve::string::literal(argv[1]).to_int()) { " + cases +
		"eve::begin_fake_time(); } "
}

// startFunction writes a root for a function of the module without parameters.
func (f *function) startFunction(fn *ir.Func) {
	args := ""
	if f.facts.forks[fn] {
		args = "w, top"
	}
	call := "[](eve::worker* w, eve::frame* top) { " + f.use(fn) + "(" + args + "); }"
	list := []string{call}
	for _, e := range fn.List {
		if e.Var == nil || e.Var.Kind != ir.Global {
			continue
		}
		switch e.Sign {
		case '+':
			list = append(list, "eve::write("+f.useVar(e.Var)+")")
		case 0:
			list = append(list, "eve::read("+f.useVar(e.Var)+")")
		}
	}
	f.put("eve::spawn(" + joinStrings(list) + ");")
}

// startTest writes a root for the test whose number is the program's argument.
func (f *function) startTest() {
	f.put("switch (*eve::string::literal(eve::arguments()[1]).to_int()) {")
	for i, t := range f.p.Tests {
		f.put(fmt.Sprintf("case %d:", i))
		f.indent++
		f.startFunction(t)
		f.put("break;")
		f.indent--
	}
	f.put("}")
}
