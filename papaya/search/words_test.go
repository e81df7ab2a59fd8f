package search

import (
	"slices"
	"strings"
	"testing"
)

func termsOf(text string) (out []string) {
	terms(text, func(term string) { out = append(out, term) })
	return out
}

func TestTerms(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{" \t\n\u3000", nil},
		{"The Kettle is on!", []string{"the", "kettle", "is", "on", "!"}},
		{"GRÜN, grün", []string{"grün", ",", "grün"}},
		{"https://a.example/x", []string{"https", "://", "a", ".", "example", "/", "x"}},
		{"\x01ACTION sits\x01", []string{"\x01", "action", "sits", "\x01"}},
		{"お茶の時間", []string{"お茶", "茶の", "の時", "時間"}},
		{"茶", []string{"茶"}},
		{"tea茶2", []string{"tea", "茶", "2"}},
		{"👍👍 ok", []string{"👍👍", "ok"}},
		{"차를 마시자", []string{"차를", "마시자"}}, // Korean has blanks
		{strings.Repeat("a", maxTerm), []string{strings.Repeat("a", maxTerm)}},
		{"abcdefghijklmnopqrstuvwxyz01", []string{"abcdefghijklmnopqrstuvwx",
			"mnopqrstuvwxyz01"}},
	} {
		if got := termsOf(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%q has the terms %q, want %q", c.text, got, c.want)
		}
	}
}

// FuzzPieces: whatever part of a text is searched for, each of its pieces is within a term of the
// text. So the index leads to the text.
func FuzzPieces(f *testing.F) {
	f.Add("The kettle is on", uint(5), uint(9))
	f.Add(strings.Repeat("abcdefghij", 9), uint(3), uint(80))
	f.Add("お茶の時間ですよ", uint(3), uint(12))
	f.Add("a\xffb \xe3\x81 c", uint(0), uint(3))
	f.Add("....;;;...:-)", uint(2), uint(11))
	f.Add("İstanbul ſ \u212a", uint(0), uint(40))
	f.Fuzz(func(t *testing.T, text string, from, to uint) {
		low := strings.ToLower(text)
		from = min(from, uint(len(low)))
		to = max(from, min(to, uint(len(low))))
		have := termsOf(text)
		for _, word := range strings.Fields(strings.ToLower(low[from:to])) {
			if !strings.Contains(low, word) {
				continue // a part of a character has become another
			}
			got := pieces(word)
			if len(got) == 0 {
				t.Errorf("%q has no pieces", word)
			}
			for _, p := range got {
				if !slices.ContainsFunc(have,
					func(term string) bool { return strings.Contains(term, p) }) {
					t.Errorf("%q is in %q, but its piece %q is in no term of %q", word, text, p,
						have)
				}
			}
		}
	})
}
