package server

import (
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestHistoryInOrder: what a client has sent behind CHATHISTORY is obeyed when it has the answer.
func TestHistoryInOrder(t *testing.T) {
	srv := open(t, t.TempDir(), nil)
	ann := srv.connect().Register("ann", "#tea")
	ann.Send("PRIVMSG #tea :before\r\nCAP REQ :batch labeled-response echo-message " +
		"draft/chathistory\r\nPING begun")
	ann.Expect("PONG chat :begun")
	for range 20 {
		ann.Send("CHATHISTORY LATEST #tea * 50\r\nPRIVMSG #tea :behind\r\n" +
			"@label=7 CHATHISTORY TARGETS timestamp=1970-01-01T00:00:00Z " +
			"timestamp=2100-01-01T00:00:00Z 9\r\nPING synced")
		lines := ann.Expect("PONG chat :synced")
		at := func(text string) int {
			return slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, text) })
		}
		echo := slices.IndexFunc(lines, func(l string) bool {
			return strings.HasSuffix(l, " :behind") && !strings.HasPrefix(l, "@batch=")
		})
		if first, end := at(":before"), at("BATCH -"); first < 0 || end < first || echo < end ||
			at("@label=7 :chat BATCH +") < echo || at("CHATHISTORY TARGETS #tea") < echo {
			t.Fatalf("she receives\n%s", strings.Join(lines, "\n"))
		}
	}
}

// TestHistoryBeforeTheEnd: a client that has closed its side of the connection gets its answers,
// however long the history takes.
func TestHistoryBeforeTheEnd(t *testing.T) {
	var admin Admin
	srv := open(t, t.TempDir(), func(c *Config) { c.Admin = &admin })
	ann := srv.connect().Register("ann", "#tea")
	ann.Send("PRIVMSG #tea :one")
	synced(ann)
	turns := admin.server.histories
	for range cap(turns) {
		turns <- struct{}{} // nobody reads
	}
	c, err := net.Dial("tcp", srv.at[0])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	io.WriteString(c, "NICK bob\r\nUSER bob 0 * :bob\r\nJOIN #tea\r\nPING :begins\r\n"+
		"CHATHISTORY LATEST #tea * 50\r\nPING :synced\r\n")
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	readUntil(t, c, "PONG chat :begins")
	for range 20 { // nobody else waits
		synced(ann)
	}
	for range cap(turns) {
		<-turns
	}
	rest, err := io.ReadAll(c)
	if text := string(rest); err != nil || !strings.Contains(text, "PRIVMSG #tea :one") ||
		!strings.Contains(text, "PONG chat :synced") {
		t.Errorf("bob receives %v\n%s", err, text)
	}
	ann.Expect("bob!bob@127.0.0.1 QUIT")
}

// readUntil reads until a text has come.
func readUntil(t *testing.T, c net.Conn, text string) {
	t.Helper()
	var got strings.Builder
	piece := make([]byte, 4096)
	for !strings.Contains(got.String(), text) {
		n, err := c.Read(piece)
		if err != nil {
			t.Fatalf("waiting for %q: %v, after\n%s", text, err, got.String())
		}
		got.Write(piece[:n])
	}
}
