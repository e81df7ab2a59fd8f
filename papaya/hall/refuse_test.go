package hall

import (
	"strings"
	"testing"

	"interleave/papaya/irc"
)

// TestRefusedLinesAreLabelled: the answer to a message that the log has refused has the label of
// the message. What is no message is not refused.
func TestRefusedLinesAreLabelled(t *testing.T) {
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
	p.add("a")
	for _, l := range []string{"[connect ann]", "ann > CAP REQ :labeled-response batch",
		"ann > NICK ann", "ann > USER ann 0 * :Ann", "ann > CAP END"} {
		p.step(l)
	}
	ann := p.people["ann"]
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
		{Entry{Kind: Said}, "@label=5 MODE #tea +i", ""},
		{Entry{Kind: Founder, Data: []byte("DROP\n#tea\n")}, "X", ""},
		{Entry{Kind: End}, "@label=6 QUIT", ""},
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
