package public

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"interleave/papaya/hall"
)

// A chat is one of the test's own.
type chat struct {
	mu    sync.Mutex
	rooms map[string]hall.Room
	said  []hall.Message
	news  chan struct{}
	read  int // how often messages were asked for
}

func (c *chat) Room(_ context.Context, name string) (hall.Room, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room, ok := c.rooms[strings.ToLower(name)]
	return room, ok, nil
}

func (c *chat) Messages(_ context.Context, room string, p hall.Page) ([]hall.Message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read++
	list := c.said
	if p.Before != "" {
		i := slices.IndexFunc(list, func(m hall.Message) bool { return m.ID == p.Before })
		if i < 0 {
			return nil, hall.ErrNoMessage
		}
		list = list[:i]
	}
	return slices.Clone(list[max(0, len(list)-p.Limit):]), nil
}

func (c *chat) News() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.news == nil {
		c.news = make(chan struct{})
	}
	return c.news
}

// change changes the chat, and tells of it.
func (c *chat) change(how func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	how()
	if c.news != nil {
		close(c.news)
		c.news = nil
	}
}

// says has bob say a text.
func (c *chat) says(text string) {
	c.change(func() {
		c.said = append(c.said, hall.Message{ID: "m" + strconv.Itoa(len(c.said)),
			Time: time.Now().UTC(), From: "bob", Kind: "message", Text: text})
	})
}

// A place is a server with a room #Tea that everybody may read.
type place struct {
	t       *testing.T
	chat    *chat
	handler http.Handler
	rooms   []string
	age     time.Duration
	index   bool
}

func newPlace(t *testing.T) *place {
	p := &place{t: t, rooms: []string{"#tea"}, chat: &chat{rooms: map[string]hall.Room{
		"#tea": {Name: "#Tea", Topic: "\x02Oolong\x02 & <b>", Modes: "+nt", Here: 7654321,
			Founder: "the-founder"},
		"#den":  {Name: "#den", Modes: "+nt"},
		"#a/b?": {Name: "#a/b?", Modes: "+"},
	}}}
	p.handler = NewServer(Options{Chat: p.chat, Network: "Teas", Readers: 15,
		Rooms: func() []string { return p.rooms }, Age: func() time.Duration { return p.age },
		Index:  func() bool { return p.index },
		Logger: slog.New(slog.DiscardHandler), Now: time.Now}).Handler()
	return p
}

// ask makes a request from an address, with further pairs of a header.
func (p *place) ask(from, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.RemoteAddr = from + ":1234"
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)
	return w
}

// texts are the messages of a page.
func texts(body string) (list []string) {
	for _, m := range regexp.MustCompile(`<span>([^<]*)</span>`).FindAllStringSubmatch(body, -1) {
		list = append(list, m[1])
	}
	return list
}

const home = "192.0.2.1"

// TestPages: a room that is named is shown, as text, with what readers may see and no more.
func TestPages(t *testing.T) {
	p := newPlace(t)
	p.chat.says("<script>alert(1)</script> \x0304red\u202e")
	p.chat.says("one\ntwo\x1b[2J")
	p.chat.change(func() {
		when := time.Now()
		p.chat.said[1].Edited = &when
	})
	w := p.ask(home, "/public/tea")
	body := w.Body.String()
	want := []string{"&lt;script&gt;alert(1)&lt;/script&gt; red", "one\ntwo[2J"}
	if got := texts(body); w.Code != http.StatusOK || !slices.Equal(got, want) {
		t.Errorf("got %d, %q, want %q", w.Code, got, want)
	}
	for _, part := range []string{"<h1>#Tea</h1>", "Oolong &amp; &lt;b&gt;", "<b>bob</b>",
		"</span> <i>(edited)</i>", `data-live="Tea/live"`, `href="../#%23Tea"`,
		`content="noindex`} {
		if !strings.Contains(body, part) {
			t.Errorf("%s is missing in\n%s", part, body)
		}
	}
	if strings.Contains(body, "7654321") || strings.Contains(body, "the-founder") {
		t.Errorf("members are shown:\n%s", body)
	}
	h := w.Header()
	if h.Get("X-Robots-Tag") != "noindex, nofollow" || h.Get("Cache-Control") !=
		"public, max-age=5" || !strings.Contains(h.Get("Content-Security-Policy"),
		"default-src 'none'") || h.Get("Set-Cookie") != "" {
		t.Errorf("the header is %v", h)
	}
	if again := p.ask(home, "/public/TEA", "If-None-Match", h.Get("ETag")); again.Code !=
		http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("what the reader has is sent again: %d", again.Code)
	}
	p.index = true
	if w := p.ask(home, "/public/tea"); w.Header().Get("X-Robots-Tag") != "" ||
		strings.Contains(w.Body.String(), "noindex") {
		t.Error("search engines are kept out")
	}
	p.rooms = []string{"#tea", "#a/b?", "#none"}
	list := p.ask(home, "/public/").Body.String()
	if !strings.Contains(list, `<a href="./Tea">#Tea</a>`) || strings.Contains(list, "none") ||
		!strings.Contains(list, `<a href="./a%2Fb%3F">#a/b?</a>`) {
		t.Errorf("the list is\n%s", list)
	}
	if w := p.ask(home, "/public/a%2Fb%3F"); !strings.Contains(w.Body.String(),
		`data-live="a%2Fb%3F/live"`) {
		t.Errorf("a room with odd letters: %d\n%s", w.Code, w.Body)
	}
	for name, kind := range map[string]string{"css": "text/css", "js": "text/javascript"} {
		if w := p.ask(home, "/public."+name); w.Code != http.StatusOK ||
			!strings.HasPrefix(w.Header().Get("Content-Type"), kind) || w.Body.Len() == 0 {
			t.Errorf("%s: %d, %v", name, w.Code, w.Header())
		}
	}
	if w := p.ask(home, "/public"); w.Header().Get("Location") != "public/" {
		t.Errorf("without a slash: %d, %v", w.Code, w.Header())
	}
}

