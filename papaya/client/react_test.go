package client

import (
	"fmt"
	"strings"
	"testing"
)

const reacts = full + " draft/event-playback"

// reactionsTo writes the reactions to a message: a text and the nicks.
func reactionsTo(r *Room, id string) string {
	var b strings.Builder
	for _, x := range r.Reactions(r.find(id)) {
		fmt.Fprintf(&b, "%s %s\n", x.Text, strings.Join(x.Nicks, ","))
	}
	return b.String()
}

// TestReactions: they come in any order, twice, and in pages of the history, and the last one of a
// user counts. A page that has nothing else is not the end of the history.
func TestReactions(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, reacts)
	tea := s.Find("#tea")
	hear(t, s, ":x BATCH +h chathistory #tea",
		"@batch=h;msgid=5;time=2026-11-22T11:05:00.000Z :bob!b@h PRIVMSG #tea five",
		"@batch=h;msgid=6;time=2026-11-22T11:06:00.000Z;+draft/react=x;+draft/reply=4 :bob!b@h "+
			"TAGMSG #tea",
		"@batch=h;msgid=7;time=2026-11-22T11:07:00.000Z;+draft/unreact=y;+draft/reply=4 :bob!b@h "+
			"TAGMSG #tea", ":x BATCH -h")
	hear(t, s, "@msgid=1.2;time=2026-11-22T12:07:00.000Z;+draft/react=x;+draft/reply=4 :cat!c@h "+
		"TAGMSG #tea")
	for n, id := range []string{"3", "2"} {
		if !s.Older(tea) {
			t.Fatalf("page %d: nothing older was asked for", n)
		}
		out(s)
		hear(t, s, ":x BATCH +i chathistory #tea", fmt.Sprintf("@batch=i;msgid=%s;"+
			"time=2026-11-22T11:0%s:00.000Z;+draft/react=y;+draft/reply=4 :bob!b@h TAGMSG #tea", id,
			id), ":x BATCH -i")
	}
	if tea.Whole {
		t.Error("a page of reactions counts as the beginning of the room")
	}
	s.Older(tea)
	wants(t, out(s), "CHATHISTORY BEFORE #tea msgid=2 3\n")
	hear(t, s, ":x BATCH +j chathistory #tea",
		"@batch=j;msgid=4;time=2026-11-22T11:01:00.000Z :ann!a@h PRIVMSG #tea four", ":x BATCH -j")
	hear(t, s, "@+draft/react=z;+draft/reply=4 :dan!d@h TAGMSG ann", // of another conversation
		"@+draft/react=z;+draft/reply=4 :dan!d@h TAGMSG #nowhere")
	wants(t, reactionsTo(tea, "4"), "x bob,cat\n")
	hear(t, s, ":cat!c@h REDACT #tea 1.2")
	wants(t, reactionsTo(tea, "4"), "x bob\n")
	wants(t, shown(tea), "ann: four\n: \n: \nbob: five\n: \n: \n")
	hear(t, s, ":cat!c@h REDACT #tea 4")
	wants(t, reactionsTo(tea, "4"), "")
}

// TestReactionsAreBounded: a server that says what no server should fills no memory.
func TestReactionsAreBounded(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, reacts)
	for n := range 3 * maxReacted {
		hear(t, s, fmt.Sprintf("@msgid=%d;+draft/react=x%d;+draft/reply=%d :bob!b@h TAGMSG #tea", n,
			n, n), fmt.Sprintf("@+draft/react=x%d;+draft/reply=one :b%d!b@h TAGMSG #tea", n%7, n))
	}
	hear(t, s, "@+draft/react;+draft/reply :bob!b@h TAGMSG #tea", "TAGMSG", "@+react=x TAGMSG")
	if all := s.Find("#tea").reactions; len(all) > maxReacted || len(all["one"]) > maxReactions {
		t.Errorf("%d messages have reactions, and one has %d", len(all), len(all["one"]))
	}
}

// TestAnswers: an answer names its message, also one of several lines; without message-tags, or of
// what cannot be answered, there is none.
func TestAnswers(t *testing.T) {
	s := newSession(Settings{})
	connect(t, s, full+" draft/multiline")
	tea := s.Find("#tea")
	hear(t, s, "@msgid=1 :bob!b@h PRIVMSG #tea one",
		"@msgid=2;+draft/reply=1 :cat!c@h PRIVMSG #tea two")
	out(s)
	if original, ok := tea.Answered(tea.find("2")); !ok || original != tea.find("1") {
		t.Errorf("it answers %+v, %v", original, ok)
	}
	if got := s.Answer(tea, tea.find("2"), "a\nb"); got != Sent {
		t.Errorf("got %v", got)
	}
	if got := out(s); !strings.HasPrefix(got, "@+draft/reply=2;label=m1 BATCH ") ||
		strings.Count(got, "reply") != 1 {
		t.Errorf("sent %s", got)
	}
	if s.React(tea, tea.find("2"), " ") || s.React(tea, tea.find("2"), strings.Repeat("x", 17)) {
		t.Error("nothing, or too much, is a reaction")
	}
	s.Lost()
	if s.Answer(tea, tea.find("2"), "x") != Unheard || s.React(tea, tea.find("2"), "x") {
		t.Error("without a connection messages can be answered")
	}
}
