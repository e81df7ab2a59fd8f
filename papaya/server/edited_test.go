package server

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/internal/irctest"
	"interleave/papaya/hall"
	"interleave/papaya/search"
)

var msgidTag = regexp.MustCompile(`msgid=(\w+)`)

// editor registers a session of an account that knows edits.
func editor(srv *instance, account string, rooms ...string) *irctest.Client {
	c := login(srv.connect(), account, account, rooms...)
	c.Send("CAP REQ :message-tags batch draft/message-edit draft/multiline draft/chathistory")
	c.Expect(" ACK ")
	return c
}

// says says something and returns its msgid.
func says(c *irctest.Client, target, text string) (id string) {
	c.Send("PRIVMSG %s :%s", target, text)
	return msgidTag.FindStringSubmatch(c.ExpectLine(" :" + text))[1]
}

// newestIn returns the line of the history that has a message in its own place.
func newestIn(t *testing.T, c *irctest.Client, id string) string {
	t.Helper()
	c.Send("CHATHISTORY LATEST #tea * 200\r\nPING page")
	for _, l := range c.Expect("PONG chat :page") {
		if strings.HasPrefix(l, "@batch=") && strings.Contains(l, ";msgid="+id+";") &&
			!strings.Contains(l, "+draft/edit=") {
			return l
		}
	}
	t.Fatalf("the history has no message %s", id)
	return ""
}

// TestEditsFromTwoDevices: two sessions of an account change a message at once. Everybody hears of
// the changes in one order, and a history has the last of them.
func TestEditsFromTwoDevices(t *testing.T) {
	const each = 20
	srv := open(t, t.TempDir(), func(c *Config) { c.Accounts = everybody{} })
	bob := editor(srv, "bob", "#tea")
	one, two := editor(srv, "ann", "#tea"), editor(srv, "ann")
	id := says(one, "#tea", "the first wording")
	two.Expect("the first wording")
	bob.Expect("the first wording")
	for i := range each {
		one.Send("@+draft/edit=%s PRIVMSG #tea :one %d", id, i)
		two.Send("@+draft/edit=%s PRIVMSG #tea :two %d", id, i)
	}
	var orders []string
	for _, c := range []*irctest.Client{one, two, bob} {
		seen, order := 0, []string(nil)
		c.ExpectFunc("all edits", func(line string) bool {
			if _, text, ok := strings.Cut(line, " PRIVMSG #tea :"); ok {
				seen, order = seen+1, append(order, strings.TrimSpace(text))
			}
			return seen == 2*each
		})
		orders = append(orders, strings.Join(order, ","))
	}
	if orders[0] != orders[1] || orders[0] != orders[2] {
		t.Errorf("the orders are\n%s", strings.Join(orders, "\n"))
	}
	last := orders[0][strings.LastIndex(orders[0], ",")+1:]
	for _, c := range []*irctest.Client{one, bob} {
		if l := newestIn(t, c, id); !strings.HasSuffix(strings.TrimSpace(l), ":"+last) {
			t.Errorf("the history has %q, and the last edit was %q", l, last)
		}
	}
}

// TestEditsThatAreRefused: nobody changes anything in a room that they have left, and a message has
// a limit of later texts. A reply stays one.
func TestEditsThatAreRefused(t *testing.T) {
	srv := open(t, t.TempDir(), func(c *Config) { c.Accounts = everybody{} })
	bob := editor(srv, "bob", "#tea")
	ann := editor(srv, "ann", "#tea")
	first := says(ann, "#tea", "a question")
	ann.Send("@+draft/reply=%s PRIVMSG #tea :an answer", first)
	reply := msgidTag.FindStringSubmatch(ann.ExpectLine(" :an answer"))[1]
	ann.Send("@+draft/edit=%s PRIVMSG #tea :another answer", reply)
	ann.Expect(" :another answer")
	l := newestIn(t, bob, reply)
	if !strings.Contains(l, "+draft/reply="+first) || !strings.Contains(l, ":another answer") {
		t.Errorf("the reply is %q", l)
	}
	ann.Send("PART #tea\r\n@+draft/edit=%s PRIVMSG #tea :from outside", first)
	ann.Expect("FAIL PRIVMSG INVALID_TARGET #tea")
	ann.Send("JOIN #tea")
	ann.Expect(" 366 ")
	for i := range 101 {
		ann.Send("@+draft/edit=%s PRIVMSG #tea :wording %d", first, i)
	}
	ann.Expect("FAIL PRIVMSG EDIT_FORBIDDEN #tea " + first)
	if l := newestIn(t, bob, first); !strings.Contains(l, ":wording 99") {
		t.Errorf("after 100 edits the text is %q", l)
	}
	ann.Send("@+draft/edit=%s PRIVMSG #tea :%s", reply, strings.Repeat("x", 490))
	ann.Expect("FAIL PRIVMSG INVALID_EDIT #tea " + reply)
	synced(bob)
}

