package flow

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"interleave/eve/check"
	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/perm"
	"interleave/eve/source"
)

// analysed checks a program, which must have no errors but those of flow.
func analysed(t *testing.T, text string) (*ir.Program, *diag.List) {
	t.Helper()
	diags := &diag.List{}
	p := check.Program(source.NewFile("main.eve", text), func(string) (*source.File, bool) {
		return nil, false
	}, diags)
	perm.Check(p, diags)
	if diags.HasErrors() {
		t.Fatalf("%s\n%s", diags.Sorted()[0].Message, text)
	}
	Analyse(p, diags)
	return p, diags
}

// facts collects the results of Analyse in the main module: "move 3 v", "escape x", "disjoint 4",
// "forks f", "fails f".
func facts(p *ir.Program) []string {
	var all []string
	main := p.Modules[len(p.Modules)-1]
	for _, f := range main.Funcs {
		if f.Body == nil {
			continue
		}
		if f.Forks {
			all = append(all, "forks "+f.Name)
		}
		if f.CanFail {
			all = append(all, "fails "+f.Name)
		}
		ir.Walk(f.Body.Block, func(n ir.Node) bool {
			switch n := n.(type) {
			case *ir.Ref:
				if n.Move {
					all = append(all, fmt.Sprintf("move %d %s", n.Span.Line(), n.Var.Name))
				}
			case *ir.Declare:
				if n.Var.Escapes {
					all = append(all, "escape "+n.Var.Name)
				}
			case *ir.Finish:
				all = append(all, fmt.Sprintf("disjoint %d %v", n.Span.Line(), n.Disjoint))
			}
			return true
		})
	}
	return all
}

// only keeps the facts of one kind.
func only(all []string, kind string) []string {
	var some []string
	for _, f := range all {
		if strings.HasPrefix(f, kind+" ") {
			some = append(some, strings.TrimPrefix(f, kind+" "))
		}
	}
	slices.Sort(some)
	return some
}

func want(t *testing.T, text, kind string, expected ...string) {
	t.Helper()
	p, _ := analysed(t, text)
	slices.Sort(expected)
	if got := only(facts(p), kind); !slices.Equal(got, expected) {
		t.Errorf("%s: got %q, want %q in\n%s", kind, got, expected, text)
	}
}

func TestMoves(t *testing.T) {
	tests := []struct {
		name, text string
		moves      []string
	}{
		{"returned", "f: () vector<int>:\n    v: vector<int>\n    v.push(1)\n    return v\n",
			[]string{"4 v"}},
		{"declared",
			"f: () int:\n    v: vector<int>\n    w: vector<int> = v\n    return w.size()\n",
			[]string{"3 v"}},
		{"taken", "g: (=v: vector<int>) void: pass\nf: () void:\n    v: vector<int>\n    g(v)\n",
			[]string{"4 v"}},
		{"parameter", "f: (=v: vector<int>) vector<int>: return v\n", []string{"1 v"}},
		{"one way of two",
			"f: (=v: vector<int>, b: bool) vector<int>:\n    if b: return v\n    return v\n",
			[]string{"2 v", "3 v"}},
		{"leaving a loop",
			"f: () vector<int>:\n    v: vector<int>\n    for (i in 0..3):\n        if i == 1: " +
				"return v\n    return v\n",
			[]string{"4 v", "5 v"}},
		{"declared in the loop",
			"f: (all: vector<vector<int>>&) void:\n    for (i in 0..3):\n        v: vector<int> " +
				"= [i]\n        all.push(v)\n",
			[]string{"4 v"}},
		{"stored again before the next turn",
			"f: (all: vector<vector<int>>&) void:\n    v: vector<int>\n    for (i in 0..3):\n   " +
				"     all.push(v)\n        v = [i]\n", []string{"4 v"}},
		{"text",
			"f: (=s: string) string:\n    a: string = s\n    b: string = s\n    return a + b\n",
			[]string{"3 s"}},
		{"twice in an expression", "f: (=s: string) (string, string): return (s, s)\n", nil},
		{"matched",
			"g: () vector<int>?: return none\nf: () vector<int>:\n    match g():\n        " +
				"some(v): return v\n        none: return []\n",
			[]string{"4 v"}},
		{"deferred in a block before",
			"f: (b: bool) vector<int>:\n    v: vector<int>\n    if b:\n        defer: " +
				"g(v.size())\n        g(1)\n    return v\n" +
				"g: (n: int) void: pass\n", []string{"6 v"}},
		{"default", "f: (=o: vector<int>?) vector<int>: return o else []\n", []string{"1 o"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { want(t, test.text, "move", test.moves...) })
	}
}

func TestCopiesNeeded(t *testing.T) {
	tests := map[string]string{
		"used again": "f: () int:\n    v: vector<int>\n    w: vector<int> = v\n    " +
			"return v.size() + w.size()\n",
		"lent": "f: (v: vector<int>) vector<int>: return v\n",
		"part": "f: (v: vector<vector<int>>&) vector<int>: return v[0]\n",
		"field of a shared": "type box:\n    v: vector<int>\nf: [b] (b: box@) vector<int>: " +
			"return b.v\n",
		"next turn": "f: (all: vector<vector<int>>&) void:\n    v: vector<int>\n    " +
			"for (i in 0..3): all.push(v)\n",
		"needed by a view": "f: () int:\n    v: vector<int> = [1]\n    s: slice<int>& = " +
			"v[0..1]\n    g(s[0])\n    w: vector<int> = v\n    defer: g(v.size())\n    return " +
			"w.size()\ng: (n: int) void: pass\n",
		"needed by a defer": "f: (n: int) int!:\n    v: vector<int> = [1]\n    defer: " +
			"g(v.size())\n    w: vector<int> = v\n    w[0] = h(n)?\n    v = [2]\n    return " +
			"w[0]\ng: (n: int) void: pass\nh: (n: int) int!: return n\n",
		"needed by a closure": "f: () int:\n    v: vector<int> = [1]\n    c: <() int> = [] () " +
			"int: v.size()\n    w: vector<int> = v\n    return c() + w.size()\n",
		"beside a closure": "f: (c: <() int>, =v: vector<int>) int: return c() + v.size()\n" +
			"g: () int:\n    v: vector<int> = [1]\n    return f([] () int: v.size(), v)\n",
		"in a closure": "f: (g: <() vector<int>>) void: g()\nh: () void:\n    v: " +
			"vector<int>\n    f([] () vector<int>: v)\n",
		"loop's variable": "f: (all: vector<vector<int>>&, to: vector<vector<int>>&) void:\n" +
			"    for (v in all): to.push(v)\n",
		"matched in place": "f: (o: vector<int>?) vector<int>:\n    match o:\n        " +
			"some(v): return v\n        none: return []\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			_, diags := analysed(t, text)
			all := diags.Sorted()
			if !slices.ContainsFunc(all,
				func(d diag.Diagnostic) bool { return d.Code == "E0408" }) {
				t.Errorf("no E0408 in\n%s", text)
			}
		})
	}
}

