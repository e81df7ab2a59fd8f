package web

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"interleave/internal/browser"
)

// keys presses keys, one after the other, wherever the focus is.
func (p *person) keys(keys string, modifiers ...chromedp.Modifier) {
	p.t.Helper()
	// as keyboards do: a key down that the page takes then types no character
	raw := func(k *input.DispatchKeyEventParams) {
		if k.Type == input.DispatchKeyEventTypeKeyDown {
			k.Type = input.DispatchKeyEventTypeRawKeyDown
		}
	}
	p.Do(chromedp.KeyEvent(keys, chromedp.KeyModifiers(modifiers...), raw))
}

// focused is an expression: whether the focus is on what a selector names.
func focused(css string) string {
	return fmt.Sprintf(`document.activeElement.matches(%q)`, css)
}

// tabs presses Tab until the focus is on what a selector names.
func (p *person) tabs(css string, modifiers ...chromedp.Modifier) {
	p.t.Helper()
	const most = 80
	for range most {
		p.keys("\t", modifiers...)
		if browser.Eval[bool](p.Page, focused(css)) {
			return
		}
	}
	p.t.Fatalf("%s has not got the focus after %d presses of Tab", css, most)
}

// toMessage goes from the box to the message with a text, upwards.
func (p *person) toMessage(text string) {
	p.t.Helper()
	p.tabs("#messages .line", chromedp.ModifierShift)
	const most = 40
	for range most {
		if browser.Eval[bool](p.Page, fmt.Sprintf(
			`document.activeElement.querySelector(".text")?.textContent === %q`, text)) {
			return
		}
		p.keys(kb.ArrowUp)
	}
	p.t.Fatalf("%q has not got the focus after %d presses of an arrow", text, most)
}

// boxFocused is an expression: the focus is on the box for writing.
const boxFocused = `document.activeElement.id === "compose"`

// TestByKeysAlone: ann signs in, joins rooms, answers, reacts, edits, removes, searches, goes from
// room to room, reads the keys and the settings, and signs out, and never touches a mouse.
func TestByKeysAlone(t *testing.T) {
	p := newPapaya(t, false)
	p.addAccount("ann")
	ann, bob := newPerson(t, 1280, 800), newPerson(t, 1280, 800)
	bobSays(t, p, 0, 60)
	bob.signIn(p.url(), "bob", "#tea")
	bob.write("see https://tea.example/ or https://coffee.example/")
	bob.write("who has the key?")
	bob.Until("it is echoed", `!document.querySelector(".pending")`)

	ann.open(p.url())
	ann.Until("the nick has the focus", focused("#nick"))
	ann.keys("ann\t" + secretOf)
	ann.tabs("#join")
	ann.keys("#tea\r")
	ann.Until("ann is in #tea", `document.querySelector("#room-name").textContent === "#tea"`)
	ann.sees("who has the key?")
	ann.Until("the box has the focus", boxFocused)
	oneStop(ann)
	answersByKeys(ann, bob)
	moves(ann)
	searchesByKeys(ann)

	ann.keys("/join #pot\r")
	ann.Until("ann is in #pot", `document.querySelector("#room-name").textContent === "#pot"`)
	ann.keys(kb.ArrowUp, chromedp.ModifierAlt)
	ann.keys(kb.ArrowUp, chromedp.ModifierAlt)
	ann.Until("she is in #tea again",
		`document.querySelector("#room-name").textContent === "#tea"`)
	ann.keys("/keys\r")
	ann.Until("the keys are listed", `document.querySelector("#keys").open`)
	ann.Picture("keys")
	ann.keys(kb.Escape)
	ann.Until("they are not", `!document.querySelector("#keys").open && `+boxFocused)
	ann.keys("a?b/")
	ann.Until("in the box they are letters", boxHas("a?b/"))
	ann.keys("/", chromedp.ModifierCtrl)
	ann.Until("the keys are listed, from the box, too", `document.querySelector("#keys").open`)
	ann.keys(kb.Escape)
	ann.tabs("#settings-button", chromedp.ModifierShift)
	ann.keys("\r")
	ann.Until("the settings are open", `document.querySelector("#settings").open`)
	ann.tabs("#sign-out")
	ann.keys("\r")
	ann.Until("she has signed out", `!document.querySelector("#sign-in").hidden`)
}

// oneStop: of all messages, links and buttons, one message is a stop of Tab: the newest.
func oneStop(ann *person) {
	ann.t.Helper()
	ann.Until("one message is a stop of Tab, and nothing in messages", `(() => {
		const stops = [...document.querySelectorAll("#messages :is(li, a, button)")].filter(
			(n) => n.tabIndex >= 0);
		return stops.length === 1 && stops[0] === document.querySelector("#messages").lastChild })()`)
	ann.tabs("#messages .line", chromedp.ModifierShift)
	ann.keys("\t")
	if browser.Eval[bool](ann.Page, `Boolean(document.activeElement.closest("#messages"))`) {
		ann.t.Error("Tab goes on within the messages")
	}
	ann.tabs("#messages .line", chromedp.ModifierShift)
	ann.keys("?")
	ann.Until("the keys are listed", `document.querySelector("#keys").open`)
	ann.keys("\r")
	ann.Until("they are not", `!document.querySelector("#keys").open`)
	ann.keys(kb.Escape)
	ann.Until("Escape leads to the box", boxFocused)
}

