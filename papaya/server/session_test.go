package server

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"interleave/internal/irctest"
	"interleave/papaya/log"
)

// everybody has an account of every name, with the password of people.
type everybody struct{ people }

func (everybody) Verify(_ context.Context, name, password string, _ net.Addr) (Person, error) {
	if password != "the kettle is on" {
		return Person{}, ErrNotYours
	}
	return Person{Account: name}, nil
}

func (everybody) Required() bool { return false }

// login registers a client as a session of an account, and joins rooms.
func login(c *irctest.Client, account, nick string, rooms ...string) *irctest.Client {
	c.Send("CAP REQ :sasl echo-message\r\nNICK %s\r\nUSER %s 0 * :%s\r\nAUTHENTICATE PLAIN\r\n"+
		"AUTHENTICATE %s", nick, nick, nick, plainWord(account, "the kettle is on"))
	c.Expect(" 903 ")
	c.Send("CAP END")
	c.Expect(" 422 ")
	for _, r := range rooms {
		c.Send("JOIN %s", r)
		c.Expect(" 366 ")
	}
	return c
}

// lacks fails the test if one of the lines has a text.
func lacks(t *testing.T, lines []string, text string) {
	t.Helper()
	for _, l := range lines {
		if strings.Contains(l, text) {
			t.Errorf("%q is received", l)
		}
	}
}

// TestSessionsOfAnAccount: an account has its nick although an old connection of it is open and
// says nothing. All sessions are in the same rooms and receive what others and the account say, and
// nobody sees the end of one.
func TestSessionsOfAnAccount(t *testing.T) {
	srv := open(t, t.TempDir(), func(c *Config) { c.Accounts = everybody{} })
	bob := srv.connect().Register("bob", "#tea")
	old := login(srv.connect(), "ann", "ann", "#tea")
	synced(old)
	fresh := login(srv.connect(), "ann", "ann")
	fresh.Expect(" 366 ann #tea ")
	bob.Send("PRIVMSG #tea :to all\r\nPRIVMSG ann :to her")
	old.Expect("PRIVMSG #tea :to all")
	old.Expect("PRIVMSG ann :to her")
	fresh.Expect("PRIVMSG #tea :to all")
	fresh.Expect("PRIVMSG ann :to her")
	fresh.Send("PRIVMSG #tea :from the new one\r\nPRIVMSG bob :and to bob")
	fresh.Expect("PRIVMSG bob :and to bob") // its echo
	old.Expect("PRIVMSG #tea :from the new one")
	old.Expect("PRIVMSG bob :and to bob")
	old.Send("QUIT :the old one")
	old.ExpectEnd()
	fresh.Send("PRIVMSG #tea :still here")
	lacks(t, bob.Expect("still here"), "QUIT")
	eve := srv.connect()
	eve.Send("NICK ann")
	eve.Expect(" 433 * ann ")
	fresh.Send("QUIT :the last one")
	lacks(t, fresh.ExpectEnd(), "QUIT")
	bob.Expect("ann!ann@127.0.0.1 QUIT :the last one")
}

// TestSessionsOnTwoServers is the same over NATS, with a session on each server, while messages of
// both are under way.
func TestSessionsOnTwoServers(t *testing.T) {
	url := startNATS(t)
	var at [2]*member
	for n := range at {
		at[n] = &member{name: fmt.Sprintf("s%d", n), folder: t.TempDir(), accounts: everybody{}}
		at[n].begin(t, url, nil)
	}
	laptop := login(irctest.Dial(t, at[0].at), "ann", "ann", "#tea")
	phone := login(irctest.Dial(t, at[1].at), "ann", "phone")
	phone.Expect(" 366 ann #tea ")
	const messages = 100
	for n := range messages {
		laptop.Send("PRIVMSG #tea :laptop %d", n)
		phone.Send("PRIVMSG #tea :phone %d", n)
	}
	var order [2]string
	for n, c := range []*irctest.Client{laptop, phone} {
		for range 2 * messages {
			_, text, _ := strings.Cut(c.ExpectLine("PRIVMSG #tea :"), " :")
			order[n] += text + "\n"
		}
	}
	if order[0] != order[1] {
		t.Errorf("the sessions have received\n%s\nand\n%s", order[0], order[1])
	}
	bob := irctest.Dial(t, at[1].at).Register("bob", "#tea")
	laptop.Send("NICK anna")
	phone.Expect(":ann!ann@127.0.0.1 NICK anna")
	laptop.Send("QUIT")
	laptop.ExpectEnd()
	phone.Send("PRIVMSG #tea :one is left")
	lacks(t, bob.Expect("one is left"), "QUIT")
	phone.Send("QUIT")
	phone.ExpectEnd()
	bob.Expect("anna!ann@127.0.0.1 QUIT")
	irctest.Dial(t, at[0].at).Register("eve") // the first server has read the log up to there
	for _, m := range at {
		if err := m.end(t); err != nil {
			t.Error(err)
		}
	}
	if at[0].log(t) != at[1].log(t) || strings.Count(at[0].log(t), "PRIVMSG") != 2*messages+1 {
		t.Errorf("the texts differ, or lack messages:\n%s\n%s", at[0].log(t), at[1].log(t))
	}
}

