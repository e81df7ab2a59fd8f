package web

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"interleave/internal/browser"
)

var (
	//go:embed testdata/order.js
	orderScript string
	//go:embed testdata/marker.js
	markerScript string
)

// play calls a script, which is a function of numbers, in a page that has the client's modules.
func play[T any](p *person, script string, numbers ...string) T {
	p.t.Helper()
	function := strings.TrimRight(script, ";\n") // an expression
	return browser.Eval[T](p.Page, fmt.Sprintf("(%s)(%s)", function, strings.Join(numbers, ", ")))
}

// TestOrderIsTheServers: whatever a session does, and whatever the clocks say, it has the messages
// in the server's order, each once, and at the end all of them.
func TestOrderIsTheServers(t *testing.T) {
	p := newPerson(t, 800, 600)
	p.Do(chromedp.Navigate(site(t, "127.0.0.1:1")))
	type outcome struct {
		Bad                                string
		Whole                              bool
		Missed, Pages, Joined, Parted, Own int
	}
	joined, parted := 0, 0
	for seed := 1; seed <= 25; seed++ {
		got := play[outcome](p, orderScript, fmt.Sprint(seed), "1500")
		if got.Bad != "" || !got.Whole {
			t.Errorf("seed %d: %+v", seed, got)
		}
		if got.Missed == 0 || got.Pages == 0 || got.Own == 0 {
			t.Errorf("seed %d: something was not tried: %+v", seed, got)
		}
		joined += got.Joined
		parted += got.Parted
	}
	if parted == 0 {
		t.Error("no room had so many messages that its newest were kept apart")
	}
	if joined == 0 {
		t.Error("no old part of the history was joined with the newest messages")
	}
}

// TestRefusedMarkerIsSentAgain: a marker that the server could not store is sent again after a
// minute and on the next connection. The user is not told.
func TestRefusedMarkerIsSentAgain(t *testing.T) {
	p := newPerson(t, 800, 600)
	p.Do(chromedp.Navigate(site(t, "127.0.0.1:1")))
	want := []int{1, 1, 2, 3, 1}
	if got := play[[]int](p, markerScript); !slices.Equal(got, want) {
		t.Errorf("sent %v times, want %v", got, want)
	}
}
