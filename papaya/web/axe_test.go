package web

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"interleave/internal/browser"
)

// axe is the engine that looks for what keeps people from using a page.
const axe = "../../out/tools/axe/node_modules/axe-core/axe.min.js"

// accessible fails the test if axe finds something in what is on the screen, by the rules of WCAG
// 2.2, levels A and AA, and its best practices.
func (p *person) accessible(engine, what string) {
	p.t.Helper()
	if !browser.Eval[bool](p.Page, `"axe" in globalThis`) {
		p.Do(chromedp.Evaluate[chromedp.Void](engine + "; undefined"))
	}
	found := browser.Eval[[]string](p.Page, `axe.run({ runOnly: { type: "tag", values: ["wcag2a",
		"wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] } }).then((all) =>
		all.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.target + " " +
		n.failureSummary)))`)
	if len(found) > 0 {
		p.t.Errorf("%s: axe finds\n%s", what, strings.Join(found, "\n"))
	}
}

// readAxe returns the script of axe, or skips the test.
func readAxe(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile(axe)
	if err != nil {
		t.Skip("SKIP: install axe-core for the test of the page's accessibility (make toolchains " +
			"puts it into out/tools/axe)")
	}
	return string(script)
}

// inBothThemes calls do with the page in each of its themes.
func (p *person) inBothThemes(do func(theme string)) {
	p.t.Helper()
	for _, theme := range []string{"light", "dark"} {
		p.click("input[value=" + theme + "]")
		do(theme)
	}
}

// TestAccessibility has axe look at each part of the page, in both themes, on a wide screen and on
// a phone.
func TestAccessibility(t *testing.T) {
	engine := readAxe(t)
	p := newPapaya(t, false)
	p.addAccount("ann")
	ann, bob := newPerson(t, 1280, 800), newPerson(t, 390, 800)
	ann.open(p.url())
	ann.accessible(engine, "signing in")
	ann.signInTo(p, "ann")
	bob.signIn(p.url(), "bob", "#tea")
	ann.write("/topic Leaves, water, patience: https://tea.example/")
	ann.write("the **kettle** is `on`\n```\ncode\n```")
	bob.Until("it has come", `document.querySelector("#messages .block") !== null`)
	bob.write("/reply ann: two cups, please")
	ann.sees("ann: two cups, please")
	ann.write("/react 👍")
	bob.Until("there is a reaction", chips("ann: two cups, please")+` === "👍 1"`)
	ann.write("gone")
	ann.Until("it is echoed", `!document.querySelector(".pending")`)
	ann.write("/delete")
	bob.has("it is gone", `texts.includes("Message deleted by ann")`)
	bob.write("/msg ann psst")
	ann.Until("there is a conversation", badge("bob")+` === "1"`)
	for _, theme := range []string{"light", "dark"} {
		for name, who := range map[string]*person{"wide": ann, "phone": bob} {
			where := theme + ", " + name
			browser.Eval[any](who.Page,
				fmt.Sprintf(`document.querySelector("input[value=%s]").click()`, theme))
			who.accessible(engine, where+": the room")
			who.click("#show-search")
			who.accessible(engine, where+": the search")
			who.click("#show-search")
			who.click("#settings-button")
			who.accessible(engine, where+": the settings")
			who.click("#settings .primary")
		}
	}
	bob.click("#show-rooms")
	bob.accessible(engine, "the rooms on a phone")
	bob.click("#shade")
	for dialog, button := range map[string]string{"react": ".react", "delete": ".delete",
		"report": ".report", "leave": "[data-key='#tea'] .shut"} {
		ann.click(button)
		ann.Until("the dialog is open", fmt.Sprintf(`document.querySelector("#%s").open`, dialog))
		ann.accessible(engine, "the dialog "+dialog)
		ann.click("#" + dialog + "-not")
	}
}

// TestAccessibilityOfOperators has axe look at what operators of rooms and of the server have: the
// panel of a room, with and without rights, reports and bans.
func TestAccessibilityOfOperators(t *testing.T) {
	engine := readAxe(t)
	p := newPapaya(t, false)
	p.addAccount("eve")
	p.adminWith(secretOf, "account", "add", "olga", "--role", "operator")
	p.ban("add", "2001:db8::/48", "--for", "1h", "a flood")
	olga, bob, eve := newPerson(t, 1280, 800), newPerson(t, 390, 800), newPerson(t, 1280, 800)
	olga.signInTo(p, "olga")
	bob.signIn(p.url(), "bob", "#tea")
	eve.signInTo(p, "eve")
	eve.write("buy my kettles")
	bob.sees("buy my kettles")
	bob.write("/report eve sells kettles")
	bob.notes("Your report 1 is sent")
	olga.write("/ban nobody")
	bob.notes("olga set +b nobody!*@*")
	for name, who := range map[string]*person{"operator": olga, "member": bob} {
		who.inBothThemes(func(theme string) {
			who.click("#show-room")
			who.Until("the panel is filled",
				`document.querySelector("#list-rows .mask") !== null`)
			who.accessible(engine, theme+", "+name+": the panel of a room")
			who.click("#room .primary")
		})
	}
	olga.click("#settings-button")
	olga.Until("there is a report",
		`document.querySelectorAll("#report-list li").length === 1`)
	olga.click("#report-list li > button")
	olga.Until("it is shown", `document.querySelector("#report-list .details input") !== null`)
	olga.Until("there is a ban", `document.querySelector("#uban-list button") !== null`)
	olga.Do(setValue("#uban-target", "nobody"))
	olga.click("#uban")
	olga.Until("a refusal is shown", `document.querySelector("#uban-said").textContent !== ""`)
	olga.inBothThemes(func(theme string) {
		olga.accessible(engine, theme+": reports and bans")
	})
}

