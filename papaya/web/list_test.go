package web

import (
	_ "embed"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

var (
	//go:embed testdata/span.js
	spanScript string
	//go:embed testdata/rows.js
	rowsScript string
)

// TestSpansOfAList: what is drawn of a list covers the screen and what is near it, is no more than
// that, and moves no row.
func TestSpansOfAList(t *testing.T) {
	p := newPerson(t, 800, 600)
	p.Do(chromedp.Navigate(site(t, "127.0.0.1:1")))
	type outcome struct {
		Bad            string
		Jumps, Covered int
	}
	for seed := 1; seed <= 5; seed++ {
		got := play[outcome](p, spanScript, fmt.Sprint(seed), "2000")
		if got.Bad != "" || got.Jumps == 0 || got.Covered == 0 {
			t.Errorf("seed %d: %+v", seed, got)
		}
	}
}

// TestRowsOfAList: each message that is to be shown has one row, in its place, and the lines of the
// days and of what is new are where they belong.
func TestRowsOfAList(t *testing.T) {
	p := newPerson(t, 800, 600)
	p.Do(chromedp.Navigate(site(t, "127.0.0.1:1")))
	type outcome struct {
		Bad         string
		Days, Fresh int
	}
	for seed := 1; seed <= 5; seed++ {
		got := play[outcome](p, rowsScript, fmt.Sprint(seed), "1000")
		if got.Bad != "" || got.Days == 0 || got.Fresh == 0 {
			t.Errorf("seed %d: %+v", seed, got)
		}
	}
}
