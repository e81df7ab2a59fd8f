package checker

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// The histories of these tests are of four sessions: ann/0 and ann/1 at server p0, bob/0 at p0, and
// cyd/0 at p1. Ann and bob are in #tea, which ann operates, and cyd is not.

var plan = Event{Type: Campaign, Plan: &Plan{Format: Format, Seed: 7,
	Conversations: map[string]Conversation{
		"#tea":    {Members: []string{"ann", "bob"}, Operators: []string{"ann"}},
		"#all":    {Members: []string{"ann", "bob", "cyd"}},
		"ann bob": {Members: []string{"ann", "bob"}},
	}}}

func open(session string) []Event {
	account, _, _ := strings.Cut(session, "/")
	server := map[string]string{"cyd": "p1"}[account]
	if server == "" {
		server = "p0"
	}
	return []Event{{Type: Dial, Session: session, Account: account, Server: server},
		{Type: Open, Session: session}}
}

func lost(session string) Event { return Event{Type: Lost, Session: session} }

func say(op int64, session, in, text string) Event {
	return Event{Type: Invoke, Op: op, Do: Say, Session: session, In: in, Text: text}
}

// said is the acknowledgement of a say: the session sees its message, whose ID is the text's with
// an i before it.
func said(op int64, session, in, text string) []Event {
	return []Event{see(session, in, text), {Type: OK, Op: op, ID: spoken(text).ID}}
}

func fail(op int64) Event    { return Event{Type: Fail, Op: op} }
func unknown(op int64) Event { return Event{Type: Unknown, Op: op} }
func ok(op int64) Event      { return Event{Type: OK, Op: op} }

// spoken is one of ann's; a text with b: before it is bob's.
func spoken(text string) Message {
	from := "ann"
	if rest, is := strings.CutPrefix(text, "b:"); is {
		from, text = "bob", rest
	}
	return Message{ID: "i" + word(text), From: from, Text: text}
}

func see(session, in, text string) Event {
	account, _, _ := strings.Cut(session, "/")
	m := spoken(text)
	if account == "cyd" && m.From == "ann" && strings.HasPrefix(text, "c") {
		m.From = "cyd"
	}
	return Event{Type: See, Session: session, In: in, Messages: []Message{m}}
}

func read(op int64, session, in string, latest bool) Event {
	return Event{Type: Invoke, Op: op, Do: Read, Session: session, In: in, Latest: latest}
}

// page answers a Read or Search with messages.
func page(op int64, whole bool, texts ...string) Event {
	e := Event{Type: OK, Op: op, Whole: whole}
	for _, t := range texts {
		e.Messages = append(e.Messages, spoken(t))
	}
	return e
}

func redact(op int64, session, in, id string) Event {
	return Event{Type: Invoke, Op: op, Do: Redact, Session: session, In: in, ID: id}
}

func search(op int64, session, in, text string) Event {
	return Event{Type: Invoke, Op: op, Do: Search, Session: session, In: in, Text: text}
}

func mark(op int64, session string, time int64) Event {
	return Event{Type: Invoke, Op: op, Do: Mark, Session: session, In: "#tea", Time: time}
}

func marked(op int64, session string) Event {
	return Event{Type: Invoke, Op: op, Do: Marked, Session: session, In: "#tea"}
}

func at(op, time int64) Event { return Event{Type: OK, Op: op, Time: time} }

func told(session string, time int64) Event {
	return Event{Type: Marker, Session: session, In: "#tea", Time: time}
}

func upload(op int64, session string) []Event {
	return []Event{{Type: Invoke, Op: op, Do: Upload, Session: session, Sum: "aa", Size: 3},
		{Type: OK, Op: op, Link: "file"}}
}

// withLink is a say with the link of the file, and its acknowledgement.
func withLink(op int64, session, in, text string) []Event {
	e := say(op, session, in, text+" file")
	e.Link = "file"
	return append([]Event{e}, said(op, session, in, text+" file")...)
}

func fetch(op int64, session string) Event {
	return Event{Type: Invoke, Op: op, Do: Fetch, Session: session, Link: "file", Server: "p0"}
}

func found(op int64, sum string) Event {
	return Event{Type: OK, Op: op, Sum: sum, Size: 3}
}

func gone(op int64) Event { return Event{Type: OK, Op: op, Gone: true} }

