package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"interleave/papaya/hall"
	"interleave/papaya/log"
)

// TestEdits: the newest text of a message is in histories, also after a restart. When the message
// is removed, so are all texts of it, and their files.
func TestEdits(t *testing.T) {
	folder := t.TempDir()
	var erased []string
	change := func(c *Config) {
		c.Accounts = everybody{}
		c.Erased = func(_, text string) { erased = append(erased, text) }
	}
	srv := open(t, folder, change)
	const caps = "CAP REQ :message-tags batch draft/message-edit draft/chathistory"
	ann := login(srv.connect(), "ann", "ann", "#tea")
	ann.Send(caps)
	ann.Expect(" ACK ")
	ann.Send("PRIVMSG #tea :the first wording")
	id := msgidOf(t, ann.ExpectLine("first wording"))
	for _, word := range []string{"second", "third"} {
		ann.Send("@+draft/edit=%s PRIVMSG #tea :the %s wording", id, word)
		ann.Expect("+draft/edit=" + id + " :ann!ann@127.0.0.1 PRIVMSG #tea :the " + word)
	}
	for range 2 {
		srv.end()
		srv = open(t, folder, change)
		ann = login(srv.connect(), "ann", "ann", "#tea")
		ann.Send(caps + "\r\nCHATHISTORY LATEST #tea * 10\r\nPING synced")
		lines := ann.Expect("PONG chat :synced")
		lacks(t, lines, "first")
		lacks(t, lines, "second")
		if !slices.ContainsFunc(lines, func(l string) bool {
			return strings.Contains(l, "msgid="+id+";papaya/edited=") &&
				strings.HasSuffix(strings.TrimSpace(l), ":the third wording")
		}) {
			t.Errorf("the history was %q", lines)
		}
	}
	ann.Send("REDACT #tea %s\r\nPING done", id)
	ann.Expect("PONG chat :done")
	ann.Send("@+draft/edit=%s PRIVMSG #tea :back", id)
	ann.Expect("FAIL PRIVMSG UNKNOWN_MSGID #tea " + id)
	if text := readLog(t, folder); strings.Contains(text, "wording") {
		t.Errorf("the text is\n%s", text)
	}
	slices.Sort(erased)
	if got := strings.Join(erased, ","); got != "the first wording,the second wording,"+
		"the third wording" {
		t.Errorf("removed were %s", got)
	}
}

// TestEditsOfAServerThatWasKilled: a server was killed between the line that a message is removed
// and the removal, and starts from a later state, which does not know the texts of it any more.
func TestEditsOfAServerThatWasKilled(t *testing.T) {
	folder := t.TempDir()
	const at = "2001-09-09T01:46:40.000Z "
	one := at + ":ann!ann@host PRIVMSG #tea :one\n"
	two := at + "@draft/edit=0 :ann!ann@host PRIVMSG #tea :two\n" + at +
		"@draft/multiline :ann!ann@host PRIVMSG #tea :and three\n"
	other := at + ":ann!ann@host PRIVMSG #tea :other\n"
	removed := at + "@draft/edit=57 :ann!ann@host REDACT #tea 0\n"
	if len(one) != 57 {
		t.Fatalf("the first line has %d bytes", len(one))
	}
	if err := os.WriteFile(filepath.Join(folder, "log"), []byte(one+two+other+removed),
		0o600); err != nil {
		t.Fatal(err)
	}
	text, err := log.OpenText(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	s := &server{config: Config{Text: text}.defaults()}
	s.hall = hall.New(s.hallConfig(), text.End())
	s.eraseLast()
	lines := strings.SplitAfter(readLog(t, folder), "\n")
	for i, l := range lines[:3] {
		if !log.IsBlank([]byte(l)) {
			t.Errorf("line %d is %q", i, l)
		}
	}
	if rest := strings.Join(lines[3:], ""); rest != other+removed {
		t.Errorf("the rest is %q", rest)
	}
}
