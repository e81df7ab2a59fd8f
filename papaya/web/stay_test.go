package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"interleave/internal/browser"
	"interleave/internal/irctest"
)

// in waits until the page is signed in, and in #tea.
func (p *person) in() {
	p.t.Helper()
	p.Until("it is signed in",
		`!document.querySelector("#chat").hidden &&
		document.querySelector("#room-name").textContent === "#tea" &&
		document.querySelector("#member-count").textContent !== "0"`)
}

// signedOut waits until the page asks for a password, and says a text.
func (p *person) signedOut(text string) {
	p.t.Helper()
	p.Until("it is signed out", fmt.Sprintf(
		`globalThis.papaya && !document.querySelector("#sign-in").hidden &&
		document.querySelector("#sign-in-error").textContent.includes(%q) &&
		!document.querySelector("#sign-in-form .primary").disabled`,
		text))
}

// stays signs in, and asks to stay.
func (p *person) stays(server *papaya, nick string) {
	p.t.Helper()
	p.open(server.url())
	p.Do(setValue("#password", secretOf))
	p.tick()
	p.submit(nick, "#tea")
	p.in()
}

// tick ticks the box.
func (p *person) tick() {
	p.t.Helper()
	if browser.Eval[bool](p.Page, `document.querySelector("#stay").checked`) {
		p.t.Error("somebody stays signed in who has not asked for it")
	}
	p.click("#stay")
}

// again opens the page anew.
func (p *person) again() {
	p.t.Helper()
	p.Do(reload(), chromedp.WaitReady(chromedp.CSS("#sign-in")))
}

// settings opens them, and waits for a number of tokens.
func (p *person) settings(tokens int) {
	p.t.Helper()
	p.click("#settings-button")
	p.hasTokens(tokens)
}

func (p *person) hasTokens(n int) {
	p.t.Helper()
	p.Until("the tokens are listed",
		fmt.Sprintf(`document.querySelectorAll("#tokens li").length === %d`, n))
}

// TestStaysSignedIn: a page whose user has said so is signed in when it is opened again, over kill
// -9 of the server, until somebody ends that. Nothing of it can be read by a script.
func TestStaysSignedIn(t *testing.T) {
	p := newPapaya(t, true)
	p.addAccount("ann")
	ann := newPerson(t, 1280, 800)
	ann.stays(p, "ann")
	ann.again()
	ann.in()
	if got := browser.Eval[string](ann.Page,
		`document.cookie + JSON.stringify(localStorage)`); strings.Contains(got, "papaya-") ||
		strings.Contains(got, "kettle") {
		t.Errorf("a script can read %s", got)
	}
	p.kill()
	ann.Until("she hears of it",
		`document.querySelector("#state").textContent.includes("Connection lost")`)
	p.start()
	ann.Until("she is back", `document.querySelector("#state").hidden`)
	ann.again()
	ann.in()
	if !browser.Eval[bool](ann.Page, fmt.Sprintf(`Promise.all([1, 2].map(() =>
		new Promise((done) => {
			const ws = new WebSocket("wss://%s/socket", ["text.ircv3.net"]);
			const hello = ["CAP REQ :sasl", "AUTHENTICATE EXTERNAL", "AUTHENTICATE +"];
			ws.onopen = () => { for (const l of hello) ws.send(l); };
			ws.onmessage = ({ data }) => {
				if (/ 90[34] /.test(data)) { ws.close(); done(/ 903 /.test(data)); }
			};
		}))).then((all) => all.every(Boolean))`, p.web)) {
		t.Error("two tabs that open at once are not both signed in")
	}
	ann.tokenForAProgram(p)
	ann.changesPassword(p)

	p.admin("account", "end-token", "ann", "all")
	ann.signedOut("is not signed in any more")
	ann.Picture("signed-out")
	ann.again()
	ann.signedOut("")
	if browser.Eval[string](ann.Page, `localStorage["papaya.stay"]`) != "{}" {
		t.Error("the page would try again")
	}
	signingOut(t, p, ann)
}