// TestRemovedEditsAreInNoFile: after a removal no text of the message is in what the server has
// for its own use: the text, its state and its index. The stream has it until it is dropped.
func TestRemovedEditsAreInNoFile(t *testing.T) {
	folder := t.TempDir()
	srv := open(t, folder, func(c *Config) { c.Accounts = everybody{} })
	ann := editor(srv, "ann", "#tea")
	id := says(ann, "#tea", "zanzibar")
	ann.Send("@+draft/edit=%s PRIVMSG #tea :madagascar", id)
	ann.Expect(" :madagascar")
	ann.Send("@+draft/edit=%s BATCH +1 draft/multiline #tea\r\n@batch=1 PRIVMSG #tea :comoros\r\n"+
		"@batch=1 PRIVMSG #tea :mauritius\r\nBATCH -1", id)
	ann.Expect("mauritius")
	ann.Send("REDACT #tea %s", id)
	synced(ann)
	srv.end()
	for _, word := range []string{"zanzibar", "madagascar", "comoros", "mauritius"} {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.Name() == "stream" {
				return fs.SkipDir
			}
			if d.IsDir() {
				return nil
			}
			data, err := os.ReadFile(path)
			if bytes.Contains(data, []byte(word)) {
				t.Errorf("%s has %q", path, word)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestEditsInTheAPI: a message has its newest text, in its own place, and a change is no message of
// its own. So what programs have read already does not come again.
func TestEditsInTheAPI(t *testing.T) {
	var admin Admin
	srv := open(t, t.TempDir(), func(c *Config) { c.Accounts, c.Admin = everybody{}, &admin })
	ann := editor(srv, "ann", "#tea")
	first := says(ann, "#tea", "one")
	second := says(ann, "#tea", "two")
	ann.Send("@+draft/edit=%s PRIVMSG #tea :one, changed", first)
	ann.Send("@+draft/edit=%s PRIVMSG #tea :two, changed", second)
	synced(ann)
	page := func(p hall.Page) (texts []string) {
		t.Helper()
		list, err := admin.Messages(t.Context(), "#tea", p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			texts = append(texts, fmt.Sprint(m.ID, " ", m.Text, " ", m.Edited != nil))
		}
		return texts
	}
	one, two := first+" one, changed true", second+" two, changed true"
	if got := page(hall.Page{Limit: 9}); !slices.Equal(got, []string{one, two}) {
		t.Errorf("the last messages are %q", got)
	}
	if got := page(hall.Page{After: first, Limit: 9}); !slices.Equal(got, []string{two}) {
		t.Errorf("after the first message are %q", got)
	}
	if got := page(hall.Page{After: second, Limit: 9}); got != nil {
		t.Errorf("after the last message are %q", got)
	}
}

// TestChangesInTheAPI: a program that asks for changes is told of the newest text of each message
// and of removals, each once and in its place, and not of texts that do not stand any more.
func TestChangesInTheAPI(t *testing.T) {
	var admin Admin
	srv := open(t, t.TempDir(), func(c *Config) { c.Accounts, c.Admin = everybody{}, &admin })
	ann := editor(srv, "ann", "#tea")
	ids := map[string]string{}
	for _, name := range []string{"one", "two", "three"} {
		ids[says(ann, "#tea", name)] = name
	}
	id := func(name string) string {
		for id, n := range ids {
			if n == name {
				return id
			}
		}
		return ""
	}
	for i := range 3 {
		ann.Send("@+draft/edit=%s PRIVMSG #tea :two, %d", id("two"), i)
	}
	ann.Send("@+draft/edit=%s NOTICE #tea :one, changed", id("one"))
	ann.Send("@+draft/edit=%s PRIVMSG #tea :three, changed", id("three"))
	ann.Send("REDACT #tea %s :a mistake", id("three"))
	says(ann, "#tea", "four")
	synced(ann)
	after := func(id string, limit int) (texts []string, last string) {
		t.Helper()
		list, err := admin.Messages(t.Context(), "#tea",
			hall.Page{After: id, Limit: limit, Changes: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			texts = append(texts, fmt.Sprint(m.Kind, " ", m.From, " ", ids[m.Of], ": ", m.Text))
			last = m.ID
		}
		return texts, last
	}
	changes := []string{"message ann two: two, 2", "message ann one: one, changed",
		"removal ann three: a mistake", "message ann : four"}
	all := append([]string{"message ann : one, changed", "message ann : two, 2"}, changes...)
	if got, _ := after(hall.Beginning, 99); !slices.Equal(got, all) {
		t.Errorf("all are %q", got)
	}
	if got, _ := after(id("two"), 99); !slices.Equal(got, changes) {
		t.Errorf("after the second message are %q", got)
	}
	var one []string // with pages of one message
	for got, at := after(hall.Beginning, 1); len(got) > 0; got, at = after(at, 1) {
		one = append(one, got...)
	}
	if !slices.Equal(one, all) {
		t.Errorf("one by one they are %q", one)
	}
}

// BenchmarkPageAfterEdits reads the last page of a room before and after 10,000 edits: of 100
// messages, 100 times each, which is the limit.
func BenchmarkPageAfterEdits(b *testing.B) {
	b.Run("index", func(b *testing.B) {
		srv, x := openIndexed(b, b.TempDir())
		pageAfterEdits(b, srv, x)
	})
	b.Run("text", func(b *testing.B) {
		pageAfterEdits(b, open(b, b.TempDir(), func(c *Config) { c.Accounts = everybody{} }), nil)
	})
}

// pageAfterEdits is the benchmark with an index, or without one.
func pageAfterEdits(b *testing.B, srv *instance, x *search.Index) {
	ann := editor(srv, "ann", "#tea")
	old := srv.connect().Register("old", "#tea") // it does not know edits
	old.Send("CAP REQ :batch draft/chathistory message-tags")
	old.Expect(" ACK ")
	var ids []string
	for i := range 100 {
		ids = append(ids, says(ann, "#tea", fmt.Sprint("message ", i)))
	}
	page := func(c *irctest.Client) (least time.Duration, lines int) {
		least = time.Hour
		for range 20 {
			start := time.Now()
			c.Send("CHATHISTORY LATEST #tea * 50\r\nPING page")
			lines = len(c.Expect("PONG chat :page"))
			least = min(least, time.Since(start))
		}
		return least, lines
	}
	for _, c := range []*irctest.Client{ann, old} {
		took, lines := page(c)
		b.Logf("before the edits: %v for %d lines", took, lines)
	}
	start := time.Now()
	for i := range 100 {
		for _, id := range ids {
			ann.Send("@+draft/edit=%s PRIVMSG #tea :wording %d", id, i)
		}
		synced(ann)
	}
	b.Logf("10,000 edits took %v", time.Since(start))
	waitForIndex(x)
	for _, c := range []*irctest.Client{ann, old} {
		took, lines := page(c)
		b.Logf("after the edits: %v for %d lines", took, lines)
	}
	start = time.Now()
	for i := range 10_000 { // of one message, which are refused
		ann.Send("@+draft/edit=%s PRIVMSG #tea :storm %d", ids[0], i)
	}
	synced(ann)
	b.Logf("10,000 edits of one message beyond the limit took %v", time.Since(start))
}