func disk(in string, texts ...string) Event {
	e := Event{Type: Disk, Server: "p0"}
	for _, t := range texts {
		m := spoken(t)
		m.In, m.ID = in, ""
		e.Messages = append(e.Messages, m)
	}
	return e
}

// all joins events and lists of events.
func all(parts ...any) (events []Event) {
	for _, p := range parts {
		switch p := p.(type) {
		case Event:
			events = append(events, p)
		case []Event:
			events = append(events, p...)
		}
	}
	return events
}

// done is a say with its acknowledgement.
func done(op int64, session, in, text string) []Event {
	account, _, _ := strings.Cut(session, "/")
	echo := text
	if account == "bob" {
		echo = "b:" + text
	}
	return append([]Event{say(op, session, in, text)}, said(op, session, in, echo)...)
}

// written returns a history with the plan and three sessions before its events.
func written(t testing.TB, events []Event) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, e := range all(plan, open("ann/0"), open("bob/0"), open("cyd/0"), events) {
		if err := Write(&b, &e); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// A history breaks each of some promises; none: all is well.
type history struct {
	name   string
	want   []Promise
	events []Event
}

var histories = []history{
	{"nothing", nil, nil},
	{"a talk", nil, all(done(1, "ann/0", "#tea", "w1"), see("bob/0", "#tea", "w1"),
		done(2, "bob/0", "#tea", "w2"), see("ann/0", "#tea", "b:w2"),
		read(3, "bob/0", "#tea", true), page(3, true, "w1", "b:w2"), disk("#tea", "w1", "b:w2"))},

	{"lost in a history", []Promise{Durable}, all(done(1, "ann/0", "#tea", "w1"),
		done(2, "ann/0", "#tea", "w2"), read(3, "bob/0", "#tea", true), page(3, true, "w2"))},
	{"lost in all histories", []Promise{Durable}, all(done(1, "ann/0", "#tea", "w1"),
		read(2, "bob/0", "#tea", true), page(2, true), read(3, "ann/0", "#tea", true),
		page(3, true))},
	{"lost on the disk", []Promise{Durable}, all(done(1, "ann/0", "#tea", "w1"),
		disk("#tea"))},
	{"lost in a search", []Promise{Durable}, all(done(1, "ann/0", "#tea", "w1"),
		search(2, "bob/0", "#tea", "w1"), page(2, false))},
	{"lost between others of a page", []Promise{Durable}, all(done(1, "ann/0", "#tea", "w1"),
		done(2, "ann/0", "#tea", "w2"), done(3, "ann/0", "#tea", "w3"),
		read(4, "bob/0", "#tea", false), page(4, false, "w1", "w3"),
		read(5, "bob/0", "#tea", true), page(5, true, "w1", "w2", "w3"))},
	{"lost at the end of the latest page", []Promise{Durable}, all(
		done(1, "ann/0", "#tea", "w1"), done(2, "ann/0", "#tea", "w2"),
		read(4, "bob/0", "#tea", true), page(4, false, "w1"),
		read(5, "bob/0", "#tea", true), page(5, true, "w1", "w2"))},
	{"not known to another server yet", nil, all(done(1, "ann/0", "#all", "w1"),
		read(2, "cyd/0", "#all", true), page(2, true))},
	{"lost at another server, which has acknowledged a later one", []Promise{Durable}, all(
		done(1, "ann/0", "#all", "w1"), see("cyd/0", "#all", "w1"), say(2, "cyd/0", "#all", "c2"),
		said(2, "cyd/0", "#all", "c2"), read(3, "cyd/0", "#all", true), page(3, true))},
	{"said while it is read", nil, all(read(2, "bob/0", "#tea", true),
		done(1, "ann/0", "#tea", "w1"), page(2, true))},
	{"unknown and lost", nil, all(say(1, "ann/0", "#tea", "w1"), unknown(1),
		read(2, "bob/0", "#tea", true), page(2, true))},
	{"unknown and there", nil, all(say(1, "ann/0", "#tea", "w1"), unknown(1),
		read(2, "bob/0", "#tea", true), page(2, true, "w1"))},

	{"twice in a history", []Promise{Once}, all(done(1, "ann/0", "#tea", "w1"),
		read(2, "bob/0", "#tea", true), page(2, true, "w1", "w1"))},
	{"twice by one connection", []Promise{Once}, all(done(1, "ann/0", "#tea", "w1"),
		see("bob/0", "#tea", "w1"), see("bob/0", "#tea", "w1"))},
	{"again by another connection", nil, all(done(1, "ann/0", "#tea", "w1"),
		see("bob/0", "#tea", "w1"), lost("bob/0"), open("bob/0"), see("bob/0", "#tea", "w1"))},
	{"twice with two IDs", []Promise{Once}, all(done(1, "ann/0", "#tea", "w1"),
		Event{Type: See, Session: "bob/0", In: "#tea",
			Messages: []Message{{ID: "other", From: "ann", Text: "w1"}}})},
	{"twice on the disk", []Promise{Once}, all(done(1, "ann/0", "#tea", "w1"),
		disk("#tea", "w1", "w1"))},

	{"two readers see two orders", []Promise{Ordered}, all(say(1, "ann/0", "#tea", "w1"),
		say(2, "bob/0", "#tea", "w2"), see("ann/0", "#tea", "w1"), see("ann/0", "#tea", "b:w2"),
		see("bob/0", "#tea", "b:w2"), see("bob/0", "#tea", "w1"))},
	{"a history has another order", []Promise{Ordered}, all(done(1, "ann/0", "#tea", "w1"),
		see("bob/0", "#tea", "w1"), done(2, "bob/0", "#tea", "w2"),
		read(3, "ann/0", "#tea", false), page(3, false, "b:w2", "w1"))},
	{"three readers see a circle", []Promise{Ordered}, all(open("ann/1"),
		say(1, "ann/0", "#tea", "w1"), say(2, "ann/1", "#tea", "w2"), say(3, "bob/0", "#tea",
			"w3"),
		see("ann/0", "#tea", "w1"), see("ann/0", "#tea", "w2"), see("ann/1", "#tea", "w2"),
		see("ann/1", "#tea", "b:w3"), see("bob/0", "#tea", "b:w3"), see("bob/0", "#tea", "w1"))},
	{"behind one that was said later", []Promise{Ordered, Received}, all(
		done(1, "ann/0", "#tea", "w1"), see("bob/0", "#tea", "w1"), say(2, "bob/0", "#tea", "w2"),
		unknown(2), read(3, "ann/0", "#tea", true), page(3, true, "b:w2", "w1"))},

	{"nobody has said it", []Promise{True}, all(see("bob/0", "#tea", "w1"))},
	{"another text", []Promise{True}, all(say(1, "ann/0", "#tea", "w1 green"),
		see("bob/0", "#tea", "w1 black"))},
	{"another author", []Promise{True}, all(say(1, "ann/0", "#tea", "w1"),
		see("bob/0", "#tea", "b:w1"))},
	{"another room", []Promise{True}, all(say(1, "ann/0", "#tea", "w1"),
		see("bob/0", "#all", "w1"))},
	{"a search finds another", []Promise{True}, all(done(1, "ann/0", "#tea", "w1"),
		done(2, "ann/0", "#tea", "w2"), search(3, "bob/0", "#tea", "w1"),
		page(3, false, "w1", "w2"))},

	{"a stranger is sent it", []Promise{Private}, all(say(1, "ann/0", "#tea", "w1"),
		see("cyd/0", "#tea", "w1"))},
	{"a stranger is sent it under another name", []Promise{Private, True}, all(
		say(1, "ann/0", "ann bob", "w1"), see("cyd/0", "#all", "w1"))},
	{"a stranger reads", []Promise{Private}, all(read(1, "cyd/0", "#tea", true),
		page(1, true))},
	{"a stranger joins", []Promise{Private}, all(
		Event{Type: Invoke, Op: 1, Do: Join, Session: "cyd/0", In: "#tea"}, ok(1))},
	{"a stranger is refused", nil, all(read(1, "cyd/0", "#tea", true), fail(1))},

	{"refused and sent", []Promise{Refused}, all(say(1, "ann/0", "#tea", "w1"), fail(1),
		see("bob/0", "#tea", "w1"))},
	{"sent and refused", []Promise{Refused}, all(say(1, "ann/0", "#tea", "w1"),
		see("bob/0", "#tea", "w1"), fail(1))},

	{"removed", nil, all(done(1, "ann/0", "#tea", "w1"),
		redact(2, "ann/0", "#tea", "iw1"), ok(2), read(3, "bob/0", "#tea", true), page(3, true),
		disk("#tea"))},
	{"removed and in a history", []Promise{Redacted}, all(done(1, "ann/0", "#tea", "w1"),
		redact(2, "ann/0", "#tea", "iw1"), ok(2), read(3, "bob/0", "#tea", true),
		page(3, true, "w1"))},
	{"removed and found", []Promise{Redacted}, all(done(1, "ann/0", "#tea", "w1"),
		redact(2, "ann/0", "#tea", "iw1"), ok(2), search(3, "bob/0", "#tea", "w1"),
		page(3, false, "w1"))},
	{"removed and on the disk", []Promise{Redacted}, all(done(1, "ann/0", "#tea", "w1"),
		redact(2, "ann/0", "#tea", "iw1"), ok(2), disk("#tea", "w1"))},
	{"removed and sent to who comes later", []Promise{Redacted}, all(
		done(1, "ann/0", "#tea", "w1"), lost("bob/0"), redact(2, "ann/0", "#tea", "iw1"), ok(2),
		open("bob/0"), see("bob/0", "#tea", "w1"))},
	{"removed while the session connects", nil, all(done(1, "ann/0", "#tea", "w1"),
		lost("bob/0"), open("bob/0")[:1], redact(2, "ann/0", "#tea", "iw1"), ok(2),
		open("bob/0")[1:], see("bob/0", "#tea", "w1"))},
	{"removed while it is read", nil, all(done(1, "ann/0", "#tea", "w1"),
		redact(2, "ann/0", "#tea", "iw1"), read(3, "bob/0", "#tea", true), ok(2),
		page(3, true, "w1"))},
	{"removed after the last whole reading", nil, all(done(1, "ann/0", "#tea", "w1"),
		done(2, "ann/0", "#tea", "w2"), done(3, "ann/0", "#tea", "w3"),
		read(4, "ann/0", "#tea", true), page(4, true, "w1", "w2", "w3"),
		redact(5, "ann/0", "#tea", "iw2"), ok(5), lost("bob/0"), open("bob/0"),
		see("bob/0", "#tea", "w1"), see("bob/0", "#tea", "w3"),
		read(6, "bob/0", "#tea", false), page(6, false, "w1", "w3"))},
	{"perhaps removed", nil, all(done(1, "ann/0", "#tea", "w1"),
		redact(2, "ann/0", "#tea", "iw1"), unknown(2), read(3, "bob/0", "#tea", true),
		page(3, true), read(4, "bob/0", "#tea", true), page(4, true, "w1"))},
	{"removed by an operator", nil, all(done(1, "bob/0", "#tea", "w1"),
		redact(2, "ann/0", "#tea", "iw1"), ok(2))},
	{"removed by another", []Promise{Redacted}, all(done(1, "ann/0", "#tea", "w1"),
		redact(2, "bob/0", "#tea", "iw1"), ok(2))},
	{"refused to another, and lost", []Promise{Durable}, all(done(1, "ann/0", "#tea", "w1"),
		redact(2, "bob/0", "#tea", "iw1"), fail(2), read(3, "bob/0", "#tea", true),
		page(3, true))},

	{"a session lacks its account's message", []Promise{Received}, all(open("ann/1"),
		done(1, "ann/1", "#tea", "w1"), see("ann/0", "#tea", "w1"), done(2, "ann/0", "#tea", "w2"),
		done(3, "ann/1", "#tea", "w3"))},
	{"a session lacks one between others", []Promise{Received}, all(
		done(1, "ann/0", "#tea", "w1"), see("bob/0", "#tea", "w1"), done(2, "ann/0", "#tea", "w2"),
		done(3, "ann/0", "#tea", "w3"), see("bob/0", "#tea", "w3"),
		read(4, "ann/0", "#tea", true), page(4, true, "w1", "w2", "w3"))},
	{"what the account has said before is not sent again", nil, all(
		done(1, "bob/0", "#tea", "w1"), see("ann/0", "#tea", "b:w1"),
		done(2, "ann/0", "#tea", "w2"), see("bob/0", "#tea", "w2"), open("ann/1"),
		see("ann/1", "#tea", "b:w1"),
		done(3, "bob/0", "#tea", "w3"), see("ann/0", "#tea", "b:w3"),
		see("ann/1", "#tea", "b:w3"), read(4, "ann/0", "#tea", true),
		page(4, true, "b:w1", "w2", "b:w3"))},
	{"what was missed comes never", []Promise{Received}, all(lost("bob/0"),
		done(1, "ann/0", "#tea", "w1"), open("bob/0"), done(2, "bob/0", "#tea", "w2"),
		see("ann/0", "#tea", "b:w2"))},

	{"a file", nil, all(upload(1, "ann/0"), withLink(2, "ann/0", "#tea", "w1"),
		fetch(3, "bob/0"), found(3, "aa"), redact(4, "ann/0", "#tea", "iw1"), ok(4),
		fetch(5, "bob/0"), gone(5))},
	{"a file is not there", []Promise{Stored}, all(upload(1, "ann/0"), fetch(2, "bob/0"),
		gone(2))},
	{"a file has other bytes", []Promise{Stored}, all(upload(1, "ann/0"), fetch(2, "bob/0"),
		found(2, "bb"))},
	{"a file stays", []Promise{Removed}, all(upload(1, "ann/0"),
		withLink(2, "ann/0", "#tea", "w1"), redact(3, "ann/0", "#tea", "iw1"), ok(3),
		fetch(4, "bob/0"), found(4, "aa"))},
	{"a file is removed while it is fetched", nil, all(upload(1, "ann/0"),
		withLink(2, "ann/0", "#tea", "w1"), fetch(4, "bob/0"),
		redact(3, "ann/0", "#tea", "iw1"), gone(4), ok(3))},
	{"a file goes with the message of another", []Promise{Stored}, all(upload(1, "ann/0"),
		Event{Type: Invoke, Op: 2, Do: Say, Session: "bob/0", In: "#tea", Text: "w1 file",
			Link: "file"},
		said(2, "bob/0", "#tea", "b:w1 file"), redact(3, "bob/0", "#tea", "iw1"), ok(3),
		fetch(4, "bob/0"), gone(4))},
	{"two files have one link", []Promise{Stored}, all(upload(1, "ann/0"),
		upload(2, "bob/0"))},

	{"a marker moves", nil, all(mark(1, "ann/0", 5), at(1, 5), told("ann/0", 5),
		mark(2, "ann/0", 3), at(2, 5), marked(3, "ann/0"), at(3, 5))},
	{"a marker goes back", []Promise{Forward}, all(mark(1, "ann/0", 3), at(1, 3),
		mark(2, "ann/0", 5), at(2, 5), marked(3, "ann/0"), at(3, 3))},
	{"a marker is lost", []Promise{Forward}, all(mark(1, "ann/0", 3), at(1, 3), lost("ann/0"),
		open("ann/0"), told("ann/0", 0))},
	{"a marker is told backwards", []Promise{Forward}, all(mark(1, "ann/0", 3),
		mark(2, "ann/0", 5), told("ann/0", 5), told("ann/0", 3))},
	{"a marker is not moved", []Promise{Forward}, all(mark(1, "ann/0", 3), at(1, 0))},
	{"a marker is where nobody has set it", []Promise{Forward}, all(marked(1, "ann/0"),
		at(1, 9))},
	{"a marker is another account's", []Promise{Forward}, all(mark(1, "ann/0", 3), at(1, 3),
		marked(2, "bob/0"), at(2, 3))},

	{"a server ends by itself", []Promise{Alive}, all(
		Event{Type: Died, Server: "p0", Why: "panic"})},
	{"a server of a cluster is started again", nil, all(
		Event{Type: Again, Server: "p0", Why: "start it again"}, Event{Type: Started,
			Server: "p0"}, Event{Type: Killed, Server: "p0"}, Event{Type: Stopped, Server: "p0"})},
}

// TestHistories: each wrong history breaks its promise and no other, and what is allowed breaks
// none.
func TestHistories(t *testing.T) {
	broken := map[Promise]bool{}
	for _, h := range histories {
		t.Run(h.name, h.judge)
	}
	for _, h := range slices.Concat(histories, changes) {
		for _, p := range h.want {
			broken[p] = true
		}
	}
	for _, p := range []Promise{Durable, Once, Ordered, True, Private, Refused, Edited, Redacted,
		Received, Stored, Removed, Forward, Alive} {
		if !broken[p] {
			t.Errorf("no history breaks the promise %q", p)
		}
	}
}

func (h history) judge(t *testing.T) {
	v, err := Check(bytes.NewReader(written(t, h.events)))
	if err != nil {
		t.Fatal(err)
	}
	got := promises(v)
	want := slices.Clone(h.want)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("broken are %q, want %q\n%s", got, want, v)
	}
}

