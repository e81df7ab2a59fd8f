package servers_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"interleave/internal/freeport"
)

// A tlsHouse is testdata/server/tls.eve under way.
type tlsHouse struct {
	*process
	ca         *authority
	in         io.WriteCloser
	web, plain int // ports: https, and the server that obeys
	lines      int // of its output that were read
}

// A handshake that must succeed may take this long, in milliseconds.
const slowHandshake = 600_000

// openTLS starts it with a certificate for localhost and 127.0.0.1, and one for *.example.test.
func openTLS(t *testing.T, clients string, openTime int, settings ...string) *tlsHouse {
	t.Helper()
	return openTLSOf(t, example(t, "tls"), clients, openTime, settings...)
}

// openTLSOf starts a program that is made from it.
func openTLSOf(t *testing.T, exe, clients string, openTime int, settings ...string) *tlsHouse {
	t.Helper()
	ca := newAuthority(t, "a test")
	ca.good("localhost", "localhost", "127.0.0.1")
	ca.good("example", "*.example.test")
	if clients != "" {
		clients = ca.file(clients)
	}
	cmd := exec.Command(exe, ca.file("localhost.pem"), ca.file("localhost.key"),
		ca.file("example.pem"), ca.file("example.key"), clients, fmt.Sprint(openTime))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	h := &tlsHouse{process: begin(t, cmd, append(settings, "EVE_WORKERS=2")...), ca: ca, in: in}
	if _, err := fmt.Sscanf(h.hear(), "ready %d %d", &h.web, &h.plain); err != nil {
		t.Fatal(err)
	}
	return h
}

// hear returns the next line of its output.
func (h *tlsHouse) hear() string {
	h.t.Helper()
	line := ""
	h.eventually("it says something", func() bool {
		h.mustRun()
		all := strings.SplitAfter(h.out.String(), "\n")
		if len(all) <= h.lines+1 {
			return false
		}
		line = strings.TrimSuffix(all[h.lines], "\n")
		return true
	})
	h.lines++
	return line
}

func (h *tlsHouse) mustHear(want ...string) {
	h.t.Helper()
	for _, w := range want {
		if got := h.hear(); got != w {
			h.t.Errorf("got  %s\nwant %s", got, w)
		}
	}
}

// order gives it a command. The answer is the next line.
func (h *tlsHouse) order(words ...string) string {
	h.t.Helper()
	if _, err := io.WriteString(h.in, strings.Join(words, "\t")+"\n"); err != nil {
		h.t.Fatal(err)
	}
	return h.hear()
}

func (h *tlsHouse) must(want string, words ...string) {
	h.t.Helper()
	if got := h.order(words...); got != want {
		h.t.Errorf("%q:\ngot  %s\nwant %s", words, got, want)
	}
}

// leave ends it, and checks that all is well.
func (h *tlsHouse) leave() {
	h.t.Helper()
	h.in.Close()
	h.mustExit(0)
	if got := h.err.String(); got != "" {
		h.t.Errorf("it said %q", got)
	}
}

func (h *tlsHouse) trusting() *tls.Config {
	return &tls.Config{RootCAs: h.ca.pool(), ServerName: "localhost"}
}

// meet connects to a port with TLS.
func (h *tlsHouse) meet(port int, how *tls.Config) (*tls.Conn, error) {
	h.t.Helper()
	c := tls.Client(h.dial(port), how)
	return c, c.Handshake()
}

func (h *tlsHouse) mustMeet(port int, how *tls.Config) *tls.Conn {
	h.t.Helper()
	c, err := h.meet(port, how)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

func (h *tlsHouse) say(c *tls.Conn, text, want string) {
	h.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		h.t.Fatal(err)
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		h.t.Fatalf("%q: got %q, %v, want %q", text, got, err, want)
	}
}

