package bot

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLines(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{" \n\t\r\n", nil},
		{"the kettle is on", []string{"the kettle is on"}},
		{"one\r\ntwo\rthree\n\nfour", []string{"one", "two", "three", "four"}},
		{"hi\r\nQUIT :injected", []string{"hi", "QUIT :injected"}}, // two messages, and no command
		{"\x01VERSION\x01", []string{"VERSION"}},
		{"\x02bold\x03 04red\x00\x7f\u0085x", []string{"bold 04red x"}},
		{"a\u202egnp.exe\u2066b\u200f", []string{"agnp.exeb"}},
		{"a\u2028b", []string{"a b"}},
		{"\xff\xfe", []string{"\uFFFD"}},
		{"日本語 é", []string{"日本語 é"}},
		{strings.Repeat("a", 400), []string{strings.Repeat("a", 350), strings.Repeat("a", 50)}},
		{strings.Repeat("é", 200), []string{strings.Repeat("é", 175), strings.Repeat("é", 25)}},
		{strings.Repeat("wide ", 80), []string{strings.TrimSpace(strings.Repeat("wide ", 70)),
			strings.TrimSpace(strings.Repeat("wide ", 10))}},
		{strings.Repeat("x\n", 12), append(slices.Repeat([]string{"x"}, 9), "… and 3 more lines")},
		{strings.Repeat("x\n", 10), slices.Repeat([]string{"x"}, 10)},
	} {
		if got := Lines(test.text); !slices.Equal(got, test.want) {
			t.Errorf("%.40q: %q, want %q", test.text, got, test.want)
		}
	}
}

// harmless fails the test unless lines can be messages as they are.
func harmless(t *testing.T, lines []string) {
	t.Helper()
	if len(lines) > maxLines {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		if l == "" || len(l) > maxPiece || !utf8.ValidString(l) ||
			strings.ContainsFunc(l, unicode.IsControl) {
			t.Errorf("%q is not a message", l)
		}
	}
}

func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "a\r\nb", "\x01ACTION x\x01", "\xff", strings.Repeat("日本 ", 500),
		strings.Repeat("\n.", 50), "\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := Lines(text)
		harmless(t, lines)
		if again := Lines(strings.Join(lines, "\n")); !slices.Equal(again, lines) {
			t.Errorf("%q becomes %q the second time", lines, again)
		}
	})
}
