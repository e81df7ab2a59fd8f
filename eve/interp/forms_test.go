package interp_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const formsBody = `
    s: string = args[0]
    say(normal.nfc(s) + "|" + normal.nfd(s) + "|" + normal.nfkc(s) + "|" + normal.nfkd(s) + "|" +
        normal.fold(s) + "|" + normal.caseless(s))
`

const clustersBody = `
    all: vector<string> = graphemes.split(args[0])
    say(f"{graphemes.count(args[0])} {join(all, "|")}")
`

// util.normal has the normal forms of x/text, util.graphemes the clusters of uniseg.
func FuzzForms(f *testing.F) {
	needUnicode(f)
	for _, s := range []string{"", "Grüße", "e\u0323\u0301\u0300x", "\u1e9b\u0323", "\ufb01\u2460",
		"\u1112\u1161\u11ab\ud55c\u11a8", "\u0344\u0958\ufdfa", "\xff\u0301a\xcc",
		"a\u034f\u0301\u0323",
		"\U0001f468\u200d\U0001f469\u200d\U0001f466", "\U0001f1e9\U0001f1ea\U0001f1eb\r\n\n",
		"\u0600a\u0903\u0e33\u00ad", "ẞǰﬃΣς\u0345\u0130", "\U0001109a\U000110ba\U00011099"} {
		f.Add(s)
	}
	p, q := newTool(f, "normal", formsBody), newTool(f, "graphemes", clustersBody)
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > longest {
			return
		}
		if want, ok := forms(s); ok {
			if got, _ := p.call(t, s); got != want {
				t.Errorf("%q: got %q, want %q", s, got, want)
			}
		}
		if got, _ := q.call(t, s); got != clusters(s) {
			t.Errorf("%q: got %q, want %q", s, got, clusters(s))
		}
	})
}

// needUnicode skips a test when the other implementations have other tables than util.normal has.
func needUnicode(t testing.TB) {
	const version = "15.0.0"
	if unicode.Version != version || norm.Version != version || cases.UnicodeVersion != version {
		t.Skip("x/text has Unicode " + norm.Version)
	}
}

// forms are those that x/text makes of s. It puts U+034F behind 30 marks in turn, so it is no
// measure of texts that have as many (it counts jamo, too), and folds no text that is not UTF-8.
func forms(s string) (all string, ok bool) {
	marks := 0
	for _, r := range norm.NFKD.String(s) {
		if norm.NFD.PropertiesString(string(r)).CCC() != 0 || r >= 0x1160 && r <= 0x11ff {
			marks++
		} else {
			marks = 0
		}
		if marks >= 25 {
			return "", false
		}
	}
	if !utf8.ValidString(s) {
		return "", false
	}
	fold := cases.Fold()
	if strings.ContainsFunc(s, func(r rune) bool { return r >= 0x13a0 && r <= 0x13f5 }) {
		return "", false // x/text exchanges the two cases of Cherokee
	}
	return strings.Join([]string{norm.NFC.String(s), norm.NFD.String(s), norm.NFKC.String(s),
		norm.NFKD.String(s), fold.String(s), norm.NFD.String(fold.String(norm.NFD.String(s)))},
		"|"), true
}

func clusters(s string) string {
	var all []string
	for g := uniseg.NewGraphemes(s); g.Next(); {
		all = append(all, g.Str())
	}
	return fmt.Sprintf("%d %s", len(all), strings.Join(all, "|"))
}

// The forms of all characters that have others, with a mark and a letter behind.
func TestFormsOfAllCharacters(t *testing.T) {
	needUnicode(t)
	p := newTool(t, "normal", formsBody)
	var all strings.Builder
	for r := rune(1); r <= 0x30000; r++ {
		s := string(r)
		if r >= 0x3400 && r <= 0xd7ff && r%97 != 0 || r >= 0x13a0 && r <= 0x13f5 {
			continue
		}
		if want, _ := forms(s); want != strings.Join([]string{s, s, s, s, s, s}, "|") {
			all.WriteString(s + "\u0301x")
		}
		if all.Len() > 5000 || r == 0x30000 {
			want, ok := forms(all.String())
			if got, _ := p.call(t, all.String()); !ok || got != want {
				t.Errorf("up to %U: %s", r, difference(got, want))
			}
			all.Reset()
		}
	}
}

// The clusters of characters beside others: of many characters, and of three of all classes.
func TestClustersOfAllCharacters(t *testing.T) {
	needUnicode(t)
	q := newTool(t, "graphemes", clustersBody)
	var all strings.Builder
	try := func() {
		if got, _ := q.call(t, all.String()); got != clusters(all.String()) {
			t.Error(difference(got, clusters(all.String())))
		}
		all.Reset()
	}
	for r := rune(1); r <= 0xe1100; r++ {
		if r != '|' && (r < 0x1200 || r%61 == 0) {
			all.WriteString("a" + string(r) + "\u0301")
		}
		if all.Len() > 5000 {
			try()
		}
	}
	classes := []string{"\r", "\n", "\x01", "\u0301", "\u200d", "\u0903", "\u0600", "\U0001f1e9",
		"\u1100", "\u1160", "\u11a8", "\uac00", "\uac01", "\u00a9", "a", "\xff"}
	for _, a := range classes {
		for _, b := range classes {
			for _, c := range classes {
				all.WriteString("." + a + b + c + ".")
			}
		}
		try()
	}
}

// difference shows where two texts begin to differ.
func difference(got, want string) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	from := max(0, i-20)
	return fmt.Sprintf("at %d: got %+q, want %+q", i, got[from:min(i+20, len(got))],
		want[from:min(i+20, len(want))])
}