// A server of TLS with clients of Go: both versions, names, protocols, ends of all kinds.
func TestTLSServer(t *testing.T) {
	t.Parallel()
	eachReactor(t, func(t *testing.T, reactor string) {
		h := openTLS(t, "", slowHandshake, reactor)
		for _, v := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			how := h.trusting()
			how.MinVersion, how.MaxVersion, how.NextProtos = v, v, []string{"x", "obey"}
			c := h.mustMeet(h.plain, how)
			h.say(c, "what\n", fmt.Sprintf("%s obey localhost \n",
				map[uint16]string{tls.VersionTLS12: "TLSv1.2", tls.VersionTLS13: "TLSv1.3"}[v]))
			h.say(c, "bye\n", "bye\n")
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("behind the last byte: %v, want its announced end", err)
			}
			h.mustHear("server closed")
		}

		how := h.trusting()
		how.ServerName = "a.example.test"
		c := h.mustMeet(h.plain, how)
		if got := c.ConnectionState().PeerCertificates[0].Subject.CommonName; got != "example" {
			t.Errorf("for a.example.test it shows %s", got)
		}
		c.CloseWrite() // the end of our side is announced
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("after our end: %v, want its announced end", err)
		}
		h.mustHear("server closed")

		c = h.mustMeet(h.plain, h.trusting())
		h.say(c, "half\n", "half\n")
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("behind its half: %v, want an announced end", err)
		}
		c.Close()
		h.mustHear("server closed")

		c = h.mustMeet(h.plain, h.trusting())
		h.say(c, "a", "a")
		c.NetConn().Close() // without a word
		h.mustHear("server error 1010 the connection was cut off: TLS did not end before it",
			"server closed")

		c = h.mustMeet(h.plain, h.trusting())
		io.WriteString(c, "abort\n")
		io.Copy(io.Discard, c)
		h.mustHear("server closed")
		h.leave()
	})
}

// Handshakes that fail at a server, each with its reason.
func TestTLSServerRefuses(t *testing.T) {
	t.Parallel()
	h := openTLS(t, "", slowHandshake)
	_, err := h.meet(h.plain, &tls.Config{ServerName: "localhost"})
	if err == nil {
		t.Error("a client without the issuer has no error")
	}
	h.mustHear("server error 1007 the peer refuses: bad certificate", "server closed")

	_, err = h.meet(h.plain, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"x"}})
	if err == nil || !strings.Contains(err.Error(), "no application protocol") {
		t.Errorf("no common protocol: %v", err)
	}
	h.mustHear("server error 1008 no handshake of TLS: no application protocol", "server closed")

	_, err = h.meet(h.plain, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10,
		MaxVersion: tls.VersionTLS11})
	if err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("an old version: %v", err)
	}
	h.mustHear("server error 1008 no handshake of TLS: unsupported protocol", "server closed")

	c := h.dial(h.plain)
	c.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	io.ReadAll(c)
	h.mustHear("server error 1008 no handshake of TLS: http request", "server closed")

	c = h.dial(h.plain)
	c.say("\x16\x03\x01\x02\x00")
	c.Close()
	h.mustHear(
		"server error 1009 the connection was closed during the handshake of TLS", "server closed")
	h.leave()
}

// Clients with certificates, and handshakes that take too long.
func TestTLSServerAsks(t *testing.T) {
	t.Parallel()
	h := openTLS(t, "ca.pem", slowHandshake)
	how := h.trusting()
	how.MaxVersion = tls.VersionTLS12 // later ones tell a client only when it reads
	if _, err := h.meet(h.plain, how); err == nil {
		t.Error("a client without a certificate has no error")
	}
	h.mustHear("server error 1006 the peer has sent no certificate", "server closed")
	other := newAuthority(t, "another test")
	how.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		own := other.good("stranger")
		return &own, nil
	}
	if _, err := h.meet(h.plain, how); err == nil {
		t.Error("a client of another issuer has no error")
	}
	h.mustHear("server error 1004 the issuer of the certificate is not known here: "+
		"CN=another test", "server closed")
	how = h.trusting()
	how.Certificates = []tls.Certificate{h.ca.good("ann")}
	c := h.mustMeet(h.plain, how)
	h.say(c, "what\n", "TLSv1.3  localhost CN=ann\n")
	c.Close()
	h.mustHear("server closed")
	h.must("fetched 200 11 hello, ann/", "fetch", strings.Join([]string{h.ca.file("ca.pem"),
		h.ca.file("ann.pem"), h.ca.file("ann.key")}, ","),
		fmt.Sprintf("https://localhost:%d/hello/ann", h.web))
	h.leave()

	h = openTLS(t, "", 20)
	h.dial(h.plain).mustEnd()
	h.mustHear("server error 110 the handshake of TLS takes too long", "server closed")
	h.leave()
}

