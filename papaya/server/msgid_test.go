package server

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"interleave/internal/irctest"
	"interleave/papaya/hall"
)

// TestMsgidsOfAnOlderVersion starts on the folder of an older version, whose msgids were places in
// the text. Clients have kept them, in requests for history and in the tags of answers: they name
// the same messages as before. A later message has a keyed msgid, and its place names nothing. So
// it is after restarts.
func TestMsgidsOfAnOlderVersion(t *testing.T) {
	begins := make(chan uint64, 10)
	change := func(c *Config) {
		c.Accounts, c.Unique = everybody{}, "a"
		c.MsgidsFrom = func(at uint64) { begins <- at }
	}
	srv, folder := openOlder(t, "format3", "format2", change)
	join := func() *irctest.Client {
		ann := login(srv.connect(), "ann", "ann")
		ann.Send("CAP REQ :message-tags batch echo-message draft/chathistory " +
			"draft/message-redaction\r\nJOIN #tea\r\nPING synced")
		ann.Expect("PONG chat :synced")
		return ann
	}
	ask := func(c *irctest.Client, words string) (ids []string) {
		t.Helper()
		c.Send("CHATHISTORY %s\r\nPING asked", words)
		for _, l := range c.Expect("PONG chat :asked") {
			if strings.Contains(l, "msgid=") {
				ids = append(ids, msgidOf(t, l))
			} else if strings.Contains(l, "FAIL") {
				ids = append(ids, strings.TrimSpace(l))
			}
		}
		return ids
	}
	ann := join()
	old := ask(ann, "LATEST #tea * 10")
	text := readLog(t, folder)
	for _, id := range old {
		at, err := strconv.ParseUint(id, 36, 64)
		if err != nil || at >= uint64(len(text)) ||
			!regexp.MustCompile(`^2026\S+ :\S+ (PRIVMSG|TOPIC) #tea :`).MatchString(text[at:]) {
			t.Fatalf("%s is no place of a message of #tea, %v", id, err)
		}
	}
	if len(old) < 3 {
		t.Fatalf("there are the messages %q", old)
	}
	place := strconv.FormatInt(int64(len(text)), 36) // of the next message
	ann.Send("@+draft/reply=%s PRIVMSG #tea :an answer", old[0])
	answer := ann.ExpectLine(":an answer")
	id := msgidOf(t, answer)
	if len(id) != 26 || !strings.Contains(answer, "+draft/reply="+old[0]) {
		t.Errorf("the answer is %s", answer)
	}
	last := old[len(old)-1]
	for range 3 {
		if len(begins) != 1 {
			t.Fatalf("it is told %d times of msgids", len(begins))
		}
		from := <-begins
		ids := hall.NewMsgids(testSecret, &from)
		at, err := strconv.ParseUint(place, 36, 64)
		if got := ids.Of(at); err != nil || got != id {
			t.Errorf("it is told of msgids from %d on, so that of the answer is %s, want %s", from,
				got, id)
		}
		if got := ids.Of(0); got != "0" {
			t.Errorf("it is told of msgids from %d on, so that of the first message is %s", from,
				got)
		}
		for words, want := range map[string][]string{
			"AFTER #tea msgid=" + last + " 10":                      {id},
			"BEFORE #tea msgid=" + id + " 10":                       old,
			"BETWEEN #tea msgid=" + last + " msgid=" + id + " 10":   nil,
			"AROUND #tea msgid=" + id + " 1":                        {id},
			"LATEST #tea msgid=" + last + " 10":                     {id},
			"AFTER #tea msgid=" + place + " 10":                     {refusal("AFTER")},
			"BEFORE #tea msgid=" + place + " 10":                    {refusal("BEFORE")},
			"BEFORE #tea msgid=" + strings.ToUpper(id) + " 10":      {refusal("BEFORE")},
			"BETWEEN #tea msgid=" + last + " msgid=1" + id + " 10":  {refusal("BETWEEN")},
			"BETWEEN #tea msgid=" + last + " msgid=" + place + " 9": {refusal("BETWEEN")},
		} {
			if got := ask(ann, words); !slices.Equal(got, want) {
				t.Errorf("CHATHISTORY %s: %q, want %q", words, got, want)
			}
		}
		ann.Send("REDACT #tea %s", place)
		ann.Expect("FAIL REDACT UNKNOWN_MSGID #tea " + place)
		srv.end()
		srv = open(t, folder, change)
		ann = join()
	}
	ann.Send("REDACT #tea %s", id)
	ann.Expect("REDACT #tea " + id)
}

