package hall

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"interleave/papaya/irc"
)

// The moves of FuzzSessions: a person and what it does.
var (
	fuzzNames = []string{"ann", "bob", "dave", "Ann_1"}
	fuzzLines = []string{"JOIN #tea", "JOIN #den", "PART #tea", "NICK ann", "NICK bob", "NICK dave",
		"NICK Ann_1", "PRIVMSG #tea :hello", "PRIVMSG ann :hello", "PRIVMSG dave :hello",
		"AWAY :lunch", "AWAY", "QUIT", "MODE #tea +i", "KICK #tea ann", "KICK #tea bob",
		"INVITE ann #tea", "OPER olga secret", "KILL bob :bye", "REGISTER * come secret",
		"REGISTER dave come secret", "TOPIC #tea :leaves", "CAP REQ :sasl echo-message",
		"CHATHISTORY LATEST ann * 10", "SETNAME :another",
		"MARKREAD #tea timestamp=2026-11-22T07:20:11.123Z",
		"MARKREAD ann timestamp=2026-11-22T07:20:12.123Z", "MARKREAD #tea",
		"CAP REQ :draft/multiline batch draft/message-redaction", "CS REGISTER #tea",
		"CS TRANSFER #tea bob", "CS ACCEPT #tea", "MODE #tea +q-o ~a:bob ann",
		"CHATHISTORY TARGETS timestamp=1970-01-01T00:00:00Z timestamp=2000-01-01T00:00:00Z 9",
		"BATCH +1 draft/multiline #tea\n@batch=1 PRIVMSG #tea :one\n@batch=1 PRIVMSG #tea :two\n" +
			"BATCH -1", "REDACT #tea {@0}", "REDACT #tea {@2b} :why", "REDACT ann {@0}",
		"AUTHENTICATE PLAIN\nAUTHENTICATE AGJvYgBzZWNyZXQ=", // as bob
		"NS LOGOUT OTHERS", "NS LOGOUT ALL", "NS RENAME dave", "NS RENAME zoe",
		"MODE ann +BRTw", "MODE dave -R", "MODE #tea +CM-n", "PRIVMSG @#tea,+#den :for some",
		"ACCEPT ann,-dave", "WALLOPS :all hands", "MONITOR + ann,dave",
		"METADATA * SET color :red", "METADATA #tea SET color :blue", "METADATA * SET color",
		"METADATA * CLEAR", "METADATA * SUB color", "METADATA #tea SYNC",
		"CAP REQ :draft/channel-rename", "RENAME #tea #den", "RENAME #den #tea",
		"RENAME #tea #chai :why", "RENAME #chai #TEA", "JOIN #chai,#tea",
		"CHATHISTORY LATEST #tea * 10"}
	fuzzDirections = []string{"[ask]", "[restart a]", "[restart b]", "[order end ann bye]",
		"[order logout bob bye]", "[order forget dave removed]", "[order kick #tea ann out]",
		"[order remove #tea closed]"}
)

// move plays a move of FuzzSessions that two bytes name.
func (p *cluster) move(what, who byte) {
	name := fmt.Sprintf("person%d", who%6)
	nick, account := fuzzNames[who/6%4], fuzzNames[who/24%4]
	server := string("ab"[who/96%2])
	there := p.people[name] != nil && !p.people[name].closed
	directions, lines := 4, 4+len(fuzzDirections)
	switch n := int(what) % (lines + len(fuzzLines)); {
	case n >= lines && there:
		for l := range strings.SplitSeq(fuzzLines[n-lines], "\n") {
			p.step(name + " > " + l)
		}
	case n >= directions && n < lines:
		p.step(fuzzDirections[n-directions])
	case n == 3 && there:
		p.step("[answer " + name + "]")
	case n == 2 && there:
		p.step("[cut " + name + "]")
	case n == 1 && !there:
		p.step("[connect " + name + " at " + server + " with " + account + "]")
		for _, l := range []string{"CAP REQ :sasl", "AUTHENTICATE EXTERNAL", "AUTHENTICATE +",
			"NICK " + nick, "USER u 0 * :u", "CAP END"} {
			p.step(name + " > " + l)
		}
	case n == 0 && !there:
		p.step("[connect " + name + " at " + server + "]")
		p.step(name + " > NICK " + nick)
		p.step(name + " > USER u 0 * :u")
	}
}