// TestAccessibilityOfWhatIsShown has axe look at files, previews, the bars for answering and
// changing, conversations, and the page without a connection.
func TestAccessibilityOfWhatIsShown(t *testing.T) {
	engine := readAxe(t)
	site := newStranger(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(site.URL, "http://"), ":")
	p := newPapaya(t, false, fmt.Sprintf("[preview]\nenabled = true\nnetworks = "+
		"[\"127.0.0.1\"]\nports = [%q]\n", port))
	p.addAccount("ann")
	p.addAccount("bob")
	ann, bob := newPerson(t, 1280, 800), newPerson(t, 390, 800)
	ann.signInTo(p, "ann")
	bob.stays(p, "bob")
	both := map[string]*person{"wide": ann, "phone": bob}
	ann.write("look: " + site.URL + "/brew")
	ann.offer("drop", []string{"tea pot.png", "notes.txt"}, teapot(t), []byte("tea"))
	ann.linked(2)
	ann.Do(chromedp.SendKeys(chromedp.CSS("#compose"), "\r"))
	for _, who := range both {
		who.Until("the preview is shown", previewWhole)
		who.Until("the files are shown", `
			document.querySelector("#messages .picture img")?.naturalWidth > 0 &&
			document.querySelector("#messages .file:not(.picture) .hint") !== null`)
	}
	bob.write("/query ann")
	bob.partner("ann", "here")
	bob.write("hello")
	ann.Until("there is a conversation", badge("bob")+` === "1"`)
	for name, who := range both {
		who.click("[data-key='#tea'] .room")
		who.Until("the room is on the screen", previewWhole)
		who.inBothThemes(func(theme string) {
			who.accessible(engine, theme+", "+name+": files and previews")
		})
	}
	ann.click("#messages .edit")
	ann.Until("it can be changed", `!document.querySelector("#replying").hidden`)
	bob.click("#messages .reply")
	bob.Until("it can be answered", `!document.querySelector("#replying").hidden`)
	ann.accessible(engine, "changing a message")
	bob.accessible(engine, "answering a message")
	bob.click("#reply-not")
	bob.click("[data-key='ann'] .room")
	bob.partner("ann", "here")
	bob.accessible(engine, "a conversation")
	bob.Until("it is kept", kept+`.includes("hello")`)
	p.kill()
	for name, who := range both {
		who.Until("the connection is lost",
			`document.querySelector("#state").textContent.includes("Connection lost")`)
		who.inBothThemes(func(theme string) {
			who.accessible(engine, theme+", "+name+": without a connection")
		})
	}
}

// TestAccessibilityOfPublicRooms has axe look at the list of public rooms, at one of them, and at
// one where nothing was said.
func TestAccessibilityOfPublicRooms(t *testing.T) {
	engine := readAxe(t)
	p := newPapaya(t, false, "[public]\nrooms = [\"#tea\", \"#quiet\"]\n")
	ann := newPerson(t, 1280, 800)
	ann.signIn(p.url(), "ann", "#tea")
	ann.write("/topic Leaves, water, patience")
	ann.write("the kettle is on")
	ann.write("/me waits")
	ann.Until("it is echoed", `!document.querySelector(".pending")`)
	ann.write("/edit waits for the kettle")
	ann.has("it is changed", `texts.some((x) => x.includes("(edited)"))`)
	ann.write("/join #quiet")
	ann.Until("both rooms are there", `document.querySelector("#room-name").textContent ===
		"#quiet"`)
	reader := &person{browser.Open(t, 390, 800, "404 (Not Found)"), t}
	for _, theme := range []string{"light", "dark"} {
		reader.Scheme(theme)
		for _, where := range []string{"", "tea", "quiet"} {
			reader.Do(chromedp.Navigate(p.url() + "public/" + where))
			reader.Until("it is there", `document.querySelector("h1") !== null`)
			reader.accessible(engine, theme+": public/"+where)
			reader.Picture("public-" + theme + "-" + where)
		}
	}
}
