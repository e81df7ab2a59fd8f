package hall

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pushes notes what it is told. Every account but dave has a device.
type pushes struct {
	s     *node
	said  []string
	until int64 // of the last Seen
}

func (p *pushes) Key() string { return "BKEY" }

func (p *pushes) Wants(account string) bool { return account != "dave" }

func (p *pushes) Missed(n Notice) {
	line := fmt.Sprintf("%s missed %s: %s%s", n.Account, n.Target, n.Head, n.Text)
	if n.Online {
		line += " (online)"
	}
	p.said = append(p.said, line)
}

func (p *pushes) Seen(account, target string, until int64) {
	p.said, p.until = append(p.said, account+" has seen "+target), until
}

func (p *pushes) Removed(uint64) { p.said = append(p.said, "removed") }

func (p *pushes) Request(c *Client, r *PushRequest) {
	switch r.Endpoint {
	case "https://many.example/":
		p.s.hall.Pushed(c, r, "MAX_REGISTRATIONS", "too many")
	default:
		p.s.hall.Pushed(c, r, "", "")
	}
}

func (p *pushes) List(c *Client) {
	p.s.hall.Served(c, []string{"1 devices.", "push 0a0b to=push.example"})
}

func (p *pushes) Add(c *Client, topic, token string) {
	p.s.hall.Served(c, []string{"added " + topic + " with " + strconv.Quote(token)})
}

func (p *pushes) Remove(c *Client, id string) { p.s.hall.Served(c, []string{"removed " + id}) }

// taken returns what was noted since the last call, without the tags of lines, which must be there.
func (p *pushes) taken() []string {
	said := p.said
	p.said = nil
	for i, line := range said {
		said[i] = tagsOfNotice.ReplaceAllString(line, ": ")
	}
	return said
}

var tagsOfNotice = regexp.MustCompile(
	`: @time=1970-01-01T\d\d:\d\d:\d\d\.000Z;msgid=\w+(;account=zoe)? :`)

// A pushTrial is a cluster of two servers, of which each notes what it is told.
type pushTrial struct {
	cluster
	at map[string]*pushes
}

func newPushTrial(t *testing.T) *pushTrial {
	p := &pushTrial{cluster{t: t, halls: map[string]*node{}, people: map[string]*person{},
		always: true}, map[string]*pushes{}}
	for _, name := range []string{"a", "b"} {
		p.add(name)
		s := p.halls[name]
		p.at[name] = &pushes{s: s}
		s.hall.config.Push = p.at[name]
	}
	return p
}

// comes connects a session of an account, or a guest if there is none.
func (p *pushTrial) comes(name, server, account string) {
	connect := "[connect " + name + " at " + server
	if account == "" {
		p.step(connect + "]")
	} else {
		p.step(connect + " with " + account + "]")
		p.step(name + " > CAP REQ :sasl labeled-response draft/webpush")
		p.step(name + " > AUTHENTICATE EXTERNAL")
		p.step(name + " > AUTHENTICATE +")
	}
	nick := account
	if nick == "" {
		nick = name
	}
	p.step(name + " > NICK " + nick)
	p.step(name + " > USER u 0 * :u")
	if account != "" {
		p.step(name + " > CAP END")
	}
}

// wants fails the test if a server was told other things.
func (p *pushTrial) wants(what string, onA, onB []string) {
	p.t.Helper()
	for name, want := range map[string][]string{"a": onA, "b": onB} {
		if got := p.at[name].taken(); !slices.Equal(got, want) {
			p.t.Errorf("%s: %s was told\n%s\nwant\n%s", what, name, strings.Join(got, "\n"),
				strings.Join(want, "\n"))
		}
	}
}

// TestReadUnderAnotherName: who reads a room has read what was said before it was renamed.
func TestReadUnderAnotherName(t *testing.T) {
	p := newPushTrial(t)
	p.comes("ann", "a", "ann")
	p.step("ann > JOIN #tea")
	p.step("ann > RENAME #tea #chai")
	p.wants("nobody has read anything", nil, nil)
	p.step("ann > PRIVMSG #chai :hello")
	want := []string{"ann has seen #chai", "ann has seen #tea"}
	p.wants("both names", want, want)
}

