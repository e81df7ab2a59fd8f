package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"interleave/internal/browser"
)

// TestWhatPeopleExpectToday has one server and three pages for all checks: ann's, that of her
// phone, and bob's.
func TestWhatPeopleExpectToday(t *testing.T) {
	p := newPapaya(t, false)
	for _, name := range []string{"ann", "bob"} {
		p.addAccount(name)
	}
	ann, bob := newPerson(t, 1280, 800), newPerson(t, 390, 800)
	ann.signInTo(p, "ann")
	bob.signInTo(p, "bob")
	deletion(t, p, ann, bob)
	answers(t, p, ann, bob)
	changing(t, p, ann, bob)
	severalLines(t, ann, bob)
	code(t, ann, bob)
	writing(ann, bob)
	twoDevices(t, p, ann, bob)
	searching(t, ann, bob)
	renaming(t, p, ann, bob)
	leaving(ann)
	hostile(t, ann)
}

const secretOf = "the kettle is on"

// addAccount makes an account.
func (p *papaya) addAccount(name string) {
	p.t.Helper()
	p.adminWith(secretOf, "account", "add", name)
}

// signInTo signs in to an account, and to #tea.
func (p *person) signInTo(server *papaya, nick string) {
	p.t.Helper()
	p.open(server.url())
	p.Do(setValue("#password", secretOf))
	p.submit(nick, "#tea")
	p.Until(nick+" is in #tea", `document.querySelector("#room-name").textContent === "#tea"`)
}

// has waits until an expression is true for the texts of all lines.
func (p *person) has(what, js string) {
	p.t.Helper()
	p.Until(what, fmt.Sprintf(
		`(() => { const texts = [...document.querySelectorAll("#messages .text")].map((n) => n.textContent); return %s })()`,
		js))
}

