package web

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// partner waits until the page says of the partner of a conversation that it is here, away or
// offline: in the list of rooms, and in the head of the conversation, which is open.
func (p *person) partner(nick, how string) {
	p.t.Helper()
	p.Until(nick+" is "+how, fmt.Sprintf(`
		document.querySelector("[data-key='%s'] .presence")?.textContent.trim() === %[2]q &&
		document.querySelector("#room-name").textContent === %[1]q &&
		document.querySelector("#topic").textContent === %[2]q`, nick, how))
}

// TestPartnersAreHereOrAway: of the partner of a conversation the page says whether it is here,
// away or offline, also if both share no room, from the beginning, and after the connection was
// lost.
func TestPartnersAreHereOrAway(t *testing.T) {
	p := newPapaya(t, false)
	p.addAccount("ann")
	ann, bob := newPerson(t, 1280, 800), newPerson(t, 390, 800)
	ann.signInTo(p, "ann")
	ann.write("/query bob")
	ann.partner("bob", "offline")
	bob.signIn(p.url(), "bob", "#coffee")
	ann.partner("bob", "here")
	bob.click("#away")
	ann.partner("bob", "away")
	for _, theme := range []string{"light", "dark"} {
		ann.click("input[value=" + theme + "]")
		ann.looksWell("presence-" + theme)
	}
	ann.Do(reload())
	ann.Do(setValue("#password", secretOf))
	ann.submit("ann", "")
	ann.Until("she is back", `document.querySelector("#room-name").textContent === "#tea"`)
	ann.write("/query bob")
	ann.partner("bob", "away") // who was away before is known to be
	bob.click("#away")
	ann.partner("bob", "here")
	bob.write("/query ann")
	bob.partner("ann", "here")
	ann.click("#away")
	bob.partner("ann", "away")
	bob.click("#show-rooms")
	bob.Until("the rooms are there",
		`Math.abs(document.querySelector("#rooms-pane").getBoundingClientRect().left) < 1`)
	bob.Picture("presence-phone")
	bob.Do(chromedp.KeyEvent("\x1b"))
	bob.write("/nick bert")
	ann.partner("bob", "offline") // they share no room in which the change is told
	ann.write("/query bert")
	ann.partner("bert", "here")
	p.kill()
	ann.Until("nothing is known without a connection", `
		document.querySelector("#state").textContent.includes("Connection lost") &&
		document.querySelector("[data-key='bert'] .presence").textContent === ""`)
	p.start()
	ann.partner("bert", "here")
	bob.write("/quit")
	ann.partner("bert", "offline")
}
