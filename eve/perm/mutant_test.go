package perm_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var mutants = flag.Bool("mutants", false,
	"hold that the golden programs notice each rule that is left out: a few minutes")

// A mutant leaves out a part of a rule: it replaces `from` by `to`.
var rules = []struct{ file, from, to string }{
	{"r01_names.go", "if !mayBeEqual(p.t, q.t) {", "if true {"},
	{"r01_names.go", "\ts.value(r.Value)\n\ts.place(r.Target, full)",
		"\ts.value(r.Value)\n\ts.place(r.Target, null)"},
	{"r02_held.go", "case v.Built && v.Body != nil && v.Body.Owner() == b:", "case true:"},
	{"r02_held.go", "\treturn null\n}\n\n// entry", "\treturn read\n}\n\n// entry"},
	{"r03_access.go", "case held >= m:", "case held >= read:"},
	{"r03_access.go", "case v.Kind == ir.Self && !s.changesSelf():", "case false:"},
	{"r03_access.go",
		"case v.Kind == ir.Capture && v.Sign == '=' && (b.Kind == ir.Handler || b.Kind == " +
			"ir.Callback):", "case b == nil:"},
	{"r03_access.go", "\tcase s.isLent(v):", "\tcase false:"},
	{"r03_access.go", "if p.name == nil {", "if p.name == nil {\n\t\treturn true"},
	{"r05_capture.go", "if s.mine(v) {\n\t\treturn true", "if true {\n\t\treturn true"},
	{"r05_capture.go", "case isNative(value) || value != from.Type && !value.Copyable():",
		"case false:"},
	{"r06_finish.go", "if held := s.held(v); held < want {", "if held := s.held(v); held > want {"},
	{"r06_finish.go", "} else if v.Built && s.endsEarly(v) {", "} else if false {"},
	{"r06_finish.go", "if len(s.finishes) < s.deferred {", "if false {"},
	{"r06_finish.go", "if a.conflicts(h.access, false) {\n\t\t\t\ts.released(a, h)",
		"if false {\n\t\t\t\ts.released(a, h)"},
	{"r06_loans.go", "if !h.loan && !o.loan || !h.conflicts(o.access, false) {", "if true {"},
	{"r06_loans.go", "if h.loan && several && h.mode == full {", "if false {"},
	{"r06_loans.go", "if (h.loan || o.loan) &&", "if false &&"},
	{"r06_loans.go", "(h.child == nil || o.child != h.child)", "o.child != h.child"},
	{"r06_loans.go", "if a.finishes == n && a.conflicts(h.access, false) {", "if false {"},
	{"r06_loans.go", "if f.loop >= 0 {", "if false {"},
	{"r06_loans.go", "\tcase s.endsEarly(e.From):", "\tcase false:"},
	{"r06_loans.go", "if !s.checkFrozen(h.access, true) || !s.checkViews(h.access) || n == 0 {",
		"if n == 0 {"},
	{"r06_loans.go", "s.conflictsAround(h.access, s.finishes[:n-1])", ""},
	{"r07_roots.go", "if e.Sign == '+' && (e.Var == nil || e.Var != b.Emitter) {", "if e == nil {"},
	{"r08_views.go", "if a.path.through(w) || s.lives.last[w] <= s.pos ||", "if true ||"},
	{"r08_views.go", "\tif p.isNone() {\n\t\td := s.report(\"E0411\"",
		"\tif false {\n\t\td := s.report(\"E0411\""},
	{"r08_views.go", "if f.by != nil && a.path.through(f.by) || !a.path.overlaps(",
		"if true || !a.path.overlaps("},
	{"r08_views.go", "f.sure && !beside)", "f.sure || beside && false)"},
	{"r08_views.go", "return !isInner(p)", "return true"},
	{"r08_views.go", "if bindsParts(a) {", "if false {"},
	{"r08_views.go", "case p.v != v || p.obj:", "case false:"},
	{"r08_views.go", "if a.mode == full && a.path.overlaps(p, false) {", "if false {"},
	{"r09_apart.go", "\tminds := false\n", "\treturn false\n\tminds := false\n"},
	{"r09_apart.go", "return part && changes", "return false"},
	{"r09_apart.go", "if !isInner(a) && !isInner(b) {", "if true {"},
	{"r09_calls.go", "if s.held(v) >= a.mode {", "if s.held(v) >= read {"},
	{"r09_calls.go",
		"case (how == byRef || how == byLoan) && isView(a.Type()): // the view of another call",
		"case false:"},
	{"r09_calls.go", "case h.lent && (g.deferred || h.arg < g.arg):", "case false:"},
	{"r09_calls.go", "(h.nests || h.beside && !g.beside)", "h.nests"},
	{"r09_calls.go", "(h.nests || h.beside && !g.beside)", "(h.beside && !g.beside)"},
	{"r10_closures.go", "if l.par && (v == nil || !isInside(v.Body, l.body)) {",
		"if l.par && v == nil && false {"},
	{"r10_closures.go", "if l.par && !v.Type.Par && !isInside(v.Body, l.body) {",
		"if l.par && false {"},
	{"r10_closures.go", "\ts.replay(s.closures[v], at)", ""},
	{"r10_closures.go", "\tcase !e.From.Type.Par:", "\tcase false:"},
	{"r10_closures.go", "\tcase b.Kind != ir.Child:", "\tcase false:"},
	{"r12_lints.go", "case !used:", "case !used && false:"},
	{"r12_lints.go", "case e.Sign == '+' && m < full && isShared(v.Type):", "case false:"},
	{"lives.go", "\t\tl.closure(s)\n", ""},
	{"lives.go", "\tl.n++\n\tl.extend(before, l.n)\n", "\tl.n += before - before + 1\n"},
	{"expr.go", "s.mustStay(y, log)", "_, _ = y, log"},
	{"expr.go", "\ts.mustStay(x, s.recording(f))", "\ts.recording(f)"},
}

// TestMutants holds that each part of each rule matters: without it some golden program gets other
// diagnostics. Without the flag it only holds that the parts still have this text.
func TestMutants(t *testing.T) {
	for _, m := range rules {
		t.Run(m.file+" "+strings.TrimSpace(strings.SplitN(m.from, "\n", 2)[0]), func(t *testing.T) {
			text, err := os.ReadFile(m.file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), m.from); n != 1 {
				t.Fatalf("%s has %d times %q: name the part again", m.file, n, m.from)
			}
			if *mutants && passes(t, m.file, strings.Replace(string(text), m.from, m.to, 1)) {
				t.Errorf("no golden program notices %q", m.to)
			}
		})
	}
}

// passes says whether the golden programs get their diagnostics when file has another text.
func passes(t *testing.T, file, text string) bool {
	t.Helper()
	dir := t.TempDir()
	here, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	mutant, overlay := filepath.Join(dir, file), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {here: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{mutant: text, overlay: string(replace)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	where := "../compile"
	if strings.HasPrefix(file, "r07") { // no message shows what failures damage
		where = "."
	}
	cmd := exec.Command("go", "test", "-vet=off", "-overlay", overlay, "-run",
		"TestGolden|TestContained", where)
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "[build failed]") {
		t.Fatalf("the mutant does not compile:\n%s", out)
	}
	return err == nil
}