// buttonOf is the expression of a button of the message with a text: ".delete" or ".report".
func buttonOf(text, button string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#messages .line")].find((n) =>
		n.querySelector(".text").textContent === %q)?.querySelector(%q)`, text, button)
}

// deletes deletes the message with a text.
func (p *person) deletes(text, why string) {
	p.t.Helper()
	p.Until("it can be deleted", `Boolean(`+buttonOf(text, ".delete")+`)`)
	browser.Eval[any](p.Page, buttonOf(text, ".delete")+".click()")
	p.Until("the dialog is open", `document.querySelector("#delete").open`)
	if why != "" {
		p.Do(chromedp.SendKeys(chromedp.CSS("#delete-why"), why))
	}
	p.Picture("delete-dialog")
	p.Do(chromedp.SendKeys(chromedp.CSS("#delete-why"), "\r"))
	p.has(text+" is gone", fmt.Sprintf(`!texts.includes(%q)`, text))
}

// deletion: users delete their own messages, operators any. The note is in the place of the
// message, and in the history that is loaded later.
func deletion(t *testing.T, p *papaya, ann, bob *person) {
	ann.write("before")
	ann.write("a secret, of all people")
	bob.sees("a secret, of all people")
	bob.write("ann: <b>rude</b> words")
	ann.sees("ann: <b>rude</b> words")
	if browser.Eval[bool](bob.Page, `Boolean(`+buttonOf("before", ".delete")+`)`) {
		t.Error("a member can delete the messages of others")
	}
	ann.deletes("a secret, of all people", "<img src=x>\u202e wrong room")
	ann.deletes("ann: <b>rude</b> words", "")
	const notes = `texts.includes("Message deleted by ann: <img src=x> wrong room") && texts.includes("Message deleted by ann") && !texts.some((x) => /secret|rude/.test(x))`
	bob.has("both are notes", notes)
	if got := browser.Eval[string](ann.Page,
		`document.body.textContent + document.querySelector("#compose").value`); strings.Contains(got,
		"secret, of") || strings.Contains(got, "rude") {
		t.Error("the text of a deleted message is still in the page")
	}
	bob.write("mine")
	bob.sees("mine")
	bob.Until("it is echoed", `!document.querySelector(".pending")`)
	bob.write("/delete by command")
	bob.has("it is gone", `texts.includes("Message deleted by bob: by command")`)
	browser.Eval[any](ann.Page, buttonOf("before", ".delete")+".click()")
	ann.click("#delete-not")
	ann.sees("before")
	ann.click("#messages .line:has(.delete)")
	ann.Until("the button is there for those who have no mouse",
		`getComputedStyle(document.querySelector("[data-picked] .tools")).opacity === "1"`)
	ann.Picture("delete-button")
	bob.Picture("deleted-phone")
	ann.Picture("deleted")
	later := newPerson(t, 1280, 800)
	later.signInTo(p, "bob")
	later.has("a history has the notes", notes+` && texts.includes("before")`)
	if browser.Eval[bool](later.Page, `Boolean(document.querySelector("#messages img"))`) {
		t.Error("a reason became markup")
	}
}

// severalLines: a text of several lines is one message, a long one is folded, and one that is too
// long stays in the box. The lines of others are text, and end their formats.
func severalLines(t *testing.T, ann, bob *person) {
	ann.write("one\n\n  <i>two</i>\u202e\nthree")
	bob.sees("one\n\n  <i>two</i>\nthree")
	bob.Until("it is one line of the list",
		`[...document.querySelectorAll("#messages .line")].filter((n) => /two|three/.test(n.textContent)).length === 1`)
	word := strings.Repeat("A long paragraph is one message, too. ", 30)
	ann.write(word + "End.")
	bob.sees(word + "End.")
	many := "\x02line 0"
	for i := 1; i < 30; i++ {
		many += fmt.Sprintf("\nline %d", i)
	}
	bob.write(many)
	ann.Until("it is folded",
		`document.querySelector("#messages .fold")?.textContent === "Show all 30 lines"`)
	if browser.Eval[bool](ann.Page,
		`document.querySelector("#messages").textContent.includes("line 29")`) {
		t.Error("the folded lines are shown")
	}
	if browser.Eval[int](ann.Page,
		`document.querySelectorAll("#messages .format-b").length`) != 1 {
		t.Error("the format of a line holds in the next")
	}
	ann.Picture("folded")
	bob.Picture("folded-phone")
	ann.click("#messages .fold")
	ann.Until("it is unfolded",
		`document.querySelector("#messages").textContent.includes("line 29Show less") && document.activeElement.className === "fold"`)
	box := strings.TrimSuffix(strings.Repeat("x\n", 10_000), "\n")
	ann.write(box)
	ann.Until("10,000 lines stay in the box",
		`document.querySelector("#told").textContent.startsWith("This is too long") && document.querySelector("#compose").value.length === 19999`)
	ann.write("/delete")
	ann.has("the message is deleted as one", `!texts.some((x) => x.endsWith("End."))`)
	bob.has("for others, too", `!texts.some((x) => x.endsWith("End."))`)
}

// belowNew is an expression: the text of the message below the line "New", or nothing.
const belowNew = `(document.querySelector("#messages .new + .line .text")?.textContent ?? "")`

// badge is an expression: what the list of rooms says of a room.
func badge(room string) string {
	return fmt.Sprintf(`(document.querySelector("[data-key='%s'] .badge")?.textContent ?? "")`, room)
}

// focus gives a page the focus, or takes it away, as far as the page sees.
func (p *person) focus(has bool) {
	p.t.Helper()
	name := map[bool]string{true: "focus", false: "blur"}[has]
	browser.Eval[any](p.Page, fmt.Sprintf(
		`(() => { document.hasFocus = () => %v; dispatchEvent(new Event(%q)) })()`, has, name))
}

// twoDevices: what is read on one device is read on the other; the counts and the line "New" agree.
func twoDevices(t *testing.T, p *papaya, ann, bob *person) {
	phone := newPerson(t, 390, 800)
	phone.signInTo(p, "ann")
	phone.focus(false)
	ann.focus(false)
	for i := range 3 {
		bob.write(fmt.Sprintf("ann: news %d", i))
		bob.sees(fmt.Sprintf("ann: news %d", i))
	}
	for _, who := range []*person{ann, phone} {
		who.Until("three are new, from the first on",
			badge("#tea")+` === "3" && document.title.startsWith("(3)") && `+belowNew+
				` === "ann: news 0"`)
	}
	phone.Picture("new-phone")
	ann.focus(true)
	ann.Until("ann has read them", badge("#tea")+` === ""`)
	ann.Picture("new")
	phone.Until("so has her phone", badge("#tea")+` === "" && `+belowNew+
		` === "" && document.title.startsWith("#tea")`)
	bob.write("ann: news 3")
	phone.Until("the next is new there, until it is read on the other",
		badge("#tea")+` === "" && `+belowNew+` === "" && document.querySelector("#messages").textContent.includes("ann: news 3")`)
	ann.focus(false)
	bob.write("/msg ann psst")
	for _, who := range []*person{ann, phone} {
		who.Until("a private message is new", badge("bob")+` === "1"`)
	}
	ann.focus(true)
	ann.Do(chromedp.Click(chromedp.CSS("[data-key='bob'] .room")))
	phone.Until("it is read on the other", badge("bob")+` === ""`)
	ann.Do(chromedp.Click(chromedp.CSS("[data-key='#tea'] .room")))
	bob.write("/msg ann and more")
	ann.Until("there is more", badge("bob")+` === "1"`)
	later := newPerson(t, 390, 800)
	later.signInTo(p, "ann")
	later.Until("a device that comes later knows it, and nothing of #tea is new", badge("bob")+
		` === "1" && `+badge("#tea")+` === "" && `+belowNew+` === ""`)
}

// searching: all rooms and conversations are searched, and what was found is text.
func searching(t *testing.T, ann, bob *person) {
	ann.focus(true)
	bob.write("/join #pot")
	bob.Until("bob is in #pot", `document.querySelector("#room-name").textContent === "#pot"`)
	bob.write("a <b>Kettle</b>, in\nanother room\u202e")
	ann.write("/join #pot")
	ann.Until("so is ann", `document.querySelector("#room-name").textContent === "#pot"`)
	ann.sees("a <b>Kettle</b>, in\nanother room")
	bob.write("/msg ann my kettle")
	ann.Until("it has come", badge("bob")+` !== ""`)
	ann.Do(chromedp.Click(chromedp.CSS("[data-key='#tea'] .room")))
	ann.write("where is the kettle?")
	ann.click("#show-search")
	ann.click("#search-all")
	ann.Do(setValue("#search-words", "kettle"),
		chromedp.SendKeys(chromedp.CSS("#search-words"), "\r"))
	ann.Until("it was found in all three",
		`document.querySelector("#search-said").textContent === "3 messages."`)
	if got := browser.Eval[[]string](ann.Page,
		`[...document.querySelectorAll("#found .hit-text")].map((n) => n.textContent)`); !slices.Equal(got,
		[]string{"where is the kettle?", "my kettle", "a <b>Kettle</b>, in another room"}) {
		t.Errorf("found %q", got)
	}
	if n := browser.Eval[int](ann.Page,
		`document.querySelectorAll("#found b").length * 100 + document.querySelectorAll("#found mark").length`); n != 3 {
		t.Errorf("%d elements, want 3 marks", n)
	}
	ann.Picture("found")
	ann.write("/delete")
	ann.Until("what is deleted is found no more",
		`document.querySelector("#search-said").textContent === "2 messages."`)
	ann.click("#found li:last-child button")
	ann.Until("the room and the message are shown",
		inContext("a <b>Kettle</b>, in\nanother room")+
			` && document.querySelector("#room-name").textContent === "#pot"`)
	ann.Do(chromedp.SendKeys(chromedp.CSS("#search-words"), "\x1b"))
	ann.Until("Escape shuts the panel",
		`!document.querySelector("#search-pane").checkVisibility() && document.activeElement.id === "show-search"`)
	bob.write("/search kettle")
	bob.Until("bob finds one in his room",
		`document.querySelector("#search-said").textContent === "1 message."`)
	for _, theme := range []string{"light", "dark"} {
		for name, who := range map[string]*person{"wide": ann, "phone": bob} {
			browser.Eval[any](who.Page,
				fmt.Sprintf(`document.querySelector("input[value=%s]").click()`, theme))
			if who == ann {
				ann.click("#show-search")
			}
			who.looksWell("search-" + theme + "-" + name)
		}
	}
	bob.click("#found button")
	bob.Until("on a phone the panel makes way", `!document.querySelector("#search-pane").checkVisibility()`)
}

// hostileServer says what no server should, to a session of its own.
const hostileServer = `Promise.all([import("./session.js"), import("./irc.js")]).then(([{ Session }, { parse }]) => {
	const sent = [], hooks = new Proxy({}, { get: (_, name) => name === "send" ? (line) => sent.push(line) : () => {} });
	const s = new Session({ nick: "ann" }, hooks, () => Date.parse("2026-11-22T12:00:00Z"));
	const hear = (...lines) => lines.forEach((line) => s.receive(parse(line)));
	const caps = "batch message-tags server-time draft/multiline draft/message-redaction draft/read-marker draft/chathistory";
	s.opened();
	hear(":x CAP * LS :" + caps, ":x CAP * ACK :" + caps, ":x 001 ann :hi", ":x 005 ann SEARCH CHATHISTORY=3 :ok", ":x 422 ann :no", ":ann!a@h JOIN #tea", ":x BATCH +h chathistory #tea", ":x BATCH -h");
	const room = s.find("#tea"), out = {};
	hear("@time=2026-11-22T12:00:00.000Z;msgid=1 :b!b@h BATCH +m draft/multiline #tea");
	for (let i = 0; i < 10000; i++) hear("@batch=m :b!b@h PRIVMSG #tea :line " + i);
	hear(":b!b@h BATCH -m");
	out.lines = room.messages.at(-1).text.split("\n").length;
	hear(":x MARKREAD #tea timestamp=2999-01-01T00:00:00.000Z", "MARKREAD", ":x MARKREAD #tea timestamp=x", ":x MARKREAD #no *");
	hear("@time=2026-11-22T12:00:01.000Z;msgid=2 :b!b@h PRIVMSG #tea :later");
	out.unread = room.unread;
	for (let i = 0; i < 5000; i++) hear(":b!b@h REDACT #tea never-shown-" + i, ":x BATCH +open" + i + " draft/multiline #tea");
	hear("REDACT", ":b REDACT #tea", ":b!b@h REDACT nobody 2", ":b!b@h REDACT #tea 2 :gone", ":b!b@h REDACT #tea 2");
	out.gone = room.messages.find((m) => m.id === "2").text;
	for (let i = 0; i < 6000; i++) hear(":x 761 ann n" + i + " color * :#ffffff", ":x 730 ann :n" + i);
	hear("761", "766", "774", "730", "731", "302", "354 ann 71", "354", "MODE", "MODE ann", "ACCOUNT", ":b ACCOUNT", "367", ":x 005 ann CHANMODES MONITOR=x BOT EXTBAN ACCOUNTEXTBAN :ok", "@label=a1 FAIL", ":x BATCH -none");
	out.bounded = s.people.size <= 5000 && s.presence.size <= 1 && room.messages.length + room.gone.size <= 30000 && s.batches.size <= 4096;
	out.unreadAfter = room.unread;
	hear("@batch=b :x BATCH +a draft/multiline #tea", "@batch=a :x BATCH +b draft/multiline #tea", ":x BATCH -a", ":x BATCH -b", ":x BATCH -", "BATCH", ":x FAIL SEARCH", ":x FAIL REDACT x #tea 1 :no", "421 ann SEARCH", ":x FAIL CHATHISTORY x AROUND #tea :no");
	hear("RENAME", ":b!b@h RENAME #tea", ":b!b@h RENAME #tea x", ":b!b@h RENAME #no #tea", ":x FAIL JOIN CHANNEL_RENAMED", ":x FAIL JOIN CHANNEL_RENAMED #tea", ":x FAIL JOIN CHANNEL_RENAMED #tea #TEA :no");
	out.same = s.find("#tea") === room && s.rooms.size === 1;
	out.twoLines = sent.some((line) => /[\r\n]/.test(line));
	return out;
})`

// hostile: what a hostile server says is bounded, and hides nothing that is said later.
func hostile(t *testing.T, p *person) {
	type outcome struct {
		Lines, Unread, UnreadAfter int
		Gone                       string
		Bounded, Same, TwoLines    bool
	}
	want := outcome{4096, 1, 0, "Message deleted by b: gone", true, true, false}
	if got := browser.Eval[outcome](p.Page, hostileServer); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
