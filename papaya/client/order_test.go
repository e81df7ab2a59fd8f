package client

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"interleave/papaya/irc"
)

// A chat is a server with one room, and a session of ann with it. Many messages have the same time,
// and the clock is set back now and then. Ids are in no order. Texts are places in the log.
type chat struct {
	t         *testing.T
	random    *rand.Rand
	now       time.Time
	session   *Session
	log       []irc.Message
	places    map[string]int // by msgid
	requests  []irc.Message  // not answered yet
	connected bool
	settled   int // the place in the log up to which the session has caught up
	joined    int // how often an old part of the history was joined with the newest messages
}

// pageOf is in messages.
const pageOf = 5

func (c *chat) hear(m irc.Message) {
	c.session.Receive(m)
	c.requests = append(c.requests, c.session.Out()...)
}

// say has somebody say something, unless the session misses so much that it would not fetch all.
func (c *chat) say(nick, label string) {
	if room := c.session.Find("#tea"); c.connected && room.behind == nil {
		c.settled = len(c.log)
	}
	if len(c.log)-c.settled > (maxPages-2)*pageOf {
		return
	}
	if c.random.IntN(4) == 0 {
		c.now = c.now.Add(time.Duration(c.random.IntN(3)) * time.Millisecond)
	}
	if c.random.IntN(200) == 0 {
		c.now = c.now.Add(-time.Minute)
	}
	id := fmt.Sprintf("%x-%d", c.random.Uint32(), len(c.log))
	m := irc.Message{Source: nick + "!u@h", Command: "PRIVMSG",
		Params: []string{"#tea", strconv.Itoa(len(c.log))},
		Tags: map[string]string{"msgid": id, "time": c.now.UTC().Format(
			"2006-01-02T15:04:05.000Z")}}
	c.places[id] = len(c.log)
	c.log = append(c.log, m)
	if c.connected {
		c.hear(tagged(m, "label", label))
	}
}

func tagged(m irc.Message, key, value string) irc.Message {
	tags := map[string]string{}
	for k, v := range m.Tags {
		tags[k] = v
	}
	if value != "" {
		tags[key] = value
	}
	m.Tags = tags
	return m
}

// answer answers the oldest request.
func (c *chat) answer() {
	m := c.requests[0]
	c.requests = c.requests[1:]
	room := c.session.Find("#tea")
	if m.Command == "PRIVMSG" { // its echo has another text: its place
		for _, x := range room.Messages {
			if x.label == m.Tags["label"] {
				x.Text = strconv.Itoa(len(c.log))
			}
		}
		c.say("ann", m.Tags["label"])
	}
	if m.Command != "CHATHISTORY" || m.Param(0) == "TARGETS" {
		return
	}
	at, end := c.places[strings.TrimPrefix(m.Param(2), "msgid=")], len(c.log)
	from, to := end-pageOf, end
	switch m.Param(0) {
	case "BEFORE":
		from, to = at-pageOf, at
	case "AFTER":
		from, to = at+1, at+1+pageOf
	case "AROUND":
		from, to = at-pageOf/2, at+1+pageOf/2
	}
	apart := room.past
	c.hear(irc.Message{Source: "x", Command: "BATCH",
		Params: []string{"+p", "chathistory", "#tea"}})
	for n := max(from, 0); n < min(to, end); n++ {
		c.hear(tagged(c.log[n], "batch", "p"))
	}
	c.hear(irc.Message{Source: "x", Command: "BATCH", Params: []string{"-p"}})
	if apart != nil && room.past == nil {
		c.joined++
	}
}

func (c *chat) connect() {
	c.connected = true
	c.session.Opened()
	for _, l := range []string{":x CAP * LS :" + full, ":x CAP * ACK :" + full, ":x 001 ann :hello",
		fmt.Sprintf(":x 005 ann CHATHISTORY=%d :ok", pageOf), ":x 422 ann :no MOTD",
		":ann!a@h JOIN #tea"} {
		m, err := irc.Parse(l)
		if err != nil {
			c.t.Fatal(err)
		}
		c.hear(m)
	}
}

// step does something.
func (c *chat) step() {
	s, room := c.session, c.session.Find("#tea")
	switch n := c.random.IntN(15); {
	case n < 3:
		c.say("bob", "")
	case n < 7 && len(c.requests) > 0:
		c.answer()
	case n == 7:
		s.Say(room, Said, "mine")
	case n == 8:
		s.Older(room)
	case n == 9, n == 14:
		s.Newer(room)
	case n == 10 && c.random.IntN(8) == 0:
		at := c.random.IntN(len(c.log))
		s.Seek(room, &Message{ID: c.log[at].Tags["msgid"]})
	case n == 11 && c.random.IntN(60) == 0:
		room.Latest()
	case n == 12:
		c.hear(irc.Message{Source: "eve!e@h", Command: "JOIN", Params: []string{"#tea"}})
	case n == 13 && c.random.IntN(12) > 0:
	case n == 13 && c.connected:
		s.Lost()
		c.connected, c.requests = false, nil
	case n == 13:
		c.connect()
	}
	if c.connected {
		c.requests = append(c.requests, s.Out()...)
	}
}

// ordered fails the test if messages are not in the order of the log. It returns how many are.
func (c *chat) ordered(messages []*Message) (told int) {
	last := -1
	for _, m := range messages {
		if !m.Told {
			continue
		}
		n, err := strconv.Atoi(m.Text)
		if err != nil || n <= last {
			c.t.Fatalf("%q stands behind %d in %q", m.Text, last, texts(messages))
		}
		last = n
		told++
	}
	return told
}

// TestOrderIsTheServers: whatever a session does, and whatever the clocks say, it has the messages
// in the server's order, each once, and at the end all of them.
func TestOrderIsTheServers(t *testing.T) {
	joined := 0
	for seed := range uint64(20) {
		c := &chat{t: t, random: rand.New(rand.NewPCG(seed, 1)), now: noon,
			places: map[string]int{}}
		c.session = New(Settings{Nick: "ann", Now: func() time.Time { return c.now }})
		for range 20 {
			c.say("bob", "")
		}
		c.connect()
		room := c.session.Find("#tea")
		for range 1500 {
			c.step()
			c.ordered(room.Messages)
			if room.past != nil {
				c.ordered(room.past.Messages)
			}
		}
		if !c.connected {
			c.connect()
		}
		room.Latest()
		for len(c.requests) > 0 || c.session.Older(room) {
			c.requests = append(c.requests, c.session.Out()...)
			for len(c.requests) > 0 {
				c.answer()
			}
		}
		if told := c.ordered(room.Messages); told != len(c.log) {
			t.Errorf("seed %d: there are %d messages, want %d", seed, told, len(c.log))
		}
		joined += c.joined
	}
	if joined == 0 {
		t.Error("no old part of the history was joined with the newest messages")
	}
}
