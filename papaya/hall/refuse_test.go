package hall

import (
	"strings"
	"testing"

	"interleave/papaya/irc"
)

// TestRefusedLinesAreLabelled: the answer to a line that the log has refused has the label of the
// line. What says who is here is not refused.
func TestRefusedLinesAreLabelled(t *testing.T) {
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
	p.add("a")
	for _, l := range []string{"[connect ann]", "ann > CAP REQ :labeled-response batch",
		"ann > NICK ann", "ann > USER ann 0 * :Ann", "ann > CAP END"} {
		p.step(l)
	}
	ann := p.people["ann"]
	const unavailable = "TEMPORARILY_UNAVAILABLE #tea :The log says: full"
	for _, c := range []struct {
		entry      Entry
		line, want string
	}{
		{Entry{Kind: Said}, "@label=1 PRIVMSG #tea :x",
			"@label=1 :chat 404 ann #tea :Cannot send to channel: full"},
		{Entry{Kind: Said}, "@label=2 NOTICE #tea :x", "@label=2 :chat ACK"},
		{Entry{Kind: Said}, "TOPIC #tea :x", ":chat 404 ann #tea :Cannot send to channel: full"},
		{Entry{Kind: Lines, Data: []byte("PRIVMSG #den :x\n-y"), Label: "3"}, "X",
			"@label=3 :chat 404 ann #den :Cannot send to channel: full"},
		{Entry{Kind: Redact, Data: []byte("#den\n0 9 1 0\n"), Label: "4"}, "X",
			"@label=4 :chat FAIL REDACT TEMPORARILY_UNAVAILABLE #den :The log says: full"},
		{Entry{Kind: Said}, "@label=7 RENAME #tea #chai", "@label=7 :chat FAIL RENAME " +
			"CANNOT_RENAME #tea #chai :The log says: full"},
		{Entry{Kind: Said}, "@label=5 MODE #tea +i", "@label=5 :chat FAIL MODE " + unavailable},
		{Entry{Kind: Said}, "MODE ann +B",
			":chat FAIL MODE TEMPORARILY_UNAVAILABLE ann :The log says: full"},
		{Entry{Kind: Said}, "KICK #tea bob", ":chat FAIL KICK " + unavailable},
		{Entry{Kind: Said}, "METADATA #tea SET avatar :x", ":chat FAIL METADATA " + unavailable},
		{Entry{Kind: Said}, "ACCEPT bob",
			":chat FAIL ACCEPT TEMPORARILY_UNAVAILABLE bob :The log says: full"},
		{Entry{Kind: Said}, "@label=8 MARKREAD #tea timestamp=2026-11-22T07:00:00.000Z",
			"@label=8 :chat FAIL MARKREAD INTERNAL_ERROR #tea :The log says: full"},
		{Entry{Kind: Said}, "SETNAME :Anna",
			":chat FAIL SETNAME CANNOT_CHANGE_REALNAME :The log says: full"},
		{Entry{Kind: Founder, Data: []byte("DROP\n#tea\n"), Label: "9"}, "X",
			"@label=9 :ChanServ!ChanServ@chat NOTICE ann :Not done. The log says: full"},
		{Entry{Kind: ServerBan, Data: []byte("+\neve\n0\n"), Label: "10"}, "X",
			"@label=10 :chat FAIL UBAN TEMPORARILY_UNAVAILABLE * :The log says: full"},
		{Entry{Kind: Report, Data: []byte("-\n1\n"), Label: "11"}, "X",
			"@label=11 :chat FAIL REPORT TEMPORARILY_UNAVAILABLE * :The log says: full"},
		{Entry{Kind: End}, "@label=6 QUIT", ""},
		{Entry{Kind: Said}, "JOIN #tea", ""},
		{Entry{Kind: Said}, "PART #tea", ""},
		{Entry{Kind: Said}, "NICK anna", ""},
		{Entry{Kind: Said}, "AWAY :out", ""},
		{Entry{Kind: Said}, "KILL bob", ""},
		{Entry{Kind: Enter}, "X", ""},
		{Entry{Kind: Marks}, "X", ""},
	} {
		m, err := irc.Parse(c.line)
		if err != nil {
			t.Fatal(err)
		}
		p.script.Reset()
		refused := ann.at.hall.Refuse(&ann.Client, c.entry, &m, "full")
		got := strings.TrimPrefix(strings.TrimSpace(p.script.String()), "ann < ")
		if refused != (c.want != "") || got != c.want {
			t.Errorf("%q, %q: refused %v with %q; want %q", c.line, c.entry.Data, refused, got,
				c.want)
		}
	}
}

// TestOrdersThatPass: an order goes on without the log if it ends sessions only.
func TestOrdersThatPass(t *testing.T) {
	for verb, want := range map[string]bool{EndNick: true, EndAccount: true, Forget: false,
		GiveRole: false, KickMember: false, RemoveRoom: false, RenameAccount: false,
		ExpireAccount: false, PostTo: false} {
		if got := Passes(NewOrder(1, verb, "x", "y")); got != want {
			t.Errorf("%s: %v, want %v", verb, got, want)
		}
	}
	if Passes(Entry{Kind: Said, Data: []byte(EndNick)}) {
		t.Error("a line of a client is taken for an order")
	}
}
