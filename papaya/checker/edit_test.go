package checker

import "testing"

// change is the Invoke of an edit of one of ann's or bob's messages.
func change(op int64, session, in, text string) Event {
	m := spoken(text)
	return Event{Type: Invoke, Op: op, Do: Edit, Session: session, In: in, ID: m.ID, Text: m.Text}
}

// later is a later text as it comes to a session.
func later(session, in, text string) Event {
	e := see(session, in, text)
	e.Messages[0].Later = true
	return e
}

// edited is an edit with its acknowledgement: the session sees the new text.
func edited(op int64, session, in, text string) []Event {
	return []Event{change(op, session, in, text), later(session, in, text), ok(op)}
}

// with adds later texts to a page or a disk.
func with(e Event, texts ...string) Event {
	for _, t := range texts {
		m := spoken(t)
		if m.Later = true; e.Type == Disk {
			m.In, m.ID = "#tea", ""
		}
		e.Messages = append(e.Messages, m)
	}
	return e
}

// said1 is the message that these histories change.
var said1 = done(1, "ann/0", "#tea", "w1")

// changes are histories of messages that are changed.
var changes = []history{
	{"changed", nil, all(said1, see("bob/0", "#tea", "w1"), edited(2, "ann/0", "#tea", "w1 two"),
		later("bob/0", "#tea", "w1 two"), read(3, "bob/0", "#tea", true),
		with(page(3, true, "w1 two"), "w1 two"), search(4, "bob/0", "#tea", "w1"),
		page(4, false, "w1 two"), with(disk("#tea", "w1"), "w1 two"))},
	{"changed while it is read", nil, all(said1, read(3, "bob/0", "#tea", true),
		edited(2, "ann/0", "#tea", "w1 two"), page(3, true, "w1"))},
	{"changed, and a history has the first text", []Promise{Edited}, all(said1,
		edited(2, "ann/0", "#tea", "w1 two"), read(3, "bob/0", "#tea", true),
		page(3, true, "w1"))},
	{"changed twice, and a history has the older text", []Promise{Edited}, all(said1,
		edited(2, "ann/0", "#tea", "w1 two"), edited(3, "ann/0", "#tea", "w1 three"),
		read(4, "bob/0", "#tea", true), page(4, true, "w1 two"))},
	{"changed, and a history has the older text beside the message", []Promise{Edited}, all(said1,
		edited(2, "ann/0", "#tea", "w1 two"), edited(3, "ann/0", "#tea", "w1 three"),
		read(4, "bob/0", "#tea", true), with(page(4, true, "w1 three"), "w1 two"))},
	{"shown, changed again, and a history has the older text", []Promise{Edited}, all(said1,
		change(2, "ann/0", "#tea", "w1 two"), later("bob/0", "#tea", "w1 two"), unknown(2),
		edited(3, "ann/0", "#tea", "w1 three"), read(4, "bob/0", "#tea", true),
		page(4, true, "w1 two"))},
	{"changed, and a search has the first text", []Promise{Edited}, all(said1,
		edited(2, "ann/0", "#tea", "w1 two"), search(3, "bob/0", "#tea", "w1"),
		page(3, false, "w1"))},
	{"not known to another server yet", nil, all(done(1, "ann/0", "#all", "w1"),
		see("cyd/0", "#all", "w1"), edited(2, "ann/0", "#all", "w1 two"),
		read(3, "cyd/0", "#all", true), page(3, true, "w1"))},
	{"shown by a server that then has the first text", []Promise{Edited}, all(
		done(1, "ann/0", "#all", "w1"), change(2, "ann/0", "#all", "w1 two"),
		later("cyd/0", "#all", "w1 two"), read(3, "cyd/0", "#all", true), page(3, true, "w1"))},
	{"changed, and sent to who comes later with the first text", []Promise{Edited}, all(said1,
		lost("bob/0"), edited(2, "ann/0", "#tea", "w1 two"), open("bob/0"),
		see("bob/0", "#tea", "w1"))},
	{"changed while the session connects", nil, all(said1, lost("bob/0"), open("bob/0")[:1],
		edited(2, "ann/0", "#tea", "w1 two"), open("bob/0")[1:], see("bob/0", "#tea", "w1"),
		later("bob/0", "#tea", "w1 two"))},
	{"two readers see two orders of texts", []Promise{Edited}, all(open("ann/1"), said1,
		see("ann/1", "#tea", "w1"), change(2, "ann/0", "#tea", "w1 two"),
		change(3, "ann/1", "#tea", "w1 three"), later("ann/0", "#tea", "w1 two"),
		later("ann/0", "#tea", "w1 three"), later("ann/1", "#tea", "w1 three"),
		later("ann/1", "#tea", "w1 two"))},
	{"a text comes before that of the message", []Promise{Edited}, all(said1,
		see("bob/0", "#tea", "w1"), edited(2, "ann/0", "#tea", "w1 two"), lost("bob/0"),
		open("bob/0"), later("bob/0", "#tea", "w1 two"), see("bob/0", "#tea", "w1"))},
	{"changed at one time, and known by the disk", []Promise{Edited}, all(open("ann/1"), said1,
		change(2, "ann/0", "#tea", "w1 two"), change(3, "ann/1", "#tea", "w1 three"), ok(2), ok(3),
		read(4, "bob/0", "#tea", true), page(4, true, "w1 two"),
		with(disk("#tea", "w1"), "w1 two", "w1 three"))},
	{"changed at one time", nil, all(open("ann/1"), said1,
		change(2, "ann/0", "#tea", "w1 two"), change(3, "ann/1", "#tea", "w1 three"), ok(2), ok(3),
		read(4, "bob/0", "#tea", true), page(4, true, "w1 two"),
		with(disk("#tea", "w1"), "w1 three", "w1 two"))},
	{"changed at one time, and no disk tells", nil, all(open("ann/1"), said1,
		change(2, "ann/0", "#tea", "w1 two"), change(3, "ann/1", "#tea", "w1 three"), ok(2), ok(3),
		read(4, "bob/0", "#tea", true), page(4, true, "w1 two"))},
	{"unknown and not there", nil, all(said1, change(2, "ann/0", "#tea", "w1 two"), unknown(2),
		read(3, "bob/0", "#tea", true), page(3, true, "w1"), disk("#tea", "w1"))},
	{"unknown and there", nil, all(said1, change(2, "ann/0", "#tea", "w1 two"), unknown(2),
		read(3, "bob/0", "#tea", true), page(3, true, "w1 two"),
		with(disk("#tea", "w1"), "w1 two"))},

	{"changed by another", []Promise{Edited}, all(said1, see("bob/0", "#tea", "w1"),
		change(2, "bob/0", "#tea", "w1 two"), ok(2))},
	{"changed by an operator", []Promise{Edited}, all(done(1, "bob/0", "#tea", "w1"),
		see("ann/0", "#tea", "b:w1"), change(2, "ann/0", "#tea", "w1 two"), ok(2))},
	{"refused to another", nil, all(said1, change(2, "bob/0", "#tea", "w1 two"), fail(2))},
	{"refused and there", []Promise{Refused}, all(said1, change(2, "ann/0", "#tea", "w1 two"),
		fail(2), read(3, "bob/0", "#tea", true), page(3, true, "w1 two"))},
	{"refused, there, and not there any more", []Promise{Refused}, all(said1,
		change(2, "ann/0", "#tea", "w1 two"), fail(2), read(3, "bob/0", "#tea", true),
		page(3, true, "w1 two"), read(4, "bob/0", "#tea", true), page(4, true, "w1"))},
	{"changed by an ID that nobody was shown", []Promise{Edited}, all(said1,
		Event{Type: Invoke, Op: 2, Do: Edit, Session: "ann/0", In: "#tea", ID: "other",
			Text: "w1 two"}, ok(2))},
	{"nobody has wanted the text", []Promise{True}, all(said1, see("bob/0", "#tea", "w1"),
		later("bob/0", "#tea", "w1 two"))},
	{"the text of another message", []Promise{Once}, all(said1, done(2, "ann/0", "#tea", "w2"),
		change(3, "ann/0", "#tea", "w2 two"), Event{Type: See, Session: "bob/0", In: "#tea",
			Messages: []Message{{ID: "iw1", From: "ann", Text: "w2 two", Later: true}}})},
	{"the first text as a later one", []Promise{Edited}, all(said1, see("bob/0", "#tea", "w1"),
		later("bob/0", "#tea", "w1"))},
	{"a stranger is told of the change", []Promise{Private}, all(said1,
		change(2, "ann/0", "#tea", "w1 two"), later("cyd/0", "#tea", "w1 two"))},
	{"told twice", []Promise{Once}, all(said1, see("bob/0", "#tea", "w1"),
		edited(2, "ann/0", "#tea", "w1 two"), later("bob/0", "#tea", "w1 two"),
		later("bob/0", "#tea", "w1 two"))},
	{"a session is not told", []Promise{Received}, all(said1, see("bob/0", "#tea", "w1"),
		done(2, "bob/0", "#tea", "w2"), see("ann/0", "#tea", "b:w2"),
		edited(3, "ann/0", "#tea", "w1 two"), done(4, "bob/0", "#tea", "w4"))},
	{"a stranger is not told", nil, all(said1, done(2, "cyd/0", "#all", "c2"),
		Event{Type: See, Session: "ann/0", In: "#all",
			Messages: []Message{{ID: "ic2", From: "cyd", Text: "c2"}}},
		edited(3, "ann/0", "#tea", "w1 two"), done(4, "cyd/0", "#all", "c4"))},
	{"removed before a session is told", nil, all(said1, see("bob/0", "#tea", "w1"),
		done(2, "bob/0", "#tea", "w2"), see("ann/0", "#tea", "b:w2"),
		edited(3, "ann/0", "#tea", "w1 two"), redact(4, "ann/0", "#tea", "iw1"), ok(4),
		done(5, "bob/0", "#tea", "w4"))},
	{"a session is not told yet", nil, all(said1, see("bob/0", "#tea", "w1"),
		done(2, "bob/0", "#tea", "w2"), see("ann/0", "#tea", "b:w2"),
		change(3, "ann/0", "#tea", "w1 two"), done(4, "bob/0", "#tea", "w4"),
		see("ann/0", "#tea", "b:w4"), later("ann/0", "#tea", "w1 two"), ok(3))},
	{"a session is told of the newest only", nil, all(said1, see("bob/0", "#tea", "w1"),
		done(2, "bob/0", "#tea", "w2"), see("ann/0", "#tea", "b:w2"),
		edited(3, "ann/0", "#tea", "w1 two"), edited(4, "ann/0", "#tea", "w1 three"),
		later("bob/0", "#tea", "w1 three"), done(5, "bob/0", "#tea", "w4"))},

	{"lost at another server, which has acknowledged a later change", []Promise{Durable}, all(
		say(1, "cyd/0", "#all", "c0"), said(1, "cyd/0", "#all", "c0"),
		Event{Type: See, Session: "ann/0", In: "#all",
			Messages: []Message{{ID: "ic0", From: "cyd", Text: "c0"}}},
		done(2, "ann/0", "#all", "w1"), see("cyd/0", "#all", "w1"),
		change(3, "cyd/0", "#all", "c0 two"), later("cyd/0", "#all", "c0 two"), ok(3),
		read(4, "cyd/0", "#all", true), Event{Type: OK, Op: 4, Whole: true,
			Messages: []Message{{ID: "ic0", From: "cyd", Text: "c0 two"}}})},
	{"a change is lost on the disk", []Promise{Durable, Edited}, all(said1,
		edited(2, "ann/0", "#tea", "w1 two"), disk("#tea", "w1"))},
	{"an older change is lost on the disk", []Promise{Durable}, all(said1,
		edited(2, "ann/0", "#tea", "w1 two"), edited(3, "ann/0", "#tea", "w1 three"),
		with(disk("#tea", "w1"), "w1 three"))},
	{"the older text is the last on the disk", []Promise{Edited}, all(said1,
		edited(2, "ann/0", "#tea", "w1 two"), edited(3, "ann/0", "#tea", "w1 three"),
		with(disk("#tea", "w1"), "w1 three", "w1 two"))},

	{"changed and removed", nil, all(said1, edited(2, "ann/0", "#tea", "w1 two"),
		redact(3, "ann/0", "#tea", "iw1"), ok(3), read(4, "bob/0", "#tea", true), page(4, true),
		disk("#tea"))},
	{"perhaps removed, and half of it is there", []Promise{Edited}, all(said1,
		edited(2, "ann/0", "#tea", "w1 two"), redact(3, "ann/0", "#tea", "iw1"), unknown(3),
		disk("#tea", "w1"))},
	{"removed, and a history has the later text", []Promise{Redacted}, all(said1,
		edited(2, "ann/0", "#tea", "w1 two"), redact(3, "ann/0", "#tea", "iw1"), ok(3),
		read(4, "bob/0", "#tea", true), with(page(4, true), "w1 two"))},
	{"removed, and the later text is on the disk", []Promise{Redacted}, all(said1,
		edited(2, "ann/0", "#tea", "w1 two"), redact(3, "ann/0", "#tea", "iw1"), ok(3),
		with(disk("#tea"), "w1 two"))},
	{"removed, and the later text is sent to who comes later", []Promise{Redacted}, all(said1,
		edited(2, "ann/0", "#tea", "w1 two"), lost("bob/0"), redact(3, "ann/0", "#tea", "iw1"),
		ok(3), open("bob/0"), later("bob/0", "#tea", "w1 two"))},
	{"removed and then changed", []Promise{Redacted}, all(said1,
		redact(2, "ann/0", "#tea", "iw1"), ok(2), edited(3, "ann/0", "#tea", "w1 two"))},
	{"removed while it is changed", nil, all(said1, change(3, "ann/0", "#tea", "w1 two"),
		redact(2, "ann/0", "#tea", "iw1"), ok(2), later("ann/0", "#tea", "w1 two"), ok(3))},
}

// TestHistoriesOfChanges is TestHistories for messages that are changed.
func TestHistoriesOfChanges(t *testing.T) {
	for _, h := range changes {
		t.Run(h.name, h.judge)
	}
}
