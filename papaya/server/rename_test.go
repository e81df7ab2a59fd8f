package server

import (
	"strings"
	"testing"
)

// TestRoomThatIsRenamed: members, history and the way from the former name are there after a
// restart, and a client that lags behind misses nothing.
func TestRoomThatIsRenamed(t *testing.T) {
	folder := t.TempDir()
	change := func(c *Config) { c.Accounts = everybody{} }
	srv := open(t, folder, change)
	ann := login(srv.connect(), "ann", "ann", "#tea")
	bob := srv.connect().Register("bob", "#tea")
	bob.Send("CAP REQ draft/channel-rename")
	bob.Expect(" ACK ")
	ann.Send("PRIVMSG #tea :one\r\nRENAME #tea #chai :warmer\r\nPRIVMSG #chai :two\r\nPING done")
	bob.Expect(" PRIVMSG #tea :one")
	bob.Expect(":ann!ann@127.0.0.1 RENAME #tea #chai :warmer")
	bob.Expect(" PRIVMSG #chai :two")
	lines := strings.Join(ann.Expect("PONG chat :done"), "\n")
	for _, want := range []string{" PART #tea :warmer", " JOIN #chai", " 366 ann #chai "} {
		if !strings.Contains(lines, want) {
			t.Errorf("ann, who does not know RENAME, lacks %q in\n%s", want, lines)
		}
	}
	srv.end()
	srv = open(t, folder, change)
	ann = login(srv.connect(), "ann", "ann", "#chai")
	ann.Send("CAP REQ :batch draft/chathistory\r\nCHATHISTORY LATEST #chai * 10")
	ann.Expect(" PRIVMSG #chai :one")
	ann.Expect(" PRIVMSG #chai :two")
	eve := srv.connect().Register("eve")
	eve.Send("JOIN #tea")
	eve.Expect(" 470 eve #tea #chai :")
	eve.Expect(":eve!eve@127.0.0.1 JOIN #chai")
	eve.Send("RENAME #chai #tea")
	eve.Expect(" 482 eve #chai :")
}
