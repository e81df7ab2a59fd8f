package hall

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"interleave/papaya/irc"
)

// A previewTrial is a cluster of two servers, each of which notes the messages with links that it
// is told of.
type previewTrial struct {
	cluster
	told map[string][]Linked
}

// everything is what a client can do with previews.
const everything = "message-tags papaya/preview echo-message batch draft/chathistory " +
	"draft/message-redaction"

// newPreviewTrial has ann (at a) and bob (at b) in a room, who know previews, and carol (at b), who
// does not, and hears all else that there is. Ann is the room's operator.
func newPreviewTrial(t *testing.T) *previewTrial {
	p := &previewTrial{cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}},
		map[string][]Linked{}}
	for _, name := range []string{"a", "b"} {
		p.add(name)
		p.halls[name].hall.config.Preview = func(l Linked) {
			p.told[name] = append(p.told[name], l)
		}
	}
	p.comes("ann", "a", everything)
	p.comes("bob", "b", everything)
	p.comes("carol", "b", strings.Replace(everything, "papaya/preview", "draft/event-playback", 1))
	for _, who := range []string{"ann", "bob", "carol"} {
		p.step(who + " > JOIN #tea")
	}
	return p
}

func (p *previewTrial) comes(name, server, caps string) {
	p.step("[connect " + name + " at " + server + " with " + name + "]")
	p.step(name + " > CAP REQ :sasl " + caps)
	p.step(name + " > AUTHENTICATE EXTERNAL")
	p.step(name + " > AUTHENTICATE +")
	p.step(name + " > NICK " + name)
	p.step(name + " > USER " + name + " 0 * :" + name)
	p.step(name + " > CAP END")
}

// links returns the one message that a server was told of by a line.
func (p *previewTrial) links(line string) Linked {
	p.t.Helper()
	clear(p.told)
	p.step(line)
	if len(p.told["a"])+len(p.told["b"]) != 1 {
		p.t.Fatalf("%s: the servers were told of %v", line, p.told)
	}
	return append(p.told["a"], p.told["b"]...)[0]
}

// publish has a message get a preview, and returns the preview's msgid as
// scripts have it, or nothing.
func (p *previewTrial) publish(l Linked, preview string) string {
	p.t.Helper()
	p.script.Reset()
	at := p.halls["a"].hall.At()
	p.log(p.halls["a"], NewOrder(1, AddPreview, l.Order(preview)...), nil)
	p.agree()
	if p.halls["a"].hall.HasPreview(l.At, preview) != (p.halls["a"].hall.At() > at) {
		p.t.Error("the server does not know whether it has stored the preview")
	}
	if p.halls["a"].hall.At() == at {
		return ""
	}
	if got := p.halls["b"].hall.PreviewAt(at); got != preview {
		p.t.Errorf("the preview is %q, want %q", got, preview)
	}
	return fmt.Sprintf("{@%s}", appendPlace(nil, at))
}

// agree compares texts and states of the servers.
func (p *previewTrial) agree() {
	p.t.Helper()
	saved := p.script.String()
	p.step("[text]")
	p.script.Reset()
	p.script.WriteString(saved)
}

// heard returns what somebody was sent since the script was reset.
func (p *previewTrial) heard(name string) (lines []string) {
	for l := range strings.Lines(p.script.String()) {
		if text, ok := strings.CutPrefix(l, name+" < "); ok {
			lines = append(lines, strings.TrimSuffix(text, "\n"))
		}
	}
	return lines
}

// wants fails the test unless somebody was sent these lines.
func (p *previewTrial) wants(name string, want ...string) {
	p.t.Helper()
	if got := p.heard(name); !slices.Equal(got, want) {
		p.t.Errorf("%s was sent\n%s\nwant\n%s", name, strings.Join(got, "\n"),
			strings.Join(want, "\n"))
	}
}

// after resets the script and plays a step.
func (p *previewTrial) after(step string) {
	p.t.Helper()
	p.script.Reset()
	p.step(step)
}

func (p *previewTrial) has(text string) bool {
	return bytes.Contains(p.halls["a"].text.lines, []byte(text))
}

