package servers_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// put makes the certificate of a name, and its key, those of NAME.pem and NAME.key. Each file is
// replaced at once.
func (a *authority) put(from, name string) {
	a.t.Helper()
	for _, ext := range []string{".pem", ".key"} {
		a.replace(from+ext, name+ext)
	}
}

func (a *authority) replace(from, name string) {
	a.t.Helper()
	text, err := os.ReadFile(a.file(from))
	if err == nil {
		err = os.WriteFile(a.file("new"), text, 0o600)
	}
	if err == nil {
		err = os.Rename(a.file("new"), a.file(name))
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// shown is the name of the certificate that a port shows for a host.
func (p *process) shown(port int, ca *authority, host string) string {
	p.t.Helper()
	c := tls.Client(p.dial(port), &tls.Config{RootCAs: ca.pool(), ServerName: host})
	if err := c.Handshake(); err != nil {
		p.t.Fatal(err)
	}
	if err := c.CloseWrite(); err != nil {
		p.t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); err != nil { // it says its end, too
		p.t.Errorf("behind the handshake: %v", err)
	}
	return c.ConnectionState().PeerCertificates[0].Subject.CommonName
}

// What a reload changes: the certificates for all names and the issuers of clients, not ALPN. What
// is wrong with a file is an error, and nothing has changed then.
func TestTLSReload(t *testing.T) {
	t.Parallel()
	h := openTLS(t, "", slowHandshake)
	how := h.trusting()
	how.NextProtos = []string{"obey"}
	how.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	open := h.mustMeet(h.plain, how)
	h.say(open, "a", "a") // so the ticket has been read
	h.ca.good("new", "localhost", "127.0.0.1")
	h.ca.good("other", "*.example.test")
	h.ca.put("new", "localhost")
	h.ca.put("other", "example")
	h.must("reloaded", "reload")
	mustShow := func(want, other string) {
		t.Helper()
		for _, port := range []int{h.plain, h.web} {
			if got := h.shown(port, h.ca, "localhost"); got != want {
				t.Errorf("it shows %s, want %s", got, want)
			}
		}
		if got := h.shown(h.plain, h.ca, "a.example.test"); got != other {
			t.Errorf("for a.example.test it shows %s, want %s", got, other)
		}
	}
	closed := func(n int) {
		t.Helper()
		for range n {
			h.mustHear("server closed")
		}
	}
	mustShow("new", "other")
	closed(2)
	h.say(open, "still here\n", "still here\n")
	again := h.mustMeet(h.plain, how) // with a ticket of before
	h.say(again, "what\n", "TLSv1.3 obey localhost \n")
	again.Close()
	closed(1)

	const day = 24 * time.Hour
	lost := h.ca.issue("past", -2*day, -day, "localhost")
	early := h.ca.issue("future", day, 2*day, "localhost")
	at := func(c tls.Certificate) (from, to string) {
		const form = "Jan _2 15:04:05 2006 GMT"
		return c.Leaf.NotBefore.UTC().Format(form), c.Leaf.NotAfter.UTC().Format(form)
	}
	from, _ := at(early)
	_, to := at(lost)
	if err := os.WriteFile(h.ca.file("garbage.pem"), []byte("no PEM\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	chain, key := h.ca.file("localhost.pem"), h.ca.file("localhost.key")
	for _, c := range []struct{ from, name, want string }{
		{"past.pem", "localhost.pem", "error 1011 " + key + ": no private key of the " +
			"certificate, in PEM (key values mismatch)"},
		{"past.key", "localhost.key", "error 1001 " + chain + ": the certificate has expired: " +
			"it was valid until " + to},
		{"future.pem", "localhost.pem", "error 1011 " + key + ": no private key of the " +
			"certificate, in PEM (key values mismatch)"},
		{"future.key", "localhost.key", "error 1002 " + chain + ": the certificate is not valid " +
			"yet: it is from " + from},
		{"garbage.pem", "localhost.pem", "error 1011 " + chain +
			": no certificate in PEM (no start line)"},
	} {
		h.ca.replace(c.from, c.name)
		h.must(c.want, "reload")
		mustShow("new", "other")
		closed(2)
	}
	if err := os.Remove(chain); err != nil {
		t.Fatal(err)
	}
	h.must("error 1011 "+chain+": No such file or directory", "reload")
	h.ca.put("new", "localhost")
	h.ca.replace("garbage.pem", "example.pem") // of the second pair: the first one does not change
	h.ca.good("newest", "localhost")
	h.ca.put("newest", "localhost")
	if got := h.order("reload"); !strings.HasPrefix(got, "error 1011 "+h.ca.file("example.pem")) {
		t.Errorf("a wrong second pair: %s", got)
	}
	mustShow("new", "other")
	closed(2)
	h.ca.put("other", "example")
	h.must("reloaded", "reload")
	mustShow("newest", "other")
	closed(2)
	open.Close()
	closed(1)
	h.leave()
}

// The file of the clients' issuers is read again, too.
func TestTLSReloadAsks(t *testing.T) {
	t.Parallel()
	h := openTLS(t, "ca.pem", slowHandshake)
	other := newAuthority(t, "another test")
	how := h.trusting()
	how.MaxVersion = tls.VersionTLS12 // later ones tell a client only when it reads
	stranger := other.good("stranger")
	how.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &stranger, nil
	}
	if _, err := h.meet(h.plain, how); err == nil {
		t.Error("a client of another issuer has no error")
	}
	h.mustHear("server error 1004 the issuer of the certificate is not known here: "+
		"CN=another test", "server closed")
	both, err := os.ReadFile(other.file("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile(h.ca.file("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.ca.file("ca.pem"), append(own, both...), 0o600); err != nil {
		t.Fatal(err)
	}
	h.must("reloaded", "reload")
	c := h.mustMeet(h.plain, how)
	h.say(c, "what\n", "TLSv1.2  localhost CN=stranger\n")
	c.Close()
	h.mustHear("server closed")
	h.leave()
}

// openRenewed starts the page's program with the certificate of an authority, named "first", in
// the files live.pem and live.key.
func openRenewed(t *testing.T, watch int) (*process, int, *authority) {
	t.Helper()
	ca := newAuthority(t, "a test")
	ca.good("first", "localhost")
	ca.put("first", "live")
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "index.html"), []byte("home"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := startWith(t, []string{page(t, "site"), "--port", "0", "--watch", fmt.Sprint(watch),
		"--chain", ca.file("live.pem"), "--key", ca.file("live.key"), folder}, "EVE_WORKERS=2")
	return p, p.port(), ca
}

// crowdAt has clients ask for a page again and again, by kept connections and by new ones. They
// leave when the function that is returned is called, which returns their errors.
func crowdAt(t *testing.T, port int, ca *authority) (leave func() error) {
	t.Helper()
	stop := make(chan struct{})
	var all sync.WaitGroup
	faults := make([]error, 4)
	visited := make(chan struct{}, len(faults))
	for i := range faults {
		carrier := &http.Transport{DisableKeepAlives: i%2 == 0,
			TLSClientConfig: &tls.Config{RootCAs: ca.pool(), ServerName: "localhost"}}
		c := &http.Client{Transport: carrier, Timeout: patience}
		t.Cleanup(carrier.CloseIdleConnections)
		all.Go(func() {
			for n := 0; ; n++ {
				a, err := c.Get(fmt.Sprintf("https://127.0.0.1:%d/", port))
				if err == nil {
					var text []byte
					text, err = io.ReadAll(a.Body)
					a.Body.Close()
					if err == nil && (a.StatusCode != 200 || string(text) != "home") {
						err = fmt.Errorf("got %d %q", a.StatusCode, text)
					}
				}
				if n == 0 {
					visited <- struct{}{}
				}
				if err != nil {
					faults[i] = fmt.Errorf("visit %d of client %d: %w", n, i, err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range faults {
		<-visited
	}
	return func() error {
		close(stop)
		all.Wait()
		return errors.Join(faults...)
	}
}

// The page's program takes a new certificate on SIGHUP, while clients come and go: none of them
// notices. One that is wrong changes nothing.
func TestPageOfSiteRenews(t *testing.T) {
	t.Parallel()
	p, port, ca := openRenewed(t, 0)
	leave := crowdAt(t, port, ca)
	open := tls.Client(p.dial(port), &tls.Config{RootCAs: ca.pool(), ServerName: "localhost"})
	if err := open.Handshake(); err != nil {
		t.Fatal(err)
	}
	ca.good("second", "localhost")
	ca.put("second", "live")
	p.signal(syscall.SIGHUP)
	p.eventually("the certificate is read", func() bool {
		return strings.Contains(p.err.String(), "the certificate was read again")
	})
	if got := p.shown(port, ca, "localhost"); got != "second" {
		t.Errorf("it shows the certificate of %s", got)
	}
	ca.replace("first.key", "live.key")
	p.signal(syscall.SIGHUP)
	p.eventually("the wrong key is refused", func() bool {
		return strings.Contains(p.err.String(), `text="the certificate is still the old one" `+
			`why="`+ca.file("live.key")+": no private key of the certificate")
	})
	if got := p.shown(port, ca, "localhost"); got != "second" {
		t.Errorf("with a wrong key it shows the certificate of %s", got)
	}
	io.WriteString(open, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	if all, err := io.ReadAll(open); err != nil || !strings.HasSuffix(string(all), "home") {
		t.Errorf("a client of before: %v, %q", err, all)
	}
	if err := leave(); err != nil {
		t.Error(err)
	}
	p.signal(syscall.SIGTERM)
	p.mustExit(0)
}

// It sees by itself that the files have changed, also if it looks between the two; and it ends
// although it looks. Other programs are shown the new certificate, too.
func TestPageOfSiteWatches(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"openssl", "curl"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not in PATH")
		}
	}
	p, port, ca := openRenewed(t, 1)
	subject := func() string {
		t.Helper()
		asked := exec.Command("openssl", "s_client", "-connect", fmt.Sprint("127.0.0.1:", port),
			"-servername", "localhost", "-CAfile", ca.file("ca.pem"), "-verify_return_error")
		out, err := asked.Output() // at the end of its empty input it leaves
		if err != nil {
			t.Fatalf("s_client: %v", err)
		}
		_, rest, _ := strings.Cut(string(out), "subject=")
		line, _, _ := strings.Cut(rest, "\n")
		return strings.ReplaceAll(line, " ", "")
	}
	visit := func() {
		t.Helper()
		out, err := exec.Command("curl", "-sS", "--max-time", "300", "--cacert", ca.file("ca.pem"),
			"--resolve", fmt.Sprintf("localhost:%d:127.0.0.1", port),
			fmt.Sprintf("https://localhost:%d/", port)).CombinedOutput()
		if err != nil || string(out) != "home" {
			t.Errorf("curl: %v, %q", err, out)
		}
	}
	if got := subject(); got != "CN=first" {
		t.Errorf("at first it shows %s", got)
	}
	visit()
	leave := crowdAt(t, port, ca)
	ca.good("second", "localhost")
	ca.replace("second.pem", "live.pem")
	p.eventually("it looks between the two", func() bool {
		return strings.Contains(p.err.String(), "the certificate is still the old one")
	})
	ca.replace("second.key", "live.key")
	p.eventually("it looks again", func() bool {
		return strings.Contains(p.err.String(), "the certificate was read again")
	})
	if got := subject(); got != "CN=second" {
		t.Errorf("then it shows %s", got)
	}
	visit()
	if err := leave(); err != nil {
		t.Error(err)
	}
	p.signal(syscall.SIGTERM)
	p.mustExit(0)
}
