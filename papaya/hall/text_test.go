package hall

import (
	"bytes"
	"strings"
	"testing"
)

const stampOfTests = "2026-11-22T07:20:11.123Z "

// TestMessageAt: only the beginning of a message is the place of one, whatever its text says.
func TestMessageAt(t *testing.T) {
	line := stampOfTests + ":ann!ann@host PRIVMSG #tea :one"
	fake := line + " " + line
	tagged := stampOfTests + "@+x=y :ann!ann@host PRIVMSG #tea :two"
	whole := fake + "\n" + tagged + "\n" + line + "\n"
	h := New(Config{Text: &memory{[]byte(whole)}}, uint64(len(whole)))
	for at := range whole {
		s, size, ok := h.messageAt(uint64(at))
		want := map[int]int{0: len(fake) + 1, len(fake) + 1: len(tagged) + 1,
			len(fake+tagged) + 2: len(line) + 1}[at]
		if ok != (want > 0) || size != want && ok {
			t.Errorf("at %d: %v, a message of %d bytes, %+v; want %d bytes", at, ok, size, s, want)
		}
	}
	if _, _, ok := h.messageAt(uint64(len(whole))); ok {
		t.Error("there is a message behind the end")
	}
}

// FuzzParseSaid: a message that is written into the text is read as it was said, and any bytes are
// a message or none.
func FuzzParseSaid(f *testing.F) {
	f.Add([]byte(stampOfTests+":ann!ann@host PRIVMSG #tea :x"), "hello", "+x=y")
	f.Add([]byte(stampOfTests+"@+x"), " :", "")
	f.Add([]byte("\n\n"), "", "+a;+b")
	f.Fuzz(func(t *testing.T, text []byte, one, tags string) {
		if s, ok := parseSaid(text, 7); ok {
			s.own().out("b").form(nil, looks)
			s.own().out("").form(nil, 0)
		}
		if strings.ContainsAny(one+tags, "\x00\r\n") || len(one) > 400 ||
			strings.ContainsAny(tags, " ") || !strings.HasPrefix(tags, "+") && tags != "" {
			return
		}
		h := New(Config{Text: &memory{}}, 0)
		h.Begin(Batch{Server: "a", Run: 1, Number: 1, Time: 1e12})
		u := &user{nick: "ann", source: "ann!ann@host"}
		h.tell(u, "#tea", speech{"PRIVMSG", one, tags})
		s, size, ok := h.messageAt(0)
		if !ok || uint64(size) != h.at || s.tags != tags || s.text() != one ||
			s.time != 1e12 || s.source != u.source || s.target != "#tea" {
			t.Errorf("%q with %q is read as %+v, %v", one, tags, s, ok)
		}
	})
}

// FuzzRedacted: no line but a redaction removes a message.
func FuzzRedacted(f *testing.F) {
	f.Add([]byte(stampOfTests + ":ann!ann@host REDACT #tea 1m :why"))
	f.Add([]byte(stampOfTests + ":ann!ann@host REDACT #tea 1m"))
	f.Add([]byte(stampOfTests + ":ann!ann@host PRIVMSG #tea :REDACT #tea 0"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if _, ok := Redacted(line); ok && !bytes.Contains(line, []byte(" REDACT ")) {
			t.Errorf("%q removes a message", line)
		}
	})
}
