package hall

import (
	"strings"
	"testing"
)

// TestBatchesOfFormat3: what servers of that format have refused is refused again, so that the text
// becomes the same: modes, messages for a part of a room, and those of users outside.
func TestBatchesOfFormat3(t *testing.T) {
	var text memory
	h := New(Config{Server: "a", Name: "chat", Founder: true, Text: &text,
		Password: func() (string, bool) { return "", false }}, 0)
	number := uint64(0)
	apply := func(format byte, entries ...Entry) {
		t.Helper()
		number++
		if !h.Begin(Batch{Server: "a", Run: 1, Number: number, Time: int64(number),
			Format: format}) {
			t.Fatal("a batch is passed over")
		}
		for _, e := range entries {
			h.Apply(e, nil, "")
		}
		_, lines := h.Lines()
		text.lines = append(text.lines, lines...)
	}
	said := func(id uint64, line string) Entry {
		return Entry{Client: id, Kind: Said, Data: []byte(line)}
	}
	lines := []Entry{said(1, "MODE #tea +Cn"), said(1, "MODE #tea -n"), said(1, "MODE eve +B"),
		said(1, "PRIVMSG #tea,@#tea :here"), said(2, "PRIVMSG #tea :outside")}
	apply(fewFormat, append([]Entry{
		{Client: 1, Kind: Enter, Data: []byte("eve\neve\nhost\nEve\n\n-")},
		{Client: 2, Kind: Enter, Data: []byte("bob\nbob\nhost\nBob\n\n-")},
		said(1, "JOIN #tea")}, lines...)...)
	r, eve := h.rooms["#tea"], h.nicks["eve"]
	if got := r.modeLine(true) + " " + eve.modes(); got != "+ +" {
		t.Errorf("in format 3: %s", got)
	}
	if got := string(text.lines); strings.Count(got, "\n") != 1 || !strings.HasSuffix(got,
		":eve!eve@host PRIVMSG #tea :here\n") {
		t.Errorf("in format 3: %s", got)
	}
	apply(0, lines...)
	if got := r.modeLine(true) + " " + eve.modes(); got != "+C +B" {
		t.Errorf("today: %s", got)
	}
	if got := string(text.lines); strings.Count(got, "\n") != 4 ||
		!strings.Contains(got, " @bot :eve!eve@host PRIVMSG @#tea :here\n") ||
		!strings.HasSuffix(got, ":bob!bob@host PRIVMSG #tea :outside\n") {
		t.Errorf("today: %s", got)
	}
}
