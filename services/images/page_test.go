package images

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"interleave/internal/browser"
	"interleave/internal/probe/probetest"
)

// TestPage uses the page in a browser, against one model: the files are the same for all.
func TestPage(t *testing.T) {
	browser.Needed(t)
	t.Parallel()
	m := probetest.One(t, "go-goroutine-nethttp")
	folder, _ := m.Folder(t, 0)
	server := m.Start(t, folder)
	c := newClient(t, server.Port)
	// some answers are errors on purpose
	v := &visitor{browser.Open(t, 390, 844, "Failed to load resource"), t}

	v.open("http://" + c.address + "/")
	v.Until("an empty list says so",
		`document.querySelector("#state").textContent === "No images yet."`)
	dir := t.TempDir()
	files := map[string][]byte{"Teekanne & <b>Tasse</b>.png": pngOf(t, paint(300, 200, 11)),
		"wide.jpg": grayJPEG(t, 2000, 300), "dot.gif": gifOf(t, 3, 3),
		"notes.png": []byte("no image")}
	var paths []string
	for name, content := range files {
		// a name on a disk has no slash
		name = filepath.Join(dir, strings.ReplaceAll(name, "/", "∕"))
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, name)
	}
	v.Do(chromedp.SetUploadFiles(chromedp.CSS("#choose"), paths))
	v.Until("three are stored and one is not",
		`document.querySelectorAll("#list li").length === 3 && document.querySelectorAll("#uploads li").length === 1`)
	v.Until("the problem is told",
		`document.querySelector("#uploads [role=alert]")?.textContent.includes("the bytes are no JPEG, PNG or GIF")`)
	v.Until("a name is text",
		`[...document.querySelectorAll("#list a")].some((a) => a.textContent === "Teekanne & <b>Tasse<∕b>.png") && !document.querySelector("#list b")`)
	v.Until("thumbnails are there",
		`[...document.querySelectorAll("#list img")].every((i) => i.complete && i.naturalWidth > 0 && i.naturalWidth <= 160)`)
	v.looks("phone")
	v.drops(pngOf(t, paint(30, 30, 12)))
	v.Until("what was dropped is stored",
		`document.querySelector("#list li a")?.textContent === "dropped.png"`)

	v.slowly(func() {
		v.drops(padded(t, pngOf(t, paint(30, 30, 12)), 60_000))
		v.Until("the bar moves",
			`(document.querySelector("#uploads progress")?.value ?? 0) > 0 && document.querySelector("#uploads progress").value < 1`)
	})
	v.Until("it is stored in the end", `document.querySelectorAll("#list li").length === 5`)
	c.ask("DELETE", c.list()[0].URL, nil, nil, 204)
	v.open("http://" + c.address + "/")
	v.Until("four are left", `document.querySelectorAll("#list li").length === 4`)

	v.Do(chromedp.Click(chromedp.CSS("#list li button")))
	v.Until("it asks",
		`document.querySelector("#sure").open && document.querySelector("#question").textContent.includes("dropped.png")`)
	v.Picture("question")
	v.Do(chromedp.Click(chromedp.CSS(`#sure button[value="no"]`)))
	v.Until("it is kept",
		`!document.querySelector("#sure").open && document.querySelectorAll("#list li").length === 4`)
	v.Do(chromedp.Click(chromedp.CSS("#list li button")),
		chromedp.Click(chromedp.CSS(`#sure button[value="yes"]`)))
	v.Until("it is gone", `document.querySelectorAll("#list li").length === 3`)
	if n := len(c.list()); n != 3 {
		t.Errorf("the server has %d images, want 3", n)
	}
	for range 25 {
		c.upload("image/gif", "many", gifOf(t, 40, 30))
	}
	v.Size(1280, 900)
	v.open("http://" + c.address + "/")
	v.Until("the newest twenty are shown",
		`document.querySelectorAll("#list li").length === 20 && !document.querySelector("#more").hidden`)
	v.Do(chromedp.Click(chromedp.CSS("#more")))
	v.Until("all are shown",
		`document.querySelectorAll("#list li").length === 28 && document.querySelector("#more").hidden`)
	v.looks("desk")
	v.keyboard()
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	v.Do(chromedp.Click(chromedp.CSS("#list li button")),
		chromedp.Click(chromedp.CSS(`#sure button[value="yes"]`)))
	v.Until("a server that is away is told of",
		`document.querySelector("#state").textContent.includes("cannot be reached") && document.querySelectorAll("#list li").length === 28`)
}