// FuzzSessions: whatever people do on two servers, with accounts and without, both servers have the
// same state (cluster.step compares them), a state that is loaded again is the same, and the tables
// agree with each other.
func FuzzSessions(f *testing.F) {
	for _, seed := range [][]byte{
		{1, 0, 12, 0, 1, 97, 19, 1, 24, 0},               // two sessions, on two servers
		{0, 12, 12, 0, 1, 61, 17, 0, 2, 1, 17, 0},        // the owner of a name comes
		{0, 0, 12, 0, 31, 0, 1, 1, 22, 0, 22, 1, 9, 0},   // a guest becomes an account
		{1, 24, 12, 0, 25, 0, 2, 0, 5, 0, 1, 102, 12, 0}, // an account returns to +i
		{1, 0, 12, 0, 4, 0, 3, 0, 37, 0, 38, 0, 1, 1, 8, 0, 6, 0},
		{1, 0, 12, 0, 43, 0, 1, 1, 44, 0, 2, 0, 1, 98}, // an account is renamed, twice
		{0, 12, 12, 0, 1, 1, 12, 1, 43, 1, 41, 1, 1, 2, 42, 1},
		// a room is renamed, and renamed again while its founder is away
		{1, 0, 12, 0, 19, 0, 71, 0, 1, 25, 12, 25, 74, 25, 2, 0, 19, 25, 1, 0, 72, 0, 69, 0, 2, 0},
		[]byte("abcdefghijklmnopqrstuvwxyz0123456789"),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
		p.add("a")
		p.add("b")
		p.always = len(script)%2 == 1
		for i := 0; i+1 < min(len(script), 120); i += 2 {
			p.move(script[i], script[i+1])
			p.check()
		}
		if t.Failed() {
			t.Log(p.script.String())
		}
	})
}

// check compares the tables of each server with each other.
func (p *cluster) check() {
	p.t.Helper()
	for _, name := range sorted(p.halls) {
		h := p.halls[name].hall
		state, err := h.Save()
		if err != nil {
			p.t.Fatal(err)
		}
		if again, err := loadAndSave(h.config, state); err != nil || !bytes.Equal(again, state) {
			p.t.Fatalf("loaded again the state is\n%s\n%v, and was\n%s", again, err, state)
		}
		for folded, u := range h.nicks {
			if len(u.sessions) == 0 && !u.lasting() {
				p.t.Errorf("%s: the guest %s has no session", name, folded)
			}
			if owner := h.accounts[folded]; owner != nil && owner != u {
				p.t.Errorf("%s: %q has the name of an account", name, u.source)
			}
			if kept := h.held[folded]; kept != nil {
				p.t.Errorf("%s: %q has a nick that is kept for %s", name, u.source, kept.account)
			}
			for _, s := range u.sessions {
				if s.user != u || h.sessions[s.origin][s.id] != s {
					p.t.Errorf("%s: a session of %s is another's", name, folded)
				}
				if s.client != nil && (s.client.user != u || s.client.closed) {
					p.t.Errorf("%s: a client of %s is another's, or closed", name, folded)
				}
			}
		}
		founded := map[string]int{}
		for folded, r := range h.rooms {
			if r.founder != "" {
				founded[r.founder]++
			} else if len(r.here)+len(r.absent) == 0 {
				p.t.Errorf("%s: nobody is in %s, and it has no founder", name, folded)
			}
			for _, m := range r.here {
				if !h.here(m.user) || m.user.in(r) != m {
					p.t.Errorf("%s: %s has a member %s that is not here", name, folded, m.user.nick)
				}
				if _, absent := r.absent[m.user.key()]; absent {
					p.t.Errorf("%s: %s is here and absent in %s", name, m.user.nick, folded)
				}
				m.user.eachClient(func(c *Client) {
					if n := count(r.clients, c); n != 1 {
						p.t.Errorf("%s: a client of %s is %d times in %s", name, m.user.nick, n,
							folded)
					}
				})
			}
			for _, c := range r.clients {
				if c.closed || c.user.in(r) == nil {
					p.t.Errorf("%s: %s has a client of no member: %s", name, folded, c.user.nick)
				}
			}
		}
		formers := 0
		for former, list := range h.formers {
			formers += len(list)
			for _, r := range list {
				if h.rooms[irc.Lower(r.name)] != r || r.gaveUp(former) == 0 {
					p.t.Errorf("%s: %s is a former name of %s", name, former, r.name)
				}
			}
		}
		if (formers == 0) != (len(h.formers) == 0) {
			p.t.Errorf("%s: former names without a room: %v", name, h.formers)
		}
		if !maps.Equal(founded, h.founded) {
			p.t.Errorf("%s: rooms have the founders %v, and %v are counted", name, founded,
				h.founded)
		}
	}
}

func loadAndSave(config Config, state []byte) ([]byte, error) {
	h, err := Load(config, state)
	if err != nil {
		return nil, err
	}
	return h.Save()
}

func count(all []*Client, one *Client) (n int) {
	for _, c := range all {
		if c == one {
			n++
		}
	}
	return n
}

// TestManySessions: an account has a bounded number of sessions. The oldest one gives way.
func TestManySessions(t *testing.T) {
	h := New(Config{Server: "a", Name: "chat", Text: &memory{},
		Password: func() (string, bool) { return "", false }}, 0)
	h.Begin(Batch{Server: "a", Run: 1, Number: 1})
	var all []*bufferSink
	for id := range uint64(maxSessions + 1) {
		l := &bufferSink{Client: Client{ID: id + 1, Host: "host"}}
		h.Connect(&l.Client, l)
		h.Apply(Entry{Client: l.ID, Kind: Enter,
			Data: []byte("ann\nann\nhost\nAnn\nann\n-")}, nil, "")
		all = append(all, l)
	}
	open := slices.IndexFunc(all, func(l *bufferSink) bool { return !l.closed })
	if got := len(h.Sessions()); got != maxSessions || open != 1 {
		t.Errorf("%d sessions, the first open one is number %d; want %d and 1", got, open,
			maxSessions)
	}
}
