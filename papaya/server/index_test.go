package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"interleave/internal/irctest"
	"interleave/papaya/hall"
	"interleave/papaya/search"
)

// openIndexed starts a server with an index, and returns when the index has all full chunks.
func openIndexed(t testing.TB, folder string) (*instance, *search.Index) {
	t.Helper()
	var x *search.Index
	srv := open(t, folder, func(c *Config) {
		c.Accounts = everybody{}
		x = search.New(filepath.Join(folder, "search"), hall.Source(c.Text),
			slog.New(slog.DiscardHandler))
		c.Index = x
	})
	waitForIndex(x)
	return srv, x
}

// waitForIndex returns when an index has all full chunks of its text.
func waitForIndex(x *search.Index) {
	for {
		if _, _, lacks := x.Usage(); lacks < 1<<search.ChunkBits {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

var varying = regexp.MustCompile(`BATCH [+-]\S+|batch=[^; ]+`)

// answers returns what a client is answered, without the names of batches.
func answers(c *irctest.Client, lines ...string) string {
	var out strings.Builder
	until := func(end string) {
		for _, got := range c.Expect(end) {
			out.WriteString(varying.ReplaceAllString(got, "BATCH") + "\n")
		}
	}
	for _, l := range lines {
		c.Send("%s", l)
		if strings.HasPrefix(l, "SEARCH") { // further lines do not wait for it
			until("BATCH -")
		}
		c.Send("PING answered")
		until("PONG chat :answered")
	}
	return out.String()
}

// TestIndex: a server with an index answers as one without, after a restart, too. A removed message
// leaves the files of the index.
func TestIndex(t *testing.T) {
	folder := t.TempDir()
	srv, x := openIndexed(t, folder)
	join := func(srv *instance) *irctest.Client {
		c := login(srv.connect(), "ann", "ann", "#tea", "#other")
		c.Send("CAP REQ :batch server-time message-tags draft/message-redaction")
		c.Expect(" ACK ")
		synced(c)
		return c
	}
	ann := join(srv)
	ann.Send("PRIVMSG #tea :the secret")
	id := msgidOf(t, ann.ExpectLine(":the secret"))
	for i := range 4000 { // more than a file of the index
		ann.Send("PRIVMSG #other :%d %s", i, strings.Repeat("filling ", 35))
		if i%100 == 50 {
			ann.Send("PRIVMSG #tea :the %dth Kettle", i)
			synced(ann)
		}
	}
	synced(ann)
	ask := []string{"SEARCH #tea kettle TH", "SEARCH #other 77", "SEARCH #other nothing",
		"CHATHISTORY LATEST #tea * 100", "CHATHISTORY BEFORE #tea msgid=" + id + " 100",
		"CHATHISTORY AFTER #tea msgid=" + id + " 30",
		"CHATHISTORY AROUND #tea msgid=" + id + " 9",
		"CHATHISTORY LATEST #other timestamp=2000-01-01T00:00:00.000Z 70"}
	waitForIndex(x)
	if !inFolder(t, filepath.Join(folder, "search"), "\nsecret\n") {
		t.Error("no file of the index has the first message")
	}
	ann.Send("REDACT #tea %s", id)
	ann.ExpectLine("REDACT #tea")
	synced(ann)
	for deadline := time.Now().Add(patience); inFolder(t, filepath.Join(folder, "search"),
		"\nsecret\n"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the removed message stays in the index")
		}
	}
	got := answers(ann, ask...)
	srv.end()
	if !strings.Contains(got, "the 3950th Kettle") || !strings.Contains(got, ":3999 filling") {
		t.Fatalf("she receives\n%s", got)
	}
	srv, _ = openIndexed(t, folder)
	if again := answers(join(srv), ask...); again != got {
		t.Errorf("after a restart she receives\n%s\nnot\n%s", again, got)
	}
	srv.end()
	srv = open(t, folder, func(c *Config) { c.Accounts = everybody{} })
	if plain := answers(join(srv), ask...); plain != got {
		t.Errorf("without the index she receives\n%s\nwith it\n%s", plain, got)
	}
}

// inFolder says whether a file of a folder has a text.
func inFolder(t *testing.T, folder, text string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(fmt.Sprint("no file of the index: ", err))
	}
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil && bytes.Contains(data, []byte(text)) {
			return true
		}
	}
	return false
}
