package web

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"interleave/internal/browser"
	"interleave/papaya/push/pushtest"
)

// subscribing puts a device of the test into the place of the browser's push service, which a test
// cannot reach: pushManager.subscribe returns it, with the key that the page has asked for. A
// headless Chromium has no notifications, so the permission is a stand-in as well.
const subscribing = `(() => {
	let made = null;
	PushManager.prototype.subscribe = async (options) => made = {
		endpoint: %q, options, toJSON: () => ({ keys: { p256dh: %q, auth: %q } }),
		unsubscribe: async () => { made = null; return true; } };
	PushManager.prototype.getSubscription = async () => made;
	let permission = "default";
	Object.defineProperty(Notification, "permission", { get: () => permission });
	Notification.requestPermission = async () => permission = "granted";
})()`

// stateOf is the expression of what the settings say of notifications.
const stateOf = `document.querySelector("#push-why").textContent`

// says waits until the settings begin to say something of notifications.
func (p *person) says(text string) {
	p.t.Helper()
	p.Until("the settings say "+text, fmt.Sprintf(stateOf+`.startsWith(%q)`, text))
}

// subscribes is given a push service for its page, and opens the settings.
func (p *person) subscribes(d *pushtest.Device) {
	p.t.Helper()
	browser.Eval[any](p.Page, fmt.Sprintf(subscribing, d.Endpoint, d.P256dh(), d.Auth()))
	p.click("#settings-button")
}

// TestNotifiedDevice: a user has her device notified, is told while her page is away, and ends it.
// What the server pushes is shown by the service worker of the browser.
func TestNotifiedDevice(t *testing.T) {
	p := newPapaya(t, false, "[push]\nnetworks = [\"127.0.0.0/8\"]\n")
	p.addAccount("ann")
	service := pushtest.New(t, false)
	phone := service.Device()
	ann, bob := newPerson(t, 390, 800), newPerson(t, 1280, 800)
	ann.signInTo(p, "ann")
	ann.click("#settings-button")
	ann.says("The browser blocks notifications") // as a headless one does
	ann.Picture("push-denied")
	ann.click("#settings .primary")
	ann.subscribes(phone)
	ann.says("Off. The browser will ask")
	ann.click("#push")
	ann.says("On. You are told of mentions")
	ann.click("#settings .primary")
	ann.click("#settings-button")
	ann.Until("the device is listed", `document.querySelector("#pushes").textContent.includes("by 127.0.0.1:") && document.querySelector("#pushes").textContent.includes("this one")`)
	ann.Picture("push-on")
	browser.Eval[any](ann.Page, `document.querySelector("#pushes").scrollIntoView()`)
	ann.Picture("push-devices")

	worker, id := ann.worker(p.url())
	bob.signIn(p.url(), "bob", "#tea")
	ann.Do(chromedp.Navigate("about:blank")) // her page is away, and her session ends
	bob.write("ann: <b>the kettle</b>\u202e is on")
	pushed := phone.Next()
	if !strings.HasSuffix(pushed.Text, " PRIVMSG #tea :ann: <b>the kettle</b>\u202e is on") {
		t.Errorf("pushed: %q", pushed.Text)
	}
	if _, err := chromedp.Call(ann.Context(), serviceworker.DeliverPushMessage,
		serviceworker.DeliverPushMessageParams{Origin: strings.TrimSuffix(p.url(), "/"),
			RegistrationID: id, Data: pushed.Text}); err != nil {
		t.Fatalf("delivering the push: %v", err)
	}
	ctx, stop := context.WithTimeout(worker, patience)
	defer stop()
	shown, err := chromedp.Run(ctx, chromedp.Evaluate[string]("shown", chromedp.EvalAwaitPromise))
	if want := "bob in #tea | ann: <b>the kettle</b> is on | #tea | #tea"; shown != want ||
		err != nil {
		t.Errorf("shown: %q, %v; want %q", shown, err, want)
	}

	ann.signInTo(p, "ann")
	ann.subscribes(phone)
	ann.says("Off. The browser will ask") // it has lost the subscription with the page
	ann.click("#push")
	ann.says("On. You are told")
	ann.click("#push")
	ann.says("Off on this device.")
	ann.click("#settings .primary")
	ann.write("/ns push list")
	ann.Until("the server has forgotten it",
		`document.querySelector("#messages").textContent.includes("0 devices.")`)
}

// TestTopicInTheSettings: a user has a topic of ntfy notified, is told what is wrong with it, and
// ends it.
func TestTopicInTheSettings(t *testing.T) {
	p := newPapaya(t, false, "[push]\nnetworks = [\"127.0.0.0/8\"]\n")
	p.addAccount("ann")
	topic := pushtest.New(t, false).Topic("/tea", "tk_1")
	ann := newPerson(t, 390, 800)
	ann.signInTo(p, "ann")
	ann.click("#settings-button")
	ann.Do(setValue("#topic-url", topic.URL))
	ann.click("#add-topic")
	ann.Until("it needs a token",
		`document.querySelector("#topic-said").textContent.endsWith("it answers with status 403")`)
	ann.Do(setValue("#topic-token", "tk_1"))
	ann.click("#add-topic")
	ann.Until("the topic is listed",
		`document.querySelector("#pushes").textContent.startsWith("a topic of 127.0.0.1:")`)
	if m := topic.Next(); m.Text != "Notifications will come here." {
		t.Errorf("the first message is %+v", m)
	}
	ann.Until("the secrets are gone", `document.querySelector("#topic-url").value === "" &&
		document.querySelector("#topic-token").value === ""`)
	browser.Eval[any](ann.Page, `document.querySelector("#pushes").scrollIntoView()`)
	ann.Picture("push-topic")
	ann.click("#pushes button")
	ann.Until("it is notified no more", `document.querySelectorAll("#pushes li").length === 0 &&
		document.querySelector("#account-said").textContent ===
			"The device is not notified any more."`)
}

