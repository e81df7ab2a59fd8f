package web

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"interleave/internal/browser"
	"interleave/internal/irctest"
)

// reads waits until the page of a public room shows these texts.
func (p *person) reads(what string, want ...string) {
	p.t.Helper()
	texts, err := json.Marshal(want)
	if err != nil {
		p.t.Fatal(err)
	}
	p.Until(what, fmt.Sprintf(`JSON.stringify(
		[...document.querySelectorAll("#messages span")].map((n) => n.textContent)) ===
		JSON.stringify(%s)`,
		texts))
}

// TestPublicRoom: somebody without an account reads a room, also what is said, changed and removed
// while she looks. Nobody in the room sees her. When its operator closes it, it is gone.
func TestPublicRoom(t *testing.T) {
	p := newPapaya(t, false, "[public]\nrooms = [\"#tea\"]\n")
	bob := irctest.Dial(t, p.plain)
	bob.Send("CAP REQ :message-tags echo-message draft/message-edit draft/message-redaction\r\n" +
		"NICK bob\r\nUSER bob 0 * :bob\r\nCAP END\r\nJOIN #tea")
	bob.Expect(" 366 ")
	id := func(text string) string {
		t.Helper()
		bob.Send("PRIVMSG #tea :%s", text)
		found := regexp.MustCompile(`msgid=(\w+)`).FindStringSubmatch(bob.ExpectLine(text))
		if found == nil {
			t.Fatal("the echo has no msgid")
		}
		return found[1]
	}
	first := id("<b>the kettle</b> is on")
	reader := &person{browser.Open(t, 390, 800, "404 (Not Found)"), t}
	reader.Do(chromedp.Navigate(p.url() + "public/"))
	reader.Do(chromedp.Navigate(browser.Eval[string](reader.Page,
		`document.querySelector("main a").href`)))
	reader.reads("what was said before", "<b>the kettle</b> is on")
	second := id("and the tea is in")
	reader.reads("what is said", "<b>the kettle</b> is on", "and the tea is in")
	bob.Send("@+draft/edit=%s PRIVMSG #tea :the kettle is off", first)
	reader.reads("what is changed", "the kettle is off", "and the tea is in")
	reader.Picture("public")
	bob.Send("REDACT #tea %s", second)
	reader.reads("what is removed", "the kettle is off")
	if kept := browser.Eval[string](reader.Page,
		`document.cookie + localStorage.length`); kept != "0" {
		t.Errorf("the page keeps %q", kept)
	}
	bob.Send("NAMES #tea\r\nPING named")
	if lines := bob.Expect("PONG chat :named"); !slices.ContainsFunc(lines, func(l string) bool {
		return regexp.MustCompile(` 353 bob = #tea :@bob\s*$`).MatchString(l)
	}) {
		t.Errorf("the members are %q", lines)
	}
	bob.Send("MODE #tea +i")
	reader.Until("the room is closed", `
		document.querySelector("#state").textContent === "This room is not public any more." &&
		document.querySelectorAll("#messages li").length === 0`)
}
