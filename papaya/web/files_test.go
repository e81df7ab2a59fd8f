package web

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"interleave/internal/browser"
)

// teapot is a picture of stripes, wider than the page shows one.
func teapot(t *testing.T) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 1200, 800))
	for y := range 800 {
		for x := range 1200 {
			m.SetRGBA(x, y, color.RGBA{uint8(x / 5), uint8(y / 4), 120, 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// offer gives files to the page, as a drop or a paste does.
func (p *person) offer(kind string, names []string, data ...[]byte) {
	p.t.Helper()
	list := ""
	for i, name := range names {
		list += fmt.Sprintf(`t.items.add(new File([Uint8Array.from(atob(%q), (c) => c.charCodeAt(0))], %q));`,
			base64.StdEncoding.EncodeToString(data[i]), name)
	}
	event := `document.querySelector(".talk").dispatchEvent(new DragEvent("drop", { dataTransfer: t, bubbles: true, cancelable: true }))`
	if kind == "paste" {
		event = `document.querySelector("#compose").dispatchEvent(new ClipboardEvent("paste", { clipboardData: t, bubbles: true, cancelable: true }))`
	}
	p.Do(chromedp.Evaluate[chromedp.Void](
		`(() => { const t = new DataTransfer(); ` + list + event + `; })()`))
}

// linked waits until the box for writing has so many links to files, and nothing is being sent.
func (p *person) linked(n int) {
	p.t.Helper()
	p.Until(fmt.Sprintf("%d links are written", n), fmt.Sprintf(
		`document.querySelectorAll("#uploads li").length === 0 && [...document.querySelector("#compose").value.matchAll(/https:\S+\/file\/[A-Z2-7]{26}\/\S+/g)].length === %d`, n))
}

// TestFiles: a user drops and pastes files, sends their links, and another one sees a picture as a
// thumbnail, and what is no picture as a card, whatever its name is. A page of HTML is offered to
// be saved only. Deleting the message deletes its files.
func TestFiles(t *testing.T) {
	p := newPapaya(t, false)
	p.adminWith("the kettle is on\n", "account", "add", "ann")
	ann, bob := newPerson(t, 1280, 800), newPerson(t, 390, 780)
	ann.open(p.url())
	ann.Do(setValue("#nick", "ann"), setValue("#password", "the kettle is on"),
		setValue("#join", "#tea"))
	ann.press()
	ann.Until("ann is in", `document.querySelector("#room-name").textContent === "#tea"`)
	bob.signIn(p.url(), "bob", "#tea")

	bob.offer("drop", []string{"a.txt"}, []byte("x"))
	bob.Until("a guest is told", `document.querySelector("#told").textContent === "Sign in to an account to send files."`)
	ann.offer("paste", []string{"huge.bin"}, make([]byte, 70_000))
	ann.Until("too large a file is told", `document.querySelector("#told").textContent === "huge.bin was not sent: it has 68 KiB, and the limit is 64 KiB."`)

	page := []byte("<!doctype html><script>opener.caught = window.caught = 1</script><h1>tea</h1>")
	ann.offer("drop", []string{"tea pot.png", "page.png"}, teapot(t), page)
	ann.linked(2)
	ann.Picture("files-written")
	ann.Do(chromedp.SendKeys(chromedp.CSS("#compose"), "\r"))
	const shown = `document.querySelectorAll("#messages .file").length === 2 && document.querySelector("#messages .picture img")?.naturalWidth > 0 && document.querySelectorAll("#messages .file .hint").length === 1`
	for _, who := range []*person{ann, bob} {
		who.Until("both files are shown", shown)
		if got := browser.Eval[string](who.Page, `(() => { const i = document.querySelector("#messages img"); return [i.alt, i.naturalWidth, i.naturalHeight, i.width <= 320, i.height <= 240].join() })()`); got !=
			"tea pot.png,640,427,true,true" {
			t.Errorf("the thumbnail is %s", got)
		}
		if got := browser.Eval[string](who.Page,
			`document.querySelector("#messages .file:not(.picture)").innerText.replace(/\s+/g, " ")`); got !=
			fmt.Sprintf("page.png %d bytes", len(page)) {
			t.Errorf("the card says %q", got)
		}
		if browser.Eval[bool](who.Page, overflow) {
			t.Error("something is wider than the screen")
		}
	}
	for _, theme := range []string{"light", "dark"} {
		for name, who := range map[string]*person{"wide": ann, "phone": bob} {
			who.click("input[value=" + theme + "]")
			who.looksWell("files-" + theme + "-" + name)
		}
	}
	// The browser itself says what it would do with each link.
	const headers = `Promise.all([...document.querySelectorAll("#messages .file")].map((a) => fetch(a.href).then((r) => r.headers.get("Content-Type") + " " + r.headers.get("Content-Disposition").split(";")[0])))`
	if got := browser.Eval[[]string](bob.Page, headers); len(got) != 2 ||
		got[0] != "image/png inline" || got[1] != "application/octet-stream attachment" {
		t.Errorf("the files are served as %q", got)
	}
	ownFiles(p, ann, len(page))
	ann.write("/delete")
	for _, who := range []*person{ann, bob} {
		who.Until("the message is gone", `document.querySelectorAll("#messages .file").length === 0 && document.querySelectorAll("#messages .deleted").length === 1`)
	}
	if list := p.admin("file", "list"); list != "" {
		t.Errorf("files are left: %s", list)
	}
	twoAtOnce(p, ann)
}

// twoAtOnce: ann deletes two of three files before the server has answered. The cards of both say
// so, and the third one stays as it was.
func twoAtOnce(p *papaya, ann *person) {
	p.t.Helper()
	ann.offer("drop", []string{"one.txt", "two.txt", "three.txt"}, []byte("1"), []byte("22"),
		[]byte("333"))
	ann.linked(3)
	ann.Do(chromedp.SendKeys(chromedp.CSS("#compose"), "\r"))
	const cards = `[...document.querySelectorAll("#messages .file")].map((n) => n.innerText.replace(/\s+/g, " ")).join("; ")`
	ann.Until("three files are shown",
		cards+` === "one.txt 1 bytes; two.txt 2 bytes; three.txt 3 bytes"`)
	ann.click("#settings-button")
	ann.Until("three files are listed", `document.querySelectorAll("#own-files li").length === 3`)
	browser.Eval[any](ann.Page, `(() => {
		const rows = [...document.querySelectorAll("#own-files li")];
		for (const name of ["one.txt", "two.txt"]) {
			const button = rows.find((n) => n.textContent.startsWith(name)).querySelector("button");
			button.click();
			button.click();
		}
	})()`)
	ann.Until("one is left, and the cards of the other two say that they are gone",
		`document.querySelectorAll("#own-files li").length === 1 && `+cards+
			` === "one.txt is not there any more; two.txt is not there any more; three.txt 3 bytes"`)
	ann.Do(chromedp.KeyEvent("\x1b"))
	p.hasOneFile("three.txt")
}

// ownFiles: ann sees in the settings what she has sent and what is left, and deletes the file of
// HTML there. Its card says so on her page at once, and the message stays.
func ownFiles(p *papaya, ann *person, size int) {
	p.t.Helper()
	ann.click("#settings-button")
	ann.Until("both files are listed", fmt.Sprintf(
		`document.querySelectorAll("#own-files li").length === 2 && /^2 files take .* are left\.$/.test(document.querySelector("#own-files-said").textContent) && [...document.querySelectorAll("#own-files span")].some((n) => n.textContent.startsWith("page.png, %d bytes, "))`,
		size))
	ann.Picture("own-files")
	const button = `[...document.querySelectorAll("#own-files li")].find((n) => n.textContent.startsWith("page.png")).querySelector("button")`
	browser.Eval[any](ann.Page, button+`.click()`)
	if got := browser.Eval[string](ann.Page, button+`.textContent`); got != "Really delete" {
		p.t.Errorf("the button says %q", got)
	}
	browser.Eval[any](ann.Page, button+`.click()`)
	ann.told(" is deleted.")
	const one = `document.querySelectorAll("#own-files li").length === 1`
	ann.Until("one is left, and the card says that the other is gone", one+
		` && [...document.querySelectorAll("#messages .file .hint")].some((n) => n.textContent === "is not there any more")`)
	ann.Do(chromedp.KeyEvent("\x1b"))
	p.hasOneFile("tea pot.png")
}

// hasOneFile checks that the server has one file.
func (p *papaya) hasOneFile(name string) {
	p.t.Helper()
	if list := p.admin("file", "list"); strings.Contains(list, "\n") ||
		!strings.HasSuffix(list, name) {
		p.t.Errorf("the server has\n%s", list)
	}
}
