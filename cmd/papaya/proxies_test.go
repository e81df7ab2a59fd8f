package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"interleave/internal/freeport"
	"interleave/internal/irctest"
	"interleave/papaya/certificate"
)

// afar is the address of the clients in TestProxies, which is not the proxy's.
const afar = "127.0.0.9"

// TestProxies runs the files of docs/papaya/proxy.md with the proxies that they are for. A client
// of the page, which stays signed in, and one of IRC must be known by their own address, and as
// encrypted.
func TestProxies(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers and proxies")
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "papaya", "proxy.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct {
		program, file string
		irc           bool
		before        string // what a test needs besides
		args          []string
	}{
		{"caddy", "# Caddyfile", false, "{\nadmin off\nskip_install_trust\n" +
			"auto_https disable_redirects\n}\n", []string{"run", "--config", "FILE", "--adapter",
			"caddyfile"}},
		{"nginx", "# nginx.conf", true, "daemon off;\npid DIR/pid;\nerror_log stderr;\n" +
			"load_module /usr/lib/nginx/modules/ngx_stream_module.so;\nevents {}\n",
			[]string{"-p", "DIR", "-c", "FILE"}},
		{"haproxy", "# haproxy.cfg", true, "", []string{"-db", "-f", "FILE"}},
	} {
		t.Run(p.program, func(t *testing.T) {
			path, err := exec.LookPath(p.program)
			if err != nil {
				if path, err = exec.LookPath("/usr/sbin/" + p.program); err != nil {
					t.Skipf("SKIP: install %s for the test of Papaya behind it", p.program)
				}
			}
			b := behind{t: t, dir: t.TempDir(), web: freeport.For(t), irc: freeport.For(t)}
			b.serve(section(t, string(page), "[listen]"))
			b.proxy(path, p.before+section(t, string(page), p.file), p.args)
			b.browse("ann")
			if p.irc {
				b.chat("bob")
			}
		})
	}
}

// section returns the indented block of a page that begins with a line.
func section(t *testing.T, page, first string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n    "+first+"\n")
	if !found {
		t.Fatalf("no %q in the page", first)
	}
	block := first + "\n"
	for line := range strings.Lines(rest) {
		inner, indented := strings.CutPrefix(line, "    ")
		if !indented && line != "\n" {
			break
		}
		block += inner
	}
	return block
}

// behind is a Papaya behind a proxy, each with two ports of their own.
type behind struct {
	t        *testing.T
	dir      string
	web, irc int // the proxy's ports
	inner    [2]int
}

// serve starts Papaya with the listeners of the page.
func (b *behind) serve(listen string) {
	b.t.Helper()
	b.inner = [2]int{freeport.For(b.t), freeport.For(b.t)}
	conf := b.ports(listen) + "[accounts]\nrequired = false\n" + patient
	if err := os.WriteFile(filepath.Join(b.dir, "papaya.toml"), []byte(conf), 0o600); err != nil {
		b.t.Fatal(err)
	}
	program := link(b.t, b.dir)
	add := exec.Command(program, "admin", "account", "add", "ann")
	add.Dir, add.Stdin = b.dir, strings.NewReader("the kettle is on\n")
	if out, err := add.CombinedOutput(); err != nil {
		b.t.Fatalf("%v\n%s", err, out)
	}
	startServer(b.t, program, b.dir)
}

// ports replaces the ports of the page by free ones, on the loopback.
func (b *behind) ports(text string) string {
	return strings.NewReplacer(
		"127.0.0.1:6668", fmt.Sprintf("127.0.0.1:%d", b.inner[0]),
		"127.0.0.1:8080", fmt.Sprintf("127.0.0.1:%d", b.inner[1]),
		"chat.example.org {",
		fmt.Sprintf("https://127.0.0.1:%d {\nbind 127.0.0.1\ntls internal", b.web),
		"listen 443", fmt.Sprintf("listen 127.0.0.1:%d", b.web),
		"listen 6697", fmt.Sprintf("listen 127.0.0.1:%d", b.irc),
		"bind :443", fmt.Sprintf("bind 127.0.0.1:%d", b.web),
		"bind :6697", fmt.Sprintf("bind 127.0.0.1:%d", b.irc),
		"/etc/ssl/chat.example.org", filepath.Join(b.dir, "tls"), "DIR", b.dir).Replace(text)
}

