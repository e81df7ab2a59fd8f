package web

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"interleave/internal/browser"
	"interleave/internal/freeport"
	"interleave/internal/irctest"
)

// build links the program where go finds it again: another ring, or the next run, has it at once.
// Of two test programs one waits, so that neither starts half a program.
var build = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs("../../out/build/papaya-web")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("waiting for another build of papaya: %w", err)
	}
	program := filepath.Join(dir, "papaya")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program,
		"interleave/cmd/papaya").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building papaya: %w\n%s", err, out)
	}
	return program, nil
})

// A papaya is a server process.
type papaya struct {
	t                        *testing.T
	program, dir, web, plain string
	cmd                      *exec.Cmd
	said                     bytes.Buffer
}

// newPapaya starts a server, with or without required accounts, and with further settings. It is a
// program of its own, which is built as users build it: the race detector sees nothing of it.
func newPapaya(t *testing.T, accounts bool, more ...string) *papaya {
	t.Helper()
	if underRace {
		t.Skip("its server has no race detector: a run without one has this test")
	}
	browser.Needed(t) // without a browser the program is not needed
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	p := &papaya{t: t, program: program, dir: t.TempDir(), web: free(t), plain: free(t)}
	conf := fmt.Sprintf("[listen]\nplain = [%q]\ntls = []\nweb = [%q]\n[tls]\ndomains = "+
		"[\"127.0.0.1\"]\n[accounts]\nrequired = %v\n[limits]\nregister = \"5m\"\n"+
		"answer = \"5m\"\n[files]\nsize = \"64 KiB\"\n", p.plain, p.web, accounts) +
		strings.Join(more, "")
	if err := os.WriteFile(filepath.Join(p.dir, "papaya.toml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd != nil {
			p.kill()
		}
		if said := p.said.String(); t.Failed() {
			t.Logf("the server's last words:\n%s", said[max(0, len(said)-lastWords):])
		}
	})
	p.start()
	return p
}

// lastWords is how many bytes of the server's output a failure shows.
const lastWords = 4 << 10

// setting replaces a text in the server's settings, for its next start.
func (p *papaya) setting(old, fresh string) {
	p.t.Helper()
	path := filepath.Join(p.dir, "papaya.toml")
	conf, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, bytes.Replace(conf, []byte(old), []byte(fresh), 1), 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// free returns an address on which nothing listens.
func free(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", freeport.For(t))
}

func (p *papaya) url() string { return "https://" + p.web + "/" }

func (p *papaya) start() {
	p.t.Helper()
	p.said.Reset()
	p.cmd = exec.Command(p.program, "serve", "--config", "papaya.toml")
	p.cmd.Dir = p.dir
	p.cmd.Stderr = &p.said
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		c, err := tls.Dial("tcp", p.web, &tls.Config{InsecureSkipVerify: true})
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(deadline) {
			p.kill()
			p.t.Fatalf("papaya does not serve: %v\n%s", err, p.said.String())
		}
	}
}

// kill kills the server with SIGKILL.
func (p *papaya) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.cmd = nil
}

// admin runs `papaya admin` and returns its output.
func (p *papaya) admin(words ...string) string {
	p.t.Helper()
	return p.adminWith("", words...)
}

// adminWith is admin with a standard input.
func (p *papaya) adminWith(input string, words ...string) string {
	p.t.Helper()
	cmd := exec.Command(p.program, append([]string{"admin"}, words...)...)
	cmd.Dir, cmd.Stdin = p.dir, strings.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("papaya admin %v: %v", words, err)
	}
	return strings.TrimSpace(string(out))
}

