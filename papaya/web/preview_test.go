package web

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"interleave/internal/browser"
)

// A stranger is somebody's server of pages, and who has asked it.
type stranger struct {
	*httptest.Server
	mu     sync.Mutex
	agents []string
}

func newStranger(t *testing.T) *stranger {
	t.Helper()
	s := &stranger{}
	image := teapot(t)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.agents = append(s.agents, r.URL.Path+" "+r.UserAgent())
		s.mu.Unlock()
		if strings.HasSuffix(r.URL.Path, ".png") {
			_, _ = w.Write(image)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, `<title>no</title>
			<meta property="og:site_name" content="Tea Weekly">
			<meta property="og:title"
				content="&lt;img src=x onerror=window.caught=1&gt; on brewing">
			<meta property="og:description" content="How long, how hot, &#8238;and in which pot: a
				longer text that needs more than one line on any screen that there is today.">
			<meta property="og:image" content="/pot.png">`)
	}))
	t.Cleanup(s.Close)
	return s
}

// images returns how many images the server keeps.
func (p *papaya) images() int {
	p.t.Helper()
	list, err := os.ReadDir(filepath.Join(p.dir, "papaya-data", "previews"))
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	return len(list)
}

const (
	previewsShown = `document.querySelectorAll("#messages .preview").length`
	// A browser that still asks whether its copy of an image is good has a width, too. If the image
	// is removed meanwhile, the answer is 404.
	previewWhole = previewsShown + ` === 1 &&
		[...document.querySelectorAll("#messages .preview img")].filter((i) =>
			i.complete && i.naturalWidth > 0).length === 1`
)

// TestPreviews: a link gets a preview on all pages, with text and an image, and no page asks the
// stranger for anything. It can be hidden, closed by its author, and goes with its message.
func TestPreviews(t *testing.T) {
	site := newStranger(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(site.URL, "http://"), ":")
	p := newPapaya(t, false, fmt.Sprintf("[preview]\nenabled = true\nnetworks = [\"127.0.0.1\"]\n"+
		"ports = [%q]\n", port))
	ann, bob := newPerson(t, 1280, 800), newPerson(t, 390, 780)
	ann.signIn(p.url(), "ann", "#tea")
	bob.signIn(p.url(), "bob", "#tea")
	ann.write("look: " + site.URL + "/brew")
	const text = `document.querySelector("#messages .preview a").innerText
		.replace(/\s+/g, " ").trim()`
	want := strings.TrimPrefix(site.URL, "http://") + " · Tea Weekly <img src=x onerror=" +
		"window.caught=1> on brewing How long, how hot, and in which pot: a longer text that " +
		"needs more than one line on any screen that there is today."
	for _, who := range []*person{ann, bob} {
		who.Until("the preview is shown", previewWhole)
		if got := browser.Eval[string](who.Page, text); got != want {
			t.Errorf("the preview says %q, want %q", got, want)
		}
		if browser.Eval[bool](who.Page, `"caught" in window`) {
			t.Error("a script of the page ran")
		}
		if browser.Eval[bool](who.Page, overflow) {
			t.Error("something is wider than the screen")
		}
		who.sees("look: " + site.URL + "/brew")
	}
	for _, theme := range []string{"light", "dark"} {
		for name, who := range map[string]*person{"wide": ann, "phone": bob} {
			who.click("input[value=" + theme + "]")
			who.looksWell("preview-" + theme + "-" + name)
		}
	}
	site.mu.Lock()
	for _, one := range site.agents {
		if !strings.Contains(one, " PapayaLinkPreview/") {
			t.Errorf("the stranger was asked by %q", one)
		}
	}
	if len(site.agents) != 2 {
		t.Errorf("the stranger was asked for %q", site.agents)
	}
	site.mu.Unlock()

	bob.click("#previews")
	bob.Until("previews are hidden", previewsShown+` === 0`)
	bob.click("#previews")
	bob.Until("previews are shown again", previewWhole)
	bob.Do(reload())
	bob.submit("bob", "")
	bob.Until("the history has the preview", previewWhole)
	if n := browser.Eval[int](bob.Page,
		`document.querySelectorAll(".preview-close").length`); n != 0 {
		t.Error("another one's preview can be closed")
	}

	if n := p.images(); n != 1 {
		t.Errorf("the server keeps %d images", n)
	}
	ann.click(".preview-close")
	for _, who := range []*person{ann, bob} {
		who.Until("the preview is closed, and the message stays", previewsShown+
			` === 0 && document.querySelector("#messages").textContent.includes("look: ")`)
	}
	ann.write("again: " + site.URL + "/again")
	bob.Until("it has another preview", previewWhole)
	ann.Until("ann has it, too", previewWhole)
	if n := p.images(); n != 1 {
		t.Errorf("the server keeps %d images", n)
	}
	ann.write("/delete")
	for _, who := range []*person{ann, bob} {
		who.Until("the message is deleted", previewsShown+
			` === 0 && document.querySelectorAll("#messages .deleted").length === 1`)
	}
	if n := p.images(); n != 0 {
		t.Errorf("the server keeps %d images", n)
	}
	ann.write("/previews off")
	ann.write("none: " + site.URL + "/none")
	ann.write("/previews on")
	ann.write("one: " + site.URL + "/one")
	bob.Until("there is a preview again", previewWhole)
	if n := browser.Eval[int](bob.Page, previewsShown); n != 1 {
		t.Errorf("%d previews are shown in a room that wanted none", n)
	}
	site.mu.Lock()
	defer site.mu.Unlock()
	if all := strings.Join(site.agents, "\n"); strings.Contains(all, "/none") {
		t.Errorf("a page was fetched for a room that wants no previews: %s", all)
	}
	if got := browser.Eval[string](bob.Page, notPreviews); got != "0" {
		t.Errorf("taken for previews: %s", got)
	}
}

// notPreviews gives tags to the page that no good server sends, and counts what becomes of them.
const notPreviews = `import("./preview.js").then(({ previewed, cap }) => {
	const s = { previews: new Map() };
	let id = 0;
	const hear = (...tags) => previewed(s, { tags: new Map([["msgid", String(++id)], ...tags]) });
	for (const text of ["", "{", "null", "7", "[]", "{}", '{"url":7}', '{"url":"/x"}',
		'{"url":"javascript:alert(1)"}', '{"url":"data:text/html,x"}', '{"url":"https://"}'])
		hear(["+draft/reply", "m"], [cap, text]);
	hear([cap, '{"url":"https://x.example/"}']);
	hear(["+draft/reply", "m"]);
	if (s.previews.size > 0) return JSON.stringify([...s.previews]);
	hear(["+draft/reply", "m"], [cap, '{"url":"https://x.example/","title":7,"text":"a\\u202eb",' +
		'"image":"../file/x","width":9,"height":9}']);
	const [p] = s.previews.get("m");
	if (p.title !== "" || p.text !== "ab" || p.image !== "") return JSON.stringify(p);
	for (let n = 0; n < 10; n++) hear(["+draft/reply", "m"], [cap, '{"url":"https://x.example/"}']);
	return s.previews.get("m").length === 3 ? "0" : "too many";
})`
