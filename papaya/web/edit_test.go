package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"interleave/internal/browser"
)

// boxHas is an expression: the box of what is written has a text.
func boxHas(text string) string {
	return fmt.Sprintf(`document.querySelector("#compose").value === %q`, text)
}

// fills puts a text into the box, in place of what is there.
func (p *person) fills(text string) {
	p.t.Helper()
	browser.Eval[any](p.Page, fmt.Sprintf(`(() => { const box = document.querySelector("#compose");
		box.value = %q; box.dispatchEvent(new Event("input")); box.focus() })()`, text))
}

// changing: a user changes what they have said, by the button, by Arrow Up and by a command. All
// pages and histories have the new text, also that of somebody who was away. What was written
// before comes back, and no text is markup.
func changing(t *testing.T, p *papaya, ann, bob *person) {
	t.Helper()
	const first, second, third = "the ketle is on", "the <i>kettle</i> is on", "tea is ready"
	const edited = " (edited)"
	ann.write(first)
	bob.sees(first)
	bob.Until("bob cannot change it", `!`+buttonOf(first, ".edit"))
	ann.Until("ann can", `Boolean(`+buttonOf(first, ".edit")+`)`)
	ann.fills("a draft")
	browser.Eval[any](ann.Page, buttonOf(first, ".edit")+".click()")
	ann.Until("the text is in the box", boxHas(first)+
		` && document.querySelector("#replying-to").textContent === "Edit ann: `+first+`"`)
	ann.Picture("edit")
	ann.Do(chromedp.KeyEvent(kb.Escape))
	ann.Until("Escape brings the draft back", boxHas("a draft")+
		` && document.querySelector("#replying").hidden`)
	browser.Eval[any](ann.Page, buttonOf(first, ".edit")+".click()")
	ann.Until("the text is in the box again", boxHas(first))
	ann.write(second)
	for _, who := range []*person{ann, bob} {
		who.has("the new text is in the place of the other", fmt.Sprintf(
			`texts.includes(%q) && !texts.some((x) => x.startsWith(%q))`, second+edited, first))
	}
	ann.Until("what was written is there again", boxHas("a draft"))
	bob.Until("it says when", buttonOf(second+edited, ".edited")+
		`.title.startsWith("Edited ")`)
	bob.Picture("edited-phone")
	browser.Eval[any](bob.Page, buttonOf(second+edited, ".reply")+".click()")
	bob.Until("a reply quotes the new text",
		fmt.Sprintf(`document.querySelector("#replying-to").textContent === "Reply to ann: %s"`, second))
	bob.Do(chromedp.KeyEvent(kb.Escape))

	box := chromedp.CSS("#compose")
	ann.fills("")
	ann.Do(chromedp.SendKeys(box, kb.ArrowUp))
	ann.Until("Arrow Up takes the last message", boxHas(second))
	ann.write(third)
	bob.has("bob sees it", fmt.Sprintf(`texts.includes(%q)`, third+edited))
	ann.write("/edit one two")
	bob.has("the command changes it, too", `texts.includes("one two`+edited+`")`)
	ann.Do(chromedp.SendKeys(box, kb.ArrowUp))
	ann.Until("it is in the box", boxHas("one two"))
	ann.write("one\ntwo\nthree")
	bob.has("it may have several lines", `texts.includes("one\ntwo\nthree`+edited+`")`)

	later := newPerson(t, 1280, 800)
	later.signInTo(p, "bob")
	later.has("a history has the last text alone",
		`texts.filter((x) => x.includes("`+edited+`")).join() === "one\ntwo\nthree`+edited+`"`)
	bob.write("/search three")
	bob.Until("and so has a search", `document.querySelector("#found .hit-text")?.textContent ===
		"one two three"`)
	bob.click("#shut-search")
	ann.deletes("one\ntwo\nthree"+edited, "")
	for _, who := range []*person{ann, bob, later} {
		who.has("a removal takes all texts", `!texts.some((x) => x.includes("three"))`)
		if n := browser.Eval[int](who.Page,
			`document.querySelectorAll("#messages :is(b, i)").length`); n != 0 {
			t.Errorf("%d elements were made of what people say", n)
		}
	}
	ann.write("too long for one message")
	ann.Until("it was said", `Boolean(`+buttonOf("too long for one message", ".edit")+`)`)
	browser.Eval[any](ann.Page, buttonOf("too long for one message", ".edit")+".click()")
	ann.fills(strings.Repeat("long ", 4000))
	ann.Do(chromedp.SendKeys(box, "\r"))
	ann.Until("it says so, and the text stays",
		`document.querySelector("#told").textContent === "This is too long for one message." &&
		document.querySelector("#compose").value.length >= 19999`)
	ann.Do(chromedp.KeyEvent(kb.Escape))
	ann.Until("it is given up", boxHas(""))
}
