package interp_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
)

const int128Body = `
    a: int128.int128 = read(args[0])
    b: int128.int128 = read(args[1])
    x: int128.uint128 = a.bits()
    y: int128.uint128 = b.bits()
    n: int = args[2].to_int() else 0
    say(f"{a.text()} {a.compare(b)} {a.sign()} {shown(a.plus(b))} {shown(a.minus(b))} " +
        f"{shown(a.times(b))} {shown(a.divided(b))} {shown(a.remainder(b))} " +
        f"{shown(a.negative())}\n" +
        f"{x.text()} {x.compare(y)} {x.size()} {unsigned(x.plus(y))} {unsigned(x.minus(y))} " +
        f"{unsigned(x.times(y))} {unsigned(x.divided(y))} {unsigned(x.remainder(y))} " +
        f"{x.plus_wrapping(y).hex()} {x.minus_wrapping(y).hex()} {x.times_wrapping(y).hex()} " +
        f"{x.shifted_left(n).hex()} {x.shifted_right(n).hex()} {x.bit_and(y).hex()} " +
        f"{x.bit_or(y).hex()} {x.bit_xor(y).hex()} {x.bit_not().hex()}")

read: (s: string) int128.int128:
    match int128.parse(s):
        ok(n): return n
        error(e): fail e

shown: (r: int128.int128!) string:
    match r:
        ok(n): return n.text()
        error(e): return f"E{e.code()}"

unsigned: (r: int128.uint128!) string:
    match r:
        ok(n): return n.text()
        error(e): return f"E{e.code()}"
`

var (
	int128Least = new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), 127))
	int128Most  = new(big.Int).Not(int128Least)
	uint128Most = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))
)

// within is n as Eve writes it, or the error of a number that is too large.
func within(n, least, most *big.Int) string {
	if n.Cmp(least) < 0 || n.Cmp(most) > 0 {
		return "E34"
	}
	return n.String()
}

// operations are the results of the five operations that may fail, by math/big.
func operations(a, b, least, most *big.Int) string {
	var words []string
	for i, op := range []func(z, a, b *big.Int) *big.Int{(*big.Int).Add, (*big.Int).Sub,
		(*big.Int).Mul, (*big.Int).Quo, (*big.Int).Rem} {
		if i >= 3 && b.Sign() == 0 {
			words = append(words, "E33")
			continue
		}
		words = append(words, within(op(new(big.Int), a, b), least, most))
	}
	return strings.Join(words, " ")
}

// integers are the results that int128Body prints, by math/big.
func integers(a, b *big.Int, places uint) string {
	x, y := new(big.Int).And(a, uint128Most), new(big.Int).And(b, uint128Most)
	hex := func(z *big.Int) string { return fmt.Sprintf("%032x", z.And(z, uint128Most)) }
	z := func() *big.Int { return new(big.Int) }
	return fmt.Sprintf("%s %d %d %s %s\n%s %d %d %s %s %s %s %s %s %s %s %s %s",
		a, a.Cmp(b), a.Sign(), operations(a, b, int128Least, int128Most),
		within(z().Neg(a), int128Least, int128Most),
		x, x.Cmp(y), x.BitLen(), operations(x, y, z(), uint128Most),
		hex(z().Add(x, y)), hex(z().Sub(x, y)), hex(z().Mul(x, y)),
		hex(z().Lsh(x, places)), hex(z().Rsh(x, places)), hex(z().And(x, y)),
		hex(z().Or(x, y)), hex(z().Xor(x, y)), hex(z().Not(x)))
}

// util.int128 computes what math/big does.
func FuzzInt128(f *testing.F) {
	const sign, all = uint64(1) << 63, ^uint64(0)
	words := []uint64{0, 1, 7, 999_999_999, 1_000_000_000, 1 << 32, sign, all - 1, all}
	for i, high := range words {
		for j, low := range words {
			f.Add(high, low, words[(i+j)%len(words)], words[(2*i+j)%len(words)], uint8(17*j+i))
		}
	}
	f.Add(sign, uint64(0), all, all, uint8(64)) // the least number and -1
	p := newTool(f, "int128", int128Body)
	f.Fuzz(func(t *testing.T, aHigh, aLow, bHigh, bLow uint64, places uint8) {
		a, b := signed128(aHigh, aLow), signed128(bHigh, bLow)
		want := integers(a, b, uint(places))
		got, wrong := p.call(t, a.String(), b.String(), fmt.Sprint(places))
		if got != want {
			t.Errorf("%s %s %d: got %q %q, want %q", a, b, places, got, wrong, want)
		}
	})
}

// signed128 is the number of these words in two's complement.
func signed128(high, low uint64) *big.Int {
	n := new(big.Int).Lsh(big.NewInt(int64(high)), 64)
	return n.Add(n, new(big.Int).SetUint64(low))
}

// FuzzInt128Text reads what is an integer of 128 bits, and nothing else.
func FuzzInt128Text(f *testing.F) {
	for _, s := range []string{"", "-", "+", "+7", "-0", "007", "1.", "--1", " 1", "１", "0x10",
		"1_0",
		"170141183460469231731687303715884105727", "170141183460469231731687303715884105728",
		"-170141183460469231731687303715884105728", "-170141183460469231731687303715884105729",
		"340282366920938463463374607431768211455", "340282366920938463463374607431768211456",
		"20010db8000000000000000000000001", "FfFfFfFfFfFfFfFfFfFfFfFfFfFfFfFf",
		"100000000000000000000000000000000"} {
		f.Add(s)
	}
	p := newTool(f, "int128", `
    signed: string = "error"
    match int128.parse(args[0]):
        ok(n):
            again: int128.int128 = json.decode<int128.int128>(json.encode(n)) else int128.of(-1)
            signed = again.text()
        error(e): signed = f"error {e.code()}"
    say(f"{signed}\n{text(int128.parse_unsigned(args[0]))}\n{text(int128.parse_hex(args[0]))}")

text: (r: int128.uint128!) string:
    match r:
        ok(n): return n.text()
        error(e): return f"error {e.code()}"
`, "json")
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > longest {
			return
		}
		body := s
		if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
			body = s[1:]
		}
		offset := len(s) - len(body)
		want := []string{readInteger(s, body, offset, 10, int128Least, int128Most),
			readInteger(s, s, 0, 10, new(big.Int), uint128Most),
			readInteger(s, s, 0, 16, new(big.Int), uint128Most)}
		got, wrong := p.call(t, s)
		for i, line := range strings.Split(got, "\n") {
			if i >= len(want) || line != want[i] {
				t.Errorf("%q: got %q %q, want %q", s, got, wrong, want)
				break
			}
		}
	})
}

// readInteger is the number that a text is, or the error. Its digits are from offset on.
func readInteger(s, digits string, offset, base int, least, most *big.Int) string {
	allowed := "0123456789"
	if base == 16 {
		allowed += "abcdefABCDEF"
	}
	for i := range len(digits) {
		if !strings.Contains(allowed, digits[i:i+1]) {
			n, _ := new(big.Int).SetString(digits[:i], base)
			if n != nil && n.Cmp(uint128Most) > 0 {
				return "error 34" // it is too large before its wrong digit
			}
			return fmt.Sprint("error ", offset+i)
		}
	}
	if digits == "" {
		return fmt.Sprint("error ", offset)
	}
	n, _ := new(big.Int).SetString(s, base)
	if text := within(n, least, most); text != "E34" {
		return text
	}
	return "error 34"
}
