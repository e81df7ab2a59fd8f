package check

import (
	"os"
	"strings"
	"testing"
	"time"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
)

// TestBroken holds that programs with a line missing, or cut off, are checked without panic.
func TestBroken(t *testing.T) {
	for _, name := range []string{"values", "broadcast"} {
		text, err := os.ReadFile("testdata/" + name + ".eve")
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(text), "\n")
		for i := range lines {
			checkText(strings.Join(lines[:i], "") + strings.Join(lines[i+1:], ""))
		}
		for i := 0; i < len(text); i += 11 {
			checkText(string(text[:i]))
		}
	}
}

// TestNoCascade holds that one mistake gives one diagnostic, however much is built on it.
func TestNoCascade(t *testing.T) {
	for _, body := range []string{
		"n: int = missing\n    m: int = n + 1\n    print(\"%d\", m)",
		"p: nothing\n    p.x = 3\n    p.run(4)\n    for (q in p): q.x()",
		"a, b: int = missing()\n    print(\"%d\", a + b)",
		"match missing:\n        some(v): print(\"%d\", v + 1)\n        none: pass",
		"x <- missing()\n    print(\"%d\", x)",
		"t: timer@ = missing\n    on t fired: print(\"%d\", fired.count)",
		"on missing fired: print(\"%d\", fired.count)",
		"@ for (c in missing) [+c]: c.write(\"x\")",
		"v: vector<int> = [missing, 2]\n    v.push(1)",
		"s: string = missing[3].x(4)[1..2] else 5",
		"@ [+missing]: missing.push(3)",
		"return missing",
	} {
		text := "main: [+stdout] () void:\n    " + body + "\n"
		got := checkText(text).Sorted()
		if len(got) != 1 {
			t.Errorf("%s: %d diagnostics", body, len(got))
			for _, d := range got {
				t.Logf("%s: %s (%s)", d.Code, d.Message, d.Span.Text())
			}
		}
	}
}

// bodyOf checks the body of a main and returns its statements.
func bodyOf(t *testing.T, text string) []ir.Stmt {
	t.Helper()
	diags := &diag.List{}
	p := Program(source.NewFile("main.eve", "main: () void:\n    "+strings.ReplaceAll(text, "\n",
		"\n    ")+"\n"), nil, diags)
	for _, d := range diags.Sorted() {
		t.Fatalf("%s: %s: %s", text, d.Code, d.Message)
	}
	return p.Main.Body.Block.Stmts
}

// TestCounted holds which loops are proved to terminate.
func TestCounted(t *testing.T) {
	tests := []struct {
		loop string
		want bool
	}{
		{"for (i: int = 0; i < 10; i += 1): pass", true},
		{"for (i: int = 10; i > 0; i -= 1): pass", true},
		{"for (i: int = 0; i <= 10; i += 2): pass", true},
		{"for (i: int = 0; i < n; i += 1): pass", true},
		// v is changed, so its size might change
		{"for (i: int = 0; i < v.size(); i += 1): v[i] = 0", false},
		{"for (i: int = 0; i < v.size(); i += 1): n += v[i]", true},
		{"for (i: int = 0; n > i; i = i + 1): pass", true},
		{"for (i: int = 0; i < n; i += 2): pass", false}, // i may run past the end of int
		{"for (i: int = 0; i < n; i += 1): n += 1", false},
		{"for (i: int = 0; i < 10; i += 1): i -= 1", false},
		{"for (i: int = 0; i < 10; i -= 1): pass", false},
		{"for (i: int = 0; i < 10; n += 1): pass", false},
		{"for (i: int = 0; i < v.size(); i += 1): v.push(1)", false},
		{"for (i: int = 0; i < s; i += 1): pass", false}, // other tasks may change s
		{"for (i: int = 0; i < i + 1; i += 1): pass", false},
		// a closure that was made before the loop changes the bound
		{"more: <() void> = [] () void: n += 1\nfor (i: int = 0; i < n; i += 1): more()", false},
		{"more: <() void> = [] () void: n += 1\nfor (i: int = 0; i < 9; i += 1): more()", false},
		{"for (i: int<8> = 0; i < n; i += 1): pass", false}, // i begins again at -128
		{"for (i: int<8> = 0; i < int<8>(n); i += 1): pass", true},
		{"for (i: uint = 9; i > 2; i -= 1): pass", true},
		{"for (i: uint = 9; i >= 0; i -= 1): pass", false}, // it always holds
		{"for (i: uint = 9; i > 2; i -= 4): pass", false},  // i may pass 0
		{"for (i: uint = 9; i > 4; i -= 4): pass", true},
		{"while n < 10: n += 1", true},
		{"while 10 > n: n += 1", true},
		{"while n > 0: n = n - 1", true},
		{"while n < v.size():\n    k: int = v[n]\n    n += 1", true},
		{"while n < v.size():\n    v[n] = 1\n    n += 1", false},
		{"while n < 10:\n    n += 1\n    v.push(n)", false}, // the last statement is another
		{"while n < 10:\n    if n == 5: continue\n    n += 1", false},
		{"while n < 10:\n    for (j in 0..3):\n        if j == 1: continue\n    n += 1", true},
		{"while n < 10:\n    if n == 5: break\n    n += 1", true},
		{"while n < 10:\n    n -= 1\n    n += 1", false},
		{"while s < 10: s += 1", false},
		{"more: <() void> = [] () void: n = 0\nwhile n < 10:\n    more()\n    n += 1", false},
	}
	for _, tt := range tests {
		stmts := bodyOf(t, "n: int = 5\nv: vector<int>\ns: int@\n"+tt.loop)
		loop, ok := stmts[len(stmts)-1].(*ir.Repeat)
		if !ok || loop.Counted != tt.want {
			t.Errorf("%s: counted %v, want %v", tt.loop, loop.Counted, tt.want)
		}
	}
}

