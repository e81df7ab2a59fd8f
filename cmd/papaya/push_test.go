package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/internal/freeport"
	"interleave/internal/irctest"
	"interleave/papaya/push/pushtest"
)

// A notified is a server whose accounts have their devices notified, in a process of its own.
type notified struct {
	t            *testing.T
	program, dir string
	port         int
}

// run runs a command of papaya in the server's folder, and returns its output.
func (n *notified) run(words ...string) string {
	n.t.Helper()
	cmd := exec.CommandContext(n.t.Context(), n.program, words...)
	cmd.Dir = n.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		n.t.Fatalf("papaya %v: %v\n%s", words, err, out)
	}
	return string(out)
}

func (n *notified) connect() *irctest.Client {
	n.t.Helper()
	return irctest.Dial(n.t, fmt.Sprintf("127.0.0.1:%d", n.port))
}

// login connects a client that knows draft/webpush, and returns the server's key.
func (n *notified) login(account string) (c *irctest.Client, key string) {
	n.t.Helper()
	c = n.connect()
	c.Send("CAP REQ :sasl draft/webpush\r\nNICK %s\r\nUSER %s 0 * :%s\r\nAUTHENTICATE PLAIN\r\n"+
		"AUTHENTICATE %s", account, account, account,
		base64.StdEncoding.EncodeToString([]byte("\x00"+account+"\x00kettle-is-on")))
	c.Expect(" 903 ")
	c.Send("CAP END")
	_, key, _ = strings.Cut(c.ExpectLine(" VAPID="), "VAPID=")
	key, _, _ = strings.Cut(key, " ")
	c.Expect(" 422 ")
	return c, key
}

// says has bob say something to a nick, and waits until it is in the log.
func (n *notified) says(nick, text string) {
	n.t.Helper()
	bob := n.connect().Register("bob")
	bob.Send("PRIVMSG %s :%s\r\nPING said\r\nQUIT", nick, text)
	bob.Expect("PONG chat :said")
	bob.ExpectEnd()
}

// devices returns the lines of NS PUSH LIST.
func devices(c *irctest.Client) (lines []string) {
	c.Send("NS PUSH LIST\r\nPING listed")
	for _, l := range c.Expect("PONG chat :listed") {
		if _, text, ok := strings.Cut(l, " NOTICE "); ok {
			_, text, _ = strings.Cut(text, " :")
			lines = append(lines, text)
		}
	}
	return lines
}

// ntfied returns the text of the next message to a topic.
func ntfied(topic *pushtest.Topic) string {
	m := topic.Next()
	return m.Title + ": " + m.Text + " " + m.Click
}

// quit ends a connection in order.
func quit(c *irctest.Client) {
	c.Send("QUIT")
	c.ExpectEnd()
}

// restore backs the server up, kills it, and starts another one from the backup.
func (n *notified) restore(kill func()) {
	n.t.Helper()
	n.run("backup", "--config", "papaya.toml", "backup.tar")
	kill()
	if err := os.Rename(filepath.Join(n.dir, "papaya-data"),
		filepath.Join(n.dir, "old-data")); err != nil {
		n.t.Fatal(err)
	}
	n.run("restore", "--config", "papaya.toml", "backup.tar")
	startServer(n.t, n.program, n.dir)
}

