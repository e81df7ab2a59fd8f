package syntax

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/source"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A mistake is a wrong text and the expected diagnostics.
type mistake struct{ name, in, text, want string }

// mistakes are errors that people really make, with the code and the text of the span of each
// diagnostic. in is put into a function; text is a whole file.
var mistakes = []mistake{
	{name: "colon after if", in: "if n > 3\n    return 1\nreturn 2", want: "E0104 "},
	{name: "colon, same line", in: "if n > 3 return 1\nreturn 2", want: "E0104 "},
	{name: "colon after else", in: "if n > 3:\n    return 1\nelse\n    return 2", want: "E0104 "},
	{name: "colon after for", in: "for (i in 0..n)\n    n += i", want: "E0104 "},
	{name: "colon after task", in: "@ [+a]\n    a = 1", want: "E0104 "},
	{name: "colon after on", in: "on c data [a]\n    a.f()", want: "E0104 "},
	{name: "colon after finish", in: "finish\n    @ [+a]: a = 1", want: "E0104 "},
	{name: "colon after function", text: "f: (n: int) int\n    return n\n", want: "E0104 "},
	{name: "colon after type", text: "type a\n    b: int\n", want: "E0104 "},
	{name: "colon after arm", in: "match n:\n    1\n        return 2\n    _: pass", want: "E0104 "},
	{name: "colon after name", text: "main() void:\n    pass\n", want: "E0104 main"},
	{name: "bracket for colon", in: "if n > 3 {\n    return 1\n}", want: "E0112 {"},
	{name: "brace on its line", in: "if n > 3\n{\n    return 1\n}", want: "E0104 |E0112 {"},
	{name: "less or equal", in: "if n ≤ 3: return 1", want: "E0112 ≤"},
	{name: "letter in name", in: "größe: int = 1", want: "E0112 ö"},
	{name: "assignment in if", in: "if n = 3:\n    return n", want: "E0116 ="},
	{name: "assignment in while", in: "while n = 3: n += 1", want: "E0116 ="},
	{name: "unclosed call", in: "n = max(1, 2\nreturn n", want: "E0106 ("},
	{name: "unclosed call before block", in: "if max(1, 2 > n:\n    return n\nreturn 1",
		want: "E0106 ("},
	{name: "unclosed list", in: "v: vector<int> = [1, 2\nreturn v", want: "E0106 ["},
	{name: "unclosed in parameters", text: "f: (n: int int:\n    return n\ng: () void:\n    pass\n",
		want: "E0106 ("},
	{name: "unclosed over lines", in: "n = max(1,\n    2\nreturn n", want: "E0106 ("},
	{name: "unclosed type arguments", in: "v: vector<int = f()\nreturn v", want: "E0106 ="},
	{name: "closing too much", in: "n = max(1, 2))\nreturn n", want: "E0107 )"},
	{name: "wrong bracket", in: "n = v[1)\nreturn n", want: "E0106 ["},
	{name: "unclosed string", in: "s: string = \"abc\nreturn s", want: `E0108 "abc`},
	{name: "unclosed string in call", in: "print(\"abc)\nreturn", want: `E0108 "abc)`},
	{name: "unclosed character", in: "c: char = 'a\nreturn c", want: "E0108 'a"},
	{name: "long character", in: "c: char = 'ab'", want: "E0111 'ab'"},
	{name: "letter that is no byte", in: "c: char = 'é'", want: "E0111 'é'"},
	{name: "bad escape", in: `s: string = "C:\dir"`, want: `E0109 \d`},
	{name: "keyword as variable", in: "match: int = 1", want: "E0115 match"},
	{name: "keyword as parameter", text: "f: (in: int) void:\n    pass\n", want: "E0115 in"},
	{name: "keyword as function", text: "finish: () void:\n    pass\n", want: "E0115 finish"},
	{name: "keyword as operand", in: "n = 1 + type", want: "E0115 type"},
	{name: "tabs", text: "f: () void:\n\tpass\n\tpass\ng: () void:\n    pass\n", want: "E0101 \t"},
	{name: "dedent between", in: "if n > 1:\n    n = 1\n  n = 2\n  n = 3\nreturn n",
		want: "E0102 n"},
	{name: "dedent below all",
		text: "f: () void:\n    if a:\n        b()\n c()\n c()\n\ng: () void:\n    pass\n",
		want: "E0102 c"},
	{name: "indent without colon", in: "n = 1\n    n = 2\n    n = 3\nreturn n", want: "E0103 n"},
	{name: "indented first line", text: "  f: () void:\n      pass\n", want: "E0103 f"},
	{name: "empty block", in: "if n > 1:\nreturn n", want: "E0105 :"},
	{name: "empty function", text: "f: () void:\ng: () void:\n    pass\n", want: "E0105 :"},
	{name: "def", text: "def f(n):\n    return n\n", want: "E0104 def"},
	{name: "fn", text: "fn f(n: int) -> int:\n    return n\n", want: "E0104 fn"},
	{name: "class", text: "class a:\n    n: int\n", want: "E0104 class"},
	{name: "let", in: "let n = 1\nreturn n", want: "E0104 let"},
	{name: "type before name", in: "int m = 1\nreturn m", want: "E0104 int m"},
	{name: "type before parameter", text: "f: (int n) void:\n    pass\n", want: "E0120 int n"},
	{name: "type without colon", in: "m int = 1\nreturn m", want: "E0104 m int"},
	{name: "parameter without colon", text: "f: (n int, m: int) void:\n    pass\n",
		want: "E0120 n int"},
	{name: "field without colon", text: "type t:\n    a int\n    b: int\n", want: "E0104 a int"},
	{name: "own type before name", in: "account m = f()\nreturn m", want: "E0104 account m"},
	{name: "no type", in: "m := 1", want: "E0117 :="},
	{name: "no type for two", in: "a, b = f()", want: "E0120 a, b"},
	{name: "no type of parameter", text: "f: (n) void:\n    pass\n", want: "E0120 n"},
	{name: "arrow", text: "f: (n: int) -> int:\n    return n\n", want: "E0114 ->"},
	{name: "list after parameters", text: "f: (n: int) [+a] int:\n    return n\n", want: "E0114 ["},
	{name: "bare for with a type", in: "for x: int in v:\n    f(x)", want: "E0122 x: int in v"},
	{name: "elif on one line", in: "if a: b()\nelif c: d()\nelse: e()", want: "E0117 elif"},
	{name: "self that is no parameter",
		text: "type a:\n    b: [+self] () void: pass\n    c: [d, +self] (d: int@) void: pass\n",
		want: "E0114 +self|E0114 +self"},
	{name: "case", in: "match a:\n    case 1: b()\n    _: c()", want: "E0104 case"},
	{name: "choice with ?", in: "a: int = b > 1 ? 3 : 4", want: "E0117 ?"},
	{name: "choice with if", in: "a: int = 3 if b else 4", want: "E0117 if"},
	{name: "address", in: "f(&a)", want: "E0113 &"},
	{name: "range with its end", in: "for (i in 0..=3): f(i)", want: "E0113 ="},
	{name: "in a list", in: "if a in [1, 2]: f()", want: "E0104 in"},
	{name: "list type", in: "v: [int] = [1]", want: "E0120 ["},
	{name: "type parameters before the colon", text: "f<T>: (x: T) T: return x\n", want: "E0114 f"},
	{name: "bare for", in: "for x in v:\n    f(x)", want: "E0122 x in v"},
	{name: "bare task for", in: "@ for x in v:\n    f(x)", want: "E0122 x"},
	{name: "elif", in: "if a:\n    b()\nelif c:\n    d()", want: "E0117 elif"},
	{name: "else if without if", in: "a()\nelse:\n    b()", want: "E0114 else"},
	{name: "and", in: "if a and b:\n    c()", want: "E0117 and"},
	{name: "not", in: "if not a:\n    c()", want: "E0117 not"},
	{name: "increment", in: "n++\nreturn n", want: "E0117 ++"},
	{name: "semicolon", in: "n = 1;\nreturn n", want: "E0117 ;"},
	{name: "slashes", in: "n = 1 // one\nreturn n", want: "E0112 //"},
	{name: "statement in module", text: "print(\"x\")\nf: () void:\n    pass\n",
		want: "E0119 print"},
	{name: "function in function", in: "g: (x: int) int:\n    return x\nreturn 1", want: "E0119 g"},
	{name: "type in function", in: "type a:\n    n: int\nreturn 1", want: "E0119 type"},
	{name: "missing operand", in: "n = 1 +\nreturn n", want: "E0113 "},
	{name: "missing argument", in: "f(1, , 2)", want: "E0113 ,"},
	{name: "missing value", in: "m: int =\nreturn m", want: "E0113 "},
	{name: "no event", in: "on client [a]:\n    f()", want: "E0114 :"},
	{name: "field in list", in: "@ [+a.b]:\n    f()", want: "E0114 ."},
	{name: "if as value", in: "n = if a: 1", want: "E0113 if"},
	{name: "unit", in: "n = 10MB", want: "E0110 10MB"},
	{name: "fraction of a second", in: "sleep(1.5s)", want: "E0110 1.5s"},
	{name: "hexadecimal", in: "n = 0xfg", want: "E0110 0xfg"},
	{name: "quotes of a document", in: "print(“x”)", want: "E0112 “x”"},
	{name: "f-string brace", in: `s = f"{n"`, want: "E0121 {"},
	{name: "f-string stray", in: `s = f"n}"`, want: "E0121 }"},
	{name: "f-string empty", in: `s = f"{}"`, want: "E0121 {}"},
	{name: "f-string expression", in: `s = f"{n +}"`, want: "E0113 "},
	{name: "c function without speed", text: "extern \"C\" \"z.h\":\n    f: (n: int) int\n",
		want: "E0114 f"},
	{name: "c function with its speed behind",
		text: "extern \"C\" \"z.h\":\n    f: fast (n: int) int\n", want: "E0114 f"},
	{name: "inheritance", text: "type a: b\n    n: int\n", want: "E0114 b"},
	{name: "type parameter", text: "f: <T> (x: T) void:\n    pass\n", want: "E0114 T"},
	{name: "elif and else", in: "if a:\n    b()\nelif c:\n    d()\nelse:\n    e()",
		want: "E0117 elif"},
	{name: "or behind call", in: "m: bool = a() or b()", want: "E0117 or"},
	{name: "misspelt keyword", in: "retrun n", want: "E0104 retrun"},
	{name: "switch", in: "switch n:\n    1: pass", want: "E0104 switch"},
	{name: "missing comma", in: "n = max(1 2)\nreturn n", want: "E0106 2"},
	{name: "missing comma in types", in: "m: map<string int>", want: "E0106 int"},
	{name: "colon of argument", in: "f(n: 1)", want: "E0114 :"},
	{name: "await", in: "n = await f()", want: "E0117 await"},
	{name: "await statement", in: "await f()", want: "E0117 await"},
	{name: "arrow as operand", in: "n = <- f()", want: "E0113 <-"},
	{name: "new", in: "a: account = new account(5)", want: "E0117 new"},
	{name: "go", in: "go f()", want: "E0117 go"},
	{name: "lambda", in: "f(lambda x: x)", want: "E0117 lambda x"},
	{name: "arrow function as argument", in: "f(x => x + 1)", want: "E0117 x =>"},
	{name: "arrow function", in: "g = x => x + 1", want: "E0117 =>"},
	{name: "then", in: "if n > 1 then\n    return 1", want: "E0104 then"},
	{name: "then and colon", in: "while n > 1 do:\n    n -= 1", want: "E0104 do"},
	{name: "try", in: "try:\n    f()", want: "E0117 try"},
	{name: "block comment", in: "n = 1 /* one\n  two */\nreturn n", want: "E0112 /*"},
	{name: "array type", in: "v: int[] = f()", want: "E0120 int[]"},
	{name: "brackets of a type", in: "v: vector[map<int, int>] = f()",
		want: "E0120 [map<int, int>]"},
	{name: "long expression", in: "n = 1 +\n    2\nreturn n", want: "E0113 "},
	{name: "chain of calls", in: "n = a\n    .b()\n    .c()\nreturn n", want: "E0103 ."},
	{name: "call without parentheses", in: "print \"hello\"", want: "E0117 \"hello\""},
	{name: "throw", in: "throw \"x\"", want: "E0104 throw"},
	{name: "increment in front", in: "++n\nreturn n", want: "E0117 ++"},
	{name: "three equal signs", in: "if n === 1: f()", want: "E0117 ==="},
	{name: "unequal of basic", in: "if n <> 1: f()", want: "E0117 <>"},
	{name: "choice as argument", in: "f(n > 1 ? 3 : 4)", want: "E0117 ?"},
	{name: "unwrapped by force", in: "f(n!)", want: "E0117 !"},
	{name: "is none", in: "if n is none: f()", want: "E0117 is"},
	{name: "is not", in: "if n is not none: f()", want: "E0117 is not"},
	{name: "not in", in: "if 3 not in v: f()", want: "E0117 not in"},
	{name: "three quotes", in: `s: string = """a"""`, want: `E0117 "a"`},
	{name: "backtick", in: "s: string = `a`", want: "E0112 `"},
	{name: "slice with a colon", in: "f(s[1:3])", want: "E0113 :"},
	{name: "slice without an end", in: "f(s[1:])", want: "E0113 :"},
	{name: "slice without a beginning", in: "f(s[..3])", want: "E0113 .."},
	{name: "range without an end", in: "f(s[1..])", want: "E0113 ]"},
	{name: "range of python", in: "for i in range(3):\n    f(i)", want: "E0122 i in range(3)"},
	{name: "two variables of a loop", in: "for (k, v in m): f(k)", want: "E0114 ,"},
	{name: "pair of a loop", in: "for ((k, v) in m): f(k)", want: "E0114 in"},
	{name: "braces of a map", in: "m = {\"a\": 1}", want: "E0112 {"},
	{name: "slice type of go", in: "v: []int = f()", want: "E0120 []int"},
	{name: "lambda without types", in: "f(v, (x) x + 1)", want: "E0117 ) x"},
	{name: "lambda of several lines",
		in: "each(v, (x: int) int:\n    n += x\n    return n)\nreturn n", want: "E0106 return"},
	{name: "lambda of several expressions",
		in: "each(v, (x: int) int:\n    f(x)\n    g(x))\nreturn n", want: "E0106 g"},
	{name: "result behind a colon", text: "f: (n: int): int\n    return n\n", want: "E0114 :"},
	{name: "type of a closure", text: "f: (g: (int) int, x: int) int: return g(x)\n",
		want: "E0120 (int) int"},
	{name: "test without quotes", text: "test x:\n    f()\n", want: "E0119 test"},
	{name: "task with a bare list", in: "@ +n: n = 2", want: "E0104 +"},
	{name: "task without a colon", in: "@ [+n] n = 2", want: "E0104 "},
	{name: "if without a colon", in: "if (n > 3) f()", want: "E0104 "},
	{name: "foreach", in: "foreach (x in v): f(x)", want: "E0104 foreach"},
	{name: "for of", in: "for (x of v): f(x)", want: "E0114 of"},
	{name: "step of c", in: "for (i: int = 0; i < 3; i++): f(i)", want: "E0117 ++"},
	{name: "two indexes", in: "n = v[0, 1]\nreturn n", want: "E0106 ,"},
	{name: "array of c", in: "v: int[3]", want: "E0120 int[3]"},
	{name: "two declarations", in: "a: int, b: string = f()", want: "E0117 ,"},
	{name: "callback without types", in: "listen(1):\n    connection = (c) void:\n        f(c)",
		want: "E0120 c"},
	{name: "callback of one line",
		text: "f: () void:\n    listen(1):\n        connection = (c: connection&) void: serve(c)\n",
		want: ""},
	{name: "two patterns", in: "match n:\n    1, 2: pass\n    _: pass", want: "E0104 ,"},
	{name: "loop", in: "loop:\n    f()", want: "E0117 loop"},
	{name: "try and except", in: "try:\n    f()\nexcept e:\n    g()\nreturn n", want: "E0117 try"},
	{name: "let with a type", in: "let n: int = 1\nreturn n", want: "E0104 let"},
	{name: "var of a string", in: "var s = \"a\"\nreturn n", want: "E0104 var"},
	{name: "function of go", text: "func main() {\n    f()\n}\n", want: "E0104 func"},
	{name: "function of rust", text: "fn f(n: i32) -> i32 {\n    return n\n}\n", want: "E0104 fn"},
	{name: "function of c", text: "int f(int n) {\n    return n;\n}\n", want: "E0104 int"},
	{name: "static", text: "static n: int@ = 3\n", want: "E0119 static"},
	{name: "public", text: "public f: () void: pass\n", want: "E0104 public"},
	{name: "two errors", in: "n = (1\nm = 2 +\nreturn n", want: "E0106 (|E0113 "},
}

