package web

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/coder/websocket"

	"interleave/internal/browser"
	"interleave/papaya/irc"
)

// longRoom is how many messages the long room has, and frameTimes has its test measure, too.
var (
	longRoom   = flag.Int("long", 20_000, "how many messages TestLongRoom scrolls through")
	frameTimes = flag.Bool("frames", false,
		"log how long the frames take in which the messages are scrolled (with -v)")
)

//go:embed testdata/scroll.js
var scrollScript string

// mostRows is how many rows of the list may be in the document: five screens of 640 px, of rows
// that have 22 px or more.
const mostRows = 160

// An archive is a server with one room, #tea, in which much was said. It answers each request for
// history with many messages at once.
type archive struct {
	many int
	says chan string // lines that it sends to the page
}

const atOnce = 4000 // messages of a page of history

// site serves the page with this server behind it.
func (a *archive) site(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/", Handler())
	mux.HandleFunc("/socket", a.serve)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL + "/"
}

func (a *archive) serve(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r,
		&websocket.AcceptOptions{Subprotocols: []string{"text.ircv3.net"}})
	if err != nil {
		return
	}
	defer func() { _ = ws.CloseNow() }()
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	go func() {
		for {
			select {
			case line := <-a.says:
				_ = ws.Write(ctx, websocket.MessageText, []byte(line))
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		_, line, err := ws.Read(ctx)
		if err != nil {
			return
		}
		for _, answer := range a.answer(string(line)) {
			if ws.Write(ctx, websocket.MessageText, []byte(answer)) != nil {
				return
			}
		}
	}
}

// answer is what the server says to a line of the page.
func (a *archive) answer(line string) []string {
	m, err := irc.Parse(line)
	if err != nil {
		return nil
	}
	const caps = "batch draft/chathistory draft/message-redaction message-tags server-time"
	switch m.Command + " " + m.Param(0) {
	case "CAP LS":
		return []string{":x CAP * LS :" + caps}
	case "CAP REQ":
		return []string{":x CAP * ACK :" + m.Param(1)}
	case "CAP END":
		return []string{":x 001 ann :Welcome", ":x 422 ann :No message of the day"}
	case "JOIN #tea":
		return []string{":ann!a@h JOIN #tea", ":x 353 ann = #tea :ann bob", ":x 366 ann #tea :End"}
	case "CHATHISTORY LATEST":
		return a.page(a.many)
	case "CHATHISTORY BEFORE":
		var end int
		_, _ = fmt.Sscanf(m.Param(2), "msgid=id%d", &end)
		return a.page(end)
	}
	return nil
}

// page is the history before a message.
func (a *archive) page(end int) []string {
	lines := []string{":x BATCH +h chathistory #tea"}
	for i := max(0, end-atOnce); i < end; i++ {
		lines = append(lines, "@batch=h;"+a.line(i))
	}
	return append(lines, ":x BATCH -h")
}

// line is a message, without the @ of its tags. The last one answers one from far before.
func (a *archive) line(i int) string {
	text := textOf(i)
	if i%9 == 0 {
		text = "\x01ACTION " + text + "\x01"
	}
	reply := ""
	if i == a.many-1 {
		reply = fmt.Sprintf(";+draft/reply=id%d", answered)
	}
	when := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(i) * 20 * time.Second)
	return fmt.Sprintf("msgid=id%d;time=%s%s :bob!b@h PRIVMSG #tea :%s", i,
		when.Format("2006-01-02T15:04:05.000Z"), reply, text)
}

// textOf is the text of a message. Some are long.
func textOf(i int) string {
	text := fmt.Sprintf("line %d%s", i, strings.Repeat(" and the kettle", i%7))
	if i%250 == 0 {
		text += strings.Repeat(" is on", 60)
	}
	return text
}

const answered = 7777 // the message that the last one answers

// fine fails the test if something was wrong.
func (p *person) fine(what, bad string) {
	p.t.Helper()
	if bad != "" {
		p.t.Fatalf("%s: %s", what, bad)
	}
}

// looks evaluates an expression of what scroll.js looks at.
func looks[T any](p *person, js string) T {
	p.t.Helper()
	return browser.Eval[T](p.Page, "look."+js)
}