// newNotified starts a server with an account ann. kill kills it.
func newNotified(t *testing.T, settings string) (n *notified, kill func()) {
	t.Helper()
	n = &notified{t: t, dir: t.TempDir(), port: freeport.For(t)}
	n.program = link(t, n.dir)
	for name, text := range map[string]string{"password": "kettle-is-on\n",
		"papaya.toml": fmt.Sprintf("[listen]\nplain = [\"127.0.0.1:%d\"]\ntls = []\n"+
			"[accounts]\nrequired = false\n[push]\nnetworks = [\"127.0.0.0/8\"]\n%s"+patient,
			n.port, settings)} {
		if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.run("admin", "account", "add", "ann", "--password-file", "password")
	return n, startServer(t, n.program, n.dir)
}

// TestTopicsAreNotified: an account has a topic of ntfy notified by NS, also after the server was
// killed and its backup was restored, and sees what it has. The topic is told no more than
// push.content says, and nothing once its account has removed it.
func TestTopicsAreNotified(t *testing.T) {
	service := pushtest.New(t, false)
	topic := service.Topic("/tea", "tk_1")
	n, kill := newNotified(t, "content = \"who\"\n[files]\nurl = \"https://chat.example\"\n")
	ann, _ := n.login("ann")
	for _, test := range [][2]string{
		{topic.URL, "Not done: the service does not take messages for the topic: it answers with " +
			"status 403"},
		{topic.URL + " tk_2", "Not done: the service does not take messages for the topic: it " +
			"answers with status 401"},
		{"https://10.0.0.1/tea", "Not done: the address is of a network that requests are kept " +
			"out of (push.networks)"},
		{topic.URL + " tk_1", "The topic is notified, as its first message says."},
	} {
		ann.Send("NS PUSH ADD %s", test[0])
		ann.Expect(" NOTICE ann :" + test[1])
	}
	if got := ntfied(topic); got != "chat: Notifications will come here. https://chat.example" {
		t.Errorf("the first message is %q", got)
	}
	list := devices(ann)
	if len(list) != 2 || list[0] != "1 devices." || !strings.Contains(list[1], " to=127.0.0.1:") ||
		!strings.HasSuffix(list[1], " ntfy") || strings.Contains(list[1], "/tea") ||
		strings.Contains(list[1], "tk_1") {
		t.Fatalf("the devices are %q", list)
	}
	quit(ann)
	expect := func() {
		t.Helper()
		n.says("ann", "the secret")
		if got := ntfied(topic); got != "bob: (wrote to you) https://chat.example/?talk=bob" {
			t.Errorf("the topic is told %q", got)
		}
	}
	expect()
	n.restore(kill)
	expect()
	ann, _ = n.login("ann")
	ann.Send("NS PUSH DEL %s", strings.Fields(list[1])[1])
	ann.Expect("The device is not notified any more.")
	if list := devices(ann); !slices.Equal(list, []string{"0 devices."}) {
		t.Errorf("the devices are %q", list)
	}
	if topic.Waiting() > 0 {
		t.Errorf("a message was told twice: %+v", topic.Next())
	}
}

// TestDevicesAreNotified: a device is notified after the server was killed, after its account was
// renamed, and by a server that a backup was restored to, with the same key; each time once. A
// device that its push service has forgotten is removed, and so are those of a removed account.
func TestDevicesAreNotified(t *testing.T) {
	service := pushtest.New(t, false)
	phone := service.Device()
	n, kill := newNotified(t, "")
	ann, key := n.login("ann")
	ann.Send("WEBPUSH REGISTER %s %s", phone.Endpoint, phone.Keys())
	ann.Expect(":chat WEBPUSH REGISTER " + phone.Endpoint)
	ann.Send("WEBPUSH REGISTER https://10.0.0.1/x %s", phone.Keys())
	ann.Expect("FAIL WEBPUSH INVALID_PARAMS REGISTER https://10.0.0.1/x :")
	ann.Send("WEBPUSH REGISTER %s p256dh=BA;auth=AA", phone.Endpoint)
	ann.Expect("FAIL WEBPUSH INVALID_PARAMS REGISTER " + phone.Endpoint)
	if list := devices(ann); len(list) != 2 || list[0] != "1 devices." ||
		!strings.Contains(list[1], " to=127.0.0.1:") || strings.Contains(list[1], "/push/") {
		t.Errorf("the devices are %q", list)
	}
	quit(ann)
	expect := func(text string) {
		t.Helper()
		if p := phone.Next(); !strings.HasSuffix(p.Text, " :"+text) || p.Sender != key {
			t.Errorf("got %+v, want %q of %s", p, text, key)
		}
	}
	n.says("ann", "one")
	expect("one")
	kill()
	kill = startServer(t, n.program, n.dir)
	n.says("ann", "two")
	expect("two")

	ann, _ = n.login("ann")
	ann.Send("NS RENAME zoe")
	ann.Expect("The account is renamed.")
	quit(ann)
	n.says("zoe", "three")
	expect("three")

	n.restore(kill)
	n.says("zoe", "four")
	expect("four")

	service.Status(410)
	n.says("zoe", "five")
	zoe, _ := n.login("zoe")
	for end := time.Now().Add(patience); !slices.Equal(devices(zoe), []string{"0 devices."}); {
		if time.Now().After(end) {
			t.Fatal("a device that is gone is still there")
		}
		time.Sleep(20 * time.Millisecond)
	}
	service.Status(0)
	zoe.Send("WEBPUSH REGISTER %s %s", phone.Endpoint, phone.Keys())
	zoe.Expect("WEBPUSH REGISTER " + phone.Endpoint)
	n.run("admin", "account", "remove", "zoe")
	zoe.ExpectEnd()
	n.run("admin", "account", "add", "zoe", "--password-file", "password")
	zoe, _ = n.login("zoe")
	if list := devices(zoe); !slices.Equal(list, []string{"0 devices."}) {
		t.Errorf("a later account of the name has %q", list)
	}
	if phone.Waiting() > 0 {
		t.Errorf("a message was told twice: %+v", phone.Next())
	}
}
