package file

import (
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestNames(t *testing.T) {
	for _, test := range []struct{ name, want, link string }{
		{"tea.png", "tea.png", "tea.png"},
		{"", "file", "file"}, {"..", "file", "file"}, {"../../etc/passwd", "passwd", "passwd"},
		{`C:\Users\ann\tea.png`, "tea.png", "tea.png"}, {".bashrc", "bashrc", "bashrc"},
		{"a/", "file", "file"}, {"con.txt", "_con.txt", "_con.txt"}, {"NUL", "_NUL", "_NUL"},
		{" two  words\t.txt ", "two words .txt", "two%20words%20.txt"},
		{"a\r\nSet-Cookie: x=1", "a Set-Cookie_ x=1", "a%20Set-Cookie_%20x=1"},
		{"\u202egnp.exe", "gnp.exe", "gnp.exe"}, {"a\x00b\x1b[31m", "ab[31m", "ab%5B31m"},
		{`<b>"x"|?*`, "_b__x____", "_b__x____"}, {"\xff\xfe", "__", "__"},
		{"kött.jpg", "kött.jpg", "k%C3%B6tt.jpg"}, {"a%2Fb;c", "a%2Fb;c", "a%252Fb%3Bc"},
		{strings.Repeat("x", 300) + ".tar.gz", strings.Repeat("x", maxName-3) + ".gz",
			strings.Repeat("x", maxSegment-3) + ".gz"},
		{strings.Repeat("茶", 80), strings.Repeat("茶", maxName/3),
			url.PathEscape(strings.Repeat("茶", maxSegment/9))},
	} {
		if got := cleanName(test.name); got != test.want {
			t.Errorf("%q is called %q, want %q", test.name, got, test.want)
		}
		if got := segment(cleanName(test.name)); got != test.link {
			t.Errorf("%q is linked as %q, want %q", test.name, got, test.link)
		}
	}
}

func FuzzCleanName(f *testing.F) {
	for _, seed := range []string{"tea.png", "../../x", "con", "\u202ex", strings.Repeat("é.", 200),
		"a\x00\r\n", ". . .", "\xff.", "nul." + strings.Repeat("x", 200)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := cleanName(name)
		if got == "" || len(got) > maxName+len("_") || !utf8.ValidString(got) ||
			strings.ContainsAny(got, "/\\\r\n\x00\"") || strings.Trim(got, ". ") != got ||
			strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q is called %q", name, got)
		}
		link := segment(got)
		back, err := url.PathUnescape(link)
		whole := len(url.PathEscape(got)) <= maxSegment
		if err != nil || link == "" || len(link) > maxSegment ||
			strings.ContainsAny(link, " /?#") || whole && back != got {
			t.Errorf("%q is linked as %q, %v", got, link, err)
		}
	})
}
