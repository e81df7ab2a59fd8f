package server

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestFileHost: clients are told where files are posted to, by both names that they look for.
func TestFileHost(t *testing.T) {
	where := "https://chat.example.org:8443/chat/upload"
	var mu sync.Mutex
	srv := open(t, t.TempDir(), func(c *Config) {
		c.Accounts = everybody{}
		c.FileHost = func() string {
			mu.Lock()
			defer mu.Unlock()
			return where
		}
	})
	register := func(nick string) string {
		c := srv.connect()
		c.Send("NICK %s\r\nUSER %[1]s 0 * :%[1]s", nick)
		return strings.Join(c.Expect(" 422 "), "\n")
	}
	said := register("ann")
	if !strings.Contains(said, ":chat 005 ann draft/FILEHOST="+where+" soju.im/FILEHOST="+where+
		" :are supported by this server") {
		t.Errorf("the welcome is\n%s", said)
	}
	mu.Lock()
	where = ""
	mu.Unlock()
	if said = register("bob"); strings.Contains(said, "FILEHOST") {
		t.Errorf("switched off, the welcome is\n%s", said)
	}
}

// TestErased: when a message is removed, its author is told by account, whoever removes it, and
// although the author has another nick now. Guests are nobody.
func TestErased(t *testing.T) {
	var mu sync.Mutex
	var told []string
	srv := open(t, t.TempDir(), func(c *Config) {
		c.Accounts, c.Redact = everybody{}, func() time.Duration { return time.Hour }
		c.Erased = func(who, text string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprintf("%s: %s", who, text))
		}
	})
	ann, bob := login(srv.connect(), "ann", "ann", "#tea"), login(srv.connect(), "bob", "bob",
		"#tea")
	guest := srv.connect().Register("guest", "#tea")
	for _, c := range []interface{ Send(string, ...any) }{ann, bob, guest} {
		c.Send("CAP REQ :message-tags echo-message draft/message-redaction")
	}
	msgid := regexp.MustCompile(`msgid=(\w+)`)
	var ids []string
	ann.Expect(" ACK ")
	for _, step := range []struct {
		send func(string, ...any)
		text string
	}{{bob.Send, "bob's"}, {guest.Send, "a guest's"}, {ann.Send, "ann's"}} {
		step.send("PRIVMSG #tea :%s", step.text)
		ids = append(ids, msgid.FindStringSubmatch(ann.ExpectLine("#tea :" + step.text))[1])
	}
	bob.Send("NICK robert")
	ann.Expect(" NICK ")
	for _, id := range ids { // ann is the operator of the room
		ann.Send("REDACT #tea %s", id)
		ann.Expect("REDACT #tea " + id)
	}
	ann.Send("REDACT #tea %s\r\nPING again", ids[0])
	ann.Expect(" PONG ")
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(told, []string{"bob: bob's", "ann: ann's"}) {
		t.Errorf("told: %q", told)
	}
}
