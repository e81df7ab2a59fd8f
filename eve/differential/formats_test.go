package differential

import (
	"fmt"
	"strings"
	"testing"

	"interleave/eve/build"
	"interleave/eve/trial"
)

// Both write every kind of value alike in every format.
func TestFormats(t *testing.T) {
	trial.NeedCompiler(t)
	var b strings.Builder
	b.WriteString(`union shape:
    empty
    box(wide: int, name: string)
type pair:
    left: int
    right: duration
main: [+stdout] () void:
    zero: float = 0.0
`)
	n := 0
	line := func(verb, x string) {
		fmt.Fprintf(&b, "    stdout.write(\"%d <%%%s>\\n\", %s)\n", n, verb, x)
		n++
	}
	for _, x := range []string{"0", "-7", "123456789", "9223372036854775807",
		"-9223372036854775807", "uint<16>(65535)"} {
		for _, verb := range []string{"d", "v", "x", "o", "b", "8d", "-8d", "08d", "03x", "70b"} {
			line(verb, x)
		}
	}
	for _, x := range []string{"0", "65", "233", "8364", "128512", "55296", "1114112", "-1",
		"4294967361"} {
		line("c", x)
	}
	for _, x := range []string{"zero", "-zero", "1.0", "0.1", "-2.5", "1e20", "1e21", "1e-4",
		"9.99e-5", "123456.789", "1.0 / zero", "-1.0 / zero",
		"zero / zero", "float<32>(0.1)", "1e300", "5e-324", "0.5", "2.675"} {
		for _, verb := range []string{"v", "f", "e", "g", ".2f", ".0f", "10.3f", "-10.3f", "010.3f",
			".3e", ".4g", ".10g", ".1g", "12v"} {
			line(verb, x)
		}
	}
	for _, x := range []string{`"abc"`, `""`, `"äöü€"`, `f"{1}{true}"`} {
		for _, verb := range []string{"s", "v", "6s", "-6s", ".2s", "6.2s", "x"} {
			line(verb, x)
		}
	}
	for _, x := range []string{"true", "'c'", "0s", "1500ms", "-90s", "36h", "7ns", "1us",
		"999999us", "[1, -2, 3]", "(1, \"a\", 2s)", "shape.empty",
		"shape.box(3, \"n\")", "pair(1, 2s)", "\"ab\".bytes()", "error(3, \"why\")",
		"make_error(4, \"so\")"} {
		line("v", x)
	}
	for _, declared := range []string{"int? = none", "int? = 5", "string! = \"s\"",
		"string! = error(\"bad\")", "map<string, duration> = [(\"k\", 1s)]",
		"set<char> = ['a', 'b']", "array<float, 2> = [0.5, 1.0]", "vector<bool> = [true, false]",
		"vector<(int, char)> = [(1, 'x')]",
		"map<int, vector<string>> = [(1, [\"a\", \"b\"])]", "bytes = \"raw\"",
		"vector<int<8>> = [1, 2]", "array<char, 2> = ['a', 'b']",
		"set<array<char, 1>> = [['x']]", "map<char, array<char, 1>> = [('k', ['v'])]",
		"(array<char, 2>, bytes) = (['a', 'b'], \"cd\")", "float<32> = 16777216.0"} {
		fmt.Fprintf(&b, "    x%d: %s\n", n, declared)
		fmt.Fprintf(&b, "    stdout.write(f\"{x%d}\\n\")\n", n)
		line("v", fmt.Sprint("x", n))
	}
	for _, x := range []string{"\"12\"", "\"-12\"", "\"+5\"", "\"1_0\"", "\"\"",
		"\"9223372036854775808\"", "\" 1\"", "\"1.5\"", "\"1e400\"", "\"1e-400\"",
		"\"inf\"", "\"nan\"", "\"0x10\"", "\".5\"", "\"5.\"", "\"+-5\"", "\"infinity\"",
		"\"nan(1)\""} {
		line("v", x+".to_int()")
		line("v", x+".to_float()")
	}
	compare(t, "formats.eve", b.String(), asserted, build.Options{})
}
