package std_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/rivo/uniseg"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"interleave/eve/std"
)

// util.unicode_breaks and util.unicode_forms have the tables of package unicode, of x/text and of
// uniseg.
func TestUnicodeForms(t *testing.T) {
	if unicode.Version != version || norm.Version != version || cases.UnicodeVersion != version {
		t.Skipf("the packages have Unicode %s, %s and %s", unicode.Version, norm.Version,
			cases.UnicodeVersion)
	}
	for _, one := range []struct{ name, text string }{
		{"unicode_breaks", breaksModule()},
		{"unicode_forms", formsModule(t)},
	} {
		if *update {
			if err := os.WriteFile("util/"+one.name+".eve", []byte(one.text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if _, got, _ := std.Text("util." + one.name); got != one.text {
			t.Errorf("util/%s.eve differs: go test ./eve/std -update rewrites it", one.name)
		}
	}
}

const digitsText = `
# Numbers are written in digits of 6 bits, the characters from $ to c without the backslash, for
# which ~ stands. Code points have three digits. eve/std/forms_test.go writes this file.
`

// digits is a number below 1 << 6n in n digits, as graphemes.number reads it.
func digits(x, n int) string {
	var b strings.Builder
	for i := n - 1; i >= 0; i-- {
		d := byte(x>>(6*i)&63) + '$'
		if d == '\\' {
			d = '~'
		}
		b.WriteByte(d)
	}
	return b.String()
}

func breaksModule() string {
	var b strings.Builder
	b.WriteString("# Where characters of Unicode " + version + " may be divided (UAX #29)." +
		digitsText + `
# The classes of characters: the first and the last character of a range, and its class, for which
# util.graphemes has names. Not here are ASCII, the syllables of Hangul, and what is behind U+3FFFF.
`)
	writeTable(&b, "classes", breakRecords())
	return b.String()
}

func breakRecords() (records []string) {
	for first := rune(0x80); first < 0x40000; first++ {
		class := breakClass(first)
		if class == 0 {
			continue
		}
		last := first
		for breakClass(last+1) == class {
			last++
		}
		records = append(records, digits(int(first), 3)+digits(int(last), 3)+string(class))
		first = last
	}
	return records
}

// breakClass is the class of r, found by how r stands beside other characters.
func breakClass(r rune) rune {
	whole := func(s string) bool { return uniseg.GraphemeClusterCount(s) == 1 }
	one := string(r)
	switch {
	case r >= 0xac00 && r <= 0xd7a3 || r >= 0xd800 && r <= 0xdfff:
		return 0
	case unicode.Is(unicode.Regional_Indicator, r):
		return 'f'
	case r == 0x200d:
		return 'z'
	case !whole(one + "\u0301"):
		return 'c'
	case whole("\u00a9" + one + "\u200d\u00a9"):
		return 'e'
	case whole("a" + one):
		return 's'
	case whole(one + "a"):
		return 'p'
	case whole(one + "\u200d\u00a9"):
		return 'x'
	case whole(one + "\u1100"):
		return 'l'
	case whole(one + "\u1160"):
		return 'v'
	case whole(one + "\u11a8"):
		return 't'
	}
	return 0
}

func formsModule(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# The forms of characters of Unicode " + version + " (UAX #15)." +
		digitsText + `
# Canonical combining classes: the first and the last character of a range, and two digits.
`)
	writeTable(&b, "marks", markRecords())
	b.WriteString(`
# Pairs of characters that compose, in ascending order, and what they become.
`)
	writeTable(&b, "pairs", pairRecords())
	changes := changesOf()
	for _, one := range []struct {
		name, what string
		change     map[rune][]rune
	}{
		{"canonical", `Full canonical decompositions, but of Hangul: ranges, and a digit that says
# how long they are. The number behind it is the place in canonical_text of the first one. The digit
# 0 says that the range becomes a range that begins with the code point behind it; 63, that only
# every second character does.`, changes[0]},
		{"compatible", "Full decompositions that are not canonical, in the same form.", changes[1]},
		{"folds", "Full case foldings, in the same form.", changes[2]},
	} {
		records, text := changeRecords(one.change)
		fmt.Fprintf(&b, "\n# %s\n", one.what)
		writeTable(&b, one.name, records)
		fmt.Fprintf(&b, "\n# The characters for %s.\n", one.name)
		writeTable(&b, one.name+"_text", text)
		if len(text) >= 1<<18 {
			t.Errorf("%s has %d characters", one.name, len(text))
		}
	}
	return b.String()
}

func markRecords() (records []string) {
	class := func(r rune) int { return int(norm.NFD.PropertiesString(string(r)).CCC()) }
	for first := rune(0); first < 0x40000; first++ {
		c := class(first)
		if c == 0 {
			continue
		}
		last := first
		for class(last+1) == c {
			last++
		}
		records = append(records, digits(int(first), 3)+digits(int(last), 3)+digits(c, 2))
		first = last
	}
	return records
}

// pairRecords has the pairs that NFC composes, but those of Hangul: the one character before the
// last of a decomposition is itself composed.
func pairRecords() (records []string) {
	for r := rune(0); r < 0x40000; r++ {
		s := string(r)
		if r >= 0xac00 && r <= 0xd7a3 || norm.NFD.String(s) == s || norm.NFC.String(s) != s {
			continue
		}
		parts := []rune(norm.NFD.String(s))
		first := []rune(norm.NFC.String(string(parts[:len(parts)-1])))
		if len(first) != 1 {
			panic(fmt.Sprintf("%x: %x", r, parts))
		}
		records = append(records, digits(int(first[0]), 3)+digits(int(parts[len(parts)-1]), 3)+
			digits(int(r), 3))
	}
	slices.SortFunc(records, func(a, b string) int {
		return slices.Compare(numbersOf(a), numbersOf(b))
	})
	return records
}

func numbersOf(record string) (all []int) {
	for _, c := range []byte(record) {
		if c == '~' {
			c = '\\'
		}
		all = append(all, int(c))
	}
	return all
}

// changesOf are the canonical decompositions, those that are not canonical, and the foldings.
func changesOf() (all [3]map[rune][]rune) {
	for i := range all {
		all[i] = map[rune][]rune{}
	}
	fold := cases.Fold()
	for r := rune(0x80); r < 0x40000; r++ {
		s := string(r)
		if r >= 0xd800 && r <= 0xdfff {
			continue
		}
		// x/text exchanges the two cases of Cherokee, which folds to U+13A0 to U+13F5.
		if to := fold.String(s); to != s && (r < 0x13a0 || r > 0x13f5) {
			all[2][r] = []rune(to)
		}
		if r >= 0xac00 && r <= 0xd7a3 {
			continue
		}
		canonical, compatible := norm.NFD.String(s), norm.NFKD.String(s)
		if canonical != s {
			all[0][r] = []rune(canonical)
		}
		if compatible != canonical {
			all[1][r] = []rune(compatible)
		}
	}
	return all
}

// changeRecords returns the records of ranges and the characters that they refer to.
func changeRecords(change map[rune][]rune) (records, text []string) {
	// along is the last character of a range from first on, every step, that becomes a range.
	along := func(first, step rune) (last rune) {
		for last = first; ; last += step {
			next, now := change[last+step], change[last]
			if len(now) != 1 || len(next) != 1 || next[0]-now[0] != step ||
				step == 2 && change[last+1] != nil {
				return last
			}
		}
	}
	for first := rune(0); first < 0x40000; first++ {
		to := change[first]
		if to == nil {
			continue
		}
		last, size, value := first, len(to), len(text)
		if end := along(first, 1); end > first+2 {
			last, size, value = end, 0, int(to[0])
		} else if end := along(first, 2); end > first {
			last, size, value = end, 63, int(to[0])
		} else {
			for len(change[last+1]) == len(to) && along(last+1, 1) <= last+3 {
				last++
			}
			for r := first; r <= last; r++ {
				for _, part := range change[r] {
					text = append(text, digits(int(part), 3))
				}
			}
		}
		records = append(records, digits(int(first), 3)+digits(int(last), 3)+
			digits(size, 1)+digits(value, 3))
		first = last
	}
	return records, text
}
