package web

import (
	"slices"
	"testing"

	"interleave/internal/browser"
)

// kept is an expression: what the browser keeps of the messages.
const kept = `(localStorage["papaya.seen"] ?? "")`

// TestReadsWithoutAConnection: a device that stays signed in shows what it has shown, also when the
// page is opened while the server is away, and goes on from there. Nothing of it stays after a
// sign-out, or on another device.
func TestReadsWithoutAConnection(t *testing.T) {
	p := newPapaya(t, true)
	for _, name := range []string{"ann", "bob"} {
		p.addAccount(name)
	}
	ann, bob := newPerson(t, 390, 800), newPerson(t, 1280, 800)
	ann.stays(p, "ann")
	bob.signInTo(p, "bob")
	bob.write("before the <b>tunnel</b>")
	ann.sees("before the <b>tunnel</b>")
	ann.write("/react 🚇")
	ann.Until("it is kept", kept+`.includes("tunnel") && `+kept+`.includes("🚇")`)
	if !browser.Eval[bool](ann.Page, `(async () => {
		for (;;) {
			const files = await (await caches.open("page")).keys();
			if (files.some((f) => f.url.endsWith("/app.js"))) return true;
			await new Promise((done) => setTimeout(done, 50));
		}
	})()`) {
		t.Error("the page is not kept")
	}
	p.kill()
	ann.again()
	ann.Until("she reads it without a connection", `!document.querySelector("#chat").hidden &&
		document.querySelector("#room-name").textContent === "#tea" &&
		document.querySelector("#state").textContent.startsWith("Connection lost")`)
	ann.sees("before the <b>tunnel</b>")
	ann.Until("with the reactions", chips("before the <b>tunnel</b>")+` === "🚇 1"`)
	ann.Picture("offline")
	ann.write("from the tunnel")
	ann.Until("what cannot be sent stays", `document.querySelector("#compose").value ===
		"from the tunnel" && document.querySelector("#told").textContent !== ""`)
	p.start()
	bob.Until("bob is back", `document.querySelector("#state").hidden`)
	bob.write("after the tunnel")
	ann.sees("after the tunnel")
	ann.sees("before the <b>tunnel</b>")
	if browser.Eval[bool](bob.Page, kept+`.includes("tunnel")`) {
		t.Error("a device that does not stay signed in keeps messages")
	}
	ann.Until("she is back, too", `document.querySelector("#state").hidden`)
	ann.click("#sign-out")
	ann.Until("nothing is kept after a sign-out", `!document.querySelector("#sign-in").hidden &&
		!`+kept+`.includes("tunnel")`)
	ann.again()
	ann.signedOut("")
	want := []string{"AFTER #tea msgid=2s 2", "AFTER #tea timestamp=2026-11-22T10:59:59.999Z 2",
		"AFTER #tea msgid=3tq6l5mnnmn1ahcnhbl1fcm2e0 2", "kept", "new"}
	if got := browser.Eval[[]string](ann.Page, keptBefore); !slices.Equal(got, want) {
		t.Errorf("with a message of before: %q, want %q", got, want)
	}
}

// keptBefore is a session of a browser that has kept a message with a msgid of before an upgrade,
// which is short. It requests what came after it, by time if the server refuses the msgid, and
// shows it once.
const keptBefore = `Promise.all([import("./session.js"), import("./irc.js"), import("./seen.js"),
	import("./settings.js")]).then(([{ Session }, { parse }, { recall }, { load, save }]) => {
	const was = load("seen"), sent = [], time = Date.parse("2026-11-22T11:00:00Z");
	const messages = [{ id: "2s", time, nick: "bob", kind: "message", text: "kept", own: false,
		mention: false }];
	save("seen", { account: "ann", active: "#tea",
		rooms: [{ name: "#tea", topic: "", messages, reactions: [] }] });
	const send = (line) => sent.push(line.trim());
	const hooks = new Proxy({}, { get: (_, name) => name === "send" ? send : () => {} });
	const s = new Session({ nick: "ann", account: "ann", rooms: ["#tea"] }, hooks,
		() => time + 3600000);
	recall(s);
	save("seen", was);
	s.settings.account = "";
	const hear = (...lines) => lines.forEach((line) => s.receive(parse(line)));
	const caps = "batch message-tags server-time draft/chathistory";
	s.opened();
	hear(":x CAP * LS :" + caps, ":x CAP * ACK :" + caps, ":x 001 ann :hi",
		":x 005 ann CHATHISTORY=2 :ok", ":x 422 ann :no", ":ann!a@h JOIN #tea");
	const said = (id, text) => "@batch=h;time=2026-11-22T11:00:00.000Z;msgid=" + id +
		" :bob!b@h PRIVMSG #tea :" + text;
	hear(":x FAIL CHATHISTORY INVALID_PARAMS AFTER #tea :Invalid parameters",
		":x BATCH +h chathistory #tea", said("2s", "kept"),
		said("3tq6l5mnnmn1ahcnhbl1fcm2e0", "new"), ":x BATCH -h");
	const asked = sent.filter((line) => line.startsWith("CHATHISTORY AFTER"));
	const shown = s.find("#tea").messages.filter((m) => m.told);
	return [...asked.map((line) => line.slice("CHATHISTORY ".length)),
		...shown.map((m) => m.text)];
})`
