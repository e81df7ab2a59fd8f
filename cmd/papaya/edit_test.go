package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"interleave/internal/freeport"
	"interleave/internal/irctest"
)

// TestEditsOutliveAKill: an edit that was acknowledged is in the history after kill -9 of the
// server, each of several times.
func TestEditsOutliveAKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	dir, port := t.TempDir(), freeport.For(t)
	n := &notified{t: t, dir: dir, program: link(t, dir), port: port}
	settings := fmt.Sprintf("[listen]\nplain = [\"127.0.0.1:%d\"]\ntls = []\n"+patient, port)
	for name, text := range map[string]string{
		"password": "kettle-is-on\n", "papaya.toml": settings,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.run("admin", "account", "add", "ann", "--password-file", "password")
	kill := startServer(t, n.program, dir)
	enter := func() *irctest.Client {
		c, _ := n.login("ann")
		c.Send("JOIN #tea\r\nCAP REQ :message-tags batch echo-message draft/message-edit " +
			"draft/chathistory")
		c.Expect(" ACK ")
		return c
	}
	ann := enter()
	ann.Send("PRIVMSG #tea :the first wording")
	id := regexp.MustCompile(`msgid=(\w+)`).FindStringSubmatch(ann.ExpectLine(" :the first"))[1]
	for i := range 5 {
		word := fmt.Sprint(":wording ", i)
		ann.Send("@+draft/edit=%s PRIVMSG #tea %s", id, word)
		ann.Expect("PRIVMSG #tea " + word)
		kill()
		kill = startServer(t, n.program, dir)
		ann = enter()
		ann.Send("CHATHISTORY LATEST #tea * 200\r\nPING page")
		var found string
		for _, l := range ann.Expect("PONG chat :page") {
			if strings.HasPrefix(l, "@batch=") && strings.Contains(l, ";msgid="+id+";") {
				found = strings.TrimSpace(l)
			}
		}
		if !strings.HasSuffix(found, word) {
			t.Errorf("after kill %d the message is %q", i, found)
		}
	}
}
