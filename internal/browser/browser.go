// Package browser opens pages in a headless Chromium, for tests of pages.
package browser

import (
	"context"
	"flag"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// pictures is a folder to leave screenshots in, for people to look at.
var pictures = flag.String("pictures", "", "leave screenshots of the pages in this folder")

// patience is a net for a page to show something.
const patience = 5 * time.Minute

// programs are the browsers that are looked for. The shell is the same engine without a window, and
// takes a third of the CPU time.
var programs = []string{"chromium-headless-shell", "chromium"}

// one is the one Chromium of a test program; each page has a context of its own in it.
var one struct {
	sync.Once
	ctx  context.Context
	stop []func()
	err  error
}

// Needed skips the test if there is no browser.
func Needed(t *testing.T) {
	t.Helper()
	if find() == "" {
		t.Skip("SKIP: install chromium-headless-shell for the tests of pages (./toolchains.sh " +
			"--tests)")
	}
}

func find() string {
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Main runs the tests of a package, then ends the browser, and returns the status to exit with.
func Main(m *testing.M) int {
	flag.Parse()
	code := m.Run()
	for i := len(one.stop) - 1; i >= 0; i-- {
		one.stop[i]()
	}
	return code
}

func start() {
	dir, err := os.MkdirTemp("", "browser-")
	if err != nil {
		one.err = err
		return
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(find()), chromedp.UserDataDir(dir), chromedp.Headless, chromedp.NoSandbox,
		chromedp.NoFirstRun, chromedp.DisableGPU, chromedp.IgnoreCertErrors,
		chromedp.WSURLReadTimeout(patience),
	}
	for _, name := range []string{
		"disable-background-networking", "disable-component-update", "disable-sync",
		"disable-dev-shm-usage", "hide-scrollbars",
	} {
		options = append(options, chromedp.Flag(name, true))
	}
	allocator, stopAll := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop := chromedp.NewContext(allocator)
	one.ctx, one.err = ctx, chromedp.Do(ctx)
	one.stop = append(one.stop, func() { _ = os.RemoveAll(dir) }, stopAll, stop)
}

// A Page is one page with cookies and storage of its own. Its exceptions, and the browser's
// complaints, fail the test.
type Page struct {
	t        *testing.T
	ctx      context.Context
	expected string
	mu       sync.Mutex
	faults   []string
}

// Open opens an empty page of this size in pixels, until the test ends. A complaint that holds the
// expected text is no fault of the page.
func Open(t *testing.T, width, height int, expected string) *Page {
	t.Helper()
	Needed(t)
	if one.Do(start); one.err != nil {
		t.Fatalf("starting %s: %v", find(), one.err)
	}
	ctx, stop := chromedp.NewContext(one.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(stop)
	p := &Page{t: t, ctx: ctx, expected: expected}
	// The page lives as long as the context of the first call, which must have no limit.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("opening a page: %v", err)
	}
	p.Size(width, height)
	focus := emulation.SetFocusEmulationEnabledParams{Enabled: true}
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, focus); err != nil {
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

// watch keeps the faults; it ends with the page.
func (p *Page) watch(console iter.Seq2[chromedp.ConsoleMessage, error]) {
	for m, err := range console {
		if err != nil {
			return
		}
		bad := m.IsException() || m.Type == "error" || m.Type == "warning"
		if !bad || strings.Contains(m.Text, p.expected) {
			continue
		}
		p.mu.Lock()
		p.faults = append(p.faults, strings.TrimSpace(m.String()+" "+m.URL))
		p.mu.Unlock()
	}
}

// Context is the context for calls of the browser's own protocol.
func (p *Page) Context() context.Context { return p.ctx }

// Size sets the page's size in pixels.
func (p *Page) Size(width, height int) {
	p.t.Helper()
	p.Do(chromedp.EmulateViewport(int64(width), int64(height)))
}

// Navigate opens the page at an address.
func (p *Page) Navigate(address string) {
	p.t.Helper()
	p.Do(chromedp.Navigate(address))
}

// Scheme makes the page one for people who prefer this scheme of colours: "light" or "dark".
func (p *Page) Scheme(name string) {
	p.t.Helper()
	media := emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}}
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, media); err != nil {
		p.t.Fatalf("setting the colours %s: %v", name, err)
	}
}

// Do does steps in turn, or fails the test.
func (p *Page) Do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, patience)
	defer stop()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("driving the page: %v", err)
	}
}

// Eval returns the value of an expression of JavaScript.
func Eval[T any](p *Page, js string) T {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, patience)
	defer stop()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("asking the page for %s: %v", js, err)
	}
	return out
}

// Until waits for an expression of JavaScript to be true.
func (p *Page) Until(what, js string) {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, patience)
	defer stop()
	every, limit := chromedp.WithPollingInterval(30*time.Millisecond),
		chromedp.WithPollingTimeout(patience)
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](js, every, limit)); err != nil {
		p.Picture("failed-" + strings.ReplaceAll(p.t.Name(), "/", "-"))
		shown := Eval[string](p, "document.body.innerText")
		p.t.Fatalf("waiting until %s: %v\nthe page shows:\n%s", what, err, shown)
	}
}

// Picture leaves a screenshot, if pictures are asked for.
func (p *Page) Picture(name string) {
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
