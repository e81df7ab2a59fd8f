package web

import (
	"strings"
	"testing"

	"interleave/internal/browser"
)

// code: blocks and words of code are shown as such, as text, with nothing in them that is not seen.
// What is not closed stays as it was written.
func code(t *testing.T, ann, bob *person) {
	t.Helper()
	const block = "func <b>main</b>() {\n\tgo `x` https://a.example/\n}"
	ann.write("say `rm -rf \x02x\x02\u202e`:\n```go\n" + block +
		"\n```\nat https://b.example/ `open")
	const line = `[...document.querySelectorAll("#messages .line")].find((n) =>
		n.querySelector(".block"))`
	bob.Until("the code has come", `Boolean(`+line+`)`)
	type seen struct {
		Inline, Block, Text string
		Links               []string
	}
	got := browser.Eval[seen](bob.Page, `((n) => ({ Inline: n.querySelector(".inline").textContent,
		Block: n.querySelector(".block").textContent, Text: n.querySelector(".text").textContent,
		Links: [...n.querySelectorAll(".text a")].map((a) => a.href) }))(`+line+`)`)
	if got.Inline != "rm -rf x" || got.Block != block || len(got.Links) != 1 ||
		got.Links[0] != "https://b.example/" ||
		got.Text != "say rm -rf x:"+block+"at https://b.example/ `open" {
		t.Errorf("got %+v", got)
	}
	ann.write("/me runs `make`")
	bob.Until("in an action, too",
		`document.querySelector("#messages .action code")?.textContent === "make"`)
	ann.write("``` ``` and `` and ` ` stay")
	bob.sees("``` ``` and `` and ` ` stay")
	ann.write("```\n" + strings.Repeat("wide ", 60) + "\n```")
	bob.Until("a wide line is there", `[...document.querySelectorAll(".block")].length === 2`)
	for _, who := range []*person{ann, bob} {
		if browser.Eval[bool](who.Page, overflow) {
			t.Error("code is wider than the screen")
		}
		who.Picture("code")
	}
}
