package web

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"interleave/internal/browser"
	"interleave/papaya/irc"
)

// overflow is true if the page is wider than the screen, or text is cut off at its side.
const overflow = `document.documentElement.scrollWidth > innerWidth || document.querySelector("#scroll").scrollWidth > document.querySelector("#scroll").clientWidth`

// poor lists the texts with a contrast below 4.5 (WCAG 2.2, 1.4.3), and the contrast.
const poor = `(() => {
	const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const rgb = (css) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = css; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
	const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
	const ground = (n) => { for (; n; n = n.parentElement) { const c = rgb(getComputedStyle(n).backgroundColor); if (c[3] > 250) return c; } return [255, 255, 255, 255]; };
	const out = [];
	for (const n of document.querySelectorAll("#chat *")) {
		if (![...n.childNodes].some((c) => c.nodeType === 3 && c.data.trim()) || !n.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || n.closest("dialog, .away, .unseen")) continue;
		const [a, b] = [light(rgb(getComputedStyle(n).color)), light(ground(n))].sort((x, y) => y - x);
		const ratio = (a + 0.05) / (b + 0.05);
		if (ratio < 4.5) out.push(n.className + " " + n.textContent.slice(0, 20) + " " + ratio.toFixed(2));
	}
	return out;
})()`

// looksWell checks that what is on the screen has enough contrast and is no wider than it, and
// takes a picture of this name.
func (p *person) looksWell(picture string) {
	p.t.Helper()
	if bad := browser.Eval[[]string](p.Page, poor); len(bad) > 0 {
		p.t.Errorf("%s: too little contrast: %q", picture, bad)
	}
	if browser.Eval[bool](p.Page, overflow) {
		p.t.Errorf("%s: something is wider than the screen", picture)
	}
	p.Picture(picture)
}

// TestPageInUse has a conversation in both themes, on a wide screen and on a phone, and checks
// contrast and overflow.
func TestPageInUse(t *testing.T) {
	p := newPapaya(t, false)
	ann, bob := newPerson(t, 1280, 800), newPerson(t, 360, 740)
	ann.signIn(p.url(), "ann", "#tea")
	bob.signIn(p.url(), "bob", "#tea")
	ann.write("/topic Leaves, water, patience. Today: oolong from https://tea.example/oolong")
	ann.write("the kettle is on")
	ann.write("and there are biscuits, but only the old ones, since nobody went to the shop, " +
		"which is what we agreed on yesterday, or so I thought")
	bob.sees("the kettle is on")
	bob.write("ann: two cups, please")
	bob.write("/me looks for the biscuits")
	bob.write("\x02bold\x02 and \x1ditalic\x1d, a long word: " + strings.Repeat("wide", 40))
	ann.Until("all of it is there",
		`document.querySelector("#messages").textContent.includes("widewide")`)
	if n := browser.Eval[int](ann.Page,
		`document.querySelectorAll("#messages .mention").length`); n != 1 {
		t.Errorf("%d mentions, want 1", n)
	}
	ann.write("/join #coffee")
	ann.Until("ann is in the next room",
		`document.querySelector("#room-name").textContent === "#coffee"`)
	bob.write("where did ann go?")
	bob.write("/msg ann psst")
	ann.Until("the rooms count",
		`document.querySelector("[data-key='#tea'] .badge.hot")?.textContent === "1" && document.querySelector("[data-key='bob'] .badge.hot")?.textContent === "1"`)
	if title := browser.Eval[string](ann.Page, "document.title"); title != "(2) #coffee · Papaya" {
		t.Errorf("the title: got %q", title)
	}
	ann.Do(chromedp.Click(chromedp.CSS("[data-key='#tea'] .room")))
	ann.Until("what is new is marked",
		`document.querySelectorAll("#messages .new").length === 1 && document.querySelector("#messages .new + .line .text").textContent === "where did ann go?"`)
	ann.Do(chromedp.Click(chromedp.CSS("#away")))
	bob.Until("bob sees that ann is away",
		`document.querySelector("#members .away .name")?.textContent === "ann"`)
	for _, theme := range []string{"light", "dark"} {
		for name, who := range map[string]*person{"wide": ann, "phone": bob} {
			who.Until("the colours change",
				fmt.Sprintf(
					`(() => { document.querySelector("input[value=%s]").click(); return document.documentElement.dataset.theme === %[1]q })()`, theme))
			who.looksWell(theme + "-" + name)
		}
	}
	bob.Do(chromedp.Click(chromedp.CSS("#show-rooms")))
	bob.Until("the pane is open and has the focus",
		`document.querySelector("#show-rooms").getAttribute("aria-expanded") === "true" && document.querySelector("#rooms-pane").contains(document.activeElement)`)
	bob.Until("it has come in",
		`Math.abs(document.querySelector("#rooms-pane").getBoundingClientRect().left) < 1`)
	bob.Picture("dark-phone-rooms")
	bob.Do(chromedp.KeyEvent("\x1b"))
	bob.Until("Escape shuts it",
		`document.querySelector("#show-rooms").getAttribute("aria-expanded") === "false" && document.activeElement.id === "show-rooms"`)
	ann.Do(chromedp.Click(chromedp.CSS("#settings-button")),
		chromedp.WaitVisible(chromedp.CSS("#settings")))
	ann.Picture("dark-settings")
}

