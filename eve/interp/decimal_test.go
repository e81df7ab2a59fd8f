package interp_test

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"
)

const decimalBody = `
    a: decimal.decimal = read(args[0])
    b: decimal.decimal = read(args[1])
    places: int = args[2].to_int() else 0
    by: decimal.rounding = mode(args[3])
    say(f"{a.text()} {b.text()} {a.compare(b)} {shown(a.plus(b))} {shown(a.minus(b))} " +
        f"{shown(a.times(b))} {shown(a.times_rounded(b, places, by))} " +
        f"{shown(a.divided(b, places, by))} {shown(a.rounded(places, by))}")

read: (s: string) decimal.decimal:
    match decimal.parse(s):
        ok(d): return d
        error(e): fail e

shown: (r: decimal.decimal!) string:
    match r:
        ok(d): return d.text()
        error(e): return f"E{e.code()}"

mode: (name: string) decimal.rounding:
    match name:
        "half_even": return decimal.rounding.half_even
        "half_up": return decimal.rounding.half_up
        "half_down": return decimal.rounding.half_down
        "up": return decimal.rounding.up
        "down": return decimal.rounding.down
        "ceiling": return decimal.rounding.ceiling
        else: return decimal.rounding.floor
`

var modes = []string{"half_even", "half_up", "half_down", "up", "down", "ceiling", "floor"}

func ten(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// rounded is r with so many places, as a decimal of Eve writes it.
func rounded(r *big.Rat, places int, mode string) string {
	if places < 0 || places > 18 {
		return "E34"
	}
	scaled := new(big.Rat).Mul(r, new(big.Rat).SetInt(ten(places)))
	rest := new(big.Int)
	q, _ := new(big.Int).QuoRem(scaled.Num(), scaled.Denom(), rest)
	half := new(big.Int).Mul(new(big.Int).Abs(rest), big.NewInt(2)).Cmp(scaled.Denom())
	rises := rest.Sign() != 0
	switch mode {
	case "half_even":
		rises = half > 0 || half == 0 && q.Bit(0) == 1
	case "half_up":
		rises = half >= 0
	case "half_down":
		rises = half > 0
	case "down":
		rises = false
	case "ceiling":
		rises = rises && r.Sign() > 0
	case "floor":
		rises = rises && r.Sign() < 0
	}
	if rises {
		q.Add(q, big.NewInt(int64(r.Sign())))
	}
	if new(big.Int).Abs(q).Cmp(ten(18)) >= 0 {
		return "E34"
	}
	return new(big.Rat).SetFrac(q, ten(places)).FloatString(places)
}

// decimals are the results that decimalBody prints, by math/big.
func decimals(a, b *big.Rat, aPlaces, bPlaces, places int, mode string) string {
	most := max(aPlaces, bPlaces)
	quotient := "E33"
	if b.Sign() != 0 {
		quotient = rounded(new(big.Rat).Quo(a, b), places, mode)
	}
	sum, difference := "E34", "E34"
	if rounded(a, most, mode) != "E34" && rounded(b, most, mode) != "E34" {
		sum = rounded(new(big.Rat).Add(a, b), most, mode)
		difference = rounded(new(big.Rat).Sub(a, b), most, mode)
	}
	product := new(big.Rat).Mul(a, b)
	return fmt.Sprintf("%s %s %d %s %s %s %s %s %s", a.FloatString(aPlaces), b.FloatString(bPlaces),
		a.Cmp(b), sum, difference, rounded(product, aPlaces+bPlaces, mode),
		rounded(product, places, mode), quotient, rounded(a, places, mode))
}

// util.decimal computes what math/big does.
func FuzzDecimal(f *testing.F) {
	for i := range modes {
		for _, a := range []int64{0, 1, -1, 25, 1999, 999_999_999_999_999_999, 123_456_789_012} {
			for _, b := range []int64{0, 5, -300, -999_999_999_999_999_999} {
				f.Add(a, b, uint8(3*i), uint8(i), int8(i-1), uint8(i))
			}
		}
	}
	for i := range modes { // ties: 2.5 and 3.5, to no places
		f.Add(int64(25), int64(-35), uint8(1), uint8(1), int8(0), uint8(i))
		f.Add(int64(-7), int64(2), uint8(0), uint8(0), int8(0), uint8(i))
	}
	p := newTool(f, "decimal", decimalBody)
	f.Fuzz(func(t *testing.T, x, y int64, aPlaces, bPlaces uint8, places int8, mode uint8) {
		limit := int64(1_000_000_000_000_000_000)
		x, y, aPlaces, bPlaces = x%limit, y%limit, aPlaces%19, bPlaces%19
		by := modes[int(mode)%len(modes)]
		a := new(big.Rat).SetFrac(big.NewInt(x), ten(int(aPlaces)))
		b := new(big.Rat).SetFrac(big.NewInt(y), ten(int(bPlaces)))
		args := []string{a.FloatString(int(aPlaces)), b.FloatString(int(bPlaces)),
			strconv.Itoa(int(places)), by}
		want := decimals(a, b, int(aPlaces), int(bPlaces), int(places), by)
		if got, _ := p.call(t, args...); got != want {
			t.Errorf("%q: got %q, want %q", args, got, want)
		}
	})
}

// FuzzDecimalText reads what is a decimal, and nothing else.
func FuzzDecimalText(f *testing.F) {
	for _, s := range []string{"", "-", "+1.50", "-0", "007.5", "1.", ".5", "1.2.3", "1e5", " 1",
		"１", "999999999999999999", "1000000000000000000", "0.000000000000000001",
		"0.0000000000000000000"} {
		f.Add(s)
	}
	p := newTool(f, "decimal", `
    match decimal.parse(args[0]):
        error(e): wrong(e)
        ok(d):
            again: decimal.decimal = json.decode<decimal.decimal>(json.encode(d)) else d.negative()
            say(f"{d.text()} {d.shortest().text()} {json.encode(d)} {json.encode(again)}")
`, "json")
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > longest {
			return
		}
		got, wrong := p.call(t, s)
		body := strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
		whole, part, pointed := strings.Cut(body, ".")
		digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
		want, ok := new(big.Rat).SetString(s)
		if len(body)+1 < len(s) || !digits(whole) || pointed && !digits(part) || !ok {
			if wrong == "" {
				t.Errorf("%q: got %q", s, got)
			}
			return
		}
		text := want.FloatString(len(part))
		shortest := text
		if pointed {
			shortest = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		}
		if len(part) > 18 || len(strings.TrimLeft(whole+part, "0")) > 18 {
			if !strings.HasPrefix(wrong, "34 ") {
				t.Errorf("%q: got %q, %q", s, got, wrong)
			}
			return
		}
		if text := fmt.Sprintf("%s %s %q %q", text, shortest, text, text); got != text {
			t.Errorf("%q: got %q %q, want %q", s, got, wrong, text)
		}
	})
}