func refusal(verb string) string {
	return ":chat FAIL CHATHISTORY INVALID_PARAMS " + verb + " #tea :Invalid parameters"
}

// TestMsgidsOfACluster: all servers of a log give a message the same msgid, and take it.
func TestMsgidsOfACluster(t *testing.T) {
	url := startNATS(t)
	a := &member{name: "a", folder: t.TempDir(), accounts: everybody{}}
	b := &member{name: "b", folder: t.TempDir(), accounts: everybody{}}
	a.begin(t, url, nil)
	join := func(at, nick string) *irctest.Client {
		c := login(irctest.Dial(t, at), nick, nick, "#tea")
		c.Send("CAP REQ :message-tags batch draft/chathistory draft/message-redaction")
		c.Expect(" ACK ")
		return c
	}
	ann := join(a.at, "ann")
	ann.Send("PRIVMSG #tea :early")
	early := msgidOf(t, ann.ExpectLine(":early"))
	b.begin(t, url, nil) // it makes its state from the log
	for range 2 {
		bob := join(b.at, "bob")
		ann.Send("PRIVMSG #tea :one")
		id := msgidOf(t, ann.ExpectLine(":one"))
		if got := msgidOf(t, bob.ExpectLine(":one")); got != id || len(id) != 26 {
			t.Errorf("the msgid is %s at one server, and %s at the other", id, got)
		}
		bob.Send("CHATHISTORY BEFORE #tea msgid=%s 10\r\nPING asked", id)
		lines := bob.Expect("PONG chat :asked")
		if !strings.Contains(strings.Join(lines, "\n"), "msgid="+early+" ") {
			t.Errorf("the history has no message %s: %q", early, lines)
		}
		bob.Send("REDACT #tea %s", early)
		bob.Expect("FAIL REDACT REDACT_FORBIDDEN #tea " + early)
		synced(bob)
		if err := b.end(t); err != nil {
			t.Fatal(err)
		}
		b.begin(t, url, nil) // from the state that it has saved
	}
	ann = join(b.at, "ann")
	ann.Send("REDACT #tea %s", early)
	ann.Expect("REDACT #tea " + early)
	wantSame(t, a, b, 2)
}

// TestASecretThatIsLost: with another secret, the msgids of before are refused, and messages get
// others. Servers of one log need the same one.
func TestASecretThatIsLost(t *testing.T) {
	folder := t.TempDir()
	change := func(c *Config) { c.Accounts = everybody{} }
	srv := open(t, folder, change)
	said := func(line string) string {
		ann := login(srv.connect(), "ann", "ann")
		ann.Send("CAP REQ :message-tags echo-message draft/chathistory\r\nJOIN #tea\r\n%s", line)
		return msgidOf(t, ann.ExpectLine(":one"))
	}
	id := said("PRIVMSG #tea :one")
	srv.end()
	srv = open(t, folder, func(c *Config) { change(c); c.Secret = hall.Secret{} })
	other := said("CHATHISTORY LATEST #tea * 1")
	ann := login(srv.connect(), "ann", "ann", "#tea")
	ann.Send("CHATHISTORY AFTER #tea msgid=%s 1", id)
	ann.Expect(refusal("AFTER"))
	if id == other {
		t.Errorf("with another secret the message still is %s", id)
	}
	if err := Run(t.Context(), Config{Shared: true}); err == nil ||
		!strings.Contains(err.Error(), "secret") {
		t.Errorf("without a secret a server of a cluster ends with %v", err)
	}
}
