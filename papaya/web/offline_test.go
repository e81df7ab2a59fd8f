package web

import (
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
}
