package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"interleave/internal/browser"
)

// click presses a button that may have to be scrolled to.
func (p *person) click(css string) {
	p.t.Helper()
	if !browser.Eval[bool](p.Page, fmt.Sprintf(
		`(() => { const b = document.querySelector(%q); b?.click(); return Boolean(b) })()`, css)) {
		p.t.Fatalf("there is no %s", css)
	}
}

// told waits until the settings of the account say something.
func (p *person) told(text string) {
	p.t.Helper()
	p.Until("the settings say "+text, fmt.Sprintf(
		`document.querySelector("#account-said").textContent.includes(%q)`, text))
}

// TestAccountInTheSettings: a user sees and ends her sessions, changes her password, renames her
// account, and is connected again with both after the connection was lost.
func TestAccountInTheSettings(t *testing.T) {
	p := newPapaya(t, true)
	token := p.admin("invite")
	ann, phone := newPerson(t, 1280, 800), newPerson(t, 360, 740)
	ann.open(p.url())
	for id, value := range map[string]string{"nick": "ann", "password": "the kettle is on",
		"invitation": token, "join": "#tea"} {
		ann.Do(setValue("#"+id, value))
	}
	ann.press()
	ann.Until("ann is in", `document.querySelector("#room-name").textContent === "#tea"`)
	phone.open(p.url())
	phone.Do(setValue("#nick", "ann"), setValue("#password", "the kettle is on"))
	phone.press()
	phone.Until("so is her phone", `document.querySelector("#room-name").textContent === "#tea"`)

	ann.click("#settings-button")
	ann.Until("two sessions are listed, and one can be ended",
		`document.querySelectorAll("#sessions li").length === 2 && document.querySelectorAll("#sessions button").length === 1`)
	if name := browser.Eval[string](ann.Page,
		`document.querySelector("#account-name").textContent`); name != "ann" {
		t.Errorf("the account is %q", name)
	}
	ann.Picture("account")
	ann.click("#sessions button")
	ann.Until("one is left", `document.querySelectorAll("#sessions li").length === 1`)

	ann.Do(setValue("#old-password", "the kettle is off"),
		setValue("#new-password", `the "new" \ kettle`))
	ann.click("#change-password")
	ann.told("the old password is wrong")
	ann.Do(setValue("#old-password", "the kettle is on"))
	ann.click("#change-password")
	ann.told("The password is changed.")
	ann.Do(setValue("#new-name", "ann x"))
	ann.click("#rename")
	ann.told("must be a valid nick")
	ann.Do(setValue("#new-name", "Zoe"), chromedp.SendKeys(chromedp.CSS("#new-name"), "\r"))
	ann.Until("the account is renamed",
		`document.querySelector("#account-name").textContent === "Zoe" && document.querySelector("#me").textContent === "Zoe"`)
	ann.Do(chromedp.KeyEvent("\x1b"))
	ann.Until("the passwords are gone",
		`!document.querySelector("#settings").open && document.querySelector("#new-password").value === ""`)
	if list := p.admin("account", "list"); !strings.HasPrefix(list, "Zoe ") {
		t.Errorf("the accounts are %q", list)
	}

	p.kill()
	ann.Until("ann hears of it",
		`document.querySelector("#state").textContent.includes("Connection lost")`)
	p.start()
	ann.Until("she is back with the new name and password",
		`document.querySelector("#state").hidden && document.querySelector("#member-count").textContent !== "0"`)
	ann.write("/ns sessions")
	ann.Until("NickServ also answers in the room",
		`document.querySelector("#messages").textContent.includes(" from=127.0.0.1 since=")`)
	if kept := browser.Eval[string](ann.Page,
		`JSON.stringify(localStorage)`); strings.Contains(kept, "kettle") {
		t.Errorf("a secret is kept in the browser: %s", kept)
	}
}