// TestMissed: an account misses what is said to it, or names it in its rooms, while nobody attends
// to a session of it. The server that has logged it tells of it, and all tell what is read.
func TestMissed(t *testing.T) {
	p := newPushTrial(t)
	p.comes("ann", "a", "ann")
	p.comes("dave", "a", "dave")
	p.comes("bob", "b", "")
	for _, name := range []string{"ann", "dave", "bob"} {
		p.step(name + " > JOIN #tea")
	}
	p.step("bob > JOIN #den")
	p.wants("nothing was said", nil, nil)

	p.step("bob > PRIVMSG ann :hello")
	p.step("bob > PRIVMSG #tea :Ann, the kettle; and dave, too")
	p.step("bob > NOTICE #tea :(ann) ann's kettle")
	p.step("bob > PRIVMSG #tea :anna, -ann, ann-, xann, joann and someone else")
	p.step("bob > PRIVMSG #den :ann is not here")
	p.step("bob > PRIVMSG ann :\x01VERSION\x01")
	p.step("bob > PRIVMSG ann :\x01ACTION waves\x01")
	p.step("bob > PRIVMSG dave :he has no device")
	p.step("bob > TAGMSG ann")
	p.wants("she has only connected", nil, []string{
		"ann missed bob: bob!u@host PRIVMSG ann :hello (online)",
		"ann missed #tea: bob!u@host PRIVMSG #tea :Ann, the kettle; and dave, too (online)",
		"ann missed #tea: bob!u@host NOTICE #tea :(ann) ann's kettle (online)",
		"ann missed bob: bob!u@host PRIVMSG ann :\x01ACTION waves\x01 (online)"})

	p.step("ann > MARKREAD #tea timestamp=1970-01-01T00:00:05.000Z")
	if got := p.at["b"].until; got != 5000 {
		t.Errorf("ann has read #tea until %d, want 5000", got)
	}
	p.step("bob > PRIVMSG ann :she reads")
	p.step("[later 1m]")
	p.step("ann > PRIVMSG #tea :I am here, ann")
	p.step("[later 1m]")
	p.step("bob > PRIVMSG ann :she is still here")
	seen := []string{"ann has seen #tea", "ann has seen #tea"}
	p.wants("somebody attends", seen, seen)

	p.step("[later 1m]")
	p.step("bob > PRIVMSG ann :she has gone for a while")
	p.step("ann > @+typing=active TAGMSG bob")
	p.step("bob > PRIVMSG ann :she types")
	p.step("ann > AWAY :lunch")
	p.step("bob > PRIVMSG #tea :ann is away")
	p.wants("sometimes nobody attends", nil, []string{
		"ann missed bob: bob!u@host PRIVMSG ann :she has gone for a while (online)",
		"ann missed #tea: bob!u@host PRIVMSG #tea :ann is away (online)"})

	p.step("[cut ann]")
	p.step("bob > PRIVMSG ann :nobody is connected")
	p.step("[order post #tea ci/hook ann:]")
	for _, line := range []string{"CAP REQ :draft/multiline batch", "BATCH +1 draft/multiline ann",
		"@batch=1 PRIVMSG ann :", "@batch=1 PRIVMSG ann :the second line", "BATCH -1"} {
		p.step("bob > " + line)
	}
	p.comes("zoe", "b", "zoe")
	p.step("zoe > JOIN #tea")
	p.step("zoe > PRIVMSG #tea :zoe asks whether ann, ANN or Ann is there")
	p.step("zoe > REDACT #tea {zoe asks}")
	p.wants("nobody is connected", []string{
		"ann missed #tea: ci/hook!program@papaya PRIVMSG #tea :ann:", "zoe has seen #tea",
		"removed"},
		[]string{"ann missed bob: bob!u@host PRIVMSG ann :nobody is connected",
			"ann missed bob: bob!u@host PRIVMSG ann :the second line", "zoe has seen #tea",
			"ann missed #tea: zoe!u@host PRIVMSG #tea :zoe asks whether ann, ANN or Ann is there",
			"removed"})
}

