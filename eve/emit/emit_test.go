package emit

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/eve/compile"
	"interleave/eve/ir"
	"interleave/eve/source"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The C++ of a few programs is in files beside them, without #line, for reading and to show the
// effect of a change.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.eve")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".eve"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := withoutLines(units(t, string(text), nil, Options{})["main"])
			golden := strings.TrimSuffix(file, ".eve") + ".cpp.txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s\ngo test ./eve/emit -update rewrites it", got, want)
			}
		})
	}
}

func withoutLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#line ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func check(t testing.TB, main string, modules map[string]string) *ir.Program {
	t.Helper()
	p, diags := compile.Check(source.NewFile("main.eve", main), func(name string) (*source.File,
		bool) {
		text, ok := modules[name]
		return source.NewFile(name+".eve", text), ok
	})
	for _, d := range diags {
		if d.Code.IsError() {
			t.Fatalf("line %d: %s: %s", d.Span.Line(), d.Code, d.Message)
		}
	}
	return p
}

// units returns the texts of a program by module.
func units(t *testing.T, main string, modules map[string]string, o Options) map[string]string {
	t.Helper()
	all, err := Program(check(t, main, modules), o)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, u := range all {
		texts[u.Module] = u.Text
	}
	return texts
}

const shapes = `pub type shape:
    side: int
    area: (self) int: return self.side * self.side
pub double: (n: int) int: return n * 2
pub unused: (n: int) int: return n
pub biggest: <type T: ordered> (v: vector<T>) T?:
    if v.empty(): return none
    best: T = v[0]
    for (x in v):
        if x > best: best = x
    return best
`

// The text of a module depends on the program around it as little as possible, so that it is
// compiled once.
func TestModulesStayTheSame(t *testing.T) {
	modules := map[string]string{"shapes": shapes}
	one := units(t,
		"import shapes\nmain: [+stdout] () void:\n    print(\"%d\\n\", shapes.double(2))\n",
		modules, Options{})
	again := units(t,
		"import shapes\nmain: [+stdout] () void:\n    print(\"%d\\n\", shapes.double(2))\n",
		modules, Options{})
	other := units(t,
		"import shapes\n# longer\nmain: [+stdout] () void:\n    s: shapes.shape = "+
			"shapes.shape(3)\n    print(\"%d\\n\", s.area())\n", modules, Options{})
	if one["main"] != again["main"] || one["shapes"] != again["shapes"] {
		t.Error("the same program gives another text")
	}
	if one["shapes"] != other["shapes"] {
		t.Errorf("a change of main changes what it imports:\n%s\n%s", one["shapes"],
			other["shapes"])
	}
	if one["main"] == other["main"] {
		t.Error("another program gives the same text")
	}
	if strings.Contains(one["main"], "shapes__unused") ||
		!strings.Contains(one["main"], "shapes__double") {
		t.Errorf("a module declares more or less than it uses:\n%s", one["main"])
	}
}

// A program includes the headers of what it uses, and links no more.
func TestRuntimeHeaders(t *testing.T) {
	for text, want := range map[string]string{
		"print(\"x\")": "eve.hpp",
		"print(\"%d\", random.secure_bytes(1).size())":      "eve.hpp random.hpp",
		"print(\"%v\", time.local_offset(now()))":           "eve.hpp time.hpp",
		"print(\"%s\", path.base(\"a/b\"))":                 "eve.hpp",
		"f: fs.file_info\n    print(\"%d\", f.size())":      "eve.hpp fs.hpp",
		"_ <- fs.remove(\"a\") [+stdout]\n    print(\"x\")": "eve.hpp fs.hpp",
	} {
		got := units(t, "main: [+stdout] () void:\n    "+text+"\n", nil, Options{})["main"]
		var headers []string
		for _, line := range strings.Split(got, "\n") {
			if name, ok := strings.CutPrefix(line, "#include \""); ok {
				headers = append(headers, strings.TrimSuffix(name, "\""))
			}
		}
		if strings.Join(headers, " ") != want {
			t.Errorf("%s includes %q, want %s", text, headers, want)
		}
	}
}

// Every statement has the line of its source.
func TestLines(t *testing.T) {
	text := units(t,
		"main: [+stdout] () void:\n    x: int = 1\n\n\n    print(\n        \"%d\\n\",\n        "+
			"x)\n    y: int = 2\n", nil, Options{})["main"]
	got := map[string]int{}
	line := 0
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if n, ok := strings.CutPrefix(l, "#line "); ok {
			line = int(n[0] - '0')
			continue
		}
		if line > 0 {
			got[l] = line
			line++
		}
	}
	for stmt, want := range map[string]int{"eve::i64 x = 1;": 2, `t1_.put(x, {.verb = 'd'});`: 5,
		"eve::i64 y = 2;": 8} {
		if got[stmt] != want {
			t.Errorf("%q is on line %d, want %d\n%s", stmt, got[stmt], want, text)
		}
	}
}

