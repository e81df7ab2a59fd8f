package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/hall"
)

// A talk is a Chat in which #dev has messages with the ids 1, 2 and so on.
type talk struct {
	mu   sync.Mutex
	all  []hall.Message
	news chan struct{}
	said []string // by programs
	gone bool     // there is no room
	name string   // that #dev has now; empty: it is #dev
	// the message after which somebody has asked for others, when there were none
	waits string
}

func (c *talk) Room(context.Context, string) (hall.Room, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return hall.Room{Name: cmp.Or(c.name, "#dev")}, true, nil
}

func (c *talk) Messages(_ context.Context, room string, p hall.Page) ([]hall.Message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || room != "#dev" {
		return nil, hall.ErrNoRoom
	}
	list := c.all
	if p.After != "" {
		n, err := strconv.Atoi(p.After)
		if err != nil {
			return nil, hall.ErrNoMessage
		}
		if n >= len(list) {
			c.waits = p.After
		}
		return list[min(n, len(list)):min(n+p.Limit, len(list))], nil
	}
	return list[max(0, len(list)-p.Limit):], nil
}

func (c *talk) Post(_ context.Context, room, from string, lines []string) error {
	c.mu.Lock()
	c.said = append(c.said, room+" "+from+": "+strings.Join(lines, "|"))
	c.mu.Unlock()
	for _, l := range lines {
		c.say(from, l)
	}
	return nil
}

func (c *talk) waiting() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waits
}

func (c *talk) News() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.news == nil {
		c.news = make(chan struct{})
	}
	return c.news
}

func (c *talk) say(from, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, hall.Message{ID: strconv.Itoa(len(c.all) + 1), From: from, Text: text,
		Kind: "message", Time: time.Unix(1_800_000_000, 0).UTC()})
	if c.news != nil {
		close(c.news)
		c.news = nil
	}
}

// A receiver is the server of a webhook's URL.
type receiver struct {
	*httptest.Server
	t      *testing.T
	key    string
	mu     sync.Mutex
	status int    // of its answers; 0: 200
	answer string // its body
	got    []string
	good   string        // the messages of the first request that has succeeded
	heard  chan struct{} // receives after each request
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t, heard: make(chan struct{}, 1000)}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	var d delivery
	if err = errors.Join(err, json.Unmarshal(body, &d)); err != nil || q.Method != "POST" ||
		q.URL.String() != "/in?key=secret" || d.Webhook != "ci" || d.Room != "#dev" ||
		len(d.Messages) == 0 {
		r.t.Errorf("%s %s %s: %v", q.Method, q.URL, body, err)
	}
	h := q.Header
	if h.Get("X-Papaya-Signature") != signature(r.key, body) || len(d.Messages) > 0 &&
		h.Get("X-Papaya-Delivery") != d.Messages[len(d.Messages)-1].ID ||
		h.Get("Content-Type") != "application/json" {
		r.t.Errorf("the header is %v", h)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range d.Messages {
		r.got = append(r.got, m.From+": "+m.Text)
	}
	if r.status == 0 && r.good == "" {
		r.good = strings.Join(r.got[len(r.got)-len(d.Messages):], ", ")
	}
	if r.answer != "" {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
	}
	if r.status != 0 {
		w.WriteHeader(r.status)
	}
	fmt.Fprint(w, r.answer)
	r.heard <- struct{}{}
}

func (r *receiver) set(status int, answer string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status, r.answer = status, answer
}

// all waits for requests until the receiver has got these messages, and no others.
func (r *receiver) all(want ...string) {
	r.t.Helper()
	for end := time.After(time.Minute); ; {
		r.mu.Lock()
		got := strings.Join(r.got, ", ")
		r.mu.Unlock()
		if got == strings.Join(want, ", ") {
			return
		}
		select {
		case <-r.heard:
		case <-end:
			r.t.Fatalf("the URL has got %s; want %s", got, strings.Join(want, ", "))
		}
	}
}

