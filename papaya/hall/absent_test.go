package hall

import (
	"strings"
	"testing"
)

// TestAbsentInNames: NAMES and WHO show absent accounts, as away, if the settings say so. They
// never show absent guests.
func TestAbsentInNames(t *testing.T) {
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
	p.add("a")
	for _, l := range []string{"[connect ann with ann]", "ann > CAP REQ :sasl",
		"ann > AUTHENTICATE EXTERNAL", "ann > AUTHENTICATE +", "ann > NICK ann",
		"ann > USER ann 0 * :Ann", "ann > CAP END", "ann > JOIN #tea", "[connect gil]",
		"gil > NICK gil", "gil > USER gil 0 * :Gil", "gil > JOIN #tea", "[connect bob]",
		"bob > NICK bob", "bob > USER bob 0 * :Bob", "bob > JOIN #tea", "[end ann]", "[end gil]"} {
		p.step(l)
	}
	for _, show := range []bool{false, true} {
		p.halls["a"].hall.config.AbsentInNames = func() bool { return show }
		p.script.Reset()
		p.step("bob > NAMES #tea")
		p.step("bob > WHO #tea")
		got := p.script.String()
		for want, is := range map[string]bool{"353 bob = #tea :bob ann\n": show,
			"353 bob = #tea :bob\n": !show, "352 bob #tea ann host chat ann G :0 Ann\n": show,
			"gil": false} {
			if strings.Contains(got, want) != is {
				t.Errorf("shown %v: got\n%s\nwith %q: want %v", show, got, want, is)
			}
		}
	}
}