// TestLongRoom scrolls through very many messages. Few of them are in the document at any time,
// none is missing or there twice, and what is on the screen stays where it is.
func TestLongRoom(t *testing.T) {
	bob := &archive{many: *longRoom, says: make(chan string)}
	ann := newPerson(t, 1280, 800)
	ann.signIn(bob.site(t), "ann", "#tea")
	ann.Until("the newest is there", fmt.Sprintf(
		`document.querySelector("#messages").textContent.includes("line %d")`, *longRoom-1))
	play[any](ann, scrollScript)
	type outcome struct {
		Bad   string
		Moved float64
	}
	top := looks[outcome](ann, "toTop()")
	ann.fine("loading all", top.Bad)
	if top.Moved > 1 {
		t.Errorf("what is on the screen moves by %.1f px when older messages are loaded", top.Moved)
	}
	for _, at := range []int{0, 300, 600, 950} {
		ann.fine("walking", looks[string](ann, fmt.Sprintf("walk(%d, 20, 3)", at)))
		ann.fine("walking slowly", looks[string](ann, fmt.Sprintf("walk(%d, 20, 0.3)", at)))
	}
	for _, at := range []int{500, 20, 999, 1000, 0, 730, 731, 250} {
		ann.fine("jumping by the bar", looks[string](ann, fmt.Sprintf("jump(%d)", at)))
	}
	wheels(ann)
	stays(ann, bob)
	selects(ann)
	jumps(ann)
	if *frameTimes {
		printFrames(ann)
	}
	if rows := looks[int](ann, "most"); rows > mostRows || rows < 20 {
		t.Errorf("%d rows were in the document, want 20 to %d", rows, mostRows)
	}
	ann.Do(chromedp.Click(chromedp.CSS("#newer")))
	ann.Until("she is at the end again", `document.querySelector("#newer").hidden`)
}

// wheel turns the wheel over the messages so many times, by so many pixels.
func (p *person) wheel(times int, px float64) {
	p.t.Helper()
	turn := input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseWheel, X: 600,
		Y: 400, DeltaX: 1e-6, DeltaY: px} // a DeltaX of 0 would be left out
	for range times {
		if _, err := chromedp.Call(p.Context(), input.DispatchMouseEvent, turn); err != nil {
			p.t.Fatalf("turning the wheel: %v", err)
		}
	}
}

// A recording is how long frames took, in ms, and what was wrong in one of them.
type recording struct {
	Times    []float64
	Bad      string
	From, To float64
}

// recorded records frames while something is done.
func (p *person) recorded(checks bool, do func()) recording {
	p.t.Helper()
	browser.Eval[any](p.Page, fmt.Sprintf("look.record(%v)", checks))
	do()
	return looks[recording](p, "recorded()")
}

// wheels turns the wheel from the beginning to the end and back: in no frame is something missing.
func wheels(ann *person) {
	ann.t.Helper()
	ann.fine("to the beginning", looks[string](ann, "jump(0)"))
	const atEnd = `(({ scrollHeight: all, scrollTop: top, clientHeight: screen }) =>
		all - top - screen < 2)(document.querySelector("#scroll"))`
	down := ann.recorded(true, func() {
		for !browser.Eval[bool](ann.Page, atEnd) {
			ann.wheel(20, 8000)
		}
	})
	ann.fine("turning the wheel", down.Bad)
	up := ann.recorded(true, func() { ann.wheel(100, -700) })
	ann.fine("turning the wheel back", up.Bad)
	all := 10 * float64(*longRoom) // a row has more pixels
	if down.To < all || up.To > up.From-1000 || len(up.Times) < 10 {
		ann.t.Errorf("the wheel went from %.0f to %.0f, and back to %.0f in %d frames", down.From,
			down.To, up.To, len(up.Times))
	}
}

