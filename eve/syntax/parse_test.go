package syntax

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/eve/diag"
)

// show writes the diagnostics of a text that should have none.
func show(t *testing.T, diags *diag.List) string {
	t.Helper()
	var b strings.Builder
	if err := diag.Render(&b, diags.Sorted(), diag.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// eveFiles lists all .eve files below a folder.
func eveFiles(t testing.TB, root string) []string {
	var names []string
	err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".eve") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestStdParses(t *testing.T) {
	names := eveFiles(t, "../std")
	if len(names) < 6 {
		t.Fatalf("only %d modules of std are found", len(names))
	}
	for _, name := range names {
		f, diags := parse(name, read(t, name))
		verify(t, f, diags)
		if out := show(t, diags); out != "" {
			t.Error(out)
		}
	}
}

// The tree of each testdata/*.eve is in a file beside it.
func TestTrees(t *testing.T) {
	for _, name := range eveFiles(t, "testdata") {
		f, diags := parse(name, read(t, name))
		verify(t, f, diags)
		if out := show(t, diags); out != "" {
			t.Error(out)
		}
		golden(t, strings.TrimSuffix(filepath.Base(name), ".eve")+".tree", Dump(f))
	}
}

// Line ends of Windows, any width of indentation, blank lines and comments change nothing.
func TestLayoutIsFree(t *testing.T) {
	text := read(t, "testdata/program1.eve")
	f, _ := parse("a.eve", text)
	want := Dump(f)
	variants := map[string]string{
		"windows":   strings.ReplaceAll(text, "\n", "\r\n"),
		"wide":      strings.ReplaceAll(text, "    ", "       "),
		"narrow":    strings.ReplaceAll(text, "    ", " "),
		"blank":     strings.ReplaceAll(text, "\n", "\n\n   \n"),
		"comments":  strings.ReplaceAll(text, "\n", " # why\n# what\n          # how\n"),
		"no end":    strings.TrimSuffix(text, "\n"),
		"mark":      "\ufeff" + text,
		"brackets":  strings.ReplaceAll(text, "fib(n", "fib(\n\nn"),
		"semi-wide": strings.Replace(text, "        return n\n", "           return n\n", 1),
	}
	for name, variant := range variants {
		f, diags := parse("a.eve", variant)
		verify(t, f, diags)
		if out := show(t, diags); out != "" {
			t.Errorf("%s: %s", name, out)
		}
		if got := Dump(f); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestExpressions(t *testing.T) {
	tests := []struct{ in, want string }{
		{"a + b * c ** d ** e", `(Binary "+" a (Binary "*" b (Binary "**" c (Binary "**" d e))))`},
		{"-a ** 2", `(Unary "-" (Binary "**" a 2))`},
		{"2 ** -1", `(Binary "**" 2 (Unary "-" 1))`},
		{"a - b - c", `(Binary "-" (Binary "-" a b) c)`},
		{"0..n + 1", `(Binary ".." 0 (Binary "+" n 1))`},
		{"a == b..c", `(Binary "==" a (Binary ".." b c))`},
		{"a || b && c | d ^ e & f == g < h",
			`(Binary "||" a (Binary "&&" b (Binary "|" c (Binary "^" d (Binary "&" e (Binary "==" f (Binary "<" g h)))))))`},
		{"a << 1 >> 2", `(Binary ">>" (Binary "<<" a 1) 2)`},
		{"a +% b *% c -% d", `(Binary "-%" (Binary "+%" a (Binary "*%" b c)) d)`},
		{"a <-1", `(Binary "<" a (Unary "-" 1))`},
		{"a--b", `(Binary "-" a (Unary "-" b))`},
		{"!a.b(c)[d]?.e",
			`(Unary "!" (Selector (Propagate (Index (Call (Selector a b) [args (Arg c)]) d)) e))`},
		{"a else b else c", `(ElseExpr a (ElseExpr b c))`},
		{"f(a < b, c > d)", `(Call f [args (Arg (Binary "<" a b)) (Arg (Binary ">" c d))])`},
		{"f(a < b, c > (d))",
			`(Call f [args (Arg (Call (TypeExpr (NamedType [path a] [args (NamedType [path b]) (NamedType [path c])])) [args (Arg d)]))])`},
		{"a < b > c", `(Binary ">" (Binary "<" a b) c)`},
		{"vector<vector<int<8>>>()",
			`(Call (TypeExpr (NamedType [path vector] [args (NamedType [path vector] [args (NamedType [path int] [args (SizeType 8)])])])) [args])`},
		{"array<map<string, t@>, 4 * 2>()",
			`(Call (TypeExpr (NamedType [path array] [args (NamedType [path map] [args (NamedType [path string]) (SuffixType (NamedType [path t]) @)]) (SizeType (Binary "*" 4 2))])) [args])`},
		{"a.b<int>.c(1)",
			`(Call (Selector (TypeExpr (NamedType [path a b] [args (NamedType [path int])])) c) [args (Arg 1)])`},
		{"a < b >> (c)", `(Binary "<" a (Binary ">>" b (Paren c)))`},
		{"t.0.1", `(Selector (Selector t 0) 1)`},
		{"1..2", `(Binary ".." 1 2)`},
		{"1.5e-3 + 1e9", `(Binary "+" 1.5e-3 1e9)`},
		{"(a, b,)", `(TupleLit [elems a b])`},
		{"[]", `(ListLit)`},
		{"[a, [b]][0]", `(Index (ListLit [elems a (ListLit [elems b])]) 0)`},
		{"f(x, max = 3)", `(Call f [args (Arg x) (Arg max 3)])`},
		{"f((x: int) int: x + 1, 2)",
			`(Call f [args (Arg (Lambda [params (Param x (NamedType [path int]))] (NamedType [path int]) (Binary "+" x 1))) (Arg 2)])`},
		{"[+a, b] () void: a.f(b)",
			`(Lambda (Perms [entries +a b]) [params] (NamedType [path void]) (Call (Selector a f) [args (Arg b)]))`},
		{"a.match.type.within", `(Selector (Selector (Selector a match) type) within)`},
		{"test + union(as) * within",
			`(Binary "+" test (Binary "*" (Call union [args (Arg as)]) within))`},
		{`f"{a:.2}{f("x")} {{{b}}}\n"`,
			`(FString [parts (FPart a ".2") (FPart (Call f [args (Arg "x")])) (FPart " {") (FPart b) (FPart "}\n")])`},
		{"500ms + 20mib + 'a' + 0b1", `(Binary "+" (Binary "+" (Binary "+" 500ms 20mib) 'a') 0b1)`},
	}
	for _, test := range tests {
		f, diags := parse("e.eve", "const x = "+test.in+"\n")
		verify(t, f, diags)
		if out := show(t, diags); out != "" {
			t.Error(out)
			continue
		}
		if got := strings.TrimSpace(Dump(f.Decls[0].(*ConstDecl).Init)); got != test.want {
			t.Errorf("%s: got %s, want %s", test.in, got, test.want)
		}
	}
}

func TestLiterals(t *testing.T) {
	f, diags := parse("l.eve", `const x = "\n\t\r\0\\\"\'\x41\u{e9}é" + '\x00'`)
	if out := show(t, diags); out != "" {
		t.Fatal(out)
	}
	sum := f.Decls[0].(*ConstDecl).Init.(*Binary)
	if got, want := sum.X.(*Lit).Value, "\n\t\r\x00\\\"'Aéé"; got != want {
		t.Errorf("the string is %q, want %q", got, want)
	}
	if got := sum.Y.(*Lit).Value; got != "\x00" {
		t.Errorf("the character is %q", got)
	}
}

// A broken line affects no other line: those before and after it are in the tree.
func TestRecovery(t *testing.T) {
	text := "import a b\ntype t:\n    x: int\n    y int\n    z: int = (\n    w: int\nf: (a: " +
		"int) int:\n    b: int = 1 +\n    c: int = a +* b\n    return b\n" +
		"g: (a:) int:\n    return 1\nconst k = )\nunion u:\n    one(x)\n    two\nh: () void: pass\n"
	f, diags := parse("r.eve", text)
	verify(t, f, diags)
	if got, want := codes(diags.Sorted()),
		"E0117 E0104 E0113 E0113 E0113 E0120 E0113 E0120"; got != want {
		t.Errorf("got %s, want %s\n%s", got, want, show(t, diags))
	}
	var names []string
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *Func:
			names = append(names, d.Name.Text)
			if d.Broken != (d.Name.Text == "g") {
				t.Errorf("%s: Broken is %v", d.Name.Text, d.Broken)
			}
		case *TypeDecl:
			names = append(names, d.Name.Text)
			if len(d.Members) != 4 {
				t.Errorf("the type has %d members, want x, y, z and w", len(d.Members))
			}
		case *UnionDecl, *ConstDecl:
			names = append(names, "other")
		}
	}
	if got, want := strings.Join(names, " "), "t f g other other h"; got != want {
		t.Errorf("got the declarations %s, want %s", got, want)
	}
	body := f.Decls[1].(*Func).Body.Stmts
	if v, ok := body[0].(*DeclStmt); !ok || v.Var.Names[0].Text != "b" {
		t.Errorf("the broken declaration of b is %T", body[0])
	}
}

func TestNestingIsBounded(t *testing.T) {
	for _, text := range []string{
		"const x = " + strings.Repeat("(", 100000),
		"const x = " + strings.Repeat("[", 100000) + strings.Repeat("]", 100000),
		"const x = " + strings.Repeat("-", 100000) + "1",
		"const x = " + strings.Repeat("a ** ", 100000) + "1",
		"const x = " + strings.Repeat("a else ", 100000) + "1",
		"const x = " + strings.Repeat("f(", 100000),
		"const x = " + strings.Repeat("a < ", 3000) + "1",
		"const x = " + strings.Repeat("a<", 3000) + "1",
		"x: " + strings.Repeat("vector<", 100000),
		"x: " + strings.Repeat("<(", 100000),
		"f: () void:\n" + strings.Repeat("    x <- g()\n", 5000),
		"f: () void:\n    " + strings.Repeat("if a: ", 10000),
		"f: () void:\n    " + strings.Repeat("defer ", 10000),
		"const x = " + strings.Repeat("() int: ", 10000),
		"const x = " + strings.Repeat(`f"{`, 10000),
		nestedBlocks(1000),
	} {
		f, diags := parse("deep.eve", text)
		verify(t, f, diags)
		if n := len(diags.Sorted()); n > 1 {
			t.Errorf("%.40q: %d errors, want one\n%s", text, n, show(t, diags))
		}
	}
	if _, diags := parse("long.eve", "f: () void:\n    if a: b()\n"+
		strings.Repeat("    else if a: b()\n", 3000)); diags.HasErrors() {
		t.Errorf("a long chain of else if is taken for nesting: %s", show(t, diags))
	}
}

func nestedBlocks(n int) string {
	var b strings.Builder
	b.WriteString("f: () void:\n")
	for i := range n {
		b.WriteString(strings.Repeat(" ", i+1) + "if a:\n")
	}
	b.WriteString(strings.Repeat(" ", n+1) + "pass\n    pass\n")
	return b.String()
}

// If any one token is removed, doubled or moved, the parse succeeds and reports few lines: errors
// do not cascade.
func TestOneSlip(t *testing.T) {
	for _, name := range []string{"testdata/everything.eve", "testdata/program2.eve"} {
		text := read(t, name)
		f, _ := parse(name, text)
		worst := 0
		slip := func(changed string) {
			f, diags := parse(name, changed)
			verify(t, f, diags)
			n := len(diags.Sorted())
			worst = max(worst, n)
			if n > 3 {
				t.Errorf("one slip, %d errors\n%s", n, show(t, diags))
			}
		}
		for _, tok := range f.Tokens {
			if tok.isLayout() {
				continue
			}
			before, after := text[:tok.Span.Start], text[tok.Span.End:]
			slip(before + after)
			slip(before + tok.Text() + " " + tok.Text() + after)
			slip(text[:tok.Span.Start-len(tok.Lead)] + text[tok.Span.Start:])
		}
		if worst == 0 {
			t.Errorf("%s: no slip is noticed", name)
		}
	}
}