// A visitor uses a page of its own.
type visitor struct {
	*browser.Page
	t *testing.T
}

func (v *visitor) open(url string) {
	v.t.Helper()
	v.Do(chromedp.Navigate(url))
}

// drops drops a file on the page, as a hand would.
func (v *visitor) drops(content []byte) {
	v.t.Helper()
	numbers := strings.Join(strings.Fields(fmt.Sprintf("%d", content)), ",")
	v.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => {
		const data = new DataTransfer();
		data.items.add(new File([new Uint8Array(%s)], "dropped.png", {type: "image/png"}));
		for (const name of ["dragenter", "dragover", "drop"]) document.querySelector("#drop").dispatchEvent(new DragEvent(name, {dataTransfer: data, bubbles: true, cancelable: true}));
	})()`, numbers)))
}

// slowly runs a function with a slow network.
func (v *visitor) slowly(do func()) {
	v.t.Helper()
	set := func(bytes float64) {
		params := network.EmulateNetworkConditionsByRuleParams{
			MatchedNetworkConditions: []*network.Conditions{
				{DownloadThroughput: -1, UploadThroughput: bytes},
			},
		}
		if _, err := chromedp.Call(v.Context(), network.EmulateNetworkConditionsByRule,
			params); err != nil {
			v.t.Fatal(err)
		}
	}
	set(20_000)
	do()
	set(-1)
}

// looks checks the accessibility of the page, in light and in dark.
func (v *visitor) looks(where string) {
	v.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		params := emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		}
		if _, err := chromedp.Call(v.Context(), emulation.SetEmulatedMedia, params); err != nil {
			v.t.Fatal(err)
		}
		v.Picture(where + "-" + scheme)
		if wide := browser.Eval[bool](v.Page,
			`document.documentElement.scrollWidth > innerWidth`); wide {
			v.t.Errorf("%s, %s: the page is wider than its window", where, scheme)
		}
		if faint := browser.Eval[[]string](v.Page, contrast); len(faint) > 0 {
			v.t.Errorf("%s, %s: text of less than 4.5 to 1: %q", where, scheme, faint)
		}
	}
	if nameless := browser.Eval[[]string](v.Page, `[...document.querySelectorAll("button, input, a, progress, dialog, img")].filter((e) => !(e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") ||
		e.textContent.trim() || e.labels?.length || e.hasAttribute("alt"))).map((e) => e.outerHTML)`); len(nameless) > 0 {
		v.t.Errorf("%s: without a name: %q", where, nameless)
	}
	if small := browser.Eval[[]string](v.Page,
		`[...document.querySelectorAll("button, .button")].filter((e) => e.getClientRects().length && e.getBoundingClientRect().height < 43.5).map((e) => e.outerHTML)`); len(small) > 0 {
		v.t.Errorf("%s: too small for a finger: %q", where, small)
	}
}

// contrast lists the texts with too little contrast to their background.
const contrast = `(() => {
	const parse = (c) => { const p = document.createElement("canvas").getContext("2d", {willReadFrequently: true}); p.fillStyle = c; p.fillRect(0, 0, 1, 1); return p.getImageData(0, 0, 1, 1).data; };
	const light = (c) => [...parse(c)].slice(0, 3).map((x) => x / 255).map((x) => x <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4).reduce((sum, x, i) => sum + x * [.2126, .7152, .0722][i], 0);
	const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (parse(c)[3] === 255) return c; } return "white"; };
	return [...document.querySelectorAll("body *")].filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) && e.getClientRects().length).filter((e) => {
		const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
		return (a + .05) / (b + .05) < 4.5;
	}).map((e) => e.outerHTML.slice(0, 120));
})()`

// keyboard walks from the top to the first image without a mouse.
func (v *visitor) keyboard() {
	v.t.Helper()
	v.Do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur(), scrollTo(0, 0)`))
	var seen []string
	for range 6 {
		v.Do(chromedp.KeyEvent("\t"))
		seen = append(seen, browser.Eval[string](v.Page,
			`document.activeElement.id || document.activeElement.className || document.activeElement.tagName`))
	}
	if !strings.Contains(strings.Join(seen, " "), "choose") ||
		!strings.Contains(strings.Join(seen, " "), "A ") {
		v.t.Errorf("by Tab one reaches %q, want the choice of files and the images", seen)
	}
}
