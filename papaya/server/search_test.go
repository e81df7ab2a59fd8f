package server

import (
	"fmt"
	"strings"
	"testing"
)

// TestSearch sends SEARCH to a server, after a restart, with messages in several chunks of the
// text.
func TestSearch(t *testing.T) {
	folder := t.TempDir()
	srv := open(t, folder, nil)
	ann := srv.connect().Register("ann", "#tea", "#private")
	srv.connect().Register("bob", "#tea")
	for i := range 600 { // several chunks of 64 KiB
		ann.Send("PRIVMSG #tea :%d %s", i, strings.Repeat("filling ", 30))
		if i%100 == 50 {
			ann.Send("PRIVMSG #tea :the %dth Kettle", i)
			ann.Send("PRIVMSG #private :the %dth kettle of mine", i)
			synced(ann)
		}
	}
	synced(ann)
	srv.end()
	srv = open(t, folder, nil)
	ann, bob := srv.connect(), srv.connect()
	ann.Send("CAP REQ :batch server-time message-tags labeled-response\r\nCAP END")
	ann.Register("ann", "#tea", "#private")
	synced(ann)
	bob.Register("bob", "#tea")
	synced(bob)
	ann.Expect("JOIN #tea")

	ann.Send("@label=7 SEARCH #tea :kettle TH")
	found := ann.Expect("BATCH -")
	if len(found) != 9 || !strings.HasPrefix(found[0], "@label=7 ") ||
		!strings.Contains(found[1], "papaya/search #tea") {
		t.Fatalf("got\n%s\nwant the 6 lines of the batch with the label", strings.Join(found, "\n"))
	}
	for i, l := range found[2:8] {
		if want := fmt.Sprintf(" PRIVMSG #tea :the %dth Kettle", i*100+50); !strings.HasSuffix(l,
			want) || !strings.Contains(l, "time=") || !strings.Contains(l, "msgid=") {
			t.Errorf("got %q, want it to end with %q", l, want)
		}
	}
	synced(ann)
	bob.Send("SEARCH #private kettle")
	if got := bob.ExpectLine("SEARCH"); !strings.Contains(got,
		"FAIL SEARCH INVALID_TARGET #private") {
		t.Errorf("bob is not in #private, and receives %q", got)
	}
	bob.Send("SEARCH #tea mine")
	bob.ExpectLine("nothing was found in #tea")

	// There are more matches than an answer may have: it has the newest, and says that there are
	// more.
	ann.Send("SEARCH #tea filling")
	found = ann.Expect("NOTE SEARCH MORE #tea")
	if len(found) != 53 || !strings.Contains(found[50], ":599 filling") {
		t.Errorf("got %d lines, the last %q; want 50 hits up to 599", len(found),
			found[max(0, len(found)-3)])
	}
}
