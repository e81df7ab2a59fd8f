package hall

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestMessages: a program posts to a room, and reads it in pages. It sees no other room of that
// name.
func TestMessages(t *testing.T) {
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
	p.add("a")
	p.add("b")
	for _, l := range []string{"[connect ann]", "ann > NICK ann", "ann > USER ann 0 * :Ann",
		"ann > JOIN #tea", "ann > PRIVMSG #tea :of the room before", "ann > PART #tea",
		"ann > JOIN #Tea", "ann > TOPIC #tea :Leaves", "ann > PRIVMSG #tea :one",
		"ann > PRIVMSG #tea :\x01ACTION waves\x01", "ann > NOTICE #tea :two",
		"ann > PRIVMSG ann :to herself"} {
		p.step(l)
	}
	post := func(words ...string) { p.log(p.halls["a"], NewOrder(1, PostTo, words...), nil) }
	post("#TEA", "hub/hook", "three\r\nQUIT", "four")
	if got := string(p.halls["a"].text.lines); strings.Count(got, " @bot :hub/hook!") != 2 {
		t.Errorf("the program is no bot in\n%s", got)
	}
	for _, wrong := range [][]string{{"#none", "hub/hook", "x"}, {"#tea", "ann", "x"},
		{"#tea", "a b/hook", "x"}, {"#tea", "a!b@c/hook", "x"}, {"#tea", ":a/hook", "x"},
		{"#tea", "hub/hook", ""}, {"#tea", "hub/hook"}, {"#tea"}, {}} {
		post(wrong...)
	}
	if got := p.script.String(); !strings.HasSuffix(got,
		"ann < :hub/hook!program@papaya PRIVMSG #Tea :three  QUIT\n"+
			"ann < :hub/hook!program@papaya PRIVMSG #Tea :four\n") {
		t.Errorf("ann hears\n%s", got)
	}
	if a, b := p.halls["a"].text.lines, p.halls["b"].text.lines; string(a) != string(b) {
		t.Errorf("the texts differ:\n%s\n%s", a, b)
	}
	h := p.halls["b"].hall
	all, err := messagesOf(t, h, "#tea", Page{Limit: 10})
	if err != nil || len(all) != 5 {
		t.Fatalf("messages: %+v, %v", all, err)
	}
	got := ""
	for _, m := range all {
		got += m.From + " " + m.Kind + " " + m.Text + "\n"
	}
	if want := "ann message one\nann action waves\nann notice two\nhub/hook message three  QUIT\n" +
		"hub/hook message four\n"; got != want {
		t.Errorf("read\n%s\nwant\n%s", got, want)
	}
	for _, test := range []struct {
		page Page
		want []Message
	}{
		{Page{Limit: 2}, all[3:]},
		{Page{After: all[1].ID, Limit: 2}, all[2:4]},
		{Page{After: all[4].ID, Limit: 2}, nil},
		{Page{After: Beginning, Limit: 1}, all[:1]},
		{Page{Before: all[2].ID, Limit: 1}, all[1:2]},
		{Page{After: all[0].ID, Before: all[3].ID, Limit: 10}, all[1:3]},
	} {
		got, err := messagesOf(t, h, "#tea", test.page)
		if err != nil || got == nil || fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%+v: %+v, %v; want %+v", test.page, got, err, test.want)
		}
	}
	for _, id := range []string{"!", "-1", "zzzzzzzzzzzzzzzzzzzz", "Ä", "1", "zz",
		strings.Repeat("0", msgidLen), all[0].ID[:msgidLen-1] + "v"} {
		if _, err := h.Messages("#tea", Page{After: id, Limit: 1}); !errors.Is(err, ErrNoMessage) {
			t.Errorf("after %q: %v", id, err)
		}
	}
	if _, err := h.Messages("#none", Page{Limit: 1}); !errors.Is(err, ErrNoRoom) {
		t.Errorf("no room: %v", err)
	}
	if r, ok := h.Room("#TEA"); !ok || r.Name != "#Tea" || r.Topic != "Leaves" || r.Here != 1 {
		t.Errorf("the room: %+v, %v", r, ok)
	}
	if _, ok := h.Room("#none"); ok {
		t.Error("there is no such room")
	}
}

// messagesOf reads messages as the server does.
func messagesOf(t *testing.T, h *Hall, room string, p Page) ([]Message, error) {
	t.Helper()
	read, err := h.Messages(room, p)
	if err != nil {
		t.Fatal(err)
	}
	return read(t.Context())
}

// TestMessageOfLines: a message of several lines is one message for programs, too.
func TestMessageOfLines(t *testing.T) {
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
	p.add("a")
	for _, l := range []string{"[connect ann]", "ann > CAP REQ :batch draft/multiline",
		"ann > CAP END", "ann > NICK ann", "ann > USER ann 0 * :Ann", "ann > JOIN #tea",
		"ann > BATCH +1 draft/multiline #tea", "ann > @batch=1 PRIVMSG #tea :one",
		"ann > @batch=1 PRIVMSG #tea :two", "ann > @batch=1;draft/multiline-concat PRIVMSG #tea :!",
		"ann > BATCH -1"} {
		p.step(l)
	}
	all, err := messagesOf(t, p.halls["a"].hall, "#tea", Page{Limit: 10})
	if err != nil || len(all) != 1 || all[0].Text != "one\ntwo!" {
		t.Errorf("got %+v, %v", all, err)
	}
}
