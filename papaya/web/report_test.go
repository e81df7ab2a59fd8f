package web

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"interleave/internal/browser"
)

// TestReports: a user reports a message of another one and another user. An operator is told, sees
// the message although it was deleted meanwhile, as text, and closes the report.
func TestReports(t *testing.T) {
	p := newPapaya(t, false)
	p.addAccount("ann")
	p.addAccount("eve")
	p.adminWith(secretOf, "account", "add", "olga", "--role", "operator")
	olga, ann, eve := newPerson(t, 1280, 800), newPerson(t, 390, 800), newPerson(t, 1280, 800)
	eve.signInTo(p, "eve")
	olga.signInTo(p, "olga")
	ann.signInTo(p, "ann")
	const ad = "buy <b>my</b>\nkettles"
	report := buttonOf(ad, ".report")
	eve.write(ad)
	ann.sees(ad)
	eve.Until("it is echoed", `!document.querySelector(".pending")`)
	if browser.Eval[bool](eve.Page, `Boolean(`+report+`)`) {
		t.Error("a user can report what it has said itself")
	}
	ann.Until("it can be reported", `Boolean(`+report+`)`)
	browser.Eval[any](ann.Page, report+".click()")
	ann.Until("the dialog is open", `document.querySelector("#report").open`)
	ann.Picture("report-dialog")
	ann.click("#report-not")
	browser.Eval[any](ann.Page, report+".click()")
	ann.Do(chromedp.SendKeys(chromedp.CSS("#report-why"), "spam <i>here</i>\r"))
	ann.notes("Your report 1 is sent to the operators")
	olga.notes("A report has come: eve in #tea, reported by ann: spam <i>here</i>.")
	eve.write("/delete")
	olga.has("the message is deleted", `!texts.some((x) => x.includes("kettles"))`)

	olga.click("#settings-button")
	olga.Until("it is in the list", `document.querySelectorAll("#report-list li").length === 1`)
	olga.click("#report-list li > button")
	olga.Until("the message is shown as it was", fmt.Sprintf(
		`document.querySelector("#report-list .quote")?.textContent === %q`, ad))
	olga.Picture("report-shown")
	if n := browser.Eval[int](olga.Page,
		`document.querySelectorAll("#report-list :is(b, i)").length`); n != 0 {
		t.Error("what was said became markup")
	}
	olga.click(`#report-list [aria-label="Ban eve, of report 1"]`)
	olga.Until("a ban can be begun from it", `
		document.querySelector("#uban-target").value === "eve" &&
		document.querySelector("#uban-why").value === "spam <i>here</i>" &&
		document.activeElement.id === "uban-target"`)
	olga.Do(setValue("#report-list input", "talked to eve"))
	olga.click("#report-list .details button")
	olga.Until("it is closed",
		`document.querySelector("#report-list .outcome")?.textContent ===
			"Closed by olga: talked to eve" &&
		document.querySelector("#reports-open").textContent === "0" &&
		!document.querySelector("#report-list input")`)
	olga.click("#reports-all")
	olga.Until("closed ones can be listed",
		`document.querySelectorAll("#report-list .closed").length === 1`)
	olga.click("#reports-all")
	olga.Until("and are not otherwise",
		`document.querySelectorAll("#report-list li").length === 0`)
	olga.Do(chromedp.KeyEvent("\x1b"))

	ann.write("/report eve")
	ann.Until("a reason is needed",
		`document.querySelector("#told").textContent.includes("/report nick why")`)
	ann.write("/report eve is rude")
	ann.notes("Your report 2 is sent to the operators")
	olga.notes("A report has come: eve, reported by ann: is rude.")
	ann.write("/report nobody is rude")
	ann.notes("There is no such user (INVALID_TARGET)")
	ann.click("#settings-button")
	if browser.Eval[bool](ann.Page, `document.querySelector("#reports").checkVisibility()`) {
		t.Error("a member has the list of reports")
	}
	later := newPerson(t, 1280, 800)
	later.signInTo(p, "olga")
	later.Until("an operator who comes later is told",
		`document.querySelector("#settings-button").getAttribute("aria-label") ===
			"Settings, 1 open reports"`)
	later.Picture("report-waits")
}
