package web

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"interleave/internal/browser"
)

// chips is an expression: the reactions to the message with a text, as the page shows them.
func chips(text string) string {
	return fmt.Sprintf(`([...document.querySelectorAll("#messages .line")].find((n) =>
		n.querySelector(".text").textContent === %q)?.querySelector(".reactions")?.innerText ??
		"").replace(/\s+/g, " ")`, text)
}

// answers: an answer quotes its message, a click on the quote leads there, and reactions are
// counted, on all pages and in the history that is loaded later. What others react with is text.
func answers(t *testing.T, p *papaya, ann, bob *person) {
	t.Helper()
	const question, answer = "who brings the <i>cake</i>?", "not me"
	ann.write(question)
	bob.sees(question)
	browser.Eval[any](bob.Page, buttonOf(question, ".reply")+".click()")
	bob.Until("the box says what is answered",
		`document.querySelector("#replying-to").textContent === "Reply to ann: `+question+`"`)
	bob.Picture("reply-phone")
	bob.Do(chromedp.KeyEvent("\x1b"))
	bob.Until("Escape ends that", `document.querySelector("#replying").hidden`)
	browser.Eval[any](bob.Page, buttonOf(question, ".reply")+".click()")
	bob.write(answer)
	quoted := func(words string) string {
		return buttonOf(answer, ".quoted") + fmt.Sprintf(`?.textContent === %q`, words)
	}
	for _, who := range []*person{ann, bob} {
		who.sees(answer)
		who.Until("the answer quotes the question", quoted("ann: "+question)+
			` && document.querySelector("#replying").hidden`)
	}
	ann.Until("it is echoed", `!document.querySelector(".pending")`)
	browser.Eval[any](ann.Page, buttonOf(answer, ".quoted")+".click()")
	ann.Until("the quote leads to the question",
		fmt.Sprintf(`document.querySelector("[data-sought] .text")?.textContent === %q`, question))

	browser.Eval[any](ann.Page, buttonOf(answer, ".react")+".click()")
	ann.Until("the dialog is open", `document.querySelector("#react").open`)
	ann.Picture("react-dialog")
	ann.click("#faces button")
	ann.Until("it is closed", `!document.querySelector("#react").open`)
	bob.Until("bob sees it", chips(answer)+` === "👍 1"`)
	bob.Until("and whose it is", buttonOf(answer, ".reactions button")+
		`.getAttribute("aria-label") === "👍 1: ann"`)
	browser.Eval[any](bob.Page, buttonOf(answer, ".reactions button")+".click()")
	for _, who := range []*person{ann, bob} {
		who.Until("there are two", chips(answer)+` === "👍 2"`)
	}
	ann.Picture("reactions")
	bob.Picture("reactions-phone")
	browser.Eval[any](bob.Page, buttonOf(answer, ".reactions button")+".click()")
	ann.Until("bob has taken his back", chips(answer)+` === "👍 1"`)
	bob.write("/react <b>x</b>")
	ann.Until("words do, too", chips(question)+` === "<b>x</b> 1"`)
	ann.write("/reply who else?")
	bob.Until("the command answers the last message of somebody else",
		buttonOf("who else?", ".quoted")+fmt.Sprintf(`?.textContent === "bob: %s"`, answer))
	later := newPerson(t, 1280, 800)
	later.signInTo(p, "bob")
	later.Until("a history has all of it", quoted("ann: "+question)+` && `+chips(answer)+
		` === "👍 1" && `+chips(question)+` === "<b>x</b> 1"`)
	if n := browser.Eval[int](later.Page,
		`document.querySelectorAll("#messages :is(b, i)").length`); n != 0 {
		t.Errorf("%d elements were made of what people say", n)
	}
	ann.deletes(question, "")
	bob.Until("the quote of a deleted message has its text no more",
		quoted("Message deleted by ann"))
	for _, who := range []*person{ann, bob} {
		if browser.Eval[bool](who.Page, overflow) {
			t.Error("something is wider than the screen")
		}
	}
}

// writing: others see that somebody writes, until it is said or removed, and not if the user does
// not want that.
func writing(ann, bob *person) {
	ann.t.Helper()
	const text = `document.querySelector("#typing").textContent`
	// what is seen ends by itself, before a test on a busy machine may look
	browser.Eval[any](bob.Page, `(() => { const n = document.querySelector("#typing");
		window.seen = [];
		new MutationObserver(() => seen.push(n.textContent)).observe(n, { childList: true }) })()`)
	const count = `seen.filter((x) => x === "ann is writing").length`
	more := func(what string, than int) int {
		bob.Until(what, fmt.Sprintf(count+` > %d`, than))
		return browser.Eval[int](bob.Page, count)
	}
	box := chromedp.CSS("#compose")
	ann.Do(chromedp.Focus(box), chromedp.SendKeys(box, "hel"))
	n := more("bob sees it", 0)
	bob.Picture("writing-phone")
	ann.Do(chromedp.SendKeys(box, "lo there\r"))
	bob.sees("hello there")
	bob.Until("it is said", text+` === ""`)
	n = max(n, browser.Eval[int](bob.Page, count))
	ann.Do(chromedp.SendKeys(box, "x"))
	n = more("she writes again", n)
	ann.Do(chromedp.SendKeys(box, "\b"))
	bob.Until("she has removed it", text+` === ""`)
	ann.click("#show-typing")
	ann.Do(chromedp.SendKeys(box, "in secret\r"))
	bob.sees("in secret")
	if browser.Eval[int](bob.Page, count) > n {
		ann.t.Error("others see that she writes")
	}
	ann.click("#show-typing")
}

// leaving: the × of a room asks, that of a conversation does not.
func leaving(ann *person) {
	ann.t.Helper()
	ann.write("/join #away")
	ann.Until("ann is there", `document.querySelector("#room-name").textContent === "#away"`)
	ann.click("[data-key='#away'] .shut")
	ann.Until("it asks", `document.querySelector("#leave").open &&
		document.querySelector("#leave-title").textContent === "Leave #away?"`)
	ann.Picture("leave")
	ann.click("#leave-not")
	ann.Until("she stays", `!document.querySelector("#leave").open &&
		Boolean(document.querySelector("[data-key='#away']"))`)
	ann.click("[data-key='#away'] .shut")
	ann.click("#leave .danger")
	ann.Until("she has left", `!document.querySelector("[data-key='#away']")`)
	ann.write("/query zoe")
	ann.Until("it is open", `Boolean(document.querySelector("[data-key='zoe'] .shut"))`)
	ann.click("[data-key='zoe'] .shut")
	ann.Until("a conversation is closed at once", `!document.querySelector("[data-key='zoe']") &&
		!document.querySelector("#leave").open`)
}