func TestReconnectAfterTheServerWasKilled(t *testing.T) {
	p := newPapaya(t, false)
	ann, bob := newPerson(t, 1280, 800), newPerson(t, 360, 740)
	ann.signIn(p.url(), "ann", "#tea")
	bob.signIn(p.url(), "bob", "#tea")
	var want []string
	for i := range 3 {
		text := fmt.Sprintf("before %d", i)
		ann.write(text)
		bob.sees(text)
		want = append(want, text)
	}
	ann.Until("all is echoed", `!document.querySelector(".pending")`)
	p.kill()
	ann.Until("ann hears of it",
		`document.querySelector("#state").textContent.includes("Connection lost")`)
	ann.write("while it is away")
	ann.Until("what cannot be sent stays",
		`document.querySelector("#compose").value === "while it is away" && document.querySelector("#told").textContent !== ""`)
	ann.Picture("lost")
	p.start()
	ann.Until("ann is back",
		`document.querySelector("#state").hidden && document.querySelector("#member-count").textContent !== "0"`)
	ann.write("after")
	bob.sees("after")
	ann.sees("after")
	want = append(want, "after")
	for _, who := range []*person{ann, bob} {
		if got := who.said(); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestHistoryIsThereForWhoComesLater has several lines in each millisecond, and so has the jump
// from the search to an old one.
func TestHistoryIsThereForWhoComesLater(t *testing.T) {
	p := newPapaya(t, false)
	ann := newPerson(t, 1280, 800)
	ann.signIn(p.url(), "ann", "#tea")
	const many, typed = 260, 5 // more than two pages; ann herself says the first and the last
	for i := range typed {
		ann.write(fmt.Sprintf("line %d", i))
	}
	ann.sees(fmt.Sprintf("line %d", typed-1))
	ann.Until("all is echoed", `!document.querySelector(".pending")`)
	bobSays(t, p, typed, many-typed)
	ann.sees(fmt.Sprintf("line %d", many-typed-1))
	for i := many - typed; i < many; i++ {
		ann.write(fmt.Sprintf("line %d", i))
	}
	ann.sees(fmt.Sprintf("line %d", many-1))
	ann.Until("all is echoed", `!document.querySelector(".pending")`)
	ann.Do(reload())
	ann.submit("ann", "")
	ann.Until("she is in her room again",
		`document.querySelector("#room-name").textContent === "#tea"`)
	ann.finds("LINE 37", "line 237", "line 137", "line 37")
	ann.click("#found li:last-child button")
	ann.Until("it is shown among those around it",
		inContext("line 37")+` && !document.querySelector("#messages").textContent.includes("line 259")`)
	ann.Picture("search")
	ann.Until("scrolling down leads to the newest", `(() => { const s = document.querySelector("#scroll"); s.scrollTop = s.scrollHeight; s.dispatchEvent(new Event("scroll"));
		return document.querySelector("#messages").textContent.includes("line 259") })()`)
	ann.seesAllOf(many)
	ann.finds("kettle")
}

// finds searches in the room, and must find these texts, the newest first.
func (p *person) finds(words string, want ...string) {
	p.t.Helper()
	p.write("/search " + words)
	p.Until("it has searched", `/Nothing|message/.test(document.querySelector("#search-said").textContent)`)
	if got := browser.Eval[[]string](p.Page,
		`[...document.querySelectorAll("#found .hit-text")].map((n) => n.textContent)`); !slices.Equal(got,
		want) {
		p.t.Errorf("%s: found %q, want %q", words, got, want)
	}
}

// inContext is an expression: the message with a text was looked for, and is on the screen.
func inContext(text string) string {
	return fmt.Sprintf(`(() => { const n = document.querySelector("[data-sought]"), s = document.querySelector("#scroll").getBoundingClientRect(), r = n?.getBoundingClientRect();
		return n?.querySelector(".text").textContent === %q && r.top > s.top && r.bottom < s.bottom })()`,
		text)
}

// everything is an expression: the texts of all messages of the room, as somebody sees them who
// scrolls from the beginning to the end. Few of them are in the document at once.
const everything = `(() => {
	const scroll = document.querySelector("#scroll"), texts = [];
	for (scroll.scrollTop = 0; ; scroll.scrollTop += scroll.clientHeight) {
		scroll.dispatchEvent(new Event("scroll"));
		for (const n of document.querySelectorAll("#messages :is(.message, .action)"))
			texts[n.getAttribute("aria-posinset")] = n.querySelector(".text").textContent;
		if (scroll.scrollTop >= scroll.scrollHeight - scroll.clientHeight - 1) break;
	}
	return texts.filter((text) => text !== undefined);
})()`

// seesAllOf scrolls back to line 0 page by page. All lines must be there, each once and in order.
func (p *person) seesAllOf(many int) {
	p.t.Helper()
	p.sees(fmt.Sprintf("line %d", many-1))
	p.Until("the first line is there", `(() => { const s = document.querySelector("#scroll"); s.scrollTop = 0; s.dispatchEvent(new Event("scroll"));
		return [...document.querySelectorAll("#messages .text")].some((n) => n.textContent === "line 0") })()`)
	var want []string
	for i := range many {
		want = append(want, fmt.Sprintf("line %d", i))
	}
	if got := browser.Eval[[]string](p.Page, everything); !slices.Equal(got, want) {
		p.t.Errorf("got %d lines, want %d: %q", len(got), many, got)
	}
}

// TestLinesOfOneMomentStayInOrder has several lines in each millisecond, also where one page of
// history ends and the next begins.
func TestLinesOfOneMomentStayInOrder(t *testing.T) {
	p := newPapaya(t, false)
	ann := newPerson(t, 1280, 800)
	const many = 260 // more than two pages
	bobSays(t, p, 0, many)
	ann.signIn(p.url(), "ann", "#tea")
	ann.seesAllOf(many)
}

// bobSays has bob, who has no page, say lines of these numbers in #tea at once, and go.
func bobSays(t *testing.T, p *papaya, from, to int) {
	t.Helper()
	bob := irctest.Dial(t, p.plain)
	lines := "NICK bob\r\nUSER bob 0 * :Bob\r\nJOIN #tea\r\n"
	for i := from; i < to; i++ {
		lines += fmt.Sprintf("PRIVMSG #tea :line %d\r\n", i)
	}
	bob.Send("%s", lines+"QUIT")
	bob.ExpectEnd() // the server ends the connection when everything is in the log
}

func TestWhatPeopleSayIsNeverMarkup(t *testing.T) {
	p := newPapaya(t, false)
	ann, bob := newPerson(t, 1280, 800), newPerson(t, 1280, 800)
	ann.signIn(p.url(), "ann", "#tea")
	bob.signIn(p.url(), "bob", "#tea")
	attempts := []string{
		`<img src=x onerror="window.caught=1">`, `<script>window.caught=1</script>`,
		`"><svg onload=window.caught=1>`,
		`javascript:window.caught=1`, `https://a.example/"onmouseover="window.caught=1`,
		`https://a.example/<b>x</b>`, `http://user:pw@a.example/`,
		"data:text/html,<script>window.caught=1</script>", `&lt;b&gt;`, "\u202egnp.exe",
	}
	for _, a := range attempts {
		ann.write(a)
	}
	ann.write("/topic <img src=x onerror=window.caught=1>")
	ann.write("see https://a.example/x_(y), or http://b.example.")
	bob.Until("the last is there",
		`document.querySelector("#messages").textContent.includes("b.example")`)
	bob.Until("so is the topic", `document.querySelector("#topic").textContent.startsWith("<img")`)
	if browser.Eval[bool](bob.Page, `"caught" in window`) {
		t.Error("a script of somebody else ran")
	}
	if n := browser.Eval[int](bob.Page,
		`document.querySelectorAll("#messages :is(img, script, svg, b), #topic *").length`); n != 0 {
		t.Errorf("%d elements were made of what people said", n)
	}
	got := browser.Eval[[]string](bob.Page,
		`[...document.querySelectorAll("#messages a")].map((a) => a.href + " " + a.rel + " " + a.target)`)
	want := []string{"https://a.example/", "https://a.example/", "https://a.example/x_(y)",
		"http://b.example/"}
	for i := range want {
		want[i] += " noopener noreferrer nofollow _blank"
	}
	if !slices.Equal(got, want) {
		t.Errorf("links: got %q, want %q", got, want)
	}
	if browser.Eval[bool](bob.Page,
		`document.querySelector("#messages").textContent.includes("\u202e")`) {
		t.Error("a mark that turns the text around is shown")
	}
}

func TestAccountsAndInvitations(t *testing.T) {
	p := newPapaya(t, true)
	token := p.admin("invite", "--role", "member", "--for", "1h", "--by", "ann")
	ann := newPerson(t, 360, 740)
	fill := func(id, value string) {
		ann.Do(setValue("#"+id, value))
	}
	ann.open(p.url())
	fill("nick", "ann")
	ann.press()
	ann.Until("nobody comes in without an account",
		`document.querySelector("#sign-in-error").textContent !== "" && !document.querySelector("#sign-in").hidden`)
	ann.Picture("refused-phone")
	fill("password", "the kettle is on")
	fill("invitation", token)
	fill("join", "#tea")
	ann.press()
	ann.Until("ann is in", `document.querySelector("#room-name").textContent === "#tea"`)
	ann.write("hello from an account")
	ann.sees("hello from an account")

	ann.open(p.url()) // again, now that the account owns the nick
	fill("nick", "ann")
	fill("password", "the kettle is on")
	ann.press()
	ann.Until("ann is in again", `document.querySelector("#room-name").textContent === "#tea"`)

	ann.open(p.url())
	fill("nick", "ann2")
	fill("password", "not the password")
	ann.press()
	ann.Until("a wrong password is told",
		`document.querySelector("#sign-in-error").textContent !== ""`)
	if kept := browser.Eval[string](ann.Page,
		`JSON.stringify(localStorage)`); strings.Contains(kept, "kettle") ||
		strings.Contains(kept, token) {
		t.Errorf("a secret is kept in the browser: %s", kept)
	}
}