// stays: a message on the screen stays where it is, to the pixel, when others come below it and
// when something above it grows or goes.
func stays(ann *person, bob *archive) {
	ann.t.Helper()
	ann.fine("jumping", looks[string](ann, "jump(400)"))
	type message struct {
		N  int
		Y  float64
		ID string
	}
	above := looks[message](ann, "seen()")
	ann.wheel(2, 250)
	const still = `new Promise((done) => { let last, same = 0; const look = () => {
		const { scrollTop } = document.querySelector("#scroll");
		same = scrollTop === last ? same + 1 : 0; last = scrollTop;
		same > 30 ? done(true) : requestAnimationFrame(look) }; look() })`
	browser.Eval[bool](ann.Page, still)
	seen := looks[message](ann, "seen()")
	if seen.N <= above.N {
		ann.t.Fatalf("line %d was to be above line %d", above.N, seen.N)
	}
	same := func(what string) {
		ann.t.Helper()
		browser.Eval[bool](ann.Page, still)
		y := looks[float64](ann, fmt.Sprintf("where(%d)", seen.N))
		if y > seen.Y+1 || y < seen.Y-1 {
			ann.t.Errorf("%s: line %d was %.1f px below the beginning, and is %.1f px", what,
				seen.N, seen.Y, y)
		}
		ann.fine(what, looks[string](ann, "wrong()"))
	}
	const now = "@time=2026-12-31T12:00:00.000Z;msgid=now%d%s :bob!b@h "
	bob.says <- fmt.Sprintf(now, 1, "") + "PRIVMSG #tea :news"
	ann.Until("the message below is counted",
		`document.querySelector("#newer").textContent === "1 new below"`)
	same("a message below")
	line := fmt.Sprintf(`[...document.querySelectorAll("#messages .line")].find((n) =>
		n.message.id === %q)`, above.ID)
	bob.says <- fmt.Sprintf(now, 2, ";+draft/react=👍;+draft/reply="+above.ID) + "TAGMSG #tea"
	ann.Until("the reaction is shown", `Boolean(`+line+`?.querySelector(".reactions"))`)
	same("a reaction above")
	browser.Eval[any](ann.Page, line+`.style.minHeight = "300px"`)
	same("an image above")
	browser.Eval[any](ann.Page, line+`.style.minHeight = ""`)
	same("an image that goes")
	bob.says <- fmt.Sprintf(now, 3, "") + "REDACT #tea " + above.ID
	ann.Until("it is deleted", `Boolean(`+line+`?.classList.contains("deleted"))`)
	same("a removal above")
	ann.Size(900, 700)
	ann.Size(1280, 800)
	ann.fine("another size", looks[string](ann, "jump(400)"))
}

// selects: text that is selected stays in the document when it is scrolled away.
func selects(ann *person) {
	ann.t.Helper()
	got := browser.Eval[string](ann.Page, `(async () => {
		const from = [...document.querySelectorAll("#messages .text")].at(-30);
		getSelection().setBaseAndExtent(from, 0, from, from.childNodes.length);
		const scroll = document.querySelector("#scroll");
		for (let i = 0; i < 12; i++) {
			scroll.scrollTop += scroll.clientHeight;
			await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
		}
		const last = [...document.querySelectorAll("#messages .text")].at(-1);
		getSelection().extend(last, last.childNodes.length);
		const lines = getSelection().toString().match(/line \d+/g).map((x) => Number(x.slice(5)));
		getSelection().removeAllRanges();
		const gap = lines.findIndex((n, i) => i > 0 && n !== lines[i - 1] + 1);
		return gap < 0 && lines.length > 100 ? "" : lines.join(" ");
	})()`)
	ann.fine("the selected text", got)
	ann.fine("after it", looks[string](ann, "jump(600)"))
	if rows := browser.Eval[int](ann.Page,
		`document.querySelectorAll("#messages > li").length`); rows > mostRows {
		ann.t.Errorf("%d rows are in the document when nothing is selected any more", rows)
	}
}

// jumps: the message that another one answers is drawn, in the middle of the screen, however far
// away it is.
func jumps(ann *person) {
	ann.t.Helper()
	ann.fine("jumping to the end", looks[string](ann, "jump(1000)"))
	ann.click("#messages .quoted")
	ann.Until("it is shown among those around it", inContext(textOf(answered)))
	ann.fine("around it", looks[string](ann, "wrong()"))
}

// printFrames prints how long the frames take in which the messages are scrolled, and the memory
// that the page uses.
func printFrames(ann *person) {
	ann.t.Helper()
	scenes := []struct {
		name string
		do   func()
	}{
		{"the wheel, 120 px a notch", func() { ann.wheel(100, 120) }},
		{"the wheel, 1,200 px a notch", func() { ann.wheel(100, -1200) }},
		{"the bar, all over the room", func() {
			for i := range 50 {
				looks[string](ann, fmt.Sprintf("jump(%d)", i*377%1000))
			}
		}},
	}
	for _, s := range scenes {
		r := ann.recorded(false, s.do)
		slices.Sort(r.Times)
		at := func(part float64) float64 { return r.Times[int(part*float64(len(r.Times)-1))] }
		late := 0
		for _, ms := range r.Times {
			if ms > 1.5*1000/60 {
				late++
			}
		}
		ann.t.Logf("%-28s %4d frames: median %.1f ms, p99 %.1f ms, worst %.1f ms, %d missed a turn",
			s.name, len(r.Times), at(0.5), at(0.99), at(1), late)
	}
	ann.t.Logf("the page's heap: %d MB", browser.Eval[int](ann.Page,
		`Math.round((performance.memory?.usedJSHeapSize ?? 0) / 1e6)`))
}