func (m mistake) source() string {
	if m.text != "" {
		return m.text
	}
	return "f: (n: int) int:\n    " + strings.ReplaceAll(m.in, "\n", "\n    ") +
		"\n\ng: () void:\n    pass\n"
}

// parse reads text under a name.
func parse(name, text string) (*File, *diag.List) {
	var diags diag.List
	return Parse(source.NewFile(name, text), &diags), &diags
}

func TestMistakes(t *testing.T) {
	for _, m := range mistakes {
		var diags diag.List
		f := Parse(source.NewFile("wrong.eve", m.source()), &diags)
		verify(t, f, &diags)
		var got []string
		for _, d := range diags.Sorted() {
			got = append(got, fmt.Sprintf("%s %s", d.Code, d.Span.Text()))
		}
		if s := strings.Join(got, "|"); s != m.want {
			t.Errorf("%s: got %q, want %q\n%s", m.name, s, m.want, m.source())
		}
	}
}

// The messages are read as a whole: testdata/mistakes.txt has them as a user sees them.
func TestMistakesGallery(t *testing.T) {
	var b strings.Builder
	for _, m := range mistakes {
		_, diags := parse("wrong.eve", m.source())
		fmt.Fprintf(&b, "=== %s\n", m.name)
		if err := diag.Render(&b, diags.Sorted(), diag.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "mistakes.txt", b.String())
}

// golden compares got with a file of testdata, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile("testdata/"+name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; go test -update rewrites it. Got:\n%s", name, got)
	}
}

// A fix is the single edit that corrects its error. With all fixes applied, and those of the lines
// that were assumed right before, there is nothing left to report.
func TestFixesMend(t *testing.T) {
	fixed := 0
	for _, m := range mistakes {
		text := m.source()
		_, diags := parse("wrong.eve", text)
		complete := true
		for range 3 {
			all := diags.Sorted()
			for i := len(all) - 1; i >= 0; i-- {
				f := all[i].Fix
				if f == nil {
					complete = false
					continue
				}
				fixed++
				text = text[:f.Span.Start] + f.New + text[f.Span.End:]
			}
			_, diags = parse("fixed.eve", text)
		}
		if complete && diags.HasErrors() {
			t.Errorf("%s: after the fixes\n%s\n%s", m.name, text, show(t, diags))
		}
	}
	if fixed < 45 {
		t.Errorf("only %d mistakes have a fix", fixed)
	}
}
