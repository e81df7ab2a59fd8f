package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/hall"
)

// chat is a Chat with the rooms #dev and #tea.
type chat struct {
	mu   sync.Mutex
	said []string
	page hall.Page
	err  error

	brewed bool          // #tea was renamed to #brew
	silent bool          // nothing has been said in #dev
	news   chan struct{} // nil: nobody has asked for it
	asked  chan struct{} // receives each time that somebody asks for news; nil: it does not
}

func (c *chat) News() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.news == nil {
		c.news = make(chan struct{})
	}
	if c.asked != nil {
		c.asked <- struct{}{}
	}
	return c.news
}

// tell ends the silence, or leaves it with an error, and tells that there are news.
func (c *chat) tell(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent, c.err = err != nil, err
	close(c.news)
	c.news = nil
}

func (c *chat) Room(_ context.Context, name string) (hall.Room, bool, error) {
	name = strings.ToLower(name)
	if c.brewed && name == "#tea" {
		name = "#brew"
	}
	there := name == "#dev" || name == "#tea" || c.brewed && name == "#brew"
	return hall.Room{Name: name, Topic: "Leaves", Here: 2, Founder: "ann",
		Since: time.Unix(1_800_000_000, 0).UTC()}, there, c.err
}

func (c *chat) Messages(_ context.Context, room string, p hall.Page) ([]hall.Message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.page = p
	switch {
	case !strings.EqualFold(room, "#dev"):
		return nil, hall.ErrNoRoom
	case p.After == "!" || p.Before == "!":
		return nil, hall.ErrNoMessage
	case c.silent:
		return nil, c.err
	}
	return []hall.Message{{ID: "2s", Time: time.Unix(1_800_000_000, 0).UTC(), From: "ann",
		Kind: "message", Text: "hello"}}, c.err
}

func (c *chat) Post(_ context.Context, room, from string, lines []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range lines {
		c.said = append(c.said, room+" "+from+": "+l)
	}
	return c.err
}

// heard returns what was said since the last call.
func (c *chat) heard() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := strings.Join(c.said, "\n")
	c.said = nil
	return said
}

// A place is a Server with a clock that stands still, and its chat.
type place struct {
	*httptest.Server
	t    *testing.T
	chat *chat
	log  *strings.Builder
	now  time.Time
	all  *Tokens
}

// start is the time at which each place begins.
var start = time.Unix(1_800_000_000, 0)

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{now: start}
	p.open(t, func() time.Time { return p.now })
	return p
}

// open starts the server, whose time is that of a clock.
func (p *place) open(t *testing.T, clock func() time.Time) {
	t.Helper()
	p.t, p.chat, p.log, p.all = t, &chat{}, &strings.Builder{}, Open(&account.Memory{})
	logger := slog.New(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p.Server = httptest.NewServer(NewServer(p.all, p.chat, logger, clock).Handler())
	t.Cleanup(p.Close)
}

func (p *place) token(one Token) string {
	p.t.Helper()
	secret, _, err := p.all.Add(p.t.Context(), one)
	if err != nil {
		p.t.Fatal(err)
	}
	return secret.Reveal()
}

func (p *place) hook() string {
	return "/hook/" + p.token(Token{Kind: Hook, Name: "github", Rooms: []string{"#dev"},
		Send: true})
}

// ask sends a request, and returns the status and the body. Headers are pairs of words.
func (p *place) ask(method, path string, body io.Reader, headers ...string) (int, string,
	http.Header) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.URL+path, body)
	if err != nil {
		p.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := p.Client().Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(text)), response.Header
}

const (
	asJSON = "application/json"
	asForm = "application/x-www-form-urlencoded"
)

