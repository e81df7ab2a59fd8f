package compile

import (
	"fmt"
	"strings"
	"testing"

	"interleave/eve/source"
)

// Programs that would cost a compiler exponential or quadratic time, or all memory, are checked or
// rejected soon. Without a bound they would take longer, or more memory, than any test may.
func TestBounds(t *testing.T) {
	many := func(n int, line string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, strings.ReplaceAll(line, "%d+1", fmt.Sprint(i+1)), i)
		}
		return b.String()
	}
	inMain := func(s string) string { return "main: () void:\n    " + s + "\n" }
	nested := func(n int, head string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.Repeat(" ", i+1) + head + "\n")
		}
		return "main: () void:\n" + b.String() + strings.Repeat(" ", n+1) + "pass\n"
	}
	around := func(n int, open, s, end string) string {
		return strings.Repeat(open, n) + s + strings.Repeat(end, n)
	}
	tests := []struct{ name, text, code string }{ // code is that of the first error; empty: none
		{"brackets", inMain("x: int = " + around(100_000, "(", "1", ")")), "E0118"},
		{"fields", inMain("x: int = a" + strings.Repeat(".b", 200_000)), "E0202"},
		{"types", inMain("x: " + around(100_000, "vector<", "int", ">")), "E0118"},
		{"blocks", nested(2000, "if true:"), "E0118"},
		{"loops", nested(60, "for (i in 0..2):"), ""},
		{"lines", "main: () void:\n    x: int = 0\n" + strings.Repeat("    x = x + 1\n", 100_000),
			""},
		{"line", inMain("x: string = \"" + strings.Repeat("a", 1_000_000) + "\""), ""},
		{"digits", inMain("x: int = " + strings.Repeat("9", 1_000_000)), "E0358"},
		{"functions", many(10_000, "f%d: () void: pass\n") + inMain("pass"), ""},
		{"calls", many(40_000, "f%d: (x: int) int: return f%d+1(x)\n") +
			"f40000: (x: int) int: return x\n" + inMain("f0(1)"), ""},
		{"polymorphic recursion",
			"f: <type T> (n: int, x: T) int:\n    if n == 0: return 0\n    return f(n - 1, (x, " +
				"x))\n" + inMain("f(3, 1)"), "E0502"},
		{"endless type", "type a<T>:\n    x: a<vector<T>>@\n" + inMain("y: a<int>"), "E0313"},
		{"doubling type", "type d<T>:\n    a: T\n    b: T\n" +
			inMain("x: "+around(30, "d<", "int", ">")), "E0502"},
		{"doubling defaults", "type e:\n    x: int = 3\ntype d<T>:\n    a: T\n    b: T\n" +
			inMain("x: "+around(30, "d<", "e", ">")), "E0502"},
		{"doubling objects", "type d<T>:\n    a: T@\n    b: T@\n" +
			inMain("x: "+around(30, "d<", "int", ">")), "E0502"},
		{"array", inMain("x: array<int, 1000000000>"), "E0307"},
		// evaluated when the program starts
		{"endless constant",
			"const a: int = f(1)\nf: (n: int) int:\n    while n > 0: pass\n    return n\n" +
				inMain("pass"), ""},
		{"power", "const a = 3 ** 3 ** 3 ** 3 ** 3\n" + inMain("pass"), "E0309"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, diags := Check(source.NewFile("bounds.eve", test.text), nil)
			code := ""
			for _, d := range diags {
				if d.Code.IsError() {
					code = string(d.Code)
					break
				}
			}
			if code != test.code {
				t.Errorf("got %q, want %q", code, test.code)
			}
		})
	}
}
