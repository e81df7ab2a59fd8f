package main

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"interleave/internal/freeport"
	"interleave/internal/irctest"
	"interleave/papaya/push/pushtest"
)

var filehost = regexp.MustCompile(` soju\.im/FILEHOST=(\S+)`)

// TestGogumaOverTLS is what Goguma 0.7.0 does beside its trace (papaya/server/testdata/traces), by
// lib/client.dart and lib/widget/composer.dart: over TLS it has its device notified
// (soju.im/webpush), and pads the keys; and it posts a file (soju.im/FILEHOST), whose link it says.
func TestGogumaOverTLS(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	phone := pushtest.New(t, false).Device()
	n := &notified{t: t, dir: t.TempDir(), port: freeport.For(t)}
	n.program = link(t, n.dir)
	irc := fmt.Sprintf("127.0.0.1:%d", freeport.For(t))
	for name, text := range map[string]string{"password": "kettle-is-on\n",
		"papaya.toml": fmt.Sprintf("[listen]\nplain = [\"127.0.0.1:%d\"]\ntls = [%q]\n"+
			"web = [\"127.0.0.1:%d\"]\n[tls]\ndomains = [\"127.0.0.1\"]\n[accounts]\n"+
			"required = false\n[push]\nnetworks = [\"127.0.0.0/8\"]\n"+patient, n.port, irc,
			freeport.For(t))} {
		if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.run("admin", "account", "add", "ann", "--password-file", "password")
	startServer(t, n.program, n.dir)

	goguma := irctest.DialTLS(t, irc, &tls.Config{InsecureSkipVerify: true})
	goguma.Send("CAP LS 302\r\nNICK ann\r\nUSER ann 0 * Ann")
	for _, capability := range []string{"batch", "echo-message", "labeled-response", "message-tags",
		"sasl", "server-time", "draft/chathistory", "draft/read-marker", "soju.im/webpush"} {
		goguma.Send("CAP REQ %s", capability)
	}
	goguma.Send("AUTHENTICATE PLAIN\r\nAUTHENTICATE %s\r\nCAP END",
		base64.StdEncoding.EncodeToString([]byte("\x00ann\x00kettle-is-on")))
	welcome := strings.Join(goguma.Expect(" 422 "), "\n")
	host := filehost.FindStringSubmatch(welcome)
	if host == nil || !strings.Contains(welcome, "VAPID=") {
		t.Fatalf("the welcome is\n%s", welcome)
	}
	goguma.Send("@label=1 WEBPUSH REGISTER %s p256dh=%s;auth=%s", phone.Endpoint,
		padded(phone.P256dh()), padded(phone.Auth()))
	goguma.Expect("@label=1 :chat WEBPUSH REGISTER " + phone.Endpoint)

	picture := []byte("\x89PNG\r\n\x1a\nno picture")
	link := postAsGoguma(t, host[1], picture)
	goguma.Send("@label=2 JOIN #tea\r\n@label=3 PRIVMSG #tea :look: %s", link)
	goguma.Expect(" PRIVMSG #tea :look: " + link)
	if got := fetched(t, link); !bytes.Equal(got, picture) {
		t.Errorf("the link leads to %q", got)
	}
	quit(goguma)
	n.says("ann", "good morning")
	if p := phone.Next(); !strings.HasSuffix(p.Text, " PRIVMSG ann :good morning") {
		t.Errorf("the device is told %q", p.Text)
	}
}

// padded writes base64url as Dart does.
func padded(text string) string { return text + strings.Repeat("=", (4-len(text)%4)%4) }

// insecure is a client for the server's own certificate.
var insecure = &http.Client{Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// postAsGoguma uploads a file, and returns its link. A blank in its name has become a plus.
func postAsGoguma(t *testing.T, to string, data []byte) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("ann", "kettle-is-on")
	r.Header.Set("Content-Type", "image/png")
	r.Header.Set("Content-Disposition", "attachment; filename*=UTF-8''green+t%C3%A9.png")
	answer, err := insecure.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	at, err := r.URL.Parse(answer.Header.Get("Location"))
	if err != nil || answer.StatusCode != http.StatusCreated {
		t.Fatalf("uploading to %s: %s, Location %q, %v", to, answer.Status,
			answer.Header.Get("Location"), err)
	}
	if name, err := url.PathUnescape(at.EscapedPath()); err != nil ||
		!strings.HasSuffix(name, "/green+té.png") {
		t.Errorf("the link is %s", at)
	}
	return at.String()
}

// fetched returns what a link leads to.
func fetched(t *testing.T, link string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := insecure.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", link, answer.Status, err)
	}
	return data
}