func TestHook(t *testing.T) {
	p := newPlace(t)
	path := p.hook()
	api := p.token(Token{Kind: Bot, Name: "b", Rooms: []string{"#dev"}, Read: true, Send: true})
	for _, test := range []struct {
		path, kind, event, body string
		status                  int
		want                    string // what is said, or the error
	}{
		{path, asJSON, "", `{"text": "hello", "username": "me"}`, 200, "#dev github/hook: hello"},
		{path, asJSON, "", `{"text": "a\r\nPRIVMSG #tea :b\u0000"}`, 200,
			"#dev github/hook: a\n#dev github/hook: PRIVMSG #tea :b"},
		{path, asForm, "", `{"text": "as curl -d sends it"}`, 200,
			"#dev github/hook: as curl -d sends it"},
		{path, asForm, "", "text=a+b%21", 200, "#dev github/hook: a b!"},
		{path, "text/plain; charset=UTF-8", "", "plain\n", 200, "#dev github/hook: plain"},
		{path, asJSON, events[1].kind, events[1].payload, 200, "#dev github/hook: " +
			events[1].want},
		{path, asForm, "ping", "payload=%7B%22repository%22%3A%7B%22full_name%22%3A%22a%2Fb%22%7D%7D",
			200, "#dev github/hook: [a/b] the webhook works"},
		{path, asJSON, "star", `{}`, 200, ""}, // not shown
		{path, asJSON, "push", `{}`, 400, "the payload is not what the event of GitHub has"},
		{path, asJSON, "", `{"txt": "x"}`, 400, `expected {"text": "..."}`},
		{path, asJSON, "", `{"text": 7}`, 400, `expected {"text": "..."}`},
		{path, asJSON, "", `{"text": " \n\u0007"}`, 400, "no text that can be shown"},
		{path, asJSON, "", "", 400, `expected {"text": "..."}`},
		{path, asForm, "", "%zz", 400, `expected {"text": "..."}`},
		{path, "text/html", "", "<b>", 415, "expected application/json"},
		{path, "", "", "x", 415, "expected application/json"},
		{path, "text/plain; charset=utf-16", "", "x", 415, "expected application/json"},
		{path, asJSON, "", strings.Repeat("x", maxBody+1), 413, "that is too much"},
		{"/hook/" + api, asJSON, "", `{"text": "x"}`, 404, "there is no such webhook"},
		{"/hook/wrong", asJSON, "", `{"text": "x"}`, 404, "there is no such webhook"},
	} {
		headers := []string{"Content-Type", test.kind}
		if test.event != "" {
			headers = append(headers, "X-GitHub-Event", test.event)
		}
		status, got, _ := p.ask(http.MethodPost, test.path, strings.NewReader(test.body),
			headers...)
		said := p.chat.heard()
		if status == 200 && said != test.want || status != 200 && (said != "" ||
			!strings.Contains(unquoted(got), test.want)) || status != test.status {
			t.Errorf("%s %.60q: status %d %s, said %q; want %d %q", test.kind, test.body, status,
				got, said, test.status, test.want)
		}
		p.now = p.now.Add(time.Minute)
	}
	if status, _, h := p.ask(http.MethodGet, path, nil); status != 405 || h.Get("Allow") != "POST" {
		t.Errorf("GET: %d, allowed is %q", status, h.Get("Allow"))
	}
	if token := strings.TrimPrefix(path, "/hook/"); strings.Contains(p.log.String(), token) {
		t.Errorf("the token is in the log: %s", p.log)
	}
}

// unquoted returns the text of an error.
func unquoted(body string) string {
	var f failure
	if json.Unmarshal([]byte(body), &f) != nil || f.Error == "" {
		return body
	}
	return f.Error
}

func TestHookOfARoomThatIsGone(t *testing.T) {
	p := newPlace(t)
	path := "/hook/" + p.token(Token{Kind: Hook, Name: "x", Rooms: []string{"#gone"}, Send: true})
	if status, got, _ := p.ask(http.MethodPost, path, strings.NewReader("text=x"), "Content-Type",
		asForm); status != 404 || unquoted(got) != "there is no such room" {
		t.Errorf("%d %s", status, got)
	}
	p.chat.err = errors.New("/secret/place: the disk is full")
	if status, got, _ := p.ask(http.MethodPost, p.hook(), strings.NewReader("text=x"),
		"Content-Type", asForm); status != 503 || strings.Contains(got, "secret") ||
		!strings.Contains(p.log.String(), "the disk is full") {
		t.Errorf("%d %s, and in the log %s", status, got, p.log)
	}
}