// TestWebPush: clients that know draft/webpush are told the server's key, and what becomes of their
// requests, with their labels and in the order of their lines.
func TestWebPush(t *testing.T) {
	p := newPushTrial(t)
	p.comes("ann", "a", "ann")
	p.comes("bob", "a", "")
	if said := p.script.String(); !strings.Contains(said,
		"ann < :chat 005 ann VAPID=BKEY :are supported") || strings.Contains(said, "bob VAPID") {
		t.Errorf("the key is told to the wrong clients:\n%s", said)
	}
	p.script.Reset()
	for _, line := range []string{
		"ann > @label=1 WEBPUSH register https://push.example/x p256dh=BA;auth=AA",
		"ann > WEBPUSH UNREGISTER https://push.example/x",
		"ann > WEBPUSH REGISTER https://many.example/ p256dh=BA;auth=AA",
		"ann > WEBPUSH",
		"ann > WEBPUSH REGISTER https://push.example/x",
		"ann > WEBPUSH REGISTER https://push.example/x p256dh=BA;auth=AA more",
		"ann > @label=2 WEBPUSH UNREGISTER",
		"ann > WEBPUSH VAPIDPUBKEY",
		"ann > NS PUSH LIST",
		"ann > NS PUSH DEL 0a0b",
		"ann > NS PUSH DEL",
		"ann > NS PUSH ADD",
		"ann > NS push add https://ntfy.example/tea",
		`ann > NS PUSH ADD "https://ntfy.example/tea" tk_1`,
		"bob > NS PUSH ADD https://ntfy.example/tea",
		"bob > WEBPUSH REGISTER https://push.example/x p256dh=BA;auth=AA",
		"bob > NS PUSH LIST",
		"bob > CAP REQ :soju.im/webpush",
		"bob > CAP LS 302",
	} {
		p.step(line)
	}
	form := "It is WEBPUSH REGISTER endpoint keys, or UNREGISTER endpoint"
	var got []string
	for l := range strings.Lines(p.script.String()) {
		if strings.Contains(l, " < ") {
			got = append(got, strings.TrimSpace(strings.Replace(l, " < ", " ", 1)))
		}
	}
	want := []string{
		"ann @label=1 :chat WEBPUSH REGISTER https://push.example/x",
		"ann :chat WEBPUSH UNREGISTER https://push.example/x",
		"ann :chat FAIL WEBPUSH MAX_REGISTRATIONS REGISTER https://many.example/ :too many",
		"ann :chat FAIL WEBPUSH INVALID_PARAMS * * :" + form,
		"ann :chat FAIL WEBPUSH INVALID_PARAMS REGISTER https://push.example/x :" + form,
		"ann :chat FAIL WEBPUSH INVALID_PARAMS REGISTER https://push.example/x :" + form,
		"ann @label=2 :chat FAIL WEBPUSH INVALID_PARAMS UNREGISTER * :" + form,
		"ann :chat FAIL WEBPUSH INVALID_PARAMS VAPIDPUBKEY * :" + form,
		"ann :NickServ!NickServ@chat NOTICE ann :1 devices.",
		"ann :NickServ!NickServ@chat NOTICE ann :push 0a0b to=push.example",
		"ann :NickServ!NickServ@chat NOTICE ann :removed 0a0b",
		"ann :NickServ!NickServ@chat NOTICE ann :It is NS PUSH LIST, NS PUSH ADD URL [TOKEN] or " +
			"NS PUSH DEL ID",
		"ann :NickServ!NickServ@chat NOTICE ann :It is NS PUSH LIST, NS PUSH ADD URL [TOKEN] or " +
			"NS PUSH DEL ID",
		`ann :NickServ!NickServ@chat NOTICE ann :added https://ntfy.example/tea with ""`,
		`ann :NickServ!NickServ@chat NOTICE ann :added https://ntfy.example/tea with "tk_1"`,
		"bob :NickServ!NickServ@chat NOTICE bob :You are not logged in to an account.",
		"bob :chat FAIL WEBPUSH ACCOUNT_REQUIRED REGISTER https://push.example/x :" +
			"Notifications need an account",
		"bob :NickServ!NickServ@chat NOTICE bob :You are not logged in to an account.",
		"bob :chat CAP bob ACK :soju.im/webpush",
		"bob :chat 005 bob VAPID=BKEY :are supported by this server",
	}
	offered := strings.Join(got[min(len(got), len(want)):], " ")
	if len(got) <= len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, name := range []string{"draft/webpush", "soju.im/webpush"} {
		if !slices.Contains(strings.FieldsFunc(offered, func(r rune) bool {
			return r == ' ' || r == ':'
		}), name) {
			t.Errorf("bob is offered %s", offered)
		}
	}
}

// TestWithoutPush: a server that notifies no devices knows nothing of it.
func TestWithoutPush(t *testing.T) {
	p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
	p.add("a")
	p.step("[connect ann with ann]")
	for _, line := range []string{"CAP LS", "CAP REQ :draft/webpush", "NICK ann", "USER u 0 * :u",
		"CAP END", "WEBPUSH REGISTER https://push.example/x p256dh=BA;auth=AA"} {
		p.step("ann > " + line)
	}
	said := p.script.String()
	if !strings.Contains(said, "NAK :draft/webpush") || strings.Contains(said, "VAPID") ||
		strings.Contains(said, "soju.im/webpush") ||
		!strings.Contains(said, ":chat 421 ann WEBPUSH :Unknown command") {
		t.Errorf("ann is told\n%s", said)
	}
}
