package hall

import (
	"context"
	"strings"
	"testing"
)

// TestSearchThatTakesLong holds searches back: a client has one at a time, and what it finds is for
// who may still read it then.
func TestSearchThatTakesLong(t *testing.T) {
	p := play{t: t, halls: map[string]*stage{}, people: map[string]*person{}}
	p.add("a")
	h := p.halls["a"].hall
	var held []*Query
	h.config.Search = func(_ *Client, q *Query) { held = append(held, q) }
	for _, l := range []string{"[connect ann]", "ann > NICK ann", "ann > USER ann 0 * :ann",
		"ann > JOIN #tea", "ann > PRIVMSG #tea :the kettle"} {
		p.step(l)
	}
	hears := func(l, want string) {
		t.Helper()
		p.script.Reset()
		p.step(l)
		if got := p.script.String(); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", l, got, want)
		}
	}
	found := func(ctx context.Context, want string) {
		t.Helper()
		p.script.Reset()
		q := held[0]
		held = held[1:]
		q.Run(ctx, &p.halls["a"].text)
		h.Found(&p.people["ann"].Client, q)
		if got := p.script.String(); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	p.step("ann > SEARCH #tea kettle")
	hears("ann > SEARCH #tea kettle", "One search at a time")
	found(t.Context(), "<ann> the kettle")

	late, cancel := context.WithCancel(t.Context())
	cancel()
	p.step("ann > SEARCH #tea kettle")
	found(late, "NOTE SEARCH NOT_ALL #tea")

	p.step("ann > SEARCH #tea kettle")
	p.step("ann > PART #tea")
	found(t.Context(), "FAIL SEARCH INVALID_TARGET")

	p.step("ann > JOIN #tea")
	p.step("ann > PRIVMSG #tea :the kettle")
	p.step("ann > SEARCH #tea kettle")
	p.step("ann > PART #tea")
	p.step("ann > JOIN #tea") // another room of that name
	found(t.Context(), "FAIL SEARCH INVALID_TARGET")

	p.step("ann > SEARCH #tea kettle")
	p.step("[end ann]")
	p.script.Reset()
	h.Found(&p.people["ann"].Client, held[0])
	if got := p.script.String(); got != "" {
		t.Errorf("who has gone hears %q", got)
	}
}

// FuzzGlance holds the first look to the second: what matches may never be passed over by it.
func FuzzGlance(f *testing.F) {
	for _, seed := range [][2]string{{"kettle", "The KETTLE is on"}, {"k", "\u212a"},
		{"grün", "GRÜN"}, {"is on", "on it is"}, {"ſ", "S"}, {"a", "\xff A"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, words, text string) {
		q := Query{words: strings.Fields(strings.ToLower(words))}
		line := []byte(":ann!ann@host PRIVMSG #tea :" + text)
		if q.match(said{body: line}) && !glance(q.words)(line) {
			t.Errorf("%q is passed over, though it has %q", text, q.words)
		}
	})
}