// Both sides in one program, through files that are wrong, up to WebSockets.
func TestTLSBothSides(t *testing.T) {
	t.Parallel()
	h := openTLS(t, "", slowHandshake)
	ca := h.ca.file("ca.pem")
	base := fmt.Sprintf("//localhost:%d", h.web)
	h.must("fetched 200 11 hello, ann/", "fetch", ca, "https:"+base+"/hello/ann")
	h.must("fetched 200 800000 0123456789abcdef0123", "fetch", ca, "https:"+base+"/large")
	h.must("fetched 200 45 data: event 0//data:", "fetch", ca, "https:"+base+"/events")
	h.must("heard over TLS", "ws", ca, "wss:"+base+"/socket", "over TLS")
	h.mustHear("closed 1000 ")
	host := strings.TrimPrefix(base, "//")
	h.must("error 0 "+host+": for https the client needs a protection of io.tls", "fetch", "!",
		"https:"+base+"/")
	h.must("closed 1006 "+host+": for wss the wishes need a protection of io.tls", "ws", "!",
		"wss:"+base+"/", "a")
	for text, want := range map[string]string{"hello": "got 6 closed", "bye": "got 4 closed",
		"half":  "got 5 closed",
		"abort": "got 0 error 1010 the connection was cut off: TLS did not end before it",
	} {
		got := []string{h.order("dial", ca, "localhost", fmt.Sprint(h.plain), text), h.hear()}
		if !slices.Contains(got, want) || !slices.Contains(got, "server closed") {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	for name, want := range map[string]string{
		"missing.pem": ": No such file or directory",
		"ca.pem,a,b":  "a: No such file or directory",
		"ca.pem,ca.pem,localhost.key": "localhost.key: no private key of the certificate, " +
			"in PEM (key values mismatch)",
		"localhost.key": "localhost.key: no certificate in PEM (no certificate or crl found)",
	} {
		words := strings.Split(name, ",")
		for i := range words {
			if strings.Contains(words[i], ".") {
				words[i] = h.ca.file(words[i])
			}
		}
		got := h.order("fetch", strings.Join(words, ","), "https:"+base+"/")
		if !strings.HasPrefix(got, "error 1011 ") || !strings.HasSuffix(got, want) {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	h.leave()
}

// A false server answers clients of TLS on a free port of this machine, by a function.
func falseServer(t *testing.T, serve func(net.Conn)) (port string) {
	t.Helper()
	l, err := freeport.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(patience))
				serve(c)
			}()
		}
	}()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

// showing is a server that answers requests with a text up to the end of the connection.
func showing(own tls.Certificate, ends bool) func(net.Conn) {
	return func(c net.Conn) {
		s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{own}})
		if _, err := http.ReadRequest(bufio.NewReader(s)); err != nil {
			return
		}
		io.WriteString(s, "HTTP/1.1 200 OK\r\n\r\nthe half of it\n")
		if ends {
			s.CloseWrite()
		}
	}
}