// proxy starts a proxy with a file, and waits until it has its certificate and answers.
func (b *behind) proxy(program, text string, args []string) {
	b.t.Helper()
	b.certify()
	file := filepath.Join(b.dir, "proxy.conf")
	if err := os.WriteFile(file, []byte(b.ports(text)), 0o600); err != nil {
		b.t.Fatal(err)
	}
	words := []string{}
	for _, a := range args {
		words = append(words, strings.NewReplacer("FILE", file, "DIR", b.dir).Replace(a))
	}
	cmd := exec.Command(program, words...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "HOME="+b.dir, "XDG_DATA_HOME="+b.dir,
		"XDG_CONFIG_HOME="+b.dir)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	// A group of its own, for nginx has children.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	b.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
		if b.t.Failed() {
			b.t.Logf("%s: %s", program, said.String())
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		c, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", b.web),
			&tls.Config{InsecureSkipVerify: true})
		if err == nil {
			_ = c.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- err
			b.t.Fatalf("%s ended: %v", program, err)
		default:
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s does not answer: %v", program, err)
		}
	}
}

// certify writes a certificate with its key, as tls.pem and tls.key, and both into tls.pem.
func (b *behind) certify() {
	b.t.Helper()
	source, err := certificate.Open(certificate.Options{Folder: b.dir,
		Domains: []string{"127.0.0.1"}})
	if err != nil {
		b.t.Fatal(err)
	}
	cert, err := source.Config().GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		b.t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		b.t.Fatal(err)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})
	for name, data := range map[string][]byte{"tls.key": private,
		"tls.pem": append(public, private...)} {
		if err := os.WriteFile(filepath.Join(b.dir, name), data, 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
}

// dialer connects from afar.
func dialer() *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(afar)}, Timeout: patience}
}

// browse opens the page and its WebSocket by the proxy, as a browser does.
func (b *behind) browse(nick string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	transport := &http.Transport{DialContext: dialer().DialContext,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	host := fmt.Sprintf("127.0.0.1:%d", b.web)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/",
		http.NoBody)
	if err != nil {
		b.t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		b.t.Errorf("the page has status %d", response.StatusCode)
	}
	ws, _, err := websocket.Dial(ctx, "wss://"+host+"/socket", &websocket.DialOptions{ //nolint:bodyclose // Dial closes it
		HTTPClient: client, Subprotocols: []string{"text.ircv3.net"},
		HTTPHeader: http.Header{"Origin": {"https://" + host},
			"Cookie":          {b.stays(ctx, client, host)},
			"X-Forwarded-For": {"192.0.2.1"}}}) // a forged one
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = ws.CloseNow() }()
	for _, line := range []string{"CAP REQ :sasl", "NICK " + nick, "USER " + nick + " 0 * :x",
		"AUTHENTICATE EXTERNAL", "AUTHENTICATE +", "CAP END", "JOIN #tea", "WHOIS " + nick} {
		if err := ws.Write(ctx, websocket.MessageText, []byte(line)); err != nil {
			b.t.Fatal(err)
		}
	}
	var all []string
	for !strings.Contains(strings.Join(all, "\n"), " 318 ") { // RPL_ENDOFWHOIS
		_, line, err := ws.Read(ctx)
		if err != nil {
			b.t.Fatalf("%v after %q", err, all)
		}
		all = append(all, string(line))
	}
	b.known(nick, all)
	if text := strings.Join(all, "\n"); !strings.Contains(text, " 330 "+nick+" ") {
		b.t.Errorf("the cookie does not sign in:\n%s", text) // 330 is RPL_WHOISACCOUNT
	}
}

// stays keeps ann's browser signed in by the proxy, and returns its cookie.
func (b *behind) stays(ctx context.Context, client *http.Client, host string) string {
	b.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+host+"/stay",
		http.NoBody)
	if err != nil {
		b.t.Fatal(err)
	}
	r.SetBasicAuth("ann", "the kettle is on")
	r.Header.Set("Origin", "https://"+host)
	answer, err := client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	_ = answer.Body.Close()
	cookies := answer.Cookies()
	if answer.StatusCode != http.StatusNoContent || len(cookies) != 1 {
		b.t.Fatalf("nobody stays signed in: status %d, %v", answer.StatusCode, cookies)
	}
	return cookies[0].Name + "=" + cookies[0].Value
}

// chat speaks IRC over TLS by the proxy.
func (b *behind) chat(nick string) {
	b.t.Helper()
	raw, err := dialer().Dial("tcp", fmt.Sprintf("127.0.0.1:%d", b.irc))
	if err != nil {
		b.t.Fatal(err)
	}
	defer raw.Close()
	c := irctest.New(b.t, tls.Client(raw, &tls.Config{InsecureSkipVerify: true})).Register(nick)
	c.Send("JOIN #tea\r\nWHOIS %s", nick)
	b.known(nick, c.Expect(" 318 ")) // RPL_ENDOFWHOIS
}

// known checks by whose address, and with which encryption, the server knows a client.
func (b *behind) known(nick string, lines []string) {
	b.t.Helper()
	all := strings.Join(lines, "\n")
	// 671 is RPL_WHOISSECURE.
	for _, want := range []string{nick + "!" + nick + "@" + afar + " JOIN", " 671 "} {
		if !strings.Contains(all, want) {
			b.t.Errorf("no %q in\n%s", want, all)
		}
	}
}
