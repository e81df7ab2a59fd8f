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

// TestAccessibility has axe look at each part of the page, in both themes, on a wide screen and on
// a phone.
func TestAccessibility(t *testing.T) {
	script, err := os.ReadFile(axe)
	if err != nil {
		t.Skip("SKIP: install axe-core for the test of the page's accessibility (make toolchains " +
			"puts it into out/tools/axe)")
	}
	engine := string(script)
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