// Checked arithmetic calls the runtime, other arithmetic is C++'s own.
func TestChecked(t *testing.T) {
	const text = "f: (a: int, b: int<8>) int:\n    return a * 2 + a / 3 + int(b + 1) + a / " +
		"int(b)\nmain: () void: pass\n"
	wraps, checks := units(t, text, nil, Options{})["main"],
		units(t, text, nil, Options{Checked: true})["main"]
	for _, want := range []string{"a * 2", "a / 3", "static_cast<eve::i8>(b + 1)",
		"eve::wrap_div(a, "} {
		if !strings.Contains(wraps, want) {
			t.Errorf("no %q in\n%s", want, wraps)
		}
	}
	for _, want := range []string{"eve::mul(a, eve::i64(2), &at_2)",
		"eve::add(b, eve::i8(1), &at_2)", "a / 3", "eve::div(a, "} {
		if !strings.Contains(checks, want) {
			t.Errorf("no %q in\n%s", want, checks)
		}
	}
}

// An index is not checked if the loop around proves it, and is checked if something could change.
func TestIndexChecks(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"for (i in 0..v.size()): n += v[i]", "v[i]"},
		{"for (i in 1..v.size()): n += v[i - 1]", "v.at(i - 1"},
		{"for (i in 0..w.size()): n += v[i]", "v.at(i"},
		{"for (i in 0..w.size()):\n        w.push(1)\n        n += w[i]", "w.at(i"},
		{"for (i in 0..w.size()):\n        w = [1]\n        n += w[i]", "w.at(i"},
		{"for (i in -1..v.size()): n += v[i]", "v.at(i"},
		{"n = a[3]", "a[3]"},
	} {
		text := units(t,
			"f: (v: vector<int>, =w: vector<int>, a: array<int, 4>) int:\n    n: int = 0\n    "+
				c.body+"\n    return n\nmain: () void: pass\n", nil, Options{})["main"]
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: no %q in\n%s", c.body, c.want, text)
		}
	}
}

// Functions that cannot fail are noexcept: abs of a float, but not of an int when overflow is
// checked.
func TestNoexcept(t *testing.T) {
	for text, want := range map[string]string{
		"f: (x: float) float: return abs(x)\n": "eve::f64 main__f(eve::f64 x) noexcept;",
		"f: (x: int) int: return abs(x)\n":     "eve::i64 main__f(eve::i64 x);",
		"f: (x: int) int: return x & 1\n":      "eve::i64 main__f(eve::i64 x) noexcept;",
	} {
		got := units(t, text+"main: [+stdout] () void: print(\"%v\\n\", f(1))\n", nil,
			Options{Checked: true})["main"]
		if !strings.Contains(got, want) {
			t.Errorf("%swant %s\n%s", text, want, got)
		}
	}
}

func TestWord(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"main", "main"}, {"io.socket", "io__socket"}, {"a__b", "a_0_b"},
		{"vector<int>", "vector_int"},
		{"room@", "room_shared"}, {"7up", "m7up"}, {"a-b", "a_b"}, {"(int, bool)", "int_bool"},
		{"", "m"},
	} {
		if got := word(c.name); got != c.want {
			t.Errorf("word(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLocals(t *testing.T) {
	l := newLocals("w_")
	if got := []string{l.name("n"), l.name("n"), l.name("class"), l.name("w_"),
		l.name("")}; strings.Join(got, " ") != "n n_1 class_ w__1 unnamed" {
		t.Errorf("got %q", got)
	}
	mark := l.open()
	if got := l.name("i"); got != "i" {
		t.Errorf("got %q", got)
	}
	l.close(mark)
	if got := l.name("i"); got != "i" {
		t.Errorf("a name is not free behind its block: %q", got)
	}
}

func TestAtom(t *testing.T) {
	for s, want := range map[string]bool{
		"x": true, "f(a, b)": true, "v[i + 1]": true, "a + b": false, "-x": false, "*p": false,
		`"a b"`: true, `f(")")`: true, "a.b": true, "": false,
	} {
		if atom(s) != want {
			t.Errorf("atom(%q) = %v", s, !want)
		}
	}
	for x, want := range map[string]string{"*p": "p->f", "x": "x.f", "a + b": "(a + b).f",
		"**p": "(**p).f", "*f(a)": "f(a)->f"} {
		if got := member(x, "f"); got != want {
			t.Errorf("member(%q) = %q, want %q", x, got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for s, want := range map[string]string{
		"a\"b\\": `"a\"b\\"`, "\n\t": `"\n\t"`, "\x00" + "1": `"\0001"`, "??=": `"\077\077="`,
		"é": `"\303\251"`,
	} {
		if got := quote(s); got != want {
			t.Errorf("quote(%q) = %s, want %s", s, got, want)
		}
	}
}