// worker attaches to the page's service worker, which then stays, and returns its id, too. Its
// promise shown has the next notification, which a headless Chromium would refuse.
func (p *person) worker(scope string) (context.Context, serviceworker.RegistrationID) {
	p.t.Helper()
	id := p.registration(scope)
	if _, err := chromedp.Call(p.Context(), serviceworker.StartWorker,
		serviceworker.StartWorkerParams{ScopeURL: scope}); err != nil { // it may have gone to rest
		p.t.Fatalf("starting the service worker: %v", err)
	}
	ctx, stop := chromedp.NewContext(p.Context(), chromedp.WithTargetID(p.target(scope)))
	p.t.Cleanup(stop)
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](`
		globalThis.shown = new Promise((show) => {
			registration.showNotification = async (title, o) =>
				show([title, o.body, o.tag, o.data.where].join(" | "));
		}); undefined`)); err != nil {
		p.t.Fatalf("asking the service worker: %v", err)
	}
	return ctx, id
}

// target waits for the service worker to run.
func (p *person) target(scope string) target.ID {
	p.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(30 * time.Millisecond) {
		list, err := chromedp.Targets(p.Context())
		if err != nil {
			p.t.Fatal(err)
		}
		for _, one := range list {
			if one.Type == "service_worker" && one.URL == scope+"worker.js" {
				return one.TargetID
			}
		}
		if time.Now().After(end) {
			p.t.Fatalf("there is no service worker among %d targets", len(list))
		}
	}
}

// registration returns the id of the page's service worker.
func (p *person) registration(scope string) serviceworker.RegistrationID {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.Context(), patience)
	defer stop()
	events := chromedp.Events(ctx, serviceworker.WorkerRegistrationUpdated)
	if _, err := chromedp.Call(ctx, serviceworker.Enable, cdp.Empty{}); err != nil {
		p.t.Fatalf("looking for service workers: %v", err)
	}
	for e, err := range events {
		if err != nil {
			p.t.Fatalf("looking for service workers: %v", err)
		}
		for _, r := range e.Registrations {
			if r.ScopeURL == scope && !r.IsDeleted {
				return r.RegistrationID
			}
		}
	}
	p.t.Fatal("the page has no service worker")
	return ""
}

// workerOf runs the service worker's script with stand-ins for what the browser gives it, and plays
// events to it, with the pages that are open. It returns what the worker did at each.
const workerOf = `(async () => {
	const run = async (event, given, pages) => {
		const did = [], handlers = {};
		const worker = {
			clients: { matchAll: async () => pages.map((p) => ({ ...p, postMessage: (m) => did.push("told " + m.go), focus: async () => did.push("focus") })),
				openWindow: async (at) => did.push("open " + at), claim: async () => {} },
			registration: { showNotification: async (title, o) => did.push([title, o.body, o.tag].join(" | ")) },
			addEventListener: (name, handle) => handlers[name] = handle, skipWaiting() {} };
		WORKER(worker);
		let done;
		handlers[event]({ ...given, waitUntil: (promise) => done = promise });
		await done;
		return did.join(", ");
	};
	const push = (text, ...pages) => run("push", { data: text === null ? null : { text: () => text } }, pages);
	const click = (where, ...pages) => run("notificationclick", { notification: { close() {}, data: { where } } }, pages);
	const behind = { focused: false, visibilityState: "hidden" }, front = { focused: true, visibilityState: "visible" };
	return Promise.all([
		push("@time=x;msgid=1 :bob!b@h PRIVMSG ann :hello  there"), push(":bob!b@h PRIVMSG #tea :ann: \x02bold\x0304,5red", behind),
		push(":bob!b@h NOTICE #tea :\x01ACTION waves\x01"), push(":bob!b@h PRIVMSG #tea :seen", front), push(":chat NOTICE ann :You were written to"),
		push("<b>no line</b>\r\nat all"), push(null), push(":b!c@d PRIVMSG #tea :" + "x".repeat(2000)).then((s) => String(s.length)),
		click("#tea"), click("bob"), click(""), click("#a/b?c", behind), click("bob", behind, { ...behind, visibilityState: "visible" })]);
})()`

// TestWorker plays pushes and clicks to the service worker.
func TestWorker(t *testing.T) {
	p := newPerson(t, 800, 600)
	p.Do(chromedp.Navigate(site(t, "127.0.0.1:1")))
	script, err := files.ReadFile("page/worker.js")
	if err != nil {
		t.Fatal(err)
	}
	got := browser.Eval[[]string](p.Page, strings.Replace(workerOf, "WORKER(worker);",
		"((self) => {"+string(script)+"\n})(worker);", 1))
	want := []string{"bob | hello  there | bob", "bob in #tea | ann: boldred | #tea",
		"bob in #tea | bob waves | #tea", "", "Papaya | You were written to | ",
		"Papaya | Something was said | ", "Papaya | Something was said | ",
		fmt.Sprint(len("b in #tea |  | #tea") + 300),
		"open ./#%23tea", "open ./?talk=bob", "open ./", "told #a/b?c, focus", "told bob, focus"}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("%d: got %q, want %q", i, got, want[i])
		}
	}
}