// TestRoomsThatAreNotShown: a room that is not named, that is closed, or that has another name by
// now, looks like one that there is not. Without a setting there is no page at all.
func TestRoomsThatAreNotShown(t *testing.T) {
	p := newPlace(t)
	p.rooms = []string{"#tea", "#none"}
	p.chat.says("hello")
	none := p.ask(home, "/public/none")
	denied := func(what, path string) {
		t.Helper()
		if w := p.ask(home, path); w.Code != http.StatusNotFound ||
			w.Body.String() != none.Body.String() || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s", what, w.Code, w.Body)
		}
	}
	for what, path := range map[string]string{"not named": "/public/den", "none": "/public/none",
		"two #": "/public/%23tea", "live": "/public/den/live", "odd": "/public/%00",
		"wrong id": "/public/tea?before=x", "older": "/public/den?before=m0"} {
		denied(what, path)
	}
	for _, modes := range []string{"+int", "+ntk *", "+s", "+kl * 5"} {
		p.chat.change(func() { p.chat.rooms["#tea"] = hall.Room{Name: "#tea", Modes: modes} })
		denied(modes, "/public/tea")
		denied(modes+", older", "/public/tea?before=m0")
	}
	p.chat.change(func() { p.chat.rooms["#tea"] = hall.Room{Name: "#chai", Modes: "+lnt 5"} })
	denied("renamed", "/public/tea")
	p.rooms = nil
	denied("no setting", "/public/")
	denied("no setting", "/public/tea")
}

// TestOlder: a reader gets back to the first message, each once, or to the oldest that is shown.
func TestOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		const many = 2*pageSize + 50
		for n := range many {
			p.chat.says(fmt.Sprint("line ", n))
			time.Sleep(time.Minute)
		}
		read := func() (all []string) {
			older := regexp.MustCompile(`href="(\?before=\w+)"`)
			for query := ""; ; {
				body := p.ask(home, "/public/tea"+query).Body.String()
				got := texts(body)
				all = append(got, all...)
				next := older.FindStringSubmatch(body)
				if next == nil {
					return all
				}
				query = next[1]
			}
		}
		all := read()
		if len(all) != many || all[0] != "line 0" || all[many-1] != fmt.Sprint("line ", many-1) {
			t.Errorf("%d lines: %q", len(all), all)
		}
		p.age = 150 * time.Minute
		time.Sleep(keptTime)
		if old := read(); len(old) != 149 || !slices.Equal(old, all[many-149:]) {
			t.Errorf("%d lines of at most %v: %q", len(old), p.age, old)
		}
	})
}

// liveOf asks for what is new since a tag, in a goroutine.
func (p *place) liveOf(from, tag string) <-chan *httptest.ResponseRecorder {
	answer := make(chan *httptest.ResponseRecorder, 1)
	go func() { answer <- p.ask(from, "/public/tea/live?tag="+tag) }()
	return answer
}

// decoded returns the content of an answer.
func decoded(t *testing.T, w *httptest.ResponseRecorder) (c content) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &c); w.Code != http.StatusOK || err != nil {
		t.Fatalf("got %d, %q, %v", w.Code, w.Body, err)
	}
	return c
}