// TestLiterals holds the values of literals.
func TestLiterals(t *testing.T) {
	tests := []struct {
		decl string
		want any
	}{
		{"x: int = 20mib", int64(20 << 20)},
		{"x: int = 0x_ff", int64(255)},
		{"x: int = 0b101", int64(5)},
		{"x: int = 1_000", int64(1000)},
		{"x: int = -9223372036854775808", int64(-1 << 63)},
		{"x: uint = 18446744073709551615", uint64(1<<64 - 1)},
		{"x: float = 3", 3.0},
		{"x: float = 1 / 2.0", 0.5},
		{"x: float = 1e3", 1000.0},
		{"x: char = '\\n'", int64('\n')},
		{"x: char = 65", int64(65)},
		{"x: duration = 1500ms", int64(1500 * time.Millisecond)},
		{"x: duration = 2m", int64(2 * time.Minute)},
		{"x: duration = -1d", -int64(24 * time.Hour)},
		{"x: string = \"a\\tb\"", "a\tb"},
		{"x: int = (1 + 2) * 3 << 1", int64(18)},
		{"x: bool = 1 < 2", true},
	}
	for _, tt := range tests {
		d := bodyOf(t, tt.decl)[0].(*ir.Declare)
		c, ok := d.Init.(*ir.Const)
		if !ok || c.Value != tt.want || c.T != d.Var.Type {
			t.Errorf("%s: %s, want %v", tt.decl,
				ir.Dump(
					&ir.Program{Tests: []*ir.Func{{
						Body: &ir.Body{Block: &ir.Block{Stmts: []ir.Stmt{d}}},
					}}}), tt.want)
		}
	}
}

// TestOffsets holds that errors in a format are reported at the right place, behind escapes too.
func TestOffsets(t *testing.T) {
	for _, tt := range []struct{ format, want string }{
		{`a\tb%d`, "%d"}, {`\x41\n%s`, "%s"}, {`\u{1F600} %5d`, "%5d"}, {`é%d`, "%d"},
		{`%%%d`, "%d"}, {`%-8.3f|`, "%-8.3f"},
	} {
		got := checkText("main: [+stdout] () void: print(\"" + tt.format + "\")\n").Sorted()
		if len(got) != 1 || got[0].Code != "E0349" || got[0].Span.Text() != tt.want {
			t.Errorf("%s: %v, want E0349 at %s", tt.format, got, tt.want)
		}
	}
}

// TestTranslated holds which name is suggested for a name of another language.
func TestTranslated(t *testing.T) {
	for _, tt := range []struct {
		name  string
		names []string
		want  string
	}{
		{"length", []string{"push", "size"}, "size"},
		{"add", []string{"insert", "has"}, "insert"},
		{"add", []string{"push", "insert"}, "push"},
		{"contains", []string{"has"}, "has"},
		{"size", []string{"push"}, ""},
	} {
		if got := translated(tt.name, tt.names); got != tt.want {
			t.Errorf("translated(%s) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestNearest holds which name is suggested for a misspelt one.
func TestNearest(t *testing.T) {
	names := []string{"push", "pop", "size", "insert", "remove"}
	for _, tt := range []struct{ name, want string }{
		{"psuh", "push"}, {"siez", "size"}, {"insret", "insert"}, {"length", ""}, {"x", ""},
		{"po", "pop"},
	} {
		if got := nearest(tt.name, names); got != tt.want {
			t.Errorf("nearest(%s) = %q, want %q", tt.name, got, tt.want)
		}
	}
}