func TestCompletionAndHistoryOfWhatWasWritten(t *testing.T) {
	url := site(t, ngircd(t))
	ann, bob := newPerson(t, 1280, 800), newPerson(t, 1280, 800)
	ann.signIn(url, "ann", "#tea")
	bob.signIn(url, "bob", "#tea")
	ann.Until("bob is in the list",
		`document.querySelector("#members").textContent.includes("bob")`)
	box := chromedp.CSS("#compose")
	ann.Do(chromedp.SendKeys(box, "b\t"))
	ann.Until("the nick is completed", `document.querySelector("#compose").value === "bob: "`)
	ann.Do(chromedp.SendKeys(box, "hello\r"))
	bob.sees("bob: hello")
	ann.write("/topi")
	ann.Until("a wrong command is told and stays",
		`document.querySelector("#told").textContent.includes("/help") && document.querySelector("#compose").value === "/topi"`)
	ann.Do(chromedp.SendKeys(box, "\t"))
	ann.Until("it is completed", `document.querySelector("#compose").value === "/topic "`)
	ann.write("")
	ann.Do(chromedp.SendKeys(box, "\ue013")) // arrow up in WebDriver
	ann.Picture("completion")
}

// TestLinesAreReadAsTheServerReadsThem compares the page's parser with that of package irc on
// random lines.
func TestLinesAreReadAsTheServerReadsThem(t *testing.T) {
	p := newPerson(t, 800, 600)
	p.Do(chromedp.Navigate(site(t, "127.0.0.1:1")))
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"@", "a=b", ";", "=", `\s`, `\:`, `\`, `\\`, ":", " ", "  ", "n!u@h",
		"privmsg", "PRIVMSG", "001", "#tea", "é", "日本", "\x01", "\t", "x"}
	type pieces struct {
		Tags            map[string]string
		Source, Command string
		Params          []string
	}
	var lines []string
	for range 4000 {
		var b strings.Builder
		for range 1 + random.IntN(20) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		lines = append(lines, b.String())
	}
	list, err := json.Marshal(lines)
	if err != nil {
		t.Fatal(err)
	}
	got := browser.Eval[[]*pieces](p.Page, fmt.Sprintf(`import("./irc.js").then(({ parse }) => %s.map((l) => { const m = parse(l);
		return m && { Tags: Object.fromEntries(m.tags), Source: m.source, Command: m.command, Params: m.params } }))`, list))
	for i, l := range lines {
		m, err := irc.Parse(l)
		if (err == nil) != (got[i] != nil) {
			t.Fatalf("%q: here %v, there %v", l, err, got[i])
		}
		if err == nil && fmt.Sprintf("%q", []any{len(m.Tags), m.Tags, m.Source, m.Command,
			m.Params}) != fmt.Sprintf("%q", []any{len(got[i].Tags), got[i].Tags, got[i].Source,
			got[i].Command, got[i].Params}) {
			t.Fatalf("%q: got %q, want %q", l, *got[i], m)
		}
	}
}

// TestLongTextsAreSentWhole: the messages that the page makes of a text have all of it, within the
// limits of the server.
func TestLongTextsAreSentWhole(t *testing.T) {
	p := newPerson(t, 800, 600)
	p.Do(chromedp.Navigate(site(t, "127.0.0.1:1")))
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"\n", "\n\n", "\r\n", " ", "  ", "a", "word ", "é", "日本語", "👩\u200d👧", "\t",
		strings.Repeat("x", 70), strings.Repeat("é ", 40)}
	var texts []string
	for range 400 {
		var b strings.Builder
		for range random.IntN(60) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		texts = append(texts, b.String())
	}
	list, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	wrong := browser.Eval[[]string](p.Page, fmt.Sprintf(`Promise.all([import("./multiline.js"), import("./irc.js")]).then(([{ compose, joined, trimLines, parseLimits }, { bytes }]) => %s.filter((text, i) => {
		const size = 20 + i %% 60, limits = parseLimits("max-lines=" + (1 + i %% 9) + ",max-bytes=600");
		const all = compose(text, size, limits);
		const whole = compose(text, 1 << 20, { bytes: 1 << 20, lines: 1 << 20 });
		const bare = (s) => s.replace(/\s/g, "");
		return all.some((m) => m.length > limits.lines || bytes(joined(m)) > limits.bytes || m[0].same || m.some((part) => bytes(part.text) > size || part.text.includes("\n")))
			|| bare(all.map(joined).join("")) !== bare(text)
			|| (trimLines(text) !== "" && joined(whole[0]) !== trimLines(text));
	}))`, list))
	if len(wrong) > 0 {
		t.Errorf("%d of %d, such as %q", len(wrong), len(texts), wrong[0])
	}
	if got := browser.Eval[string](p.Page, `import("./multiline.js").then(({ parseLimits }) => JSON.stringify(["", undefined, "max-bytes=1,max-lines=-5,x,=", "max-bytes=9999999,max-lines=1"].map((v) => Object.values(parseLimits(v)))))`); got !=
		"[[4096,32],[4096,32],[4096,32],[65536,1]]" {
		t.Errorf("limits: got %s", got)
	}
}