// hooked makes an outgoing webhook of #dev to a receiver, in a store.
func hooked(t *testing.T, store account.Store, r *receiver) Token {
	t.Helper()
	tokens := Open(store)
	secret, token, err := tokens.Add(t.Context(), Token{Kind: Out, Name: "ci",
		Rooms: []string{"#dev"}, Read: true, URL: r.URL + "/in?key=secret"})
	if err != nil {
		t.Fatal(err)
	}
	all, err := tokens.outgoing(t.Context())
	if err != nil || len(all) != 1 || strings.Contains(all[0].Key, secret.Reveal()) {
		t.Fatalf("got %v, %v", all, err)
	}
	r.key = signingKey(all[0].Key)
	return token
}

// posts runs the webhooks of a store, until stop is called.
func posts(t *testing.T, store account.Store, chat Chat, owner string) (stop func(),
	log *strings.Builder) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	log = &strings.Builder{}
	o := &Outgoing{Tokens: Open(store), Store: store, Chat: chat, Owner: owner,
		Logger: slog.New(slog.NewTextHandler(log, nil)), pause: time.Millisecond}
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop, log
}

// TestOutgoing: what people say is sent once and in order, from the webhook's beginning on; what
// programs say is not, also what the URL has answered.
func TestOutgoing(t *testing.T) {
	store, chat, r := &account.Memory{}, &talk{}, newReceiver(t)
	chat.say("ann", "before")
	hooked(t, store, r)
	stop, _ := posts(t, store, chat, "")
	reached(t, store, "1")
	chat.say("ann", "one")
	r.all("ann: one")
	r.set(0, `{"text": "two\nlines"}`)
	chat.say("bob", "two")
	r.all("ann: one", "bob: two")
	chat.say("weather/bot", "rain")
	chat.say("bob", "three")
	r.all("ann: one", "bob: two", "bob: three")
	reached(t, store, "9") // the last line of its last answer
	stop()
	if got := strings.Join(chat.said, "; "); got !=
		"#dev ci/out: two|lines; #dev ci/out: two|lines" {
		t.Errorf("said in the room: %s", got)
	}
}

// reached waits until it is stored that a webhook has come to a message.
func reached(t *testing.T, store account.Store, id string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		keys, err := store.Keys(t.Context(), cursorPrefix)
		if err != nil || time.Now().After(end) {
			t.Fatalf("it has not come to %s: %v, %v", id, keys, err)
		}
		for _, k := range keys {
			var at cursor
			data, _, err := store.Get(t.Context(), k)
			if err = errors.Join(err, json.Unmarshal(data, &at)); err != nil {
				t.Fatal(err)
			}
			if at.After == id {
				return
			}
		}
	}
}

// TestOutgoingFails: a request that fails is made again until it succeeds, with all that was said
// meanwhile. The log says so once, without the URL.
func TestOutgoingFails(t *testing.T) {
	store, chat, r := &account.Memory{}, &talk{}, newReceiver(t)
	hooked(t, store, r)
	stop, log := posts(t, store, chat, "")
	reached(t, store, "0")
	for _, status := range []int{503, 404, 302} {
		r.set(status, `{"text": "no"}`)
		chat.say("ann", fmt.Sprint(status))
		for range 3 {
			<-r.heard
		}
	}
	r.set(0, "")
	for { // a request that fails may still be on its way
		<-r.heard
		r.mu.Lock()
		good := r.good
		r.mu.Unlock()
		if good != "" {
			if good != "ann: 503, ann: 404, ann: 302" {
				t.Errorf("the first request that succeeds has %s", good)
			}
			break
		}
	}
	stop()
	if len(chat.said) > 0 {
		t.Errorf("what a failure says is said: %q", chat.said)
	}
	text := log.String()
	if strings.Count(text, "an outgoing webhook fails") != 1 || !strings.Contains(text,
		"status 503") || strings.Contains(text, "secret") {
		t.Errorf("the log:\n%s", text)
	}
	r.Close()
	all, err := Open(store).outgoing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = (&Outgoing{Chat: chat}).deliver(t.Context(), all[0], chat.all)
	if err == nil || !strings.Contains(err.Error(), "refused") ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody listens: %v", err)
	}
}

