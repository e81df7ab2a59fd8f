package hall

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const stampOfTests = "2026-11-22T07:20:11.123Z "

// TestMessagesInChunks: each message of the text is read once, with all of its lines, wherever the
// chunks begin.
func TestMessagesInChunks(t *testing.T) {
	var text memory
	var want []string
	tags := []string{"@+draft/reply=x ", "@draft/multiline ", "@draft/multiline-concat "}
	for n := 0; len(text.lines) < 3*chunkSize; n++ {
		var lines []string
		for i := range n%maxLines + 1 {
			tag := tags[min(i, 1+n%2)]
			lines = append(lines, fmt.Sprintf("%s%s:ann!ann@host PRIVMSG #tea :%d.%d %s",
				stampOfTests, tag, n, i, strings.Repeat("x", n%120)))
		}
		want = append(want, strings.Join(lines, "\n"))
		text.lines = append(text.lines, want[n]+"\n"...)
	}
	var got []string
	buffer := make([]byte, chunkBuffer)
	for n := range uint32(len(text.lines)>>chunkBits + 1) {
		messagesIn(text.ReadAt, 0, n, buffer, func(m []byte, at uint64) {
			if !bytes.Equal(m, text.lines[at:][:len(m)]) {
				t.Errorf("at %d stands %q, not %q", at, text.lines[at:][:len(m)], m)
			}
			got = append(got, string(m))
		})
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d messages are read of %d", len(got), len(want))
	}
}

// TestMessageAt: only the beginning of a message is the place of one, whatever its text says.
func TestMessageAt(t *testing.T) {
	line := stampOfTests + ":ann!ann@host PRIVMSG #tea :one"
	fake := line + " " + line
	several := line + "\n" + stampOfTests + "@draft/multiline :ann!ann@host PRIVMSG #tea :two"
	whole := fake + "\n" + several + "\n" + line + "\n"
	h := New(Config{Text: &memory{[]byte(whole)}}, uint64(len(whole)))
	for at := range whole {
		s, size, ok := h.messageAt(uint64(at))
		want := map[int]int{0: len(fake) + 1, len(fake) + 1: len(several) + 1,
			len(fake+several) + 2: len(line) + 1}[at]
		if ok != (want > 0) || size != want && ok || ok && len(s.more) != strings.Count(
			whole[at:at+size-1], "\n") {
			t.Errorf("at %d: %v, a message of %d bytes and %d more lines; want %d bytes", at, ok,
				size, len(s.more), want)
		}
	}
	if _, _, ok := h.messageAt(uint64(len(whole))); ok {
		t.Error("there is a message behind the end")
	}
}

// FuzzParseSaid: a message that is written into the text is read as it was said, and any bytes are
// a message or none.
func FuzzParseSaid(f *testing.F) {
	f.Add([]byte(stampOfTests+":ann!ann@host PRIVMSG #tea :x"), "hello", "world", "+x=y")
	f.Add([]byte(stampOfTests+"@draft/multiline"), " :", "@draft/multiline :", "")
	f.Add([]byte("\n\n"), "", "", "+a;+b")
	f.Fuzz(func(t *testing.T, text []byte, one, two, tags string) {
		if s, ok := parseSaid(text, 7); ok {
			h := New(Config{}, 0)
			h.outOf(s.own(), "b").form(nil, looks)
			h.outOf(s.own(), "").form(nil, 0)
			NewMsgids(Secret{}, &s.at).Shown(text, 7)
		}
		if strings.ContainsAny(one+two+tags, "\x00\r\n") || len(one)+len(two) > 400 ||
			strings.ContainsAny(tags, " ") || !strings.HasPrefix(tags, "+") && tags != "" {
			return
		}
		h := New(Config{Text: &memory{}}, 0)
		h.Begin(Batch{Server: "a", Run: 1, Number: 1, Time: 1e12})
		u := &user{nick: "ann", source: "ann!ann@host"}
		h.tell(u, "#tea", speech{"PRIVMSG", one, tags, []spoken{{two, true}}})
		s, size, ok := h.messageAt(0)
		if !ok || uint64(size) != h.at || s.tags != tags || s.text() != one+two ||
			s.time != 1e12 || s.source != u.source || s.target != "#tea" {
			t.Errorf("%q and %q with %q are read as %+v, %v", one, two, tags, s, ok)
		}
	})
}

// FuzzParseLines: a message of several lines is logged as it was sent.
func FuzzParseLines(f *testing.F) {
	f.Add([]byte("@+x=y PRIVMSG #tea :one\n-two\n+three"))
	f.Add([]byte("PRIVMSG #tea :\n-"))
	f.Add([]byte("NOTICE ann :x\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, more := parseLines(data)
		if first.Command == "" {
			if more != nil {
				t.Errorf("%q has lines without a first one", data)
			}
			return
		}
		again := []byte(first.String())
		for _, l := range more {
			sign := "\n-"
			if l.same {
				sign = "\n+"
			}
			again = append(append(again, sign...), l.text...)
		}
		other, rest := parseLines(again)
		if other.String() != first.String() || !slices.Equal(rest, more) || len(more) >= maxLines {
			t.Errorf("%q comes back as %q", again, other.String())
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
