package interp_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// util.text changes the case of each letter as package unicode does, and leaves bytes that are no
// character; util.utf8 finds the characters that package utf8 finds.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "Grüße, ΣΊΣΥΦΟΣ, Ȿⱥ ÿĿŀ", "ꙁꙂ\U00010400\U00010428ẞſ",
		"\xff\xc3a\xed\xa0\x80\xf4\x90\x80\x80", "e\u0301\u200b漢字\U0001f600", "ǄǅǆＡａ", "\xe2\x82",
		"\x00\x7f\u0080\u07ff\u0800\uffff\U00010000"} {
		f.Add(s)
	}
	p := newTool(f, "text", `
    s: string = args[0]
    upper: string = text.upper(s)
    lower: string = text.lower(s)
    say(f"{upper.size()} {upper}{lower}")
`)
	q := newTool(f, "utf8", `
    s: string = args[0]
    bad: int = utf8.invalid(s) else -1
    again: string = utf8.text(utf8.runes(s))
    say(f"{bad} {utf8.count(s)} {utf8.runes(s)} {again}")
`)
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > longest {
			return
		}
		upper, lower := mapped(s, unicode.ToUpper), mapped(s, unicode.ToLower)
		if got, _ := p.call(t, s); got != fmt.Sprintf("%d %s%s", len(upper), upper, lower) {
			t.Errorf("%q: got %q, want %q and %q", s, got, upper, lower)
		}
		runes := []rune(s)
		bad := -1
		for i, r := range s {
			if _, size := utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && size == 1 {
				bad = i
				break
			}
		}
		list := strings.ReplaceAll(fmt.Sprint(runes), " ", ", ")
		want := fmt.Sprintf("%d %d %s %s", bad, len(runes), list, string(runes))
		if got, _ := q.call(t, s); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	})
}

// mapped changes each character of s, and leaves the bytes that are none.
func mapped(s string, to func(rune) rune) string {
	var b strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			b.WriteByte(s[0])
		} else {
			b.WriteRune(to(r))
		}
		s = s[size:]
	}
	return b.String()
}

// The tables of case have every letter: all of them in a few calls.
func TestCaseOfAllLetters(t *testing.T) {
	p := newTool(t, "text", `
    say(text.upper(args[0]) + text.lower(args[0]))
`)
	var letters strings.Builder
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if unicode.ToUpper(r) != r || unicode.ToLower(r) != r || r < 0x600 {
			letters.WriteRune(r)
		}
	}
	s := letters.String()
	if got, _ := p.call(t, s); got != mapped(s, unicode.ToUpper)+mapped(s, unicode.ToLower) {
		t.Errorf("the case of %d letters differs", utf8.RuneCountInString(s))
	}
}