func TestEscapes(t *testing.T) {
	tests := []struct {
		name, text string
		escapes    []string
	}{
		{"stays", "f: () int:\n    a: int@ = 1\n    a += 1\n    return a\n", nil},
		{"children apart",
			"f: () int:\n    a, b: int@\n    finish:\n        @ [+a]: a = 1\n        @ [+b]: b " +
				"= 1\n    return a + b\n", nil},
		{"children that queue",
			"f: () int:\n    a: int@\n    finish:\n        @ [+a]: a = 1\n        @ [+a]: a = " +
				"2\n    return a\n", []string{"a"}},
		{"passed", "g: [n] (n: int@) int: return n\nf: () int:\n    a: int@\n    return g(a)\n",
			[]string{"a"}},
		{"compared", "f: () bool:\n    a, b: int@\n    return same(a, b)\n", nil},
		{"returned", "f: () int@:\n    a: int@\n    return a\n", []string{"a"}},
		{"stored", "f: [+v] (v: vector<int@>@) void:\n    a: int@\n    v.push(a)\n", []string{"a"}},
		{"root", "f: () void:\n    a: int@\n    @ [+a]: a = 1\n", []string{"a"}},
		{"snapshot", "f: () void:\n    a: int@\n    @ [=a]: assert a == 0\n", nil},
		{"named again",
			"f: () int:\n    a: int@\n    b: int@ = a\n    @ [b]: assert b == 0\n    return a\n",
			[]string{"a"}},
		{"child that passes it",
			"g: [n] (n: int@) void: assert n == 0\nf: () void:\n    a: int@\n    finish:\n      " +
				"  @ [+a]:\n            a = 1\n            g(a)\n",
			[]string{"a"}},
		{"handler", "f: (t: timer@) void:\n    a: int@\n    on t fired [+a]: a += 1\n",
			[]string{"a"}},
		{"closure",
			"g: (f: <() void>) void: f()\nf: () int:\n    a: int@\n    g([] () void: a += 1)\n  " +
				"  return a\n", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { want(t, test.text, "escape", test.escapes...) })
	}
}