// What a client says of servers that it must not trust, and of those that cut it off.
func TestTLSClientRefuses(t *testing.T) {
	t.Parallel()
	h := openTLS(t, "", slowHandshake)
	other := newAuthority(t, "another test")
	const day = 24 * time.Hour
	lost := h.ca.issue("past", -2*day, -day, "localhost")
	early := h.ca.issue("future", day, 2*day, "localhost")
	for _, c := range []struct {
		name, host string
		serve      func(net.Conn)
		want       string // behind the server's name
	}{
		{"good", "localhost", showing(h.ca.good("good", "localhost"), true), ""},
		{"address", "127.0.0.1", showing(h.ca.good("address", "127.0.0.1"), true), ""},
		{"expired", "localhost", showing(lost, true), "1001 the certificate has expired: it was " +
			"valid until " + lost.Leaf.NotAfter.UTC().Format("Jan _2 15:04:05 2006 GMT")},
		{"early", "localhost", showing(early, true), "1002 the certificate is not valid yet: it " +
			"is from " + early.Leaf.NotBefore.UTC().Format("Jan _2 15:04:05 2006 GMT")},
		{"name", "localhost", showing(h.ca.good("other", "other.test", "*.more.test"), true),
			"1003 the certificate is not for localhost, but for other.test, *.more.test"},
		{"ip", "127.0.0.1", showing(h.ca.good("named", "localhost"), true),
			"1003 the certificate is not for 127.0.0.1"},
		{"issuer", "localhost", showing(other.good("stranger", "localhost"), true),
			"1004 the issuer of the certificate is not known here: CN=another test"},
		{"cut", "localhost", showing(h.ca.good("cut", "localhost"), false),
			"0 the connection was cut off: TLS did not end before it"},
		{"closes", "localhost", func(c net.Conn) { c.Read(make([]byte, 1)) },
			"1009 the connection was closed during the handshake of TLS"},
		{"plain", "localhost", func(c net.Conn) {
			c.Read(make([]byte, 1000))
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			io.Copy(io.Discard, c)
		}, "1008 no handshake of TLS: wrong version number"},
		{"alert", "localhost", func(c net.Conn) {
			tls.Server(c, &tls.Config{NextProtos: []string{"x"},
				Certificates: []tls.Certificate{lost}}).Handshake()
		}, "1007 the peer refuses: no application protocol"},
	} {
		port := falseServer(t, c.serve)
		url := fmt.Sprintf("https://%s:%s/", c.host, port)
		got := h.order("fetch", h.ca.file("ca.pem"), url)
		if c.want == "" {
			if got != "fetched 200 15 the half of it/" {
				t.Errorf("%s: %s", c.name, got)
			}
			continue
		}
		at := fmt.Sprintf("%s:%s: ", c.host, port)
		code, why, _ := strings.Cut(c.want, " ")
		want := "error " + code + " " + at + why
		if code != "0" {
			want = "error " + code + " " + at + "cannot connect to " + at + why
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, want)
		}
	}
	h.leave()

	h = openTLS(t, "", 20)
	silent := falseServer(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	h.must("error 110 cannot connect to localhost:"+silent+
		": the handshake of TLS takes too long", "dial", h.ca.file("ca.pem"), "localhost", silent,
		"a")
	h.leave()
}

// The programs of OpenSSL and curl on the other side.
func TestTLSWithOthers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"openssl", "curl"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not in PATH")
		}
	}
	h := openTLS(t, "", slowHandshake)
	ca := h.ca.file("ca.pem")
	curl := func(words ...string) string {
		t.Helper()
		out, err := exec.Command("curl", append([]string{"-sS", "--max-time", "300", "--cacert",
			ca}, words...)...).CombinedOutput()
		if err != nil {
			t.Errorf("curl %q: %v, %s", words, err, out)
		}
		return string(out)
	}
	base := fmt.Sprintf("https://localhost:%d", h.web)
	body := strings.Repeat("0123456789", 60_000)
	file := h.ca.file("body")
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := curl(base+"/hello/a", base+"/hello/b"); got != "hello, a\nhello, b\n" {
		t.Errorf("curl got %q", got)
	}
	if got := curl("--tls-max", "1.2", "--data-binary", "@"+file, base+"/echo"); got != body {
		t.Errorf("curl got %d bytes, %q", len(got), head(got))
	}
	if got := curl("--http1.1", "-o", os.DevNull, "-w", "%{size_download}",
		base+"/large"); got != "800000" {
		t.Errorf("curl got %s bytes", got)
	}

	asked := exec.Command("openssl", "s_client", "-connect", fmt.Sprint("localhost:", h.plain),
		"-CAfile", ca, "-verify_return_error", "-verify_hostname", "localhost", "-quiet",
		"-alpn", "obey")
	asked.Stdin = strings.NewReader("bye\n")
	out, err := asked.Output()
	if err != nil || string(out) != "bye\n" {
		t.Errorf("s_client: %v, %q", err, out)
	}
	h.mustHear("server closed")

	port := freeport.For(t)
	s := exec.Command("openssl", "s_server", "-accept", fmt.Sprint("127.0.0.1:", port), "-cert",
		h.ca.file("localhost.pem"), "-key", h.ca.file("localhost.key"), "-www", "-naccept", "1")
	shown, err := s.StdoutPipe()
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Process.Kill()
		s.Wait()
	})
	for in := bufio.NewScanner(shown); in.Scan() && in.Text() != "ACCEPT"; {
	}
	got := h.order("fetch", ca, fmt.Sprintf("https://127.0.0.1:%d/", port))
	if !strings.HasPrefix(got, "fetched 200 ") {
		t.Errorf("s_server: %s", got)
	}
	h.process.signal(syscall.SIGKILL)
}
