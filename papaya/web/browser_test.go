package web

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/coder/websocket"
)

// pictures is a folder to leave screenshots in, for people to look at.
var pictures = flag.String("pictures", "", "leave screenshots of the page in this folder")

// patience is a net under what the page is to show; nothing is expected to be fast.
const patience = 5 * time.Minute

// browser is the one Chromium of all tests; each person has a context of its own in it.
var browser struct {
	sync.Once
	ctx  context.Context
	stop []func()
	err  error
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	for i := len(browser.stop) - 1; i >= 0; i-- {
		browser.stop[i]()
	}
	os.Exit(code)
}

func chromium(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("SKIP: install chromium for the tests of Papaya's page (./toolchains.sh --all)")
	}
	browser.Do(func() {
		dir, err := os.MkdirTemp("", "papaya-web-")
		if err != nil {
			browser.err = err
			return
		}
		options := []chromedp.ExecAllocatorOption{
			chromedp.ExecPath(path), chromedp.UserDataDir(dir), chromedp.Headless, chromedp.NoSandbox, chromedp.NoFirstRun, chromedp.DisableGPU,
			chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
			chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true), chromedp.IgnoreCertErrors, chromedp.WSURLReadTimeout(patience),
		}
		allocator, stopAll := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, stop := chromedp.NewContext(allocator)
		browser.ctx, browser.err = ctx, chromedp.Do(ctx)
		browser.stop = append(browser.stop, func() { _ = os.RemoveAll(dir) }, stopAll, stop)
	})
	if browser.err != nil {
		t.Fatalf("starting chromium: %v", browser.err)
	}
	return browser.ctx
}

// A person is a page of her own in the browser, with her own storage.
type person struct {
	t      *testing.T
	ctx    context.Context
	mu     sync.Mutex
	faults []string // what the page threw or logged as an error
}

func newPerson(t *testing.T, width, height int) *person {
	t.Helper()
	ctx, stop := chromedp.NewContext(chromium(t), chromedp.WithNewBrowserContext())
	t.Cleanup(stop)
	p := &person{t: t, ctx: ctx}
	if err := chromedp.Do(ctx); err != nil { // the page lives as long as the context of the first call: not one with a limit
		t.Fatalf("opening a page: %v", err)
	}
	p.do(chromedp.EmulateViewport(int64(width), int64(height)))
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatalf("giving the page the focus: %v", err)
	}
	go p.watch(chromedp.Console(ctx))
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, f := range p.faults {
			t.Errorf("the page failed: %s", f)
		}
	})
	return p
}

// watch keeps what the page throws and what the browser complains of; it ends with the page. That a server cannot be
// reached is no fault of the page.
func (p *person) watch(console iter.Seq2[chromedp.ConsoleMessage, error]) {
	for m, err := range console {
		if err != nil {
			return
		}
		bad := m.IsException() || m.Type == "error" || m.Type == "warning"
		if !bad || strings.Contains(m.Text, "WebSocket connection to") {
			continue
		}
		p.mu.Lock()
		p.faults = append(p.faults, m.String())
		p.mu.Unlock()
	}
}

func (p *person) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, patience)
	defer stop()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("driving the page: %v", err)
	}
}

// eval is what an expression of the page's script is worth.
func eval[T any](p *person, js string) T {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, patience)
	defer stop()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("asking the page for %s: %v", js, err)
	}
	return out
}

// until waits for an expression to be true.
func (p *person) until(what, js string) {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, patience)
	defer stop()
	poll := chromedp.Poll[bool](js, chromedp.WithPollingInterval(30*time.Millisecond), chromedp.WithPollingTimeout(patience))
	if _, err := chromedp.Run(ctx, poll); err != nil {
		p.picture("failed-" + strings.ReplaceAll(p.t.Name(), "/", "-"))
		p.t.Fatalf("waiting until %s: %v\nthe page shows:\n%s", what, err, eval[string](p, "document.body.innerText"))
	}
}

// signIn opens the page and fills in the form.
func (p *person) signIn(url, nick, room string) {
	p.t.Helper()
	p.open(url)
	p.submit(nick, room)
	p.until(nick+" is in "+room, fmt.Sprintf(`document.querySelector("#room-name").textContent === %q`, room))
}

func (p *person) submit(nick, room string) {
	p.t.Helper()
	p.do(setValue("#nick", nick))
	if room != "" {
		p.do(setValue("#join", room))
	}
	p.press()
}

// write puts a text into the compose box as one would paste it, and sends it.
func (p *person) write(text string) {
	p.t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		p.t.Fatal(err)
	}
	paste := fmt.Sprintf(`(() => { const c = document.querySelector("#compose"); c.value = %s; c.dispatchEvent(new Event("input")); })()`, quoted)
	p.do(chromedp.Focus(chromedp.CSS("#compose")), chromedp.Evaluate[chromedp.Void](paste), chromedp.SendKeys(chromedp.CSS("#compose"), "\r"))
}

// sees waits until a message with this very text is there, once.
func (p *person) sees(text string) {
	p.t.Helper()
	p.until("it shows "+text, fmt.Sprintf(`[...document.querySelectorAll("#messages .text")].filter((n) => n.textContent === %q).length === 1`, text))
}

// said lists the texts of what people said in the room that is seen.
func (p *person) said() []string {
	p.t.Helper()
	return eval[[]string](p, `[...document.querySelectorAll("#messages :is(.message, .action) .text")].map((n) => n.textContent)`)
}

// picture leaves a screenshot, if pictures are asked for.
func (p *person) picture(name string) {
	p.t.Helper()
	if *pictures == "" {
		return
	}
	ctx, stop := context.WithTimeout(p.ctx, patience)
	defer stop()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatalf("taking a picture: %v", err)
	}
	if err := os.WriteFile(filepath.Join(*pictures, name+".png"), png, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// site serves the page in front of an IRC server that speaks TCP.
func site(t *testing.T, addr string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/", Handler())
	mux.HandleFunc("/socket", func(w http.ResponseWriter, r *http.Request) { bridge(w, r, addr) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL + "/"
}

// bridge passes lines between a WebSocket and a TCP connection, until either ends.
func bridge(w http.ResponseWriter, r *http.Request, addr string) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"text.ircv3.net"}})
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
	for lines := newLines(c); ; {
		line, err := lines.next()
		if err != nil || ws.Write(ctx, websocket.MessageText, []byte(line)) != nil {
			return
		}
	}
}

// lines reads what ends in CR LF.
type lines struct {
	r   io.Reader
	buf []byte
}

func newLines(r io.Reader) *lines { return &lines{r: r} }

func (l *lines) next() (string, error) {
	for {
		if line, rest, ok := strings.Cut(string(l.buf), "\n"); ok {
			l.buf = []byte(rest)
			return strings.TrimSuffix(line, "\r"), nil
		}
		chunk := make([]byte, 4096)
		n, err := l.r.Read(chunk)
		l.buf = append(l.buf, chunk[:n]...)
		if n == 0 && err != nil {
			return "", err
		}
		if len(l.buf) > 1<<20 {
			return "", errors.New("a line without end")
		}
	}
}

func (p *person) open(url string) {
	p.t.Helper()
	p.do(chromedp.Navigate(url), chromedp.WaitVisible(chromedp.CSS("#nick")))
}

// press sends the form.
func (p *person) press() {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS("#sign-in-form .primary")))
}

func setValue(css, value string) chromedp.Action[chromedp.Void] {
	return chromedp.SetValue(chromedp.CSS(css), value)
}

func reload() chromedp.Action[chromedp.Void] { return chromedp.Reload() }
