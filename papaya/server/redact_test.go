package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/log"
)

// readLog returns the text of a server.
func readLog(t *testing.T, folder string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRedaction: a message that its author removes is blank in the text before anybody hears of it,
// and stays so after a restart.
func TestRedaction(t *testing.T) {
	folder := t.TempDir()
	change := func(c *Config) {
		c.Accounts, c.Redact = everybody{}, func() time.Duration { return time.Hour }
	}
	srv := open(t, folder, change)
	const caps = "CAP REQ :message-tags batch draft/message-redaction draft/chathistory"
	ann, bob := login(srv.connect(), "ann", "ann", "#tea"), login(srv.connect(), "bob", "bob",
		"#tea")
	ann.Send(caps)
	ann.Expect(" ACK ")
	bob.Send(caps)
	bob.Expect(" ACK ")
	ann.Send("PRIVMSG #tea :before\r\nPRIVMSG #tea :a secret\r\nPRIVMSG #tea :after")
	id := msgidOf(t, ann.ExpectLine("a secret"))
	ann.Expect("#tea :after")
	before := readLog(t, folder)
	ann.Send("REDACT #tea %s :not for you", id)
	bob.Expect("ann!ann@127.0.0.1 REDACT #tea " + id + " :not for you")
	for range 2 {
		text := readLog(t, folder)
		lines := strings.SplitAfter(text, "\n")
		if len(lines) != 5 || !log.IsBlank([]byte(lines[1])) ||
			!strings.HasPrefix(before, lines[0]) || strings.Contains(text, "secret") ||
			!strings.Contains(lines[3], fmt.Sprintf(" REDACT #tea %s :not for you",
				strconv.FormatInt(int64(len(lines[0])), 36))) ||
			len(strings.Join(lines[:3], "")) != len(before) {
			t.Errorf("the text was\n%s\nand is\n%s", before, text)
		}
		srv.end()
		srv = open(t, folder, change)
	}
	bob = login(srv.connect(), "bob", "bob", "#tea")
	bob.Send(caps + "\r\nCHATHISTORY LATEST #tea * 10\r\nPING synced")
	lacks(t, bob.Expect("PONG chat :synced"), "secret")
}

// TestRedactionAfterACrash: a server was killed after the log had stored that a message was
// removed, and before its text had it. The next start removes it.
func TestRedactionAfterACrash(t *testing.T) {
	folder := t.TempDir()
	const at = "2001-09-09T01:46:40.000Z "
	line := at + ":ann!ann@host PRIVMSG #tea :a secret\n" + at +
		"@draft/multiline :ann!ann@host PRIVMSG #tea :of two lines\n"
	rest := at + ":ann!ann@host NOTICE #tea :and more\n"
	data := hall.AppendBatch(nil, hall.Batch{Server: "chat", Run: 1, Number: 1, Time: 1e12})
	for _, e := range []struct {
		kind  byte
		words string
	}{{hall.Enter, "ann\nann\nhost\nAnn\nann\n-"}, {hall.Said, "JOIN #tea"},
		{hall.Lines, "PRIVMSG #tea :a secret\n-of two lines"},
		{hall.Said, "NOTICE #tea :and more"},
		{hall.Redact, fmt.Sprintf("#tea\n0 %d 1000000000000 0\n", len(line))}} {
		data = hall.AppendEntry(data, hall.Entry{Client: 1, Kind: e.kind, Data: []byte(e.words)})
	}
	store, err := log.Open(t.Context(), log.Options{Folder: filepath.Join(folder, "stream")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Append(t.Context(), data)
	store.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "log"), []byte(line+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	var told []string
	open(t, folder, func(c *Config) {
		c.Accounts = everybody{}
		c.Erased = func(who, text string) { told = append(told, who+": "+text) }
	})
	if len(told) != 1 || told[0] != "ann: a secret\nof two lines" {
		t.Errorf("told was %q", told)
	}
	text := readLog(t, folder)
	lines := strings.SplitAfter(text, "\n")
	if len(lines) != 5 || !log.IsBlank([]byte(lines[0])) || !log.IsBlank([]byte(lines[1])) ||
		lines[2] != rest || lines[3] != at+":ann!ann@host REDACT #tea 0\n" ||
		len(lines[0]+lines[1]) != len(line) {
		t.Errorf("the text is\n%s", text)
	}
	if torn, _ := filepath.Glob(filepath.Join(folder, "log.torn*")); torn != nil {
		t.Errorf("lines were set aside: %v", torn)
	}
}

// TestRedactionOfAServerThatWasAway: what was removed meanwhile is known by the lines that other
// servers send.
func TestRedactionOfAServerThatWasAway(t *testing.T) {
	text, err := log.OpenText(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	const at = "2001-09-09T01:46:40.000Z "
	one, two := at+":ann!ann@host PRIVMSG #tea :one\n", at+":ann!ann@host PRIVMSG #tea :two\n"
	gone := fmt.Sprintf("%s:ann!ann@host REDACT #tea %x :%s\n", at, len(one)%16, "no msgid")
	said := at + ":eve!eve@host PRIVMSG #tea :REDACT #tea 0\n"
	removed := at + ":ann!ann@host REDACT #tea 0\n"
	if err := text.Write(0, []byte(one+two+gone+said+removed)); err != nil {
		t.Fatal(err)
	}
	s := &server{config: Config{Text: text}.defaults()}
	s.hall = hall.New(s.hallConfig(), text.End())
	s.eraseFetched([]byte(gone + said))
	kept := make([]byte, len(one))
	if _, err := text.ReadAt(kept, 0); err != nil || string(kept) != one {
		t.Errorf("nothing was removed, and the text has %q, %v", kept, err)
	}
	s.eraseFetched([]byte(removed))
	if _, err := text.ReadAt(kept, 0); err != nil || !log.IsBlank(kept) {
		t.Errorf("the message is %q, %v", kept, err)
	}
}

// TestRedactionOfAServerThatWasKilled: a server was killed between the line that a message is
// removed and the removal, and starts from a later state that another server has saved.
func TestRedactionOfAServerThatWasKilled(t *testing.T) {
	text, err := log.OpenText(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	const at = "2001-09-09T01:46:40.000Z "
	one, two := at+":ann!ann@host PRIVMSG #tea :one\n", at+":ann!ann@host PRIVMSG #tea :two\n"
	long := strings.Repeat(two, lastText/len(two)+1)
	removed := at + ":ann!ann@host REDACT #tea 0\n"
	if err := text.Write(0, []byte(one+long+removed+two)); err != nil {
		t.Fatal(err)
	}
	s := &server{config: Config{Text: text}.defaults()}
	s.hall = hall.New(s.hallConfig(), text.End())
	s.eraseLast()
	kept := make([]byte, len(one+two))
	if _, err := text.ReadAt(kept, 0); err != nil || !log.IsBlank(kept[:len(one)]) ||
		string(kept[len(one):]) != two {
		t.Errorf("the text begins with %q, %v", kept, err)
	}
}