const onePreview = `{"url":"https://x.example/a;b","title":"A \"title\" \\ more"}`

// oneTag is onePreview as the value of a tag.
const oneTag = `{"url":"https://x.example/a\:b","title":"A\s\\"title\\"\s\\\\\smore"}`

func TestPreviewInRoom(t *testing.T) {
	p := newPreviewTrial(t)
	l := p.links("ann > PRIVMSG #tea :look: https://x.example/a;b now")
	id := p.msgid("{look}")
	if l.Target != "#tea" || !l.Room || l.Source != "ann!ann@host" || l.Account != "ann" ||
		l.Text != "look: https://x.example/a;b now" ||
		p.halls["a"].hall.ids.msgid(string(appendPlace(nil, l.At))) != id ||
		l.Time != p.now || len(p.told["b"]) != 0 {
		t.Fatalf("told of %+v", l)
	}
	preview := p.publish(l, onePreview)
	line := fmt.Sprintf("msgid=%s;papaya/preview=%s;+draft/reply={@%s} :ann!ann@host TAGMSG #tea",
		preview, oneTag, appendPlace(nil, l.At))
	p.wants("ann", "@"+line)
	p.wants("bob", "@"+line)
	p.wants("carol")

	p.after("bob > CHATHISTORY LATEST #tea * 10")
	if got := p.heard("bob"); len(got) != 4 || !strings.HasSuffix(got[2], ";"+line) {
		t.Errorf("the history has %q", got)
	}
	p.after("carol > CHATHISTORY LATEST #tea * 10")
	if got := strings.Join(p.heard("carol"), "\n"); strings.Contains(got, "preview") ||
		!strings.Contains(got, "look") {
		t.Errorf("who does not know previews is sent %s", got)
	}
	for _, who := range []string{"bob", "carol"} {
		p.after(who + " > REDACT #tea " + preview)
		p.wants(who, ":chat FAIL REDACT REDACT_FORBIDDEN #tea "+preview+
			" :You cannot remove the messages of others")
	}

	p.after("ann > REDACT #tea " + preview)
	for _, who := range []string{"ann", "bob"} {
		if got := p.heard(who); len(got) != 1 || !strings.HasPrefix(got[0], "@msgid=") ||
			!strings.HasSuffix(got[0], ";papaya/preview :ann!ann@host REDACT #tea "+preview) {
			t.Errorf("%s was sent %q", who, got)
		}
	}
	p.wants("carol")
	if p.has("x.example/a\\:b") || !p.has("look: https://x.example") {
		t.Error("the preview is in the text, or the message is not")
	}
	p.after("carol > CHATHISTORY LATEST #tea * 10")
	if got := strings.Join(p.heard("carol"), "\n"); strings.Contains(got, "REDACT") {
		t.Errorf("who does not know previews is sent %s", got)
	}
	p.after("bob > CHATHISTORY LATEST #tea * 10")
	if got := strings.Join(p.heard("bob"), "\n"); strings.Count(got, "preview") != 1 ||
		!strings.Contains(got, ";papaya/preview :ann!ann@host REDACT #tea "+preview) {
		t.Errorf("the history has %s", got)
	}
}

// TestPreviewGoesWithItsMessage also has the entries of both cross on their way to the log.
func TestPreviewGoesWithItsMessage(t *testing.T) {
	p := newPreviewTrial(t)
	redact := func(id string) Entry {
		e, ok := p.halls["a"].hall.Line(&p.people["ann"].Client, parse(t, "REDACT #tea "+id))
		if !ok {
			t.Fatal("the message cannot be removed")
		}
		return e
	}
	for _, c := range []struct {
		name string
		do   func(l Linked, id string)
	}{
		{"long after it", func(l Linked, id string) {
			if p.publish(l, onePreview) == "" || p.publish(l, `{"url":"second"}`) == "" {
				t.Error("no preview was stored")
			}
			p.step("[later 30m]")
			p.step("bob > PRIVMSG #tea :something else")
			p.step("ann > REDACT #tea " + id)
		}},
		{"a preview that comes after the removal", func(l Linked, id string) {
			p.step("ann > REDACT #tea " + id)
			if p.publish(l, onePreview) != "" {
				t.Error("a removed message gets a preview")
			}
		}},
		{"a preview that crosses the removal", func(l Linked, id string) {
			e := redact(id)
			if p.publish(l, onePreview) == "" {
				t.Error("no preview was stored")
			}
			p.log(p.halls["a"], e, nil)
		}},
		{"a removal after a restart", func(l Linked, id string) {
			e := redact(id)
			p.publish(l, onePreview)
			p.step("[restart b]")
			p.log(p.halls["a"], e, nil)
		}},
	} {
		l := p.links("ann > PRIVMSG #tea :" + c.name + " https://x.example/")
		c.do(l, p.msgid("{"+c.name+"}"))
		p.agree()
		if p.has("papaya/preview=") || p.has(c.name) {
			t.Errorf("%s: something is left:\n%s", c.name, p.halls["a"].text.lines)
		}
	}
}

