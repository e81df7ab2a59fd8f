package differential

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The parsers of the library run in the interpreter here: what it does, compiled programs do, too.

// FuzzPath compares module path with Go's package path.
func FuzzPath(f *testing.F) {
	for _, p := range somePaths {
		f.Add(p)
	}
	l := libraryText(f, "path")
	f.Fuzz(func(t *testing.T, p string) {
		if got, want := l.interpret(1, p).Out, wantPath(p); got != want {
			t.Errorf("%q: got %q, want %q", p, got, want)
		}
	})
}

// FuzzDate compares time.parse with Go's parser, in what they refuse and in what they read.
func FuzzDate(f *testing.F) {
	for _, text := range someDates {
		f.Add(text)
	}
	l := libraryText(f, "dates")
	f.Fuzz(func(t *testing.T, text string) {
		compareDate(t, text, l.interpret(1, text).Out)
	})
}

// FuzzPattern writes a date by any pattern, and reads one from any text.
func FuzzPattern(f *testing.F) {
	l := libraryText(f, "patterns")
	f.Add("2026-03-05 14:07:09.5 +01:30", "%F %T.%N %:z")
	f.Add("Thursday, March  5 26, 2:07 pm", "%A, %B %e %y, %I:%M %p")
	f.Add("100% Z", "100%% %z%")
	f.Fuzz(func(t *testing.T, text, pattern string) {
		if end := l.interpret(1, text, pattern); end.Status != 0 {
			t.Fatalf("%+v", end)
		}
	})
}

// FuzzArgs gives any words to a command: it prints what they say, its help, or what is wrong.
func FuzzArgs(f *testing.F) {
	for _, line := range []string{"", "-k=1 a", "--key x --size=5 -vn a - b", "a -- -v --",
		"--help", "-size -3", "--=", "-=", "--size=", "---", "-kk", "\xff -\xff --\xff=\xff",
		"-vvh"} {
		f.Add(line)
	}
	l := libraryText(f, "args")
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, " ")
		got := l.interpret(1, words...)
		switch got.Status {
		case 0:
			if got.Err != "" || !strings.HasPrefix(got.Out, "usage: ") &&
				!strings.HasPrefix(got.Out, "verbose ") {
				t.Errorf("%q: got %+v", words, got)
			}
		case 2:
			if got.Out != "" || !strings.HasPrefix(got.Err, "tool: ") ||
				!strings.HasSuffix(got.Err, "\ntool --help says more\n") {
				t.Errorf("%q: got %+v", words, got)
			}
		default:
			t.Errorf("%q: got %+v", words, got)
		}
	})
}

// FuzzLog writes any text to the log. It must be one line of visible characters, from which the
// text can be read back.
func FuzzLog(f *testing.F) {
	for _, s := range []string{"", "plain", "two words", `"\`, "line\nbreak", "\xff\xc2", "é€😀",
		"\u0085", "\x7f\x00", "a=b", "\xf4\x90\x80\x80"} {
		f.Add(s)
	}
	l := libraryText(f, "log")
	f.Fuzz(func(t *testing.T, text string) {
		line, _, _ := strings.Cut(l.interpret(1, text).Err, "\n")
		_, written, found := strings.Cut(line, " text=")
		if !found {
			t.Fatalf("%q: got %q", text, line)
		}
		if got, rest := readBack(t, written); got != text || !strings.HasPrefix(rest, " ") {
			t.Errorf("%q is written as %q, which is %q", text, written, got)
		}
	})
}

// readBack reads a value of the log, and returns it and what follows.
func readBack(t *testing.T, written string) (value, rest string) {
	t.Helper()
	if !strings.HasPrefix(written, `"`) {
		value, _, _ = strings.Cut(written, " ")
		return value, written[len(value):]
	}
	var b strings.Builder
	for s := written[1:]; s != ""; {
		if s[0] == '"' {
			return b.String(), s[1:]
		}
		n := 1
		switch {
		case s[0] != '\\':
			r, size := utf8.DecodeRuneInString(s)
			if n = size; r == utf8.RuneError && size < 2 || r < ' ' || r >= 0x7f && r < 0xa0 {
				t.Fatalf("%q has a bad character", written)
			}
			b.WriteString(s[:n])
		case len(s) > 3 && s[1] == 'x':
			n = 4
			b.WriteByte(hexadecimal(s[2])<<4 | hexadecimal(s[3]))
		case len(s) > 5 && s[1] == 'u':
			n = 6
			b.WriteRune(rune(hexadecimal(s[4]))<<4 | rune(hexadecimal(s[5])))
		case len(s) > 1:
			n = 2
			b.WriteByte(map[byte]byte{'n': '\n', 'r': '\r', 't': '\t'}[s[1]] | s[1]*isItself(s[1]))
		}
		s = s[n:]
	}
	t.Fatalf("%q has no end", written)
	return "", ""
}

func hexadecimal(c byte) byte { return byte(strings.IndexByte("0123456789abcdef", c)) }

// isItself is 1 if a character behind \ stands for itself.
func isItself(c byte) byte {
	if c == '"' || c == '\\' {
		return 1
	}
	return 0
}
