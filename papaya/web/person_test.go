package web

import (
	"fmt"
	"testing"

	"interleave/internal/browser"
	"interleave/internal/irctest"
)

// talker is a client without a page, with capabilities, in #tea.
func talker(t *testing.T, p *papaya, nick string) *irctest.Client {
	t.Helper()
	c := irctest.Dial(t, p.plain)
	c.Send("CAP REQ :draft/metadata-3 batch\r\nNICK %s\r\nUSER x 0 * :x\r\nCAP END\r\nJOIN #tea",
		nick)
	c.Expect(" 366 ")
	return c
}

// authored is an expression: what stands beside the message with a text: the nick, and what is
// behind it.
func authored(text string) string {
	return fmt.Sprintf(`(() => { const li = [...document.querySelectorAll("#messages .line")].find(
		(n) => n.querySelector(".text").textContent === %q);
		return li && li.querySelector(".nick").textContent + "|" +
			li.querySelector(".aside").textContent.trim() })()`, text)
}

// TestBotsAreMarked: a bot is marked among the members and at its messages, also for somebody who
// comes later and reads the history.
func TestBotsAreMarked(t *testing.T) {
	p := newPapaya(t, false)
	ann := newPerson(t, 1280, 800)
	ann.signIn(p.url(), "ann", "#tea")
	robo := irctest.Dial(t, p.plain)
	robo.Send("NICK robo\r\nUSER robo 0 * :robo\r\nMODE robo +B\r\nJOIN #tea\r\n" +
		"PRIVMSG #tea :the kettle is at 90 degrees")
	talker(t, p, "bob").Send("PRIVMSG #tea :bot: I am none")
	const member = `document.querySelector("#members [data-key='robo'] .bot")?.textContent === "bot"`
	said := authored("the kettle is at 90 degrees") + ` === "robo|bot"`
	ann.Until("a bot is marked", member+" && "+said)
	ann.Until("nobody else is", authored("bot: I am none")+` === "bob|" &&
		document.querySelectorAll("#members .bot").length === 1`)
	cat := newPerson(t, 390, 800)
	cat.signIn(p.url(), "cat", "#tea")
	cat.Until("also for who comes later", member+" && "+said)
	for _, theme := range []string{"light", "dark"} {
		ann.click("input[value=" + theme + "]")
		ann.looksWell("bots-" + theme)
	}
}

// TestWhatPeopleSayOfThemselves: another name, a picture and a colour are shown beside the nick,
// and never in its place. They go with a changed nick, and not to the next one who has it. A
// picture of somebody else's server is not loaded.
func TestWhatPeopleSayOfThemselves(t *testing.T) {
	p := newPapaya(t, false)
	for _, name := range []string{"ann", "bob"} {
		p.addAccount(name)
	}
	ann, bob := newPerson(t, 1280, 800), newPerson(t, 390, 800)
	ann.signInTo(p, "ann")
	bob.signInTo(p, "bob")
	eve := talker(t, p, "eve")
	eve.Send("METADATA * SET display-name :ann <b>\u202eoperator</b>")
	eve.Send("METADATA * SET color :red;background:url(https://evil.example/)")
	eve.Send("METADATA * SET avatar :https://evil.example/x.png")
	eve.Send("PRIVMSG #tea :trust me")
	const called = "ann <b>operator</b>"
	for _, who := range []*person{ann, bob} {
		who.Until("the nick stands first", authored("trust me")+` === "eve|`+called+`"`)
		who.Until("also among the members", `document.querySelector(
			"#members [data-key='eve'] .name").textContent === "eve" && document.querySelector(
			"#members [data-key='eve'] .called")?.textContent === "`+called+`"`)
	}
	if n := browser.Eval[int](ann.Page, `document.querySelectorAll(
		"#chat :is(.called b, .face img, .face.coloured)").length`); n != 0 {
		t.Errorf("%d elements were made of what eve says of herself", n)
	}

	bob.write("/profile color green")
	bob.Until("a colour is needed",
		`document.querySelector("#told").textContent.startsWith("A colour is #rrggbb")`)
	bob.write("/profile color #1f8a5b")
	bob.write("/profile name Bob of the Kettle")
	bob.write("/profile avatar https://evil.example/x.png")
	bob.Until("a file is needed",
		`document.querySelector("#told").textContent.startsWith("A picture is the link")`)
	bob.write("") // the refused command is still in the box
	bob.offer("drop", []string{"bob.png"}, teapot(t))
	bob.linked(1)
	link := browser.Eval[string](bob.Page, `document.querySelector("#compose").value.trim()`)
	bob.write("/profile avatar " + link)
	bob.write("this is me")
	for _, who := range []*person{ann, bob} {
		who.Until("name, picture and colour are shown", authored("this is me")+
			` === "bob|Bob of the Kettle" && document.querySelector(
			"#messages .face.coloured img")?.naturalWidth > 0 && document.querySelector(
			"#members [data-key='bob'] .face.coloured img")?.naturalWidth > 0`)
	}
	for _, theme := range []string{"light", "dark"} {
		for name, who := range map[string]*person{"wide": ann, "phone": bob} {
			who.click("input[value=" + theme + "]")
			who.looksWell("profile-" + theme + "-" + name)
		}
	}
	bob.write("/profile name")
	ann.Until("a name can be taken back", authored("this is me")+` === "bob|"`)

	eve.Send("NICK eva\r\nPRIVMSG #tea :still me")
	ann.Until("it goes with the nick", authored("still me")+` === "eva|`+called+`"`)
	eve.Send("QUIT")
	ann.Until("eva is gone", `!document.querySelector("#members [data-key='eva']")`)
	talker(t, p, "eva").Send("PRIVMSG #tea :who is eve?")
	ann.Until("the next one of the nick has nothing of it",
		authored("who is eve?")+` === "eva|" && document.querySelector(
		"#members [data-key='eva'] .called") === null`)
}
