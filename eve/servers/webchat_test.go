package servers_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/coder/websocket"

	chromium "interleave/internal/browser"
)

// A member is a client of the chat in one of its rooms.
type member struct {
	*websocket.Conn
	t *testing.T
}

func enterRoom(t *testing.T, port int, room, name string) member {
	t.Helper()
	return member{dialWebSocket(t, port, "/rooms/"+room+"?name="+url.QueryEscape(name)), t}
}

func (m member) say(text string) {
	m.t.Helper()
	sendMessage(m.t, m.Conn, websocket.MessageText, text)
}

// mustHear checks the next message: "name: text", or "here: names".
func (m member) mustHear(wants ...string) {
	m.t.Helper()
	for _, want := range wants {
		_, line, err := m.Read(m.t.Context())
		if err != nil {
			m.t.Fatalf("waiting for %q: %v", want, err)
		}
		var heard struct {
			From, Text, At string
			Here           []string
		}
		if err := json.Unmarshal(line, &heard); err != nil {
			m.t.Fatalf("heard %q: %v", line, err)
		}
		got := heard.From + ": " + heard.Text
		if heard.Here != nil {
			got = "here: " + strings.Join(heard.Here, " ")
		}
		if got != want {
			m.t.Fatalf("heard %q, want %q", got, want)
		}
		if heard.Here == nil && !strings.HasPrefix(heard.At, "20") {
			m.t.Errorf("%s is of %q", got, heard.At)
		}
	}
}

// Members of one room hear each other in one order; who comes later hears what was said before.
func TestPageOfWebChat(t *testing.T) {
	t.Parallel()
	p := start(t, page(t, "webchat"), "EVE_WORKERS=2")
	port := p.port()
	b := newBrowser(t, port)
	if a, text := b.ask("GET", "/", nil); a.Header.Get("Content-Type") !=
		"text/html; charset=utf-8" || !strings.Contains(text, "new WebSocket(") {
		t.Errorf("the page: %v, %q", a.Header, head(text))
	}
	for path, want := range map[string]string{
		"/rooms/a": "a name has 1 to 20 bytes\n", "/rooms/a?name=": "a name has 1 to 20 bytes\n",
		"/rooms/a?name=a%0Ab": "a name has 1 to 20 bytes\n",
		"/rooms/a?name=%zz":   "an escape without two digits\n",
	} {
		b.must("GET", path, nil, 400, want)
	}
	b.must("GET", "/rooms/"+strings.Repeat("x", 21)+"?name=a", nil, 404, "there is no such room\n")
	if a, _ := b.ask("GET", "/rooms/a?name=a", nil); a.StatusCode != 426 {
		t.Errorf("a room by HTTP: %d", a.StatusCode)
	}

	ann := enterRoom(t, port, "lobby", "ann")
	ann.mustHear("here: ann")
	ann.say("hello")
	ann.mustHear("ann: hello")
	bob := enterRoom(t, port, "lobby", "bob \"b\"")
	bob.mustHear("ann: hello", "here: ann bob \"b\"")
	ann.mustHear("here: ann bob \"b\"")
	bob.say("  \"hi\" \\ <b>\n")
	for _, m := range []member{ann, bob} {
		m.mustHear("bob \"b\": \"hi\" \\ <b>")
	}
	other := enterRoom(t, port, "elsewhere", "ann")
	other.mustHear("here: ann")
	mustBeClosed(t, enterRoom(t, port, "lobby", "ann").Conn, 4001, "this name is taken")
	const many = 60
	for i := range many {
		ann.say(fmt.Sprint("text ", i))
	}
	for i := range many {
		for _, m := range []member{ann, bob} {
			m.mustHear(fmt.Sprint("ann: text ", i))
		}
	}
	cleo := enterRoom(t, port, "lobby", "cleo")
	for i := many - 50; i < many; i++ {
		cleo.mustHear(fmt.Sprint("ann: text ", i))
	}
	cleo.mustHear("here: ann bob \"b\" cleo")
	bob.mustHear("here: ann bob \"b\" cleo")
	sendMessage(t, cleo.Conn, websocket.MessageBinary, "x")
	mustBeClosed(t, cleo.Conn, websocket.StatusUnsupportedData, "only text is said here")
	bob.mustHear("here: ann bob \"b\"")
	ann.say(strings.Repeat("x", 2001))
	bob.mustHear("here: bob \"b\"")
	other.say("still here")
	other.mustHear("ann: still here")
	p.signal(syscall.SIGTERM)
	mustBeClosed(t, bob.Conn, websocket.StatusGoingAway, "the server ends")
	p.mustExit(0)
}

// Two people in front of the page.
func TestPageOfWebChatInBrowser(t *testing.T) {
	t.Parallel()
	chromium.Needed(t)
	p := start(t, page(t, "webchat"), "EVE_WORKERS=2")
	port := p.port()
	text := func(selector, want string) string {
		return fmt.Sprintf(`document.querySelector(%q)?.innerText === %q`, selector, want)
	}
	enter := func(name string) *chromium.Page {
		page := chromium.Open(t, 800, 600, "WebSocket connection to")
		page.Do(chromedp.Navigate(fmt.Sprintf("http://127.0.0.1:%d/", port)),
			chromedp.WaitVisible(chromedp.CSS("#name")),
			chromedp.SetValue(chromedp.CSS("#name"), name),
			chromedp.Click(chromedp.CSS("#enter button")))
		return page
	}
	say := func(page *chromium.Page, text string) {
		page.Do(chromedp.SetValue(chromedp.CSS("#text"), text),
			chromedp.Click(chromedp.CSS("#write button")))
	}
	ann := enter("ann")
	ann.Until("ann is in the room", text("#state", "Here: ann"))
	say(ann, "<i>hello</i>")
	ann.Until("ann sees her text", text("#said li", "ann<i>hello</i>"))
	bob := enter("bob")
	bob.Until("bob sees what was said before", text("#said li", "ann<i>hello</i>"))
	ann.Until("ann sees that bob has come", text("#state", "Here: ann, bob"))
	say(bob, "hi")
	ann.Until("ann sees bob's text", text("#said li:last-child", "bobhi"))
	ann.Picture("webchat")
	late := enter("ann")
	late.Until("a name that is taken is refused", text("#state", "this name is taken"))
	p.signal(syscall.SIGTERM)
	ann.Until("the page says that the server ends", text("#state", "the server ends"))
	p.mustExit(0)
}