// parse parses a line of a client.
func parse(t *testing.T, line string) *irc.Message {
	t.Helper()
	m, err := irc.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	return &m
}

func TestPreviewInPrivate(t *testing.T) {
	p := newPreviewTrial(t)
	l := p.links("ann > PRIVMSG bob :psst: https://x.example/")
	if l.Room || l.Target != "bob" {
		t.Errorf("told of %+v", l)
	}
	preview := p.publish(l, onePreview)
	for _, who := range []string{"ann", "bob"} {
		if got := p.heard(who); len(got) != 1 ||
			!strings.HasSuffix(got[0], " :ann!ann@host TAGMSG bob") {
			t.Errorf("%s was sent %q", who, got)
		}
	}
	p.wants("carol")
	for who, other := range map[string]string{"ann": "bob", "bob": "ann"} {
		p.after(who + " > CHATHISTORY LATEST " + other + " * 10")
		if got := strings.Join(p.heard(who), "\n"); strings.Count(got, oneTag) != 1 {
			t.Errorf("the history of %s has %s", who, got)
		}
	}
	p.after("ann > REDACT bob " + preview)
	if got := p.heard("bob"); len(got) != 1 || !strings.Contains(got[0], "REDACT bob "+preview) {
		t.Errorf("bob was sent %q", got)
	}
	p.after("carol > CHATHISTORY LATEST ann * 10")
	if got := strings.Join(p.heard("carol"), "\n"); strings.Contains(got, "psst") ||
		strings.Contains(got, "preview") {
		t.Errorf("carol is sent %s", got)
	}
}

// TestPreviewsThatAreDropped: nothing of these is stored.
func TestPreviewsThatAreDropped(t *testing.T) {
	p := newPreviewTrial(t)
	l := p.links("ann > PRIVMSG #tea :https://x.example/")
	with := func(change func(*Linked)) Linked {
		other := l
		change(&other)
		return other
	}
	private := p.links("ann > PRIVMSG bob :https://x.example/")
	private.Source = "dave!d@h"
	for name, c := range map[string]struct {
		l       Linked
		preview string
	}{
		"without a text":      {l, ""},
		"too long":            {l, strings.Repeat("x", MaxPreview+1)},
		"too long as a tag":   {l, strings.Repeat(";", MaxPreview/2+1)},
		"of what is to come":  {with(func(l *Linked) { l.At = 1 << 40 }), "x"},
		"too old":             {with(func(l *Linked) { l.Time -= previewWithin + 1 }), "x"},
		"in no room":          {with(func(l *Linked) { l.Target = "#coffee" }), "x"},
		"to nobody":           {with(func(l *Linked) { l.Target = "dave" }), "x"},
		"of no source":        {with(func(l *Linked) { l.Source = "ann" }), "x"},
		"of a source to cut":  {with(func(l *Linked) { l.Source = "ann!a@b c" }), "x"},
		"private of somebody": {private, "x"},
	} {
		if p.publish(c.l, c.preview) != "" {
			t.Errorf("a preview %s is stored", name)
		}
	}
	p.log(p.halls["a"], NewOrder(1, AddPreview, "#tea", "ann!ann@host"), nil)
	p.log(p.halls["a"], NewOrder(1, AddPreview), nil)
	p.agree()
	p.step("[later 3m]")
	p.step("bob > PRIVMSG #tea :late")
	if p.publish(l, onePreview) != "" {
		t.Error("a late preview is stored")
	}
	if p.has("papaya/preview") {
		t.Errorf("something is stored:\n%s", p.halls["a"].text.lines)
	}
}

