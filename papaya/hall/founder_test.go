package hall

import (
	"fmt"
	"strings"
	"testing"
)

// TestFoundedRooms: an account founds a bounded number of rooms. A room beyond them ends with its
// last member, and no other account's room is refused.
func TestFoundedRooms(t *testing.T) {
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
	p.add("a")
	h := p.halls["a"].hall
	h.config.Rooms = 2 * maxFounded
	for _, who := range []string{"ann", "bob"} {
		for _, l := range []string{"[connect WHO with WHO]", "WHO > CAP REQ :sasl",
			"WHO > AUTHENTICATE EXTERNAL", "WHO > AUTHENTICATE +", "WHO > NICK WHO",
			"WHO > USER WHO 0 * :WHO", "WHO > CAP END"} {
			p.step(strings.ReplaceAll(l, "WHO", who))
		}
	}
	for n := range maxFounded + 1 {
		p.step(fmt.Sprintf("ann > JOIN #room%d", n))
	}
	last := fmt.Sprintf("#room%d", maxFounded)
	if r := h.rooms[last]; r.founder != "" || !r.here[0].op {
		t.Errorf("the founder of %s is %q, and its operator: %v", last, r.founder, r.here[0].op)
	}
	hears := func(l, want string) {
		t.Helper()
		p.script.Reset()
		p.step(l)
		if got := p.script.String(); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", l, got, want)
		}
	}
	hears("ann > CS REGISTER "+last, "100 rooms at most")
	p.step("bob > JOIN #bob")
	p.step("bob > CS TRANSFER #bob ann")
	hears("ann > CS ACCEPT #bob", "100 rooms at most")
	p.step("ann > PART " + last)
	p.step("ann > PART #room0")
	if h.rooms[last] != nil || h.rooms["#room0"] == nil {
		t.Errorf("there is %s: %v; and #room0: %v", last, h.rooms[last] != nil,
			h.rooms["#room0"] != nil)
	}
	hears("ann > CS DROP #room0 "+h.rooms["#room0"].dropCode(), "has no founder")
	hears("ann > CS ACCEPT #bob", "is yours now")
	p.check()
}
