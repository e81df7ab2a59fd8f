package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/coder/websocket"

	"interleave/internal/browser"
)

// patience bounds every wait for a server; nothing is expected to be fast.
const patience = 5 * time.Minute

func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }

// A person is a user in front of a page.
type person struct {
	*browser.Page
	t *testing.T
}

// newPerson opens a page. It is no failure of the page if a server cannot be reached.
func newPerson(t *testing.T, width, height int) *person {
	t.Helper()
	return &person{browser.Open(t, width, height, "WebSocket connection to"), t}
}

// signIn opens the page, and fills in and sends the form.
func (p *person) signIn(url, nick, room string) {
	p.t.Helper()
	p.open(url)
	p.submit(nick, room)
	p.Until(nick+" is in "+room,
		fmt.Sprintf(`document.querySelector("#room-name").textContent === %q`, room))
}

func (p *person) submit(nick, room string) {
	p.t.Helper()
	p.Do(setValue("#nick", nick))
	if room != "" {
		p.Do(setValue("#join", room))
	}
	p.press()
}

// write pastes a text into the compose box, and sends it.
func (p *person) write(text string) {
	p.t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		p.t.Fatal(err)
	}
	paste :=
		fmt.Sprintf(
			`(() => { const c = document.querySelector("#compose"); c.value = %s; c.dispatchEvent(new Event("input")); })()`, quoted)
	p.Do(chromedp.Focus(chromedp.CSS("#compose")), chromedp.Evaluate[chromedp.Void](paste),
		chromedp.SendKeys(chromedp.CSS("#compose"), "\r"))
}

// sees waits until exactly one message has this text.
func (p *person) sees(text string) {
	p.t.Helper()
	p.Until("it shows "+text,
		fmt.Sprintf(
			`[...document.querySelectorAll("#messages .text")].filter((n) => n.textContent === %q).length === 1`, text))
}

// said returns the texts of the messages in the room on the screen.
func (p *person) said() []string {
	p.t.Helper()
	return browser.Eval[[]string](p.Page,
		`[...document.querySelectorAll("#messages :is(.message, .action) .text")].map((n) => n.textContent)`)
}

// site serves the page, and passes its WebSocket on to an IRC server that speaks TCP.
func site(t *testing.T, addr string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/", Handler())
	mux.HandleFunc("/socket", func(w http.ResponseWriter, r *http.Request) { bridge(w, r, addr) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL + "/"
}

// bridge passes lines between a WebSocket and a TCP connection until one of them ends.
func bridge(w http.ResponseWriter, r *http.Request, addr string) {
	ws, err := websocket.Accept(w, r,
		&websocket.AcceptOptions{Subprotocols: []string{"text.ircv3.net"}})
	if err != nil {
		return
	}
	defer func() { _ = ws.CloseNow() }()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer c.Close()
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	go func() {
		defer stop()
		for {
			_, line, err := ws.Read(ctx)
			if err != nil {
				c.Close()
				return
			}
			if _, err := c.Write(append(line, "\r\n"...)); err != nil {
				return
			}
		}
	}()
	for lines := bufio.NewScanner(c); lines.Scan(); {
		if ws.Write(ctx, websocket.MessageText, lines.Bytes()) != nil {
			return
		}
	}
}

func (p *person) open(url string) {
	p.t.Helper()
	p.Do(chromedp.Navigate(url), chromedp.WaitVisible(chromedp.CSS("#nick")))
}

// press sends the form.
func (p *person) press() {
	p.t.Helper()
	p.Do(chromedp.Click(chromedp.CSS("#sign-in-form .primary")))
}

func setValue(css, value string) chromedp.Action[chromedp.Void] {
	return chromedp.SetValue(chromedp.CSS(css), value)
}

func reload() chromedp.Action[chromedp.Void] { return chromedp.Reload() }
