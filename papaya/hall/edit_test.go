package hall

import (
	"fmt"
	"strings"
	"testing"
)

// TestEditWhileMissedMessagesAreSent: a client that does not know edits, and gets what it has
// missed in several steps, is told of a change that is made between two of them.
func TestEditWhileMissedMessagesAreSent(t *testing.T) {
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
	p.add("a")
	enter := func(name string) {
		for _, l := range []string{"[connect " + name + " with " + name + "]",
			name + " > CAP REQ :sasl message-tags", name + " > AUTHENTICATE EXTERNAL",
			name + " > AUTHENTICATE +", name + " > NICK " + name,
			name + " > USER " + name + " 0 * :" + name, name + " > CAP END"} {
			p.step(l)
		}
	}
	for _, name := range []string{"ann", "bob"} {
		enter(name)
		p.step(name + " > JOIN #tea")
	}
	p.step("[end ann]")
	p.step("bob > PRIVMSG #tea :first wording")
	for i := range 2 * chunkSize / 400 {
		p.say(p.people["bob"], fmt.Sprintf("PRIVMSG #tea :%d %s", i, strings.Repeat("x", 360)))
	}
	enter("ann")
	ann, hall := p.people["ann"], p.halls["a"].hall
	ann.waiting = maxCatchUp
	p.step("ann > JOIN #tea")
	p.script.Reset()
	ann.waiting = 0
	hall.step(&ann.Client)
	ann.waiting = maxCatchUp
	got := p.script.String()
	if !strings.Contains(got, "PRIVMSG #tea :first wording") || len(hall.behind) != 1 {
		t.Fatalf("in a step she is sent\n%s", got)
	}
	p.script.Reset()
	p.step("bob > @+draft/edit={first wording} PRIVMSG #tea :second wording")
	ann.waiting = 0
	p.step("bob > PRIVMSG #tea :the end")
	got = p.script.String()
	if n := strings.Count(got, "PRIVMSG #tea :* second wording"); n != 1 ||
		!strings.HasSuffix(got, "PRIVMSG #tea :the end\n") {
		t.Errorf("she is told of the change %d times:\n%s", n, got)
	}
}
