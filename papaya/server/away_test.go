package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"interleave/internal/irctest"
	"interleave/papaya/log"
)

// startNATS starts a node with JetStream in the test's process.
func startNATS(t *testing.T) (url string) {
	t.Helper()
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1",
		Port: natsserver.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true,
		NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(patience) {
		t.Fatal("NATS does not start")
	}
	return s.ClientURL()
}

// A member is a server of a cluster.
type member struct {
	name, folder, at string
	accounts         Accounts
	change           func(*Config) // may be nil
	said             lockedBuffer
	stop             context.CancelFunc
	ended            chan error
}

// begin starts a member. change may wrap its log.
func (m *member) begin(t *testing.T, url string, change func(log.Log) log.Log) {
	t.Helper()
	text, err := log.OpenText(m.folder)
	if err != nil {
		t.Fatal(err)
	}
	store, err := log.Open(t.Context(), log.Options{URL: url, Name: m.name})
	if err != nil {
		t.Fatal(err)
	}
	l := log.Log(store)
	if change != nil {
		l = change(store)
	}
	ready := make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	m.stop, m.ended = stop, make(chan error, 1)
	config := Config{Plain: []string{"127.0.0.1:0"}, Data: m.folder, Text: text, Log: l,
		Secret: testSecret,
		Shared: true, Unique: m.name, Accounts: m.accounts, Limits: patient,
		Logger: slog.New(slog.NewTextHandler(&m.said, nil)), Ready: func() { close(ready) },
		Listen: func(network, address string) (net.Listener, error) {
			listener, err := net.Listen(network, address)
			if err == nil {
				m.at = listener.Addr().String()
			}
			return listener, err
		}}
	if m.change != nil {
		m.change(&config)
	}
	go func() {
		err := Run(ctx, config)
		m.ended <- errors.Join(err, store.Close(), text.Close())
	}()
	t.Cleanup(stop)
	select {
	case <-ready:
	case err := <-m.ended:
		t.Fatalf("%s has ended: %v\n%s", m.name, err, m.said.String())
	case <-time.After(patience):
		t.Fatalf("%s is not ready\n%s", m.name, m.said.String())
	}
}

// end stops a member, which then saves its state.
func (m *member) end(t *testing.T) error {
	t.Helper()
	m.stop()
	select {
	case err := <-m.ended:
		return err
	case <-time.After(patience):
		t.Fatalf("%s does not end", m.name)
		return nil
	}
}

// say connects a client that sends n messages to #tea, and waits until they are acknowledged.
func (m *member) say(t *testing.T, nick string, n int) {
	t.Helper()
	c := irctest.Dial(t, m.at)
	lines := "NICK " + nick + "\r\nUSER u 0 * :u\r\nJOIN #tea\r\n"
	for i := range n {
		lines += fmt.Sprintf("PRIVMSG #tea :%s %d %s\r\n", nick, i, strings.Repeat("x", 300))
	}
	c.Send("%s", lines+"PING said\r\nQUIT")
	c.Expect("PONG chat :said")
	c.ExpectEnd()
}