// TestOutgoingGoesOn: a new start goes on where the last one ended; a webhook that was removed
// sends nothing more; of two servers one sends.
func TestOutgoingGoesOn(t *testing.T) {
	store, chat, r := &account.Memory{}, &talk{}, newReceiver(t)
	token := hooked(t, store, r)
	stop, _ := posts(t, store, chat, "a")
	reached(t, store, "0")
	chat.say("ann", "one")
	r.all("ann: one")
	other, _ := posts(t, store, chat, "b")
	chat.say("ann", "two")
	r.all("ann: one", "ann: two")
	reached(t, store, "2")
	other()
	stop()
	chat.say("ann", "three") // nobody runs
	stop, _ = posts(t, store, chat, "a")
	r.all("ann: one", "ann: two", "ann: three")
	reached(t, store, "3")
	for end := time.Now().Add(time.Minute); chat.waiting() != "3"; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not wait for more")
		}
	}
	if err := Open(store).Remove(t.Context(), token.ID); err != nil {
		t.Fatal(err)
	}
	chat.say("ann", "four") // its server has not seen yet that it is gone
	stop()
	stop, _ = posts(t, store, chat, "a")
	chat.say("ann", "five")
	stop()
	r.all("ann: one", "ann: two", "ann: three")
	if keys, err := store.Keys(t.Context(), cursorPrefix); err != nil || len(keys) > 0 {
		t.Errorf("%v is left, %v", keys, err)
	}
}

// A raced store lets something happen before its first Put.
type raced struct {
	account.Store
	before func()
}

func (s *raced) Put(ctx context.Context, key string, value []byte, revision uint64) error {
	if before := s.before; before != nil {
		s.before = nil
		before()
	}
	return s.Store.Put(ctx, key, value, revision)
}

// TestOutgoingClaim: of two servers that claim a webhook at the same time, one has it.
func TestOutgoingClaim(t *testing.T) {
	store, chat := &account.Memory{}, &talk{}
	claims := func(o *Outgoing) bool {
		_, _, mine, err := o.claim(t.Context(), cursorPrefix+"x", "#dev")
		if err != nil {
			t.Fatal(err)
		}
		return mine
	}
	a := &Outgoing{Store: store, Chat: chat, Owner: "a"}
	b := &Outgoing{Chat: chat, Owner: "b", Store: &raced{store, func() {
		if !claims(a) {
			t.Error("the first has not got it")
		}
	}}}
	for range 2 {
		if claims(b) {
			t.Error("both have it")
		}
	}
	if !claims(a) {
		t.Error("the first has lost it")
	}
}

// TestOutgoingOfARoomThatWasRenamed: what is posted has the name that the room has now.
func TestOutgoingOfARoomThatWasRenamed(t *testing.T) {
	for name, want := range map[string]string{"#Brew": "#Brew", "#Dev": "#dev"} {
		got := ""
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			var d delivery
			if err := json.NewDecoder(r.Body).Decode(&d); err != nil {
				t.Error(err)
			}
			got = d.Room
		}))
		o := Outgoing{Chat: &talk{name: name}, Logger: slog.New(slog.DiscardHandler)}
		err := o.deliver(t.Context(), account.Stored[Token]{Record: Token{Kind: Out, Name: "ci",
			Rooms: []string{"#dev"}, URL: s.URL}}, []hall.Message{{ID: "1", From: "ann"}})
		s.Close()
		if err != nil || got != want {
			t.Errorf("of #dev, which is %s: %q, %v; want %s", name, got, err, want)
		}
	}
}

// TestOutgoingURLs: what is no URL of a server is refused, and is not shown.
func TestOutgoingURLs(t *testing.T) {
	tokens := Open(&account.Memory{})
	for address, good := range map[string]bool{
		"http://127.0.0.1:9/x?y=z": true, "https://ci.example.org/": true, "": false,
		"ftp://secret/": false, "http:///secret": false, "secret": false, "http://[secret": false,
		"https://secret/" + strings.Repeat("x", maxURL): false,
	} {
		_, _, err := tokens.Add(t.Context(), Token{Kind: Out, Name: "ci", Rooms: []string{"#dev"},
			Read: true, URL: address})
		if (err == nil) != good || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%.40q: %v", address, err)
		}
	}
	if _, _, err := tokens.Add(t.Context(), Token{Kind: Bot, Name: "ci", Rooms: []string{"#dev"},
		Read: true, URL: "http://a/"}); err == nil {
		t.Error("a bot has a URL")
	}
}
