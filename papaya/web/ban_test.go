package web

import (
	"fmt"
	"os/exec"
	"testing"

	"interleave/internal/browser"
)

// notes waits until a room has a line that includes a text.
func (p *person) notes(text string) {
	p.t.Helper()
	p.has("it says "+text, fmt.Sprintf(`texts.some((x) => x.includes(%q))`, text))
}

// ban runs `papaya ban` and returns its output.
func (p *papaya) ban(words ...string) string {
	p.t.Helper()
	cmd := exec.Command(p.program, append([]string{"ban"}, words...)...)
	cmd.Dir = p.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("papaya ban %v: %v: %s", words, err, out)
	}
	return string(out)
}

// TestBannedOnThePage: a user who is banned is told why at once, and at the next try. Others stay.
func TestBannedOnThePage(t *testing.T) {
	p := newPapaya(t, false)
	p.addAccount("eve")
	ann, eve := newPerson(t, 390, 800), newPerson(t, 1280, 800)
	ann.signIn(p.url(), "ann", "#tea")
	eve.signInTo(p, "eve")
	p.ban("add", "eve", "--for", "1h", "spam <i>here</i>")
	const told = `/^You are banned from this server until .* UTC: spam <i>here<\/i>$/.test(
		document.querySelector("#sign-in-error").textContent) &&
		document.querySelector("#chat").hidden`
	eve.Until("eve is told why", told)
	eve.Picture("banned")
	eve.Do(setValue("#password", secretOf))
	browser.Eval[any](eve.Page, `document.querySelector("#sign-in-error").textContent = ""`)
	eve.submit("eve", "#tea")
	eve.Until("and once more", told)
	ann.notes("eve left: Banned")
}
