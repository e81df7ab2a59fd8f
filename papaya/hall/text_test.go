package hall

import (
	"bytes"
	"strings"
	"testing"
)

const stampOfTests = "2026-11-22T07:20:11.123Z "

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
		_, stored := h.Lines()
		s, ok := parseSaid(bytes.TrimSuffix(stored, []byte("\n")), 0)
		if !ok || s.tags != tags || s.text() != one ||
			s.time != 1e12 || s.source != u.source || s.target != "#tea" {
			t.Errorf("%q with %q is read as %+v, %v", one, tags, s, ok)
		}
	})
}