// tokenForAProgram: a token is made with the password only, logs a program in, and ends with its
// session. A device that stays signed in does not rename the account without the password.
func (p *person) tokenForAProgram(server *papaya) {
	p.t.Helper()
	p.settings(1)
	p.Until("it is this one",
		`document.querySelector("#tokens li").textContent.includes("this one") &&
		!document.querySelector("#tokens button")`)
	p.Do(setValue("#token-name", `my "WeeChat" \`))
	p.click("#make-token")
	p.told("that needs the password, too")
	p.Do(setValue("#new-name", "zoe"))
	p.click("#rename")
	p.told("that needs the password, too")
	p.Do(setValue("#old-password", secretOf))
	p.click("#make-token")
	p.hasTokens(2)
	p.Until("it is shown", `document.querySelector("#token-made").textContent !== ""`)
	p.Picture("tokens")
	token := browser.Eval[string](p.Page, `document.querySelector("#token-made").textContent`)
	program := irctest.Dial(p.t, server.plain)
	program.Send("CAP REQ :sasl\r\nNICK ann\r\nUSER ann 0 * :ann\r\nAUTHENTICATE PLAIN\r\n"+
		"AUTHENTICATE %s", browser.Eval[string](p.Page, fmt.Sprintf(`btoa("\0ann\0%s")`, token)))
	program.Expect(" 903 ")
	program.Send("CAP END")
	program.Expect(" 366 ann #tea ")
	got := browser.Eval[string](p.Page, `[...document.querySelectorAll("#tokens li")].find((n) =>
		n.querySelector("button")).textContent`)
	if !strings.HasPrefix(got, `my "WeeChat" \, since `) {
		p.t.Errorf("it is listed as %q", got)
	}
	p.click("#tokens button")
	p.hasTokens(1)
	lines := program.ExpectEnd()
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "ERROR :Signed out") {
		p.t.Errorf("the program is told %q", last)
	}
	p.Do(chromedp.KeyEvent("\x1b"))
	p.Until("the token is gone from the page",
		`!document.querySelector("#settings").open &&
		document.querySelector("#token-made").textContent === ""`)
}

// changesPassword: this ends the token, and the device gets another one.
func (p *person) changesPassword(server *papaya) {
	p.t.Helper()
	before := server.admin("account", "tokens", "ann")
	p.settings(1)
	p.Do(setValue("#old-password", secretOf), setValue("#new-password", secretOf+" again"))
	p.click("#change-password")
	p.told("The password is changed.")
	after := ""
	for deadline := time.Now().Add(patience); after == "" || after == before; {
		if time.Now().After(deadline) {
			p.t.Fatalf("before there was %q, and there is %q", before, after)
		}
		after = server.admin("account", "tokens", "ann")
	}
	p.Until("it is connected again",
		`document.querySelector("#state").hidden &&
		document.querySelector("#member-count").textContent !== "0"`)
	p.Do(chromedp.KeyEvent("\x1b"))
	p.again()
	p.in()
	if strings.Count(after, "\n") != 0 {
		p.t.Errorf("there are %q", after)
	}
	server.adminWith(secretOf, "account", "password", "ann") // ends the token, too
	p.signedOut("is not signed in any more")
	p.stays(server, "ann")
}

// signingOut ends the token, also if the server cannot be reached at that time.
func signingOut(t *testing.T, p *papaya, ann *person) {
	t.Helper()
	for _, away := range []bool{false, true} {
		ann.stays(p, "ann")
		if list := p.admin("account", "tokens", "ann"); strings.Count(list, " on ") != 1 {
			t.Errorf("the tokens are %q", list)
		}
		if away {
			browser.Eval[any](ann.Page,
				`void (globalThis.fetch = () => Promise.reject(new Error("away")))`)
		}
		ann.click("#sign-out")
		ann.signedOut("")
		ann.again()
		ann.signedOut("")
		ann.Until("the server knows it", `localStorage["papaya.stay"] === "{}"`)
		if list := p.admin("account", "tokens", "ann"); list != "" {
			t.Errorf("away %v: the tokens are %q", away, list)
		}
	}
}

// TestInvitedAndStays: the account that an invitation makes stays signed in from then on.
func TestInvitedAndStays(t *testing.T) {
	p := newPapaya(t, true)
	ann := newPerson(t, 360, 740)
	ann.open(p.url())
	ann.Do(setValue("#password", secretOf), setValue("#invitation", p.admin("invite")))
	ann.tick()
	ann.Picture("stay-phone")
	ann.submit("ann", "#tea")
	ann.in()
	ann.again()
	ann.in()
	if list := p.admin("account", "tokens", "ann"); strings.Count(list, " on ") != 1 {
		t.Errorf("the tokens are %q", list)
	}
}

// TestStaysBelowAPath: the cookie is for the path of the page only.
func TestStaysBelowAPath(t *testing.T) {
	p := newPapaya(t, true)
	p.kill()
	p.setting("web = ", "base = \"/chat\"\nweb = ")
	p.start()
	p.addAccount("ann")
	p.web += "/chat"
	ann := newPerson(t, 1280, 800)
	ann.stays(p, "ann")
	ann.again()
	ann.in()
}

// TestListsThatAreAskedForTwice: two changes come quickly, so the answers to both lists come after
// both were asked for. The last list is shown, and each of its rows once.
func TestListsThatAreAskedForTwice(t *testing.T) {
	p := newPerson(t, 1280, 800)
	p.Do(chromedp.Navigate(site(t, "127.0.0.1:1")))
	got := browser.Eval[[]string](p.Page, `import("./account.js").then(({ account }) => {
		const sent = [];
		const session = { settings: { account: "ann" }, support: {}, has: () => true,
			send: (...words) => sent.push(words.join(" ")) };
		const { heard, ponged } = account(() => session, () => {});
		const rows = (id) => [...document.querySelectorAll("#" + id + " li span")]
			.map((n) => n.textContent.split(",")[0]);
		const pings = () => sent.filter((l) => l.startsWith("PING ")).map((l) => l.slice(5));
		const answer = (ping, ...ids) => {
			ponged(ping);
			for (const id of ids)
				heard("session " + id + " from=host" + id + " since=x server=chat tls");
			heard("1 tokens."); heard("token 0a made=x used=x other phone");
			heard("1 certificates."); heard("certificate 0a");
			heard("1 devices."); heard("push 0a to=host since=x");
		};
		document.querySelector("#settings-button").click();
		answer(pings()[0], 1, 2, 3);
		const first = rows("sessions").join(" ");
		const [, two, three] = document.querySelectorAll("#sessions button");
		two.click(); three.click();
		const ended = sent.filter((l) => l.startsWith("NS LOGOUT")).join(" ");
		heard("1 ended."); answer(pings()[1], 1, 3);
		const between = rows("sessions").length;
		heard("1 ended."); answer(pings()[2], 1);
		return [first, ended, String(pings().length), String(between <= 3),
			...["sessions", "tokens", "certificates", "pushes"].map((id) => rows(id).join(" "))];
	})`)
	want := []string{"host1 host2 host3", "NS LOGOUT 2 NS LOGOUT 3", "3", "true", "host1", "phone",
		"0a", "by host"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
}
