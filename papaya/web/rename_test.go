package web

import "testing"

// renaming: a room goes on under its other name on all pages, is joined by it next time, and who
// joins the former name is led to it. bob is the founder of #pot, in which both are.
func renaming(t *testing.T, p *papaya, ann, bob *person) {
	t.Helper()
	const isCalled = `document.querySelector("#room-name").textContent === "#brew" && Boolean(document.querySelector("[data-key='#brew']")) && !document.querySelector("[data-key='#pot']")`
	ann.write("/rename den")
	ann.has("only the founder may", `texts.some((x) => x.includes("not channel operator"))`)
	bob.write("/rename brew <b>warmer</b>")
	for _, who := range []*person{ann, bob} {
		who.Until("the room has its other name", isCalled)
		who.has("that is told, and the messages stay",
			`texts.includes("bob renamed the room from #pot to #brew: <b>warmer</b>") && texts.includes("a <b>Kettle</b>, in\nanother room")`)
	}
	bob.write("in the renamed room")
	ann.sees("in the renamed room")
	ann.Until("the browser joins it by that name next time",
		`(({ rooms }) => rooms.includes("#brew") && !rooms.includes("#pot"))(JSON.parse(localStorage.getItem("papaya.session")))`)
	eve := newPerson(t, 390, 800)
	eve.open(p.url())
	eve.submit("eve", "#pot")
	eve.Until("the former name leads to the room", isCalled)
	eve.Picture("renamed-phone")
}