// TestLimits: a token posts 30 times at once, and then once in 2 s. Another one is not affected. An
// address that guesses is not answered, and right tokens do not count as guesses.
func TestLimits(t *testing.T) {
	p := newPlace(t)
	first, second := p.hook(), p.hook()
	post := func(path string) (int, http.Header) {
		status, _, h := p.ask(http.MethodPost, path, strings.NewReader("text=x"), "Content-Type",
			asForm)
		return status, h
	}
	for n := range postBurst {
		if status, _ := post(first); status != 200 {
			t.Fatalf("post %d: %d", n, status)
		}
	}
	if status, h := post(first); status != 429 || h.Get("Retry-After") != "2" {
		t.Errorf("one more: %d, after %q", status, h.Get("Retry-After"))
	}
	if status, _ := post(second); status != 200 {
		t.Errorf("another token: %d", status)
	}
	p.now = p.now.Add(postEvery)
	if status, _ := post(first); status != 200 {
		t.Errorf("two seconds later: %d", status)
	}
	for n := range wrongBurst {
		if status, _ := post(fmt.Sprintf("/hook/guess%d", n)); status != 404 {
			t.Errorf("guess %d: %d", n, status)
		}
	}
	if status, _ := post("/hook/guess"); status != 429 {
		t.Errorf("one more guess: %d", status)
	}
}

func TestAPI(t *testing.T) {
	p := newPlace(t)
	both := p.token(Token{Kind: Bot, Name: "both", Rooms: []string{"#Dev", "#gone"}, Read: true,
		Send: true})
	reads := p.token(Token{Kind: Bot, Name: "reads", Rooms: []string{"#dev"}, Read: true})
	sends := p.token(Token{Kind: Bot, Name: "sends", Rooms: []string{"#dev"}, Send: true})
	hook := strings.TrimPrefix(p.hook(), "/hook/")
	const messages = "/api/rooms/dev/messages"
	const one = `{"messages":[{"id":"2s","time":"2027-01-15T08:00:00Z","from":"ann",` +
		`"kind":"message","text":"hello"}]}`
	for _, test := range []struct {
		method, path, token, body string
		status                    int
		want                      string
	}{
		{"GET", "/api/rooms", both, "", 200, `{"rooms":[{"name":"#dev","topic":"Leaves","here":2,` +
			`"away":0,"since":"2027-01-15T08:00:00Z"}]}`},
		{"GET", messages, both, "", 200, one},
		{"GET", "/api/rooms/DEV/messages", reads, "", 200, one},
		{"GET", messages + "?limit=200&after=2s&before=zz&other=1", reads, "", 200, one},
		{"GET", messages + "?changes=yes", both, "", 400, "changes: expected"},
		{"GET", messages + "?limit=201", both, "", 400, "limit: expected"},
		{"GET", messages + "?limit=-1", both, "", 400, "limit: expected"},
		{"GET", messages + "?limit=1&limit=2", both, "", 400, "or twice"},
		{"GET", messages + "?after=2s&wait=15", reads, "", 200, one},
		{"GET", messages + "?after=2s&wait=0", reads, "", 200, one},
		{"GET", messages + "?after=2s&wait=16", reads, "", 400, "wait: expected seconds"},
		{"GET", messages + "?after=2s&wait=-1", reads, "", 400, "wait: expected seconds"},
		{"GET", messages + "?after=2s&wait=x", reads, "", 400, "wait: expected seconds"},
		{"GET", messages + "?wait=1", reads, "", 400, "wait: expected after"},
		{"GET", messages + "?after=2s&before=zz&wait=1", reads, "", 400, "wait: expected after"},
		{"GET", messages + "?after=", both, "", 400, "something empty"},
		{"GET", messages + "?after=!", both, "", 400, "expected the id"},
		{"GET", messages + "?%zz", both, "", 400, "malformed"},
		{"GET", "/api/rooms/tea/messages", both, "", 403, "not for that"},
		{"GET", "/api/rooms/gone/messages", both, "", 404, "no such room"},
		{"GET", messages, sends, "", 403, "not for that"},
		{"GET", messages, "", "", 401, "expected Authorization"},
		{"GET", messages, "wrong", "", 401, "expected Authorization"},
		{"GET", messages, hook, "", 401, "expected Authorization"},
		{"POST", messages, both, `{"text": "hi\nthere"}`, 201, `{"lines":2}`},
		{"POST", messages, sends, `{"text": "hi"}`, 201, `{"lines":1}`},
		{"POST", messages, reads, `{"text": "hi"}`, 403, "not for that"},
		{"POST", "/api/rooms/gone/messages", both, `{"text": "hi"}`, 404, "no such room"},
		{"POST", messages, both, `{"text": "hi", "to": "bob"}`, 400, "and nothing else"},
		{"POST", messages, both, `{"text": "hi"} {}`, 400, "and nothing else"},
		{"POST", messages, both, `{"text": "\u0001"}`, 400, "no text that can be shown"},
		{"POST", messages, both, `{}`, 400, "and nothing else"},
		{"POST", messages, both, `{"text": "` + strings.Repeat("x", maxText) + `"}`, 413,
			"too much"},
		{"DELETE", messages, both, "", 405, "Method Not Allowed"},
		{"GET", "/api/nothing", both, "", 404, "404"},
	} {
		headers := []string{"Content-Type", asJSON}
		if test.token != "" {
			headers = append(headers, "Authorization", "bearer "+test.token)
		}
		status, got, h := p.ask(test.method, test.path, strings.NewReader(test.body), headers...)
		if status != test.status || status < 300 && got != test.want ||
			!strings.Contains(unquoted(got), test.want) {
			t.Errorf("%s %s %.40s: %d %s, want %d %s", test.method, test.path, test.body, status,
				got, test.status, test.want)
		}
		if status == 401 && h.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: no WWW-Authenticate", test.path)
		}
		p.now = p.now.Add(time.Minute)
	}
	if got := p.chat.heard(); got != "#dev both/bot: hi\n#dev both/bot: there\n#dev sends/bot: hi" {
		t.Errorf("said %q", got)
	}
	if status, got, h := p.ask("GET", "/api/openapi.yaml", nil); status != 200 ||
		!strings.HasPrefix(got, "openapi: 3.") || h.Get("Content-Type") != "application/yaml" {
		t.Errorf("the document: %d %.40s", status, got)
	}
	if status, _, _ := p.ask("POST", messages, strings.NewReader("text=x"), "Content-Type", asForm,
		"Authorization", "Bearer "+both); status != 415 {
		t.Errorf("a form: %d", status)
	}
}