func (m *member) log(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const lacksLines, hasLines = "the text lacks lines", "the text has lines that it lacked"

// whole waits until the text has all lines, if some were lacking.
func (m *member) whole(t *testing.T) {
	t.Helper()
	if strings.Contains(m.said.String(), lacksLines) {
		m.said.until(t, hasLines)
	}
}

// wantSame ends two members, and checks that both have the same text, with some messages.
func wantSame(t *testing.T, a, b *member, messages int) {
	t.Helper()
	if err := a.end(t); err != nil {
		t.Fatal(err)
	}
	b.say(t, "last", 0) // is in the log behind what a has said
	if err := b.end(t); err != nil {
		t.Fatal(err)
	}
	one, other := a.log(t), b.log(t)
	if strings.Count(one, "PRIVMSG") != messages || one != other {
		t.Errorf("%s has %d messages and %d bytes, %s %d and %d; want %d", a.name,
			strings.Count(one, "PRIVMSG"), len(one), b.name, strings.Count(other, "PRIVMSG"),
			len(other), messages)
	}
	for _, m := range []*member{a, b} {
		left, err := filepath.Glob(filepath.Join(m.folder, "log.*"))
		left = slices.DeleteFunc(left, func(path string) bool {
			return strings.HasSuffix(path, "log.begin")
		})
		if len(left) > 0 || err != nil {
			t.Errorf("%s has %v, %v", m.name, left, err)
		}
	}
}

// TestAServerThatWasAwayIsGivenTheText: while a server is away, the others save the state. The
// batches that it can read lack lines of its text. A new server that finds nobody is given the
// older lines when the first one is back.
func TestAServerThatWasAwayIsGivenTheText(t *testing.T) {
	url := startNATS(t)
	a, b := &member{name: "a", folder: t.TempDir()}, &member{name: "b", folder: t.TempDir()}
	a.begin(t, url, nil)
	a.say(t, "before", 3)
	if err := a.end(t); err != nil {
		t.Fatal(err)
	}
	b.begin(t, url, nil) // a new server, while no other runs
	if !strings.Contains(b.said.String(), lacksLines) {
		t.Errorf("the first server of this text is away, and nothing is said of it:\n%s",
			b.said.String())
	}
	b.say(t, "between", 2000) // three answers of AskText
	if err := b.end(t); err != nil {
		t.Fatal(err)
	}
	b.begin(t, url, nil)
	a.begin(t, url, nil)
	a.say(t, "after", 3)
	a.whole(t)
	b.whole(t)
	wantSame(t, a, b, 2006)
}

// A deaf log hears no answers until it is told to.
type deaf struct {
	log.Log
	hears *atomic.Bool
	asked chan struct{} // has one when a question was asked
}

func (d deaf) AskText(ctx context.Context, r log.Range, wait time.Duration) (uint64, []byte,
	error) {
	if d.hears.Load() {
		return d.Log.AskText(ctx, r, wait)
	}
	select {
	case d.asked <- struct{}{}:
	default:
	}
	return 0, nil, log.ErrNoText
}

// TestQuestionsThatAreLost: a server that nobody answers goes on without the lines, also after a
// restart, and has them in their places when it is answered.
func TestQuestionsThatAreLost(t *testing.T) {
	url := startNATS(t)
	a, b := &member{name: "a", folder: t.TempDir()}, &member{name: "b", folder: t.TempDir()}
	a.begin(t, url, nil)
	a.say(t, "before", 3)
	if err := a.end(t); err != nil {
		t.Fatal(err)
	}
	b.begin(t, url, nil)
	b.say(t, "between", 3)
	if err := b.end(t); err != nil {
		t.Fatal(err)
	}
	b.begin(t, url, nil)
	d := deaf{hears: new(atomic.Bool), asked: make(chan struct{}, 1)}
	for _, nick := range []string{"while", "still"} {
		a.begin(t, url, func(l log.Log) log.Log { d.Log = l; return d })
		<-d.asked
		a.say(t, nick, 3)
		text := a.log(t)
		if before, rest, ok := strings.Cut(text, "(lines-not-yet-received) -"); !ok ||
			strings.Count(before, "PRIVMSG") != 3 || strings.Contains(rest, "between") ||
			!strings.Contains(rest, nick+" 2 ") {
			t.Errorf("its text is\n%s", text)
		}
		if nick == "while" {
			if err := a.end(t); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.hears.Store(true)
	a.whole(t)
	b.whole(t)
	if n := strings.Count(a.said.String(), lacksLines); n != 1 {
		t.Errorf("it says %d times that it lacks lines:\n%s", n, a.said.String())
	}
	wantSame(t, a, b, 12)
}

// An outdated log has other servers answer with a text as it was.
type outdated struct {
	deaf
	text *string
}

func (o outdated) AskText(ctx context.Context, r log.Range, wait time.Duration) (uint64, []byte,
	error) {
	if !o.hears.Load() {
		return o.deaf.AskText(ctx, r, wait)
	}
	return r.From, []byte((*o.text)[r.From:r.To]), nil
}

// TestRemovedWhileLinesWereLacking: a message was removed after another server had read it for this
// one.
func TestRemovedWhileLinesWereLacking(t *testing.T) {
	url := startNATS(t)
	a := &member{name: "a", folder: t.TempDir(), accounts: everybody{}}
	b := &member{name: "b", folder: t.TempDir(), accounts: everybody{}}
	b.begin(t, url, nil)
	const caps = "CAP REQ :message-tags batch draft/message-redaction"
	ann := login(irctest.Dial(t, b.at), "ann", "ann", "#tea")
	ann.Send(caps)
	ann.Expect(" ACK ")
	ann.Send("PRIVMSG #tea :a secret\r\nPRIVMSG #tea :no secret")
	id := msgidOf(t, ann.ExpectLine("a secret"))
	synced(ann)
	if err := b.end(t); err != nil {
		t.Fatal(err)
	}
	secret := b.log(t)
	b.begin(t, url, nil)
	o := outdated{deaf{hears: new(atomic.Bool), asked: make(chan struct{}, 1)}, &secret}
	a.begin(t, url, func(l log.Log) log.Log { o.Log = l; return o })
	bob := login(irctest.Dial(t, a.at), "bob", "bob", "#tea")
	bob.Send(caps)
	bob.Expect(" ACK ")
	ann = login(irctest.Dial(t, b.at), "ann", "ann", "#tea")
	ann.Send(caps)
	ann.Expect(" ACK ")
	ann.Send("REDACT #tea %s", id)
	bob.Expect("REDACT #tea " + id)
	o.hears.Store(true)
	a.whole(t)
	bob.Send("CAP REQ :draft/chathistory\r\nCHATHISTORY LATEST #tea * 10\r\nPING told")
	heard := bob.Expect("PONG chat :told")
	lacks(t, heard, "a secret")
	if !strings.Contains(strings.Join(heard, "\n"), "PRIVMSG #tea :no secret") {
		t.Errorf("bob reads\n%s", strings.Join(heard, "\n"))
	}
	if text := a.log(t); strings.Contains(text, "a secret") ||
		!strings.Contains(text, "no secret") {
		t.Errorf("the text is\n%s", text)
	}
	wantSame(t, a, b, 1)
}

// A forgetful log skips a batch.
type forgetful struct {
	log.Log
	after uint64
}

func (f forgetful) Follow(ctx context.Context, after uint64,
	each func(uint64, []byte) error) error {
	return f.Log.Follow(ctx, after, func(n uint64, data []byte) error {
		if n == f.after+1 {
			return nil
		}
		return each(n, data)
	})
}

// TestAServerThatTheLogHasLeftBehindEnds: a server that misses a batch must not go on.
func TestAServerThatTheLogHasLeftBehindEnds(t *testing.T) {
	url := startNATS(t)
	a, b := &member{name: "a", folder: t.TempDir()}, &member{name: "b", folder: t.TempDir()}
	a.begin(t, url, nil)
	var store log.Log
	b.begin(t, url, func(l log.Log) log.Log { store = l; return forgetful{l, 3} })
	a.say(t, "ann", 3)
	select {
	case err := <-b.ended:
		if !errors.Is(err, errAway) {
			t.Errorf("it has ended with %v, want %v", err, errAway)
		}
	case <-time.After(patience):
		last, err := store.Last(t.Context())
		t.Errorf("it goes on; the log ends at %d, %v", last, err)
	}
	if err := a.end(t); err != nil {
		t.Error(err)
	}
}

// TestTheStreamForgetsWhatStatesStandFor: the files of a single server have nothing that is older
// than the state from which it has started.
func TestTheStreamForgetsWhatStatesStandFor(t *testing.T) {
	folder := t.TempDir()
	for n := range 3 { // each end saves the state
		srv := open(t, folder, nil)
		m := &member{at: srv.at[0]}
		m.say(t, fmt.Sprintf("nick%d", n), 2)
		srv.end()
	}
	text, err := os.ReadFile(filepath.Join(folder, "log"))
	if err != nil || strings.Count(string(text), "PRIVMSG #tea :nick") != 6 {
		t.Errorf("the text has %d messages, %v; want 6", strings.Count(string(text), "PRIVMSG"),
			err)
	}
	var stream []byte
	err = filepath.WalkDir(filepath.Join(folder, "stream"), func(path string, d os.DirEntry,
		err error) error {
		if err == nil && strings.HasSuffix(path, ".blk") {
			var data []byte
			data, err = os.ReadFile(path)
			stream = append(stream, data...)
		}
		return err
	})
	for nick, want := range map[string]bool{"nick0 0 x": false, "nick2 0 x": true} {
		if got := bytes.Contains(stream, []byte(nick)); got != want || err != nil {
			t.Errorf("the stream has %q: %v, %v; want %v", nick, got, err, want)
		}
	}
}
