package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"interleave/internal/browser"
)

// panel waits until the panel of a room says something.
func (p *person) panel(text string) {
	p.t.Helper()
	p.Until("the panel says "+text, fmt.Sprintf(
		`document.querySelector("#room-said").textContent.includes(%q)`, text))
}

// listed waits until the list that the panel of a room shows is this, its rows joined.
func (p *person) listed(want string) {
	p.t.Helper()
	p.Until("the list has "+want, fmt.Sprintf(
		`[...document.querySelectorAll("#list-rows li > span")].map((n) =>
			n.firstChild.textContent.trim()).join(" ") === %q`, want))
}

// fill gives a field a value, which may be empty.
func (p *person) fill(css, value string) {
	p.t.Helper()
	browser.Eval[any](p.Page, fmt.Sprintf(`document.querySelector(%q).value = %q`, css, value))
}

// does has the panel of a room do something to somebody.
func (p *person) does(what, who, why string) {
	p.t.Helper()
	p.fill("#person", who)
	p.fill("#person-why", why)
	p.click("#person-acts [value=" + what + "]")
}

// TestRoomPanel: an operator sets topic, modes and lists of a room, and removes and bans members.
// The refusals of the server stand in the panel. A member sees it all, and can change nothing until
// it becomes operator.
func TestRoomPanel(t *testing.T) {
	p := newPapaya(t, false)
	for _, name := range []string{"ann", "eve"} {
		p.addAccount(name)
	}
	ann, bob, eve := newPerson(t, 1280, 800), newPerson(t, 390, 800), newPerson(t, 1280, 800)
	ann.signInTo(p, "ann")
	bob.signIn(p.url(), "bob", "#tea")
	eve.signInTo(p, "eve")
	ann.Until("all are there", `document.querySelector("#member-count").textContent === "3"`)
	ann.click("#show-room")
	ann.Until("the modes are shown", `document.querySelector("#mode-t")?.checked === true &&
		document.querySelector("#mode-m").checked === false &&
		!document.querySelector("#room-modes").disabled`)
	ann.click("#mode-m")
	bob.notes("ann set +m")
	ann.Do(setValue("#room-topic", "Leaves <b>and</b> water"),
		chromedp.SendKeys(chromedp.CSS("#room-topic"), "\r"))
	bob.Until("the topic is set",
		`document.querySelector("#topic").textContent === "Leaves <b>and</b> water"`)
	ann.panel("The topic is set.")

	ann.does("ban", "eve", "too loud")
	eve.notes("You were removed by ann: too loud")
	ann.panel("eve is banned.")
	ann.listed("~a:eve")
	ann.Until("with whom has set it", `document.querySelector("#list-rows .hint").textContent
		.startsWith("by ann, ")`)
	eve.write("/join #tea")
	eve.notes("Cannot join channel (+b)")
	ann.Picture("room-panel")
	ann.does("kick", "nobody", "")
	ann.panel("nobody: No such nick/channel")
	ann.Do(setValue("#mask", "~x:eve"), chromedp.SendKeys(chromedp.CSS("#mask"), "\r"))
	ann.panel("There is no such kind of mask")
	ann.click("#list-rows button")
	ann.panel("~a:eve is removed.")
	ann.listed("")
	ann.does("invite", "eve", "")
	eve.notes("ann invites you to #tea")

	ann.click("#list-names [value=q]")
	ann.does("quiet", "eve", "")
	ann.Until("who is quiet is listed", `document.querySelector("#list-rows .mask")?.textContent
		.includes("eve")`)
	ann.Do(setValue("#room-limit", "two"), chromedp.SendKeys(chromedp.CSS("#room-limit"), "\r"))
	ann.panel("This is no number")
	ann.Do(setValue("#room-limit", "7"), chromedp.SendKeys(chromedp.CSS("#room-limit"), "\r"))
	bob.notes("ann set +l 7")
	ann.Do(setValue("#room-key", "no blanks"), chromedp.SendKeys(chromedp.CSS("#room-key"), "\r"))
	ann.panel("Nothing has changed by that.")

	bob.click("#show-room")
	bob.Until("a member sees it and can change nothing", `
		document.querySelector("#room-limit").value === "7" &&
		document.querySelector("#mode-m").checked && document.querySelector("#room-modes").disabled &&
		document.querySelector("#room-topic").disabled && document.querySelector("#mask").disabled`)
	bob.click("#list-names [value=q]")
	bob.Until("also the lists", `document.querySelector("#list-rows button")?.disabled`)
	for _, theme := range []string{"light", "dark"} {
		for name, who := range map[string]*person{"wide": ann, "phone": bob} {
			browser.Eval[any](who.Page,
				fmt.Sprintf(`document.querySelector("input[value=%s]").click()`, theme))
			if browser.Eval[bool](who.Page, overflow) {
				t.Errorf("%s, %s: something is wider than the screen", theme, name)
			}
			who.Picture("room-panel-" + theme + "-" + name)
		}
	}
	ann.does("op", "bob", "")
	bob.Until("an operator can", `!document.querySelector("#room-modes").disabled &&
		!document.querySelector("#list-rows button").disabled`)
	bob.does("deop", "ann", "")
	ann.Until("who is none any more cannot", `document.querySelector("#room-modes").disabled`)
	bob.does("kick", "ann", "")
	ann.notes("You were removed by bob")
}