// TestAPIOfARoomThatWasRenamed: a token is for its room under each name of that, and the room is
// listed once.
func TestAPIOfARoomThatWasRenamed(t *testing.T) {
	p := newPlace(t)
	p.chat.brewed = true
	token := p.token(Token{Kind: Bot, Name: "b", Rooms: []string{"#tea", "#brew"}, Read: true})
	if status, body, _ := p.ask("GET", "/api/rooms", nil, "Authorization",
		"Bearer "+token); status != 200 || strings.Count(body, `"name"`) != 1 {
		t.Errorf("the rooms: %d %s", status, body)
	}
	sends := p.token(Token{Kind: Bot, Name: "s", Rooms: []string{"#dev", "#tea"}, Send: true})
	for room, want := range map[string]int{"brew": 201, "tea": 201, "dev": 201, "none": 403} {
		if status, body, _ := p.ask("POST", "/api/rooms/"+room+"/messages",
			strings.NewReader(`{"text": "x"}`), "Authorization", "Bearer "+sends,
			"Content-Type", "application/json"); status != want {
			t.Errorf("to #%s: %d %s, want %d", room, status, body, want)
		}
	}
	p.chat.err = hall.ErrNoMessage
	if status, _, _ := p.ask("POST", "/api/rooms/none/messages", strings.NewReader(`{"text": "x"}`),
		"Authorization", "Bearer "+sends, "Content-Type", "application/json"); status != 503 {
		t.Errorf("while the chat fails: %d", status)
	}
}