// TestNoPreviewsWanted: these are not told of.
func TestNoPreviewsWanted(t *testing.T) {
	p := newPreviewTrial(t)
	clear(p.told)
	for _, step := range []string{
		"ann > PRIVMSG #tea :no link",
		"ann > NOTICE #tea :https://x.example/",
		"ann > PRIVMSG #tea :\x01PING https://x.example/\x01",
		"ann > PRIVMSG @#tea :https://x.example/",
		"[order post #tea ci/bot https://x.example/]",
		"bob > MODE bob +B",
		"bob > PRIVMSG #tea :https://x.example/",
		"bob > MODE bob -B",
		"bob > METADATA * SET papaya/preview off",
		"bob > PRIVMSG #tea :https://x.example/",
		"bob > METADATA * SET papaya/preview on",
		"ann > METADATA #tea SET papaya/preview off",
		"bob > PRIVMSG #tea :https://x.example/",
		"ann > PRIVMSG #tea :https://x.example/",
	} {
		p.step(step)
		if len(p.told["a"])+len(p.told["b"]) > 0 {
			t.Errorf("%s: told of %v", step, p.told)
			clear(p.told)
		}
	}
	p.step("ann > METADATA #tea SET papaya/preview")
	p.links("bob > PRIVMSG #tea :https://x.example/")
	p.links("bob > PRIVMSG #tea :\x01ACTION reads https://x.example/\x01")
}

// TestPreviewAfterOthers: the room or the author may have got another name meanwhile, or the author
// may have gone.
func TestPreviewAfterOthers(t *testing.T) {
	p := newPreviewTrial(t)
	l := p.links("bob > PRIVMSG #tea :https://x.example/")
	p.step("ann > RENAME #tea #chai")
	p.step("bob > NICK robert")
	preview := p.publish(l, onePreview)
	if got := p.heard("ann"); len(got) != 1 ||
		!strings.HasSuffix(got[0], " :robert!bob@host TAGMSG #chai") {
		t.Errorf("ann was sent %q", got)
	}
	p.after("bob > REDACT #chai " + preview)
	if got := p.heard("ann"); len(got) != 1 || !strings.Contains(got[0], "REDACT #chai "+preview) {
		t.Errorf("ann was sent %q", got)
	}
	p.step("[connect gus at b]")
	p.step("gus > NICK gus")
	p.step("gus > USER gus 0 * :gus")
	p.step("gus > JOIN #chai")
	l = p.links("gus > PRIVMSG #chai :https://x.example/")
	p.step("[end gus]")
	p.publish(l, onePreview)
	if got := p.heard("ann"); len(got) != 1 ||
		!strings.HasSuffix(got[0], " :gus!gus@host TAGMSG #chai") {
		t.Errorf("ann was sent %q", got)
	}
	p.step("[connect other at b]")
	p.step("other > NICK gus")
	p.step("other > USER gus 0 * :gus")
	p.step("other > JOIN #chai")
	id := p.msgid("{https://x.example/}")
	p.step("ann > REDACT #chai " + id)
	p.agree()
	if p.has("papaya/preview=") {
		t.Errorf("a preview is left:\n%s", p.halls["a"].text.lines)
	}
}

// TestNoPreviews: a server that makes none does not offer the capability.
func TestNoPreviews(t *testing.T) {
	p := newPreviewTrial(t)
	for _, s := range p.halls {
		s.hall.config.Preview = nil
	}
	p.step("[connect dave]")
	p.after("dave > CAP LS 302")
	if got := strings.Join(p.heard("dave"), "\n"); strings.Contains(got, "papaya/preview") {
		t.Errorf("offered: %s", got)
	}
	p.after("dave > CAP REQ papaya/preview")
	p.wants("dave", ":chat CAP * NAK :papaya/preview")
	p.step("ann > PRIVMSG #tea :https://x.example/")
}