// TestLive: a reader who waits gets what is said, changed and removed, and hears that the room is
// closed. It waits for no longer than it may.
func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		p.chat.says("one")
		now := decoded(t, p.ask(home, "/public/tea/live?tag="))
		when := time.Now()
		for _, step := range []struct {
			change func()
			want   string
		}{
			{func() { p.chat.said[0].Text, p.chat.said[0].Edited = "uno", &when }, "uno"},
			{func() {
				p.chat.said = append(p.chat.said, hall.Message{ID: "m1", Time: when,
					Text: "two"})
			}, "uno two"},
			{func() { p.chat.said = p.chat.said[1:] }, "two"},
			{func() { p.chat.said = nil }, ""},
		} {
			answer := p.liveOf(home, now.Tag)
			synctest.Wait()
			p.chat.change(func() {}) // in another room
			time.Sleep(3 * freshTime)
			select {
			case w := <-answer:
				t.Fatalf("it did not wait: %s", w.Body)
			default:
			}
			p.chat.change(step.change)
			before := now.Tag
			now = decoded(t, <-answer)
			var got []string
			for _, m := range now.Messages {
				got = append(got, m.Text)
			}
			if strings.Join(got, " ") != step.want || now.Tag == before {
				t.Errorf("got %+v, want %q", now, step.want)
			}
		}
		began := time.Now()
		if w := <-p.liveOf(home, now.Tag); w.Code != http.StatusNoContent ||
			time.Since(began) != waitTime {
			t.Errorf("a silent room: %d after %v", w.Code, time.Since(began))
		}
		answer := p.liveOf(home, now.Tag)
		synctest.Wait()
		p.chat.change(func() { p.chat.rooms["#tea"] = hall.Room{Name: "#tea", Modes: "+i"} })
		if w := <-answer; w.Code != http.StatusNotFound {
			t.Errorf("a closed room: %d %s", w.Code, w.Body)
		}
	})
}

// TestManyReaders: those who wait are bounded, in all and by address, and cost one reading of the
// room together. All of them get what is said, also within the time for which a view is fresh.
func TestManyReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		p.chat.says("one")
		tag := decoded(t, p.ask(home, "/public/tea/live?tag=")).Tag
		var answers []<-chan *httptest.ResponseRecorder
		wait := func(from string, n int) {
			for range n {
				answers = append(answers, p.liveOf(from, tag))
			}
			synctest.Wait()
		}
		refused := func(what, from string) {
			t.Helper()
			if w := <-p.liveOf(from, tag); w.Code != http.StatusServiceUnavailable ||
				w.Header().Get("Retry-After") != "15" {
				t.Errorf("too many %s: %d, %v", what, w.Code, w.Header())
			}
		}
		wait("192.0.2.2", 10)
		refused("of one address", "192.0.2.2")
		wait("192.0.2.3", 5)
		refused("in all", "192.0.2.9")
		if w := p.ask("192.0.2.9", "/public/tea"); w.Code != http.StatusOK {
			t.Errorf("the page itself: %d", w.Code)
		}
		p.chat.says("two") // the view is as fresh as it can be
		for _, answer := range answers {
			if c := decoded(t, <-answer); len(c.Messages) != 2 {
				t.Errorf("a reader got %+v", c)
			}
		}
		if p.chat.read != 2 {
			t.Errorf("the room was read %d times, want 2", p.chat.read)
		}
		for n := range 1000 { // nobody waits: the room is not read for what is said
			p.chat.says(fmt.Sprint(n))
		}
		if p.chat.read != 2 {
			t.Errorf("the room was read %d times, and nobody has asked", p.chat.read)
		}
		for n := range 50 { // whatever is said, and whoever asks
			p.chat.says(fmt.Sprint(n))
			p.ask(fmt.Sprint("198.51.100.", n), "/public/tea")
		}
		if p.chat.read != 2 {
			t.Errorf("the room was read %d times within a second", p.chat.read)
		}
	})
}

// TestRequests: the requests of an address are bounded.
func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		for range requestBurst {
			if w := p.ask(home, "/public/tea"); w.Code != http.StatusOK {
				t.Fatalf("got %d", w.Code)
			}
		}
		w := p.ask(home, "/public/tea")
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" {
			t.Errorf("got %d, %v", w.Code, w.Header())
		}
		if w := p.ask("192.0.2.2", "/public/tea"); w.Code != http.StatusOK {
			t.Errorf("another address: %d", w.Code)
		}
		time.Sleep(requestEvery)
		if w := p.ask(home, "/public/tea"); w.Code != http.StatusOK {
			t.Errorf("later: %d", w.Code)
		}
	})
}
