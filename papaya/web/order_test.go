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

//go:embed testdata/order.js
var orderScript string

// TestOrderIsTheServers: whatever a session does, and whatever the clocks say, it has the messages
// in the server's order, each once, and at the end all of them.
func TestOrderIsTheServers(t *testing.T) {
	p := newPerson(t, 800, 600)
	p.Do(chromedp.Navigate(site(t, "127.0.0.1:1")))
	type outcome struct {
		Bad                        string
		Whole                      bool
		Missed, Pages, Joined, Own int
	}
	play := strings.TrimRight(orderScript, ";\n") // an expression
	joined := 0
	for seed := 1; seed <= 25; seed++ {
		got := browser.Eval[outcome](p.Page, fmt.Sprintf("(%s)(%d, 1500)", play, seed))
		if got.Bad != "" || !got.Whole {
			t.Errorf("seed %d: %+v", seed, got)
		}
		if got.Missed == 0 || got.Pages == 0 || got.Own == 0 {
			t.Errorf("seed %d: something was not tried: %+v", seed, got)
		}
		joined += got.Joined
	}
	if joined == 0 {
		t.Error("no old part of the history was joined with the newest messages")
	}
}

// refusedMarker has a server that cannot store the marker of a room at first. It returns how often
// the marker was sent: at once, within a minute, after it, and on the next connection.
const refusedMarker = `Promise.all(["session", "irc", "marker"].map((name) => import("./" + name + ".js"))).then(([{ Session }, { parse }, { sendMarkers }]) => {
	let now = Date.parse("2026-11-22T12:00:00Z"), sent = 0;
	const hooks = new Proxy({}, { get: (_, name) => name === "send" ? (line) => { sent += line === "MARKREAD #tea timestamp=2026-11-22T11:00:00.000Z"; } : () => {} });
	const s = new Session({ nick: "ann" }, hooks, () => now);
	const hear = (...lines) => lines.forEach((line) => s.receive(parse(line)));
	const connect = () => { s.opened(); hear(":x CAP * LS :server-time draft/read-marker", ":x CAP * ACK :server-time draft/read-marker", ":x 001 ann :hi", ":x 422 ann :no", ":ann!a@h JOIN #tea"); };
	const counts = [], count = () => { sendMarkers(s); counts.push(sent); hear(":x FAIL MARKREAD INTERNAL_ERROR #tea :The log says: no space left on device"); };
	connect();
	hear("@time=2026-11-22T11:00:00.000Z :b!b@h PRIVMSG #tea :one");
	s.find("#tea").look();
	count();
	now += 59_000;
	sendMarkers(s);
	counts.push(sent);
	now += 1000;
	count();
	s.lost();
	connect();
	count();
	counts.push(s.find("#tea").messages.length);
	return counts;
})`

// TestRefusedMarkerIsSentAgain: a marker that the server could not store is sent again after a
// minute and on the next connection. The user is not told.
func TestRefusedMarkerIsSentAgain(t *testing.T) {
	p := newPerson(t, 800, 600)
	p.Do(chromedp.Navigate(site(t, "127.0.0.1:1")))
	want := []int{1, 1, 2, 3, 1}
	if got := browser.Eval[[]int](p.Page, refusedMarker); !slices.Equal(got, want) {
		t.Errorf("sent %v times, want %v", got, want)
	}
}
