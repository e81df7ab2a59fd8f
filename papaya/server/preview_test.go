package server

import (
	"strings"
	"testing"

	"interleave/papaya/hall"
)

// TestPreviews: a server tells of a message with a link once, also over a restart, adds a preview
// to it, and says when that is removed.
func TestPreviews(t *testing.T) {
	folder, admin := t.TempDir(), &Admin{}
	linked, erased := make(chan hall.Linked, 10), make(chan string, 10)
	change := func(c *Config) {
		c.Accounts, c.Admin = everybody{}, admin
		c.Preview = func(l hall.Linked) { linked <- l }
		c.PreviewErased = func(preview string) { erased <- preview }
	}
	srv := open(t, folder, change)
	ann, bob := srv.connect(), srv.connect()
	for _, c := range []struct {
		who  interface{ Send(string, ...any) }
		caps string
	}{{ann, "message-tags papaya/preview draft/message-redaction"}, {bob, "message-tags"}} {
		c.who.Send("CAP REQ :%s\r\nCAP END", c.caps)
	}
	ann.Register("ann", "#tea")
	bob.Register("bob", "#tea")
	ann.Send("PRIVMSG #tea :one https://x.example/")
	bob.Expect(" PRIVMSG #tea :one")
	one := <-linked
	const preview = `{"title":"Tea; and \\ more"}`
	stored, err := admin.AddPreview(t.Context(), one, preview)
	if err != nil || !stored {
		t.Fatalf("stored: %v, %v", stored, err)
	}
	got := ann.ExpectLine(" TAGMSG #tea")
	if !strings.Contains(got, `;papaya/preview={"title":"Tea\:\sand\s\\\\\smore"};`) {
		t.Errorf("got %s", got)
	}
	bob.Send("PING nothing")
	for _, l := range bob.Expect("PONG chat :nothing") {
		if strings.Contains(l, "TAGMSG") {
			t.Errorf("who does not know previews got %s", l)
		}
	}
	srv.end()

	srv = open(t, folder, change)
	ann = srv.connect()
	ann.Send("CAP REQ :message-tags echo-message draft/message-redaction\r\nCAP END")
	ann.Register("ann", "#tea")
	ann.Send("PRIVMSG #tea :two https://x.example/")
	id := msgidOf(t, ann.ExpectLine(" :two "))
	two := <-linked
	if !strings.HasPrefix(two.Text, "two ") {
		t.Errorf("told again of %q", two.Text)
	}
	if stored, err := admin.AddPreview(t.Context(), two, preview); err != nil || !stored {
		t.Fatalf("stored: %v, %v", stored, err)
	}
	ann.Send("REDACT #tea %s\r\nPING removed", id)
	ann.Expect("PONG chat :removed")
	if got := <-erased; got != preview {
		t.Errorf("erased %s", got)
	}
	if stored, err := admin.AddPreview(t.Context(), two, preview); err != nil || stored {
		t.Errorf("a removed message has a preview: %v, %v", stored, err)
	}

	// An administrator removes messages from the text only.
	ann.Send("PRIVMSG #tea :three https://x.example/\r\nPING three")
	ann.Expect("PONG chat :three")
	three := <-linked
	if n, err := srv.text.Blank(func(_ []byte, at uint64) bool {
		return at == three.At
	}); n != 1 || err != nil {
		t.Fatalf("%d lines are removed, %v", n, err)
	}
	if stored, err := admin.AddPreview(t.Context(), three, preview); err != nil || stored {
		t.Errorf("a message that is not in the text has a preview: %v, %v", stored, err)
	}
	srv.end()
}
