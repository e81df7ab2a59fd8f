package interp_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// util.regex finds, replaces and splits as package regexp does, with the patterns that both accept.
// It refuses no pattern that package regexp accepts, but for what it does not have and patterns
// that are too large. It accepts none that package regexp refuses, but for scripts of two words,
// such as Old_Italic: package regexp of Go 1.26 does not find them.
func FuzzRegex(f *testing.F) {
	for _, s := range [][2]string{{"a*", "baaac"}, {"(a|ab)(c|bcd)(d*)", "abcd"}, {"(a*)*", "b"},
		{"(a*)+", "b"}, {"(a|b)*?c", "abc"}, {"x{2,3}?", "xxxx"}, {"^a$|b", "a\nb"},
		{"(?m)^(\\w+)$", "one\ntwo"}, {"(?i)straße|[k-n]", "STRASSE Kelvin"},
		{"[^a-c\\d]+", "ab1xyz"},
		{"\\bfoo\\B", "foobar foo"}, {"(?P<y>\\d{4})-(?P<m>\\d\\d)", "2026-11"}, {"(?s).+", "a\nb"},
		{".", "é\xff漢"}, {"[é-漢]+", "aéz漢"}, {"a{,2}", "a{,2}"}, {"|a", "aa"}, {"()", "ab"},
		{"(|a)*", "aa"}, {"(?:a?)*?b", "aab"}, {"((a)|(b))*", "ab"}, {"\\x41\\x{1F600}", "A"},
		{"[]a]+", "]a"}, {"[a\\]-]+", "a]-"}, {"(", ""}, {")", ""}, {"a**", ""}, {"[b-a]", ""},
		{"\\", ""}, {"(?i", ""}, {"x{1001}", ""}, {"[a", ""}, {"(?-s:.)", "\n"}, {"\\Qa", ""},
		{"a(?i)b|c", "aBC"}, {"(a+)(b+)?", "aac"}, {"", "ab"}, {"\\pL+", "aé漢1"},
		{"\\p{Greek}|\\PL", "aΩ1"}, {"[^\\p{Lu}\\d]+", "ABcÉ9d"}, {"(?i)\\p{Lu}+", "aB1"},
		{"(?i)[\\P{ Upper-case letter }x]", "xaB"},
		{"\\p{^han}", "漢a"}, {"\\P{^Nd}", "a1"}, {"\\p{Any}", "a"}, {"\\p{L", ""}, {"\\p", ""},
		{"\\p{}", ""}, {"\\p{Grek}", ""}, {"\\pé", ""}, {"a{00}", "a"}, {"(?:(?:^).)*", "ab"},
		{"a{0}b", "ab"}} {
		f.Add(s[0], s[1])
	}
	p := newTool(f, "regex", searches)
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 100 || len(text) > 200 {
			return
		}
		got, wrong := p.call(t, pattern, text)
		r, err := regexp.Compile(pattern)
		if err != nil || wrong != "" {
			if err != nil && wrong == "" && !namedClass.MatchString(pattern) {
				t.Fatalf("%q was accepted: %v", pattern, err)
			}
			if err == nil && !missing(pattern) && !strings.Contains(wrong, "too large") {
				t.Fatalf("%q: %s", pattern, wrong)
			}
			return
		}
		if strings.Contains(pattern, "(?") && strings.ContainsFunc(pattern+text,
			func(r rune) bool { return r > 127 }) {
			return // letters with several counterparts
		}
		want := searched(r, text)
		if got != want {
			t.Fatalf("%q in %q: got\n%s\nwant\n%s", pattern, text, got, want)
		}
	})
}

// namedClass is a class with a name in braces, which may be that of a script.
var namedClass = regexp.MustCompile(`\\[pP]\{`)

const searches = `
    match regex.compile(args[0]):
        ok(r):
            all: string = ""
            for (m: regex.found in r.find_all(args[1])): all += f"{m.at}"
            s: string = args[1]
            say(f"{all}\n{r.replace(s, "<$1${y}$$>")}\n{r.split(s)}\n{r.matches(s)}")
        error(e): wrong(e)
`