// TestAlwaysOn: an account stays in its rooms without a session, also over a restart. Its next
// session gets what it has missed, once.
func TestAlwaysOn(t *testing.T) {
	folder := t.TempDir()
	change := func(c *Config) {
		c.Accounts, c.AlwaysOn = everybody{}, func() bool { return true }
	}
	srv := open(t, folder, change)
	bob := srv.connect().Register("bob", "#tea")
	ann := login(srv.connect(), "ann", "ann", "#tea")
	ann.Send("QUIT")
	ann.ExpectEnd()
	bob.Send("PRIVMSG #tea :one\r\nPING synced")
	lacks(t, bob.Expect("PONG chat :synced"), "QUIT")
	srv.end()
	srv = open(t, folder, change)
	bob = srv.connect().Register("bob", "#tea")
	bob.Send("NAMES #tea")
	bob.Expect(" 353 bob = #tea :ann bob")
	bob.Send("PRIVMSG #tea :two")
	synced(bob)
	ann = login(srv.connect(), "ann", "ann")
	ann.Expect(" 366 ann #tea ")
	ann.Expect("PRIVMSG #tea :one")
	ann.Expect("PRIVMSG #tea :two")
	ann.Send("QUIT")
	ann.ExpectEnd()
	ann = login(srv.connect(), "ann", "ann")
	synced(ann)
	bob.Send("PRIVMSG #tea :three")
	lacks(t, ann.Expect("three"), "two")
}

// olderData makes a folder as an older version has left it when it was killed: a state, batches
// after it, and a text that lacks its last lines. Package hall has the files.
func olderData(t *testing.T, state, format string) (folder, text string) {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("..", "hall", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	folder, text = t.TempDir(), string(read(format+".log"))
	if err := os.WriteFile(filepath.Join(folder, "log"), []byte(text[:len(text)*2/3]),
		0o600); err != nil {
		t.Fatal(err)
	}
	store, err := log.Open(t.Context(), log.Options{Folder: filepath.Join(folder, "stream")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	batches := bytes.Fields(read(format + "-batches.hex"))
	for n := -1; n < len(batches); n++ {
		data := make([]byte, hex.DecodedLen(len(batches[max(n, 0)])))
		if _, err := hex.Decode(data, batches[max(n, 0)]); err != nil {
			t.Fatal(err)
		}
		sequence, err := store.Append(t.Context(), data)
		if err == nil && n < 0 { // the state stands for this one
			err = store.SaveState(t.Context(), sequence, bytes.TrimSpace(read(state+".json")))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder, text
}

// openOlder starts a server on the folder of an older version that was killed. The text must be
// what that version has written.
func openOlder(t *testing.T, state, format string, change func(*Config)) (srv *instance,
	folder string) {
	t.Helper()
	folder, text := olderData(t, state, format)
	srv = open(t, folder, change)
	if got := readLog(t, folder); got != text {
		t.Errorf("the text is\n%s\nwant\n%s", got, text)
	}
	if torn, _ := filepath.Glob(filepath.Join(folder, "log.torn*")); torn != nil {
		t.Errorf("lines were set aside: %v", torn)
	}
	return srv, folder
}

// TestDataOfTheVersionBefore starts on the folder of the version before tags were in the text. A
// message of that version can be removed.
func TestDataOfTheVersionBefore(t *testing.T) {
	srv, folder := openOlder(t, "format3", "format2",
		func(c *Config) { c.Accounts, c.Unique = everybody{}, "a" })
	ann := login(srv.connect(), "ann", "ann")
	ann.Send("JOIN #tea\r\nCAP REQ :message-tags batch draft/chathistory " +
		"draft/message-redaction\r\nCHATHISTORY LATEST #tea * 10\r\nPING synced")
	lines := strings.Join(ann.Expect("PONG chat :synced"), "\n")
	said := regexp.MustCompile(`msgid=(\w+) :\S+ PRIVMSG #tea :three, with a tag`)
	id := said.FindStringSubmatch(lines)
	if id == nil || !strings.Contains(lines, ":one") {
		t.Fatalf("the history of #tea is\n%s", lines)
	}
	ann.Send("@+x=y PRIVMSG #tea :new\r\nREDACT #tea %s", id[1])
	ann.Expect("REDACT #tea " + id[1])
	text := readLog(t, folder)
	if strings.Contains(text, "three, with a tag") || !strings.Contains(text,
		" @+x=y :ann!ann@127.0.0.1 PRIVMSG #tea :new\n") {
		t.Errorf("the text is\n%s", text)
	}
}

// TestDataOfAnOlderVersion starts on the folder of the version before sessions. Accounts get what
// they have missed. So it is after a restart.
func TestDataOfAnOlderVersion(t *testing.T) {
	change := func(c *Config) { c.Accounts, c.Unique = everybody{}, "a" }
	srv, folder := openOlder(t, "format2", "format1", change)
	ann := login(srv.connect(), "ann", "anna")
	ann.Send("JOIN #tea\r\nPING synced")
	missed := strings.Join(ann.Expect("PONG chat :synced"), "\n")
	if !strings.Contains(missed, "two, while carl is away") ||
		strings.Count(missed, "PRIVMSG #tea :fifteen") != 1 {
		t.Errorf("she has missed\n%s", missed)
	}
	ann.Send("QUIT")
	ann.ExpectEnd()
	srv.end()
	srv = open(t, folder, change)
	ann = login(srv.connect(), "ann", "ann")
	ann.Send("JOIN #tea\r\nPING synced")
	lacks(t, ann.Expect("PONG chat :synced"), "PRIVMSG")
}
