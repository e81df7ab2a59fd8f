package hall

import (
	"context"
	"strings"
	"testing"
)

// TestSearchThatTakesLong delays searches. A client has one at a time, and gets matches only if it
// may still read the target.
func TestSearchThatTakesLong(t *testing.T) {
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
	p.add("a")
	h := p.halls["a"].hall
	var held []Reading
	h.config.Read = func(_ *Client, r Reading) { held = append(held, r) }
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
		r := held[0]
		held = held[1:]
		r.Run(ctx)
		h.Answer(&p.people["ann"].Client, r)
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
	h.Answer(&p.people["ann"].Client, held[0])
	if got := p.script.String(); got != "" {
		t.Errorf("a client that has gone receives %q", got)
	}
}

// FuzzPrefilter: a line that matches must pass the first test.
func FuzzPrefilter(f *testing.F) {
	for _, seed := range [][2]string{{"kettle", "The KETTLE is on"}, {"k", "\u212a"},
		{"grün", "GRÜN"}, {"is on", "on it is"}, {"ſ", "S"}, {"a", "\xff A"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, words, text string) {
		q := Search{words: strings.Fields(strings.ToLower(words))}
		line := []byte(":ann!ann@host PRIVMSG #tea :" + text)
		if q.match(said{body: line}) && !prefilter(q.words)(line) {
			t.Errorf("%q is passed over, though it has %q", text, q.words)
		}
	})
}