// answersByKeys answers a message, reacts to it, changes the answer and removes it.
func answersByKeys(ann, bob *person) {
	ann.t.Helper()
	const question, answer, changed = "who has the key?", "I have", "I have it"
	ann.toMessage(question)
	ann.Picture("message-focused")
	ann.keys("r")
	ann.Until("the box says what is answered", `!document.querySelector("#replying").hidden && `+
		boxFocused)
	ann.keys(answer + "\r")
	bob.Until("bob sees what it answers", buttonOf(answer, ".quoted")+
		fmt.Sprintf(`?.textContent === "bob: %s"`, question))
	ann.Until("it is echoed", `!document.querySelector(".pending")`)
	ann.toMessage(question)
	ann.keys("+")
	ann.Until("the dialog is open", `document.querySelector("#react").open`)
	ann.keys("\r")
	bob.Until("bob sees the reaction", chips(question)+` === "👍 1"`)
	ann.Until("the focus is in the box", boxFocused)
	ann.toMessage(question)
	ann.keys("\r") // to its buttons; the reaction comes first
	ann.Until("the reaction has the focus", focused(".reactions button"))
	ann.keys("\r")
	bob.Until("it is taken back", chips(question)+` === ""`)
	ann.Until("the message has the focus", focused("#messages .line"))
	ann.keys("\r" + kb.ArrowRight)
	ann.Until("the second button has the focus", focused(".tools .react"))
	ann.keys(kb.ArrowLeft)
	ann.Until("so has the first", focused(".tools .reply"))
	ann.Picture("tools-focused")
	ann.keys(kb.Escape)
	ann.Until("Escape leads to the message", focused("#messages .line"))
	ann.keys(kb.ArrowDown + "e")
	ann.Until("the text is in the box", boxHas(answer)+" && "+boxFocused)
	ann.keys(" it\r")
	bob.has("it is changed", fmt.Sprintf(`texts.includes("%s (edited)")`, changed))
	ann.has("for ann, too", fmt.Sprintf(`texts.includes("%s (edited)")`, changed))
	ann.toMessage(changed + " (edited)")
	ann.keys("q")
	ann.Until("its question has the focus", focused("[data-sought]")+
		fmt.Sprintf(` && document.activeElement.querySelector(".text").textContent === %q`, question))
	ann.keys(kb.ArrowDown + kb.Delete)
	ann.Until("it asks", `document.querySelector("#delete").open`)
	ann.keys("a slip\r")
	bob.has("it is removed", `texts.includes("Message deleted by ann: a slip")`)
	ann.Until("the focus is in the box", boxFocused)
}

// moves goes to the first message and the last, and by screens.
func moves(ann *person) {
	ann.t.Helper()
	place := func() int {
		return browser.Eval[int](ann.Page, `Number(document.activeElement.ariaPosInSet)`)
	}
	onScreen := func(what string) {
		ann.t.Helper()
		ann.Until(what+": it is on the screen", `(() => {
			const s = document.querySelector("#scroll").getBoundingClientRect();
			const r = document.activeElement.getBoundingClientRect();
			return document.activeElement.matches("#messages .line") && r.top >= s.top - 1 &&
				r.bottom <= s.bottom + 1 })()`)
	}
	ann.tabs("#messages .line", chromedp.ModifierShift)
	last := place()
	ann.keys(kb.PageUp)
	onScreen("Page Up")
	if at := place(); at > last-8 {
		ann.t.Errorf("Page Up leads from row %d to %d", last, at)
	}
	ann.keys(kb.PageDown)
	onScreen("Page Down")
	ann.keys(kb.Home)
	onScreen("Home")
	if at := place(); at != 2 { // the day comes first
		ann.t.Errorf("Home leads to row %d", at)
	}
	ann.keys(kb.ArrowUp)
	if at := place(); at != 2 {
		ann.t.Errorf("an arrow leads from the first message to row %d", at)
	}
	ann.keys(kb.End)
	onScreen("End")
	if at := place(); at != last {
		ann.t.Errorf("End leads to row %d of %d", at, last)
	}
	ann.keys(kb.Escape)
	ann.Until("Escape leads to the box", boxFocused)
}

// searchesByKeys searches, goes to what was found, and back to the box.
func searchesByKeys(ann *person) {
	ann.t.Helper()
	ann.keys("k", chromedp.ModifierCtrl)
	ann.Until("the search has the focus", focused("#search-words"))
	ann.keys("line 42\r")
	ann.Until("it was found", `document.querySelector("#search-said").textContent === "1 message."`)
	ann.tabs("#found button")
	ann.keys("\r")
	ann.Until("the message has the focus", focused("[data-sought]")+` &&
		document.activeElement.textContent.includes("line 42")`)
	ann.keys(kb.Escape)
	ann.Until("Escape leads to the box", boxFocused)
	ann.keys("k", chromedp.ModifierCtrl)
	ann.keys(kb.Escape)
	ann.Until("Escape shuts the search",
		`!document.querySelector("#search-pane").checkVisibility()`)
	ann.tabs("#compose")
}
