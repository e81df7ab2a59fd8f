package interp_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"interleave/eve/interp"
	"interleave/eve/trial"
	"interleave/eve/types"
)

// edges are operands at which arithmetic goes wrong, as 64 bits.
var edges = []int64{0, 1, 2, 3, 7, 10, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 1<<31 - 1,
	1 << 31, 1<<32 - 1, 1 << 32,
	math.MaxInt64 - 1, math.MaxInt64, -1, -2, -3, -128, -129, -32768, -32769, -1 << 31, -1<<31 - 1,
	math.MinInt64, math.MinInt64 + 1}

// limits returns the least and the greatest value of a type.
func limits(t *types.Type) (least, most *big.Int) {
	one := big.NewInt(1)
	if t.IsUnsigned() {
		return new(big.Int), new(big.Int).Sub(new(big.Int).Lsh(one, uint(t.Bits())), one)
	}
	half := new(big.Int).Lsh(one, uint(t.Bits()-1))
	return new(big.Int).Neg(half), new(big.Int).Sub(half, one)
}

func exactly(v int64, t *types.Type) *big.Int {
	if t.IsUnsigned() {
		return new(big.Int).SetUint64(uint64(v))
	}
	return big.NewInt(v)
}

// Arithmetic of every width has the exact result, wraps by its width, and detects results that do
// not fit.
func TestArithmetic(t *testing.T) {
	operations := map[string]func(z, a, b *big.Int) *big.Int{
		"+": (*big.Int).Add, "-": (*big.Int).Sub, "*": (*big.Int).Mul, "/": (*big.Int).Quo,
		"%": (*big.Int).Rem}
	for _, typ := range []*types.Type{types.Int8T, types.Int16T, types.Int32T, types.IntT,
		types.Uint8T, types.Uint16T, types.Uint32T,
		types.UintT, types.CharT, types.DurationT} {
		least, most := limits(typ)
		inside := func(x *big.Int) bool { return x.Cmp(least) >= 0 && x.Cmp(most) <= 0 }
		size := new(big.Int).Lsh(big.NewInt(1), uint(typ.Bits()))
		for _, a := range edges {
			for _, b := range edges {
				x, y := exactly(a, typ), exactly(b, typ)
				if !inside(x) || !inside(y) {
					continue
				}
				for op, f := range operations {
					if y.Sign() == 0 && (op == "/" || op == "%") {
						continue
					}
					want := f(new(big.Int), x, y)
					got, fits := interp.Compute(op, a, b, typ)
					left := new(big.Int).Sub(want, exactly(got, typ))
					if fits != inside(want) || !inside(exactly(got, typ)) ||
						left.Mod(left, size).Sign() != 0 {
						t.Errorf("%s: %d %s %d = %d (fits: %v), want %d", typ, x, op, y, got, fits,
							want)
					}
				}
			}
		}
	}
}

// ending runs main with a body and returns its output and its failure.
func ending(t *testing.T, body string, wrap bool) string {
	t.Helper()
	text := "main: [+stdout] () void:\n    " + strings.ReplaceAll(body, "\n", "\n    ") + "\n"
	var out strings.Builder
	end := interp.Run(trial.Check(t, "t.eve", text), interp.Options{Stdout: &out, Wrap: wrap})
	return out.String() + end.Trace
}

// Failures have the messages of the runtime.
func TestFailures(t *testing.T) {
	for _, test := range []struct{ body, checked, wrapping string }{
		{"x: int = 9223372036854775807\nx += 1\nprint(\"%d\", x)", "t.eve:3: integer overflow",
			"-9223372036854775808"},
		{"x: int<8> = -128\nx = -x\nprint(\"%d\", x)", "t.eve:3: integer overflow", "-128"},
		{"x: uint<16> = 0\nx -= 1\nprint(\"%d\", x)", "t.eve:3: integer overflow", "65535"},
		{"x: int = 3\nprint(\"%d\", x ** 40)", "t.eve:3: integer overflow", "-6289078614652622815"},
		{"x: int = -1\nprint(\"%d\", 2 ** x)", "t.eve:3: a negative power of an integer",
			"t.eve:3: a negative power of an integer"},
		{"x: int = 0\nprint(\"%d\", 1 / x)", "t.eve:3: division by zero",
			"t.eve:3: division by zero"},
		{"x: int = 64\nprint(\"%d\", 1 << x)", "t.eve:3: shift by 64: the value has 64 bits",
			"t.eve:3: shift by 64: the value has 64 bits"},
		{"x: int = 300\nprint(\"%d\", int<8>(x))",
			"t.eve:3: the number does not fit the type that it is converted to", "44"},
		{"x: float = 1e30\nprint(\"%d\", int(x))",
			"t.eve:3: the number does not fit the type that it is converted to",
			"5076964154930102272"},
		{"v: vector<int> = [1]\ni: int = 1\nprint(\"%d\", v[i])",
			"t.eve:4: index 1 is out of range: there is 1 element", ""},
		{"v: vector<int> = [1]\ni: int = 3\nv.insert(i, 2)",
			"t.eve:4: index 3 is out of range: there is 1 element", ""},
		{"s: string = \"abc\"\ni: int = 5\nprint(\"%s\", s[1..i])",
			"t.eve:4: 1..5 is out of range: there are 3 elements", ""},
		{"v: vector<int> = [1]\ni: int = -1\na, b: slice<int>& = v.split(i)\nprint(\"%d\", " +
			"a.size())",
			"t.eve:4: 0..-1 is out of range: there is 1 element", ""},
		{"m: map<string, int>\nprint(\"%d\", m[\"k\"])", "t.eve:3: the map has no such key", ""},
		{"assert 1 > 2, f\"no {3}\"", "t.eve:2: assertion failed: 1 > 2: no 3", ""},
		{"defer: print(\"first\\n\")\nfail \"over\"", "first\nt.eve:3: over", ""},
		{"defer: fail \"second\"\ndefer: print(\"x\\n\")\nfail \"over\"", "x\nt.eve:4: over", ""},
	} {
		if got := ending(t, test.body, false); got != test.checked {
			t.Errorf("%s\ngives %q, want %q", test.body, got, test.checked)
		}
		if test.wrapping == "" {
			continue
		}
		if got := ending(t, test.body, true); got != test.wrapping {
			t.Errorf("wrapping, %s\ngives %q, want %q", test.body, got, test.wrapping)
		}
	}
}