// promises returns the broken promises of a verdict.
func promises(v Verdict) (list []Promise) {
	for _, b := range v.Breaches {
		list = append(list, b.Promise)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestVerdict: what was done is counted, many breaches are bounded, and each names its line.
func TestVerdict(t *testing.T) {
	var events []Event
	for n := range int64(maxBreaches + 5) {
		events = append(events, see("bob/0", "#tea", "w"+strings.Repeat("x", int(n+1))))
	}
	events = all(events, done(1, "ann/0", "#tea", "w1"), say(2, "ann/0", "#tea", "w2"), unknown(2))
	v, err := Check(bytes.NewReader(written(t, events)))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(v.String()), " ")
	for _, want := range []string{"seed 7", "say 1 0 1",
		"line 8: \"wx\" is in #tea, and nobody has said it", "and 5 more"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if len(v.Breaches) != maxBreaches || v.More != 5 || v.Seen != 1 {
		t.Errorf("%d breaches, %d more, %d seen", len(v.Breaches), v.More, v.Seen)
	}
}

// TestMalformed: what no campaign writes is refused with its line, and a torn last line left out.
func TestMalformed(t *testing.T) {
	first := string(written(t, nil))
	for text, want := range map[string]string{
		"":                             "no event of a campaign",
		`{"type":"open"}` + "\n":       `line 1: expected the event "campaign" first`,
		`{"type":"campaign"}` + "\n":   "line 1: expected a plan",
		"x\n":                          "line 1: invalid character",
		`{"type":"open"} {}` + "\n":    "line 1: expected one object",
		`{"type":"open","x":1}` + "\n": "line 1: json: unknown field",
		first + `{"type":"campaign","plan":{"format":1}}` + "\n": "line 8: a second event",
		first + `{"type":"sing"}` + "\n":                         `line 8: an event of type "sing"`,
		first + `{"type":"ok","op":1}` + "\n":                    "line 8: operation 1 was not",
		first + `{"type":"dial","session":"ann/0","account":"ann","server":"p0"}` +
			"\n": "is open already",
		first + `{"type":"open","session":"dan/0"}` + "\n": `session "dan/0" has not dialled`,
		first + `{"type":"lost","session":"dan/0"}` + "\n": `session "dan/0" is not open`,
		first + `{"type":"invoke","op":1,"do":"say","session":"ann/0","in":"#x"}` +
			"\n": `no conversation "#x"`,
		first + `{"type":"invoke","op":1,"do":"edit","session":"ann/0","in":"#tea","text":"w1"}` +
			"\n": `the first word of "w1" is not that of the message`,
		first + `{"type":"invoke","op":1,"do":"say","session":"ann/0","in":"#tea","text":"w1"}` +
			"\n" + `{"type":"invoke","op":2,"do":"edit","session":"ann/0","in":"#tea","text":"w1"}` +
			"\n": `"w1" is a text of the message already`,
		first + `{"type":"invoke","op":1,"do":"fetch","session":"ann/0","link":"x"}` +
			"\n": `no upload was answered with the link "x"`,
		first + `{"type":"see","session":"ann/0","in":"#tea"}` + "\n": "expected one message",
		strings.Replace(first, `"format":1`, `"format":2`, 1):         "the format is 2",
	} {
		if _, err := Check(strings.NewReader(text)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got %v, want %q", text, err, want)
		}
	}
	v, err := Check(strings.NewReader(first + `{"type":"inv`))
	if err != nil || v.Lines != 7 {
		t.Errorf("with a torn line: %d lines, %v", v.Lines, err)
	}
	broken := errors.New("the disk is broken")
	if _, err := Check(io.MultiReader(strings.NewReader(first), failing{broken})); !errors.Is(err,
		broken) {
		t.Errorf("got %v, want the reader's error", err)
	}
}

// failing is a reader that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// FuzzCheck: no history makes the checker fail otherwise than by an error.
func FuzzCheck(f *testing.F) {
	for _, h := range slices.Concat(histories, changes) {
		f.Add(written(f, h.events))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := Check(bytes.NewReader(text))
		if err == nil && v.Lines == 0 {
			t.Error("a history without a line was judged")
		}
		_ = v.String()
	})
}
