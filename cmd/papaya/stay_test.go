package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"interleave/internal/freeport"
	"interleave/papaya/account"
	"interleave/papaya/config"
	"interleave/papaya/server"
)

const kettle = "the kettle is on"

// TestStayAgain: a browser that has a token and asks for another one has one at the end. It is one
// login, also if the first look at the password renews its hash, and a token that has ended before
// is no failed one.
func TestStayAgain(t *testing.T) {
	ctx, c := t.Context(), config.Default()
	d := &daemon{book: openBook(&account.Memory{}, c), logger: slog.New(slog.DiscardHandler),
		ready: make(chan struct{})}
	d.logins = d.metrics.Counters("papaya_logins_total", "Logins.", "result", "ok")
	d.book.Ended = d.tokensEnded
	limits := account.TokenLimits{Most: 1}
	d.book.TokenLimits = func() account.TokenLimits { return limits }
	d.book.Scram = false
	k, from := keeper{d}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 4711}
	if err := d.book.Add(ctx, "ann", account.Member, account.NewSecret(kettle)); err != nil {
		t.Fatal(err)
	}
	enters := func(token string) bool {
		t.Helper()
		_, err := k.Enter(ctx, token, "", from)
		if err != nil && !errors.Is(err, server.ErrNotYours) {
			t.Fatal(err)
		}
		return err == nil
	}
	first, err := k.Begin(ctx, "ann", kettle, "laptop", "", from)
	if err != nil {
		t.Fatal(err)
	}
	d.book.Scram = true // the password needs other keys from now on
	second, err := k.Begin(ctx, "ann", kettle, "laptop", first, from)
	if err != nil {
		t.Fatal(err)
	}
	if ok, wrong := d.logins.Of("ok").Value(), d.logins.Of("wrong").Value(); ok != 2 || wrong != 0 {
		t.Errorf("%d logins and %d wrong ones are counted, want 2 and 0", ok, wrong)
	}
	if enters(first) || !enters(second) {
		t.Error("the former token is there, or the new one is not")
	}
	limits.Most = 0
	if _, err := k.Begin(ctx, "ann", kettle, "laptop", second, from); !errors.Is(err,
		server.ErrNoToken) {
		t.Errorf("without room: %v", err)
	}
	if limits.Most = 1; !enters(second) {
		t.Error("the device has lost its token and got no other one")
	}
	limits.Most = 30
	for range 12 { // more than an address may fail
		if _, err := k.Begin(ctx, "ann", kettle, "laptop", first, from); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.book.Add(ctx, "bob", account.Member, account.NewSecret(kettle)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Begin(ctx, "bob", kettle, "laptop", second, from); err != nil || enters(second) {
		t.Errorf("the token of another account is left on the device: %v", err)
	}
}

// TestBannedAccountsDoNotStay: a banned account gets no token, and its name none after its removal.
func TestBannedAccountsDoNotStay(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	n := &notified{t: t, dir: t.TempDir(), port: freeport.For(t)}
	n.program = link(t, n.dir)
	address := fmt.Sprintf("127.0.0.1:%d", n.port)
	for name, text := range map[string]string{
		"papaya.toml": fmt.Sprintf("[listen]\nplain = []\ntls = []\nweb = [%q]\n[tls]\n"+
			"domains = [\"127.0.0.1\"]\n", address) + patient,
		"password": kettle + "\n",
	} {
		if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.run("admin", "account", "add", "eve", "--password-file", "password")
	startServer(t, n.program, n.dir)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	stay := func() (status int, body string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			"https://"+address+"/stay", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", "https://"+address)
		r.SetBasicAuth("eve", kettle)
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	if status, body := stay(); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, body)
	}
	before := n.run("admin", "account", "tokens", "eve")
	n.run("ban", "add", "EVE", "advertising")
	if status, body := stay(); status != http.StatusConflict ||
		!strings.Contains(body, "You are banned from this server: advertising") {
		t.Errorf("a banned account is answered %d %s", status, body)
	}
	if after := n.run("admin", "account", "tokens", "eve"); after != before ||
		strings.Count(after, "\n") != 1 {
		t.Errorf("it has the tokens\n%s", after)
	}
	n.run("admin", "account", "remove", "eve")
	if list := n.run("ban", "list"); !strings.Contains(list, "eve") &&
		!strings.Contains(list, "EVE") {
		t.Errorf("the ban has ended with the account: %s", list)
	}
	if said := n.fails("admin", "account", "add", "Eve", "--password-file",
		"password"); !strings.Contains(said, "the name is banned") {
		t.Errorf("it is there again: %s", said)
	}
	n.run("ban", "remove", "eve")
	n.run("admin", "account", "add", "Eve", "--password-file", "password")
}

// fails runs a command that must fail, and returns what it says.
func (n *notified) fails(words ...string) string {
	n.t.Helper()
	cmd := exec.CommandContext(n.t.Context(), n.program, words...)
	cmd.Dir = n.dir
	out, err := cmd.CombinedOutput()
	if err == nil {
		n.t.Errorf("papaya %v does not fail:\n%s", words, out)
	}
	return string(out)
}
