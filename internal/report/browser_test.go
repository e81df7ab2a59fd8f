package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"interleave/internal/browser"
)

func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }

// beyond lists the elements that reach beyond the window, without those in a part that scrolls.
const beyond = `[...document.querySelectorAll("body *")].filter((e) =>
	!e.closest(".scroll, .code, pre, .marks, .skip, svg, details:not([open])") &&
	e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + "." + e.className)`

// cramped lists the rows of the answers whose drawing has no room.
const cramped = `[...document.querySelectorAll(".forest tr:not(.word) .lane svg")].filter((e) => {
	const r = e.getBoundingClientRect();
	return r.width < 150 || r.height < 15;
}).length`

// TestPageOnScreens lays pages out as a desktop and a phone do.
func TestPageOnScreens(t *testing.T) {
	browser.Needed(t)
	all := runs(t)
	for _, name := range []string{"normal", "aborted", "empty"} {
		file := filepath.Join(t.TempDir(), "page.html")
		if err := os.WriteFile(file, []byte(page1(t, all[name])), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, width := range []int{1280, 390} {
			p := browser.Open(t, width, 900, "")
			p.Do(chromedp.Navigate("file://" + file))
			if out := browser.Eval[[]string](p, beyond); len(out) > 0 {
				t.Errorf("%s at %d pixels: these reach beyond the window: %q", name, width, out)
			}
			if browser.Eval[bool](p, "document.documentElement.scrollWidth > innerWidth") {
				t.Errorf("%s at %d pixels: the page scrolls sideways", name, width)
			}
			if n := browser.Eval[int](p, cramped); n > 0 {
				t.Errorf("%s at %d pixels: %d drawings have no room", name, width, n)
			}
		}
	}
}

// TestAnswersComeFirst looks at what a reader meets: the answers before all else that is measured,
// and a row's link leads to the claim.
func TestAnswersComeFirst(t *testing.T) {
	browser.Needed(t)
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(page1(t, runs(t)["normal"])), 0o644); err != nil {
		t.Fatal(err)
	}
	p := browser.Open(t, 390, 844, "")
	p.Do(chromedp.Navigate("file://" + file))
	first := browser.Eval[string](p, `document.querySelector("main section").id`)
	if first != "verdicts" {
		t.Errorf("the first section is %q", first)
	}
	open := browser.Eval[int](p, `document.querySelectorAll("#verdicts .mark-open").length`)
	if open > 0 {
		t.Errorf("%d claims that are open stand among the answers", open)
	}
	p.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".forest .id").click()`))
	at := browser.Eval[string](p, `location.hash.slice(1)`)
	if is := browser.Eval[bool](p, `document.querySelector(".claim:target") !== null`); !is {
		t.Errorf("the first row leads to %q, which is no claim", at)
	}
}