// searched is what searches prints.
func searched(r *regexp.Regexp, text string) string {
	all := ""
	for _, m := range r.FindAllStringSubmatchIndex(text, -1) {
		all += strings.ReplaceAll(fmt.Sprint(m), " ", ", ")
	}
	return fmt.Sprintf("%s\n%s\n[%s]\n%v", all, r.ReplaceAllString(text, "<$1${y}$$>"),
		strings.Join(r.Split(text, -1), ", "), r.MatchString(text))
}

// Patterns of all kinds, nested in all ways.
func TestRegex(t *testing.T) {
	p := newTool(t, "regex", searches)
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		pattern, text := somePattern(random, 3), ""
		for range random.IntN(8) {
			text += []string{"a", "b", "c", "A", "\n", "é", " "}[random.IntN(7)]
		}
		r, err := regexp.Compile(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got, wrong := p.call(t, pattern, text); got != searched(r, text) {
			t.Errorf("%q in %q: got\n%s%s\nwant\n%s", pattern, text, got, wrong, searched(r, text))
		}
	}
}

// Classes of all kinds, with characters of many scripts.
func TestRegexClasses(t *testing.T) {
	p := newTool(t, "regex", searches)
	random := rand.New(rand.NewPCG(3, 4))
	for _, class := range []string{"L", "{Lu}", "{Ll}", "{^Lt}", "{M}", "{Nd}", "{Punctuation}",
		"S", "Z", "{Cn}", "{C}", "{Assigned}", "{Greek}", "{han}", "{Latin}", "{Common}", "{LC}"} {
		var text strings.Builder
		for range 60 {
			r := rune(random.IntN(0x3100))
			if random.IntN(4) == 0 {
				r = rune(random.IntN(0x20000))
			}
			text.WriteRune(r)
		}
		pattern := fmt.Sprintf("\\p%s+|([\\P%s\\d]\\d*)", class, class)
		want := searched(regexp.MustCompile(pattern), text.String())
		if got, wrong := p.call(t, pattern, text.String()); got != want {
			t.Errorf("%q in %q: got\n%s%s\nwant\n%s", pattern, text.String(), got, wrong, want)
		}
	}
}

// somePattern returns a pattern whose parts are nested at most depth deep.
func somePattern(random *rand.Rand, depth int) string {
	pick := func(s ...string) string { return s[random.IntN(len(s))] }
	if depth == 0 || random.IntN(4) == 0 {
		return pick("a", "b", "c", "é", ".", "[ab]", "[^a]", "\\w", "\\s", "\\b", "\\B", "^", "$",
			"\\A", "\\z", "(?i:A)", "(?m:^)", "(?m:$)", "(?s:.)", "")
	}
	x := func() string { return somePattern(random, depth-1) }
	switch random.IntN(5) {
	case 0:
		return x() + x()
	case 1:
		return "(?:" + x() + "|" + x() + ")"
	case 2:
		return "(" + x() + ")"
	case 3:
		return "(" + x() + ")" + pick("*", "+", "?", "{0}", "{1,2}", "{2,}", "{2}") + pick("", "?")
	}
	return "(?:" + x() + ")" + pick("*", "+", "?", "{0,2}", "{3}", "{1,}") + pick("", "?")
}

// repeatedFlags is a repetition of what stands before flags, which package regexp accepts.
var repeatedFlags = regexp.MustCompile(`\(\?[imsU-]*\)[*+?{]`)

// missing says whether a pattern may have what util.regex does not: named classes, octal escapes,
// quoting, the flag U, and repeated flags.
func missing(pattern string) bool {
	if repeatedFlags.MatchString(pattern) {
		return true
	}
	for _, s := range []string{"[:", "\\Q", "\\C", "\\0", "\\1", "\\2", "\\3", "\\4",
		"\\5", "\\6", "\\7", "U", "\\x"} {
		if strings.Contains(pattern, s) {
			return true
		}
	}
	return false
}