func TestDisjoint(t *testing.T) {
	tests := []struct {
		name, text string
		disjoint   bool
	}{
		{"built apart",
			"f: () void:\n    a, b: int@\n    finish:\n        @ [+a]: a = 1\n        @ [+b]: b " +
				"= 1\n", true},
		{"one object",
			"f: () void:\n    a: int@\n    finish:\n        @ [+a]: a = 1\n        @ [+a]: a = 2\n",
			false},
		{"writer and reader",
			"f: () void:\n    a: int@\n    finish:\n        @ [+a]: a = 1\n        @ [a]: " +
				"assert a == 1\n", false},
		{"readers",
			"f: [x, y] (x: int@, y: int@) void:\n    finish:\n        @ [x]: assert x == 1\n    " +
				"    @ [x, y]: assert x == y\n", true},
		{"parameters",
			"f: [+x, +y] (x: int@, y: int@) void:\n    finish:\n        @ [+x]: x = 1\n        " +
				"@ [+y]: y = 2\n", false},
		{"parameters of two types",
			"f: [+x, +y] (x: int@, y: float@) void:\n    finish:\n        @ [+x]: x = 1\n       " +
				" @ [+y]: y = 2.0\n", true},
		{"built and parameter",
			"f: [x] (x: int@) void:\n    a: int@\n    finish:\n        @ [+a]: a = 1\n        @ " +
				"[x]: assert x == 1\n", true},
		{"loop",
			"f: () void:\n    a: int@\n    finish:\n        for (i in 0..3):\n            @ " +
				"[+a]: a += 1\n", false},
		{"loop of readers",
			"f: () void:\n    a: int@\n    finish:\n        for (i in 0..3):\n            @ " +
				"[a]: assert a == 0\n", true},
		{"loans",
			"f: (v: slice<int>&) void:\n    a, b: slice<int>& = v.split(1)\n    finish:\n       " +
				" @ [&a]: a[0] = 1\n        @ [&b]: b[0] = 1\n", true},
		{"elements",
			"f: (v: slice<int>&) void:\n    n: int = 2\n    finish:\n        @ for (x: int& in " +
				"v) [&x, =n]: x = n\n", true},
		{"task of a task",
			"f: () void:\n    a: int@\n    finish:\n        @ [+a]:\n            @ [+a]: a = 1\n" +
				"            a = 2\n", false},
		{"finish of its own",
			"f: () void:\n    a, b: int@\n    finish:\n        @ [+a]:\n            finish:\n   " +
				"             @ [+a]: a = 1\n        @ [+b]: b = 1\n", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, _ := analysed(t, test.text)
			got := only(facts(p), "disjoint")
			if len(got) == 0 || !strings.HasSuffix(got[0], fmt.Sprint(test.disjoint)) {
				t.Errorf("got %q, want %v in\n%s", got, test.disjoint, test.text)
			}
		})
	}
}

// Deeply nested loops take little time, and moves in the innermost loop are found.
func TestDeepLoops(t *testing.T) {
	text := "f: (all: vector<vector<int>>&) void:\n"
	pad := "    "
	for i := range 24 {
		text += fmt.Sprintf("%sfor (i%d in 0..2):\n", pad, i)
		pad += "    "
	}
	text += pad + "v: vector<int> = [1]\n" + pad + "all.push(v)\n"
	want(t, text, "move", "27 v")
}

func TestForksAndFails(t *testing.T) {
	text := `leaf: (x: float) float: return x + 1.0
calls: (x: float) float: return leaf(x)
adds: (n: int) int: return n + 1
fails: () void: fail "no"
calls_it: () void: fails()
forks: () void:
    finish:
        @ : pass
calls_forks: (x: float) float:
    forks()
    return x
starts_root: () void:
    @ : fails()
recursive: (b: bool) void:
    if b: recursive(false)
loops: (v: slice<float>&) void:
    for (x: float& in v): x = x + 1.0
`
	p, _ := analysed(t, text)
	all := facts(p)
	if got, want := only(all, "forks"), []string{"calls_forks", "forks"}; !slices.Equal(got, want) {
		t.Errorf("forks: got %q, want %q", got, want)
	}
	if got, want := only(all, "fails"), []string{"adds", "calls_it", "fails",
		"recursive"}; !slices.Equal(got, want) {
		t.Errorf("fails: got %q, want %q", got, want)
	}
}

// The default of a field may call a function, but none that waits for tasks.
func TestDefaultsWait(t *testing.T) {
	const text = `waits: () int:
    n: int@
    finish:
        @ [+n]: n = 1
    return n
calls: () int: return waits()
simple: () int: return 1
type good:
    n: int = simple()
type bad:
    n: int = 2 + calls()
main: () void: pass
`
	_, diags := analysed(t, text)
	all := diags.Sorted()
	if len(all) != 1 || all[0].Code != "E0211" || all[0].Span.Text() != "2 + calls()" {
		t.Errorf("got %v, want E0211 for the default of bad", all)
	}
}