// TestOperatorCommandsAreTyped: the commands that people know do what the panel does.
func TestOperatorCommandsAreTyped(t *testing.T) {
	p := newPapaya(t, false)
	p.addAccount("ann")
	ann, bob := newPerson(t, 1280, 800), newPerson(t, 390, 800)
	ann.signInTo(p, "ann")
	bob.signIn(p.url(), "bob", "#tea")
	ann.Until("both are there", `document.querySelector("#member-count").textContent === "2"`)
	for _, step := range []struct{ typed, noted string }{
		{"/mode", "Modes of #tea: +nt"},
		{"/mode +m-t", "ann set +m-t"},
		{"/voice bob", "ann set +v bob"},
		{"/op nobody", "nobody No such nick/channel"},
		{"/ban", "Bans: none"},
		{"/ban Dan!*@*", "ann set +b Dan!*@*"},
		{"/mode +b", "Bans: Dan!*@*, by ann, "},
		{"/unban eve", "There is no ban of eve: /ban lists them."},
		{"/unban dan", "ann set -b Dan!*@*"},
		{"/kick bob too <b>loud</b>", "bob was removed by ann: too <b>loud</b>"},
		{"/invite bob", "bob #tea"},
	} {
		ann.write(step.typed)
		ann.notes(step.noted)
	}
	bob.write("/mode #tea +i")
	bob.notes("You're not on that channel")
	ann.write("/op")
	ann.Until("the words are told", `document.querySelector("#told").textContent ===
		"How to use it: /op nick ..."`)
}

// TestServerBansInTheSettings: an operator of the server bans with a reason and an end, sees the
// list and ends a ban. What the server refuses stands beside the form.
func TestServerBansInTheSettings(t *testing.T) {
	p := newPapaya(t, false)
	p.addAccount("eve")
	p.adminWith(secretOf, "account", "add", "olga", "--role", "operator")
	olga, eve := newPerson(t, 390, 800), newPerson(t, 1280, 800)
	eve.signInTo(p, "eve")
	olga.signInTo(p, "olga")
	eve.click("#settings-button")
	if browser.Eval[bool](eve.Page, `document.querySelector("#server-bans").checkVisibility()`) {
		t.Error("a member has the bans of the server")
	}
	olga.click("#settings-button")
	said := func(text string) {
		t.Helper()
		olga.Until("it says "+text, fmt.Sprintf(
			`document.querySelector("#uban-said").textContent.includes(%q)`, text))
	}
	rows := func(what, js string) {
		t.Helper()
		olga.Until(what, fmt.Sprintf(`(() => { const rows = [...document.querySelectorAll(
			"#uban-list li")].map((n) => n.firstChild.textContent); return %s })()`, js))
	}
	bans := func(target, length, why string) {
		t.Helper()
		olga.fill("#uban-target", target)
		olga.fill("#uban-length", length)
		olga.fill("#uban-why", why)
		olga.click("#uban")
	}
	rows("nobody is banned", `rows[0] === "Nobody is banned."`)
	bans("nobody", "7d", "")
	said("no account of the name nobody was here yet")
	bans("olga", "7d", "")
	said("that would ban you, too")
	bans("eve and bob", "7d", "")
	said("Only one can be banned at once")
	bans("eve", "soon", "")
	said("expected a time as 30m")
	bans("2001:db8::/48", "forever", "7d of a flood")
	said("2001:db8::/48 is banned for ever. Connections that were ended: 0")
	bans("eve", "1h", "spam <i>here</i>")
	said("eve is banned until")
	eve.Until("eve is told why", `/^You are banned from this server until .* UTC: spam <i>here<\/i>$/
		.test(document.querySelector("#sign-in-error").textContent) &&
		document.querySelector("dialog[open]") === null`)
	rows("both are in the list", `rows.length === 2 &&
		rows.includes("address 2001:db8::/48, for ever, by olga: 7d of a flood") &&
		rows.some((x) => /^account eve, until .*, by olga: spam <i>here<.i>$/.test(x))`)
	browser.Eval[any](olga.Page,
		`document.querySelector("#server-bans").scrollIntoView({ block: "center" })`)
	olga.Picture("server-bans-phone")
	if bad := browser.Eval[[]string](olga.Page, strings.Replace(poor, "dialog, ", "", 1)); len(
		bad) > 0 {
		t.Errorf("too little contrast: %q", bad)
	}
	olga.click(`#uban-list [aria-label="End the ban of eve"]`)
	said("eve is not banned any more")
	rows("one is left", `rows.length === 1`)
	if list := p.ban("list"); strings.Contains(list, "account") {
		t.Errorf("the bans are %q", list)
	}
}
