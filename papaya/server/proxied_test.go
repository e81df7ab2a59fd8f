package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"interleave/internal/irctest"
	"interleave/papaya/certificate"
	"interleave/papaya/irc"
	"interleave/papaya/proxy"
)

// behindProxies starts a server for proxies on 127.0.0.1 only: at[0] is for IRC, at[1] for HTTP.
func behindProxies(t *testing.T, change func(*Config)) *instance {
	t.Helper()
	networks, err := proxy.ParseNetworks([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return open(t, t.TempDir(), func(c *Config) {
		c.Plain, c.Proxies = nil, networks
		c.Proxied, c.ProxiedWeb = []string{"127.0.0.1:0"}, []string{"127.0.0.1:0"}
		if change != nil {
			change(c)
		}
	})
}

// dialFrom connects from an address of this machine, and sends some text.
func dialFrom(t *testing.T, from, to, text string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

const header = "PROXY TCP4 192.0.2.7 127.0.0.1 4711 6667\r\n"

// TestPROXYProtocol registers behind a proxy, with TLS inside and without it.
func TestPROXYProtocol(t *testing.T) {
	source, err := certificate.Open(certificate.Options{Folder: t.TempDir(),
		Domains: []string{"tea.example"}})
	if err != nil {
		t.Fatal(err)
	}
	entered := make(chan string, 10)
	srv := behindProxies(t, func(c *Config) {
		c.TLSConfig = source.Config()
		c.Enter = func(a net.Addr) (func(), bool) {
			entered <- a.String()
			return func() {}, true
		}
	})
	ann := irctest.New(t, dialFrom(t, "127.0.0.1", srv.at[0], header)).Register("ann", "#tea")
	if got := <-entered; got != "192.0.2.7:4711" {
		t.Errorf("the limits count %s", got)
	}
	inner := tls.Client(dialFrom(t, "127.0.0.1", srv.at[0], header),
		&tls.Config{InsecureSkipVerify: true})
	bob := irctest.New(t, inner).Register("bob", "#tea")
	ann.Expect("bob!bob@192.0.2.7 JOIN #tea")
	bob.Send("PRIVMSG #tea :from afar")
	ann.Expect(":bob!bob@192.0.2.7 PRIVMSG #tea :from afar")
	for nick, secure := range map[string]bool{"ann": false, "bob": true} {
		bob.Send("WHOIS %s", nick)
		lines := strings.Join(bob.Expect(" 318 "), "\n") // RPL_ENDOFWHOIS
		// 671 is RPL_WHOISSECURE.
		if strings.Contains(lines, " 671 ") != secure {
			t.Errorf("%s, secure %v:\n%s", nick, secure, lines)
		}
	}
	ann.Send("QUIT")
	ann.ExpectEnd()
}

// TestCloakedAddresses: no other user sees an address, and no file has it. Masks of cloaks are for
// the same address or network. The user itself and administrators see the address.
func TestCloakedAddresses(t *testing.T) {
	cloak := func(a netip.Addr) string { return irc.Cloak([]byte("a key"), a) }
	folder, admin := "", &Admin{}
	srv := behindProxies(t, func(c *Config) {
		folder, c.Accounts, c.Admin = c.Data, everybody{}, admin
		c.Cloak, c.Founder = cloak, true
	})
	from := func(address string) *irctest.Client {
		return irctest.New(t, dialFrom(t, "127.0.0.1", srv.at[0],
			"PROXY TCP4 "+address+" 127.0.0.1 4711 6667\r\n"))
	}
	ann, bob := from("192.0.2.7").Register("ann", "#tea"), from("192.0.2.9").Register("bob")
	host := cloak(netip.MustParseAddr("192.0.2.9"))
	bob.Send("JOIN #tea\r\nPRIVMSG #tea :hello\r\nTOPIC #tea :of bob\r\nWHOIS bob")
	bob.Expect(" 338 bob bob bob@" + host + " 192.0.2.9 :") // RPL_WHOISACTUALLY
	ann.Expect(":bob!bob@" + host + " JOIN #tea")
	ann.Send("WHO #tea\r\nWHO bob %%tcuhnfdlar,1\r\nUSERHOST bob\r\nWHOIS bob\r\nWHOIS ann\r\n" +
		"PING told")
	heard := ann.Expect("PONG chat :told")
	lacks(t, heard, "192.0.2.9")
	if all := strings.Join(heard, "\n"); strings.Count(all, host) < 4 ||
		!strings.Contains(all, " 192.0.2.7 :") {
		t.Errorf("ann is told\n%s", all)
	}
	_, network, _ := strings.Cut(host, ".")
	ann.Send("MODE #tea +b *!*@*.%s", network)
	ann.Expect("MODE #tea +b")
	carl, dan := from("192.0.2.200").Register("carl"), from("198.51.100.1").Register("dan", "#tea")
	carl.Send("JOIN #tea")
	carl.Expect(" 474 carl #tea ") // ERR_BANNEDFROMCHAN
	sessions, err := admin.Sessions(t.Context())
	if err != nil || len(sessions) != 4 || sessions[1].Host != "192.0.2.9" {
		t.Errorf("the sessions are %+v, %v", sessions, err)
	}
	dan.Send("QUIT")
	dan.ExpectEnd()
	srv.end()
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("192.0.2.")) {
			t.Errorf("%s has an address", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestUnknownProxies connects from an address that is not believed, and without a header.
func TestUnknownProxies(t *testing.T) {
	srv := behindProxies(t, nil)
	for name, c := range map[string]net.Conn{
		"a stranger": dialFrom(t, "127.0.0.2", srv.at[0], header+"NICK eve\r\nUSER eve 0 * :e\r\n"),
		"no header":  dialFrom(t, "127.0.0.1", srv.at[0], "NICK eve\r\nUSER eve 0 * :eve\r\n"),
	} {
		if got, _ := io.ReadAll(c); len(got) > 0 { // an end by RST is as good
			t.Errorf("%s is answered %q", name, got)
		}
	}
	c := dialFrom(t, "127.0.0.2", srv.at[1],
		"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.7\r\nConnection: close\r\n\r\n")
	if got, _ := io.ReadAll(c); !strings.HasPrefix(string(got), "HTTP/1.1 403 ") {
		t.Errorf("a stranger to the page is answered %q", got)
	}
	if n := strings.Count(srv.said.String(), "listen.trusted"); n != 1 {
		t.Errorf("strangers are logged %d times:\n%s", n, srv.said.String())
	}
}

// TestSilentBehindAProxy holds a connection whose client says nothing: it ends with the time for
// registration.
func TestSilentBehindAProxy(t *testing.T) {
	srv := behindProxies(t, func(c *Config) { c.Limits.Register = 50 * time.Millisecond })
	for _, sent := range []string{"", header, header[:9]} {
		if got, _ := io.ReadAll(dialFrom(t, "127.0.0.1", srv.at[0], sent)); len(got) > 0 {
			t.Errorf("%q is answered %q", sent, got)
		}
	}
}

// TestProxiedWebSocket opens WebSockets as proxies pass them on, below a path.
func TestProxiedWebSocket(t *testing.T) {
	srv := behindProxies(t, func(c *Config) {
		c.Base = "/chat"
		c.WebHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "the page at "+r.URL.Path)
		})
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dial := func(path string, h http.Header) (*websocket.Conn, int) {
		t.Helper()
		ws, response, err := websocket.Dial(ctx, "ws://"+srv.at[1]+path,
			&websocket.DialOptions{Subprotocols: []string{textProtocol}, HTTPHeader: h})
		if err != nil {
			if response == nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			return nil, response.StatusCode
		}
		t.Cleanup(func() { _ = ws.CloseNow() })
		return ws, response.StatusCode
	}
	ws, status := dial("/chat/socket", http.Header{"X-Forwarded-For": {"127.0.0.1, 192.0.2.9"},
		"X-Forwarded-Proto": {"https"}})
	if ws == nil {
		t.Fatalf("status %d", status)
	}
	f := &frames{t, ctx, ws}
	f.say("NICK ann", "USER ann 0 * :ann")
	f.hear(" 422 ")
	f.say("WHOIS ann")
	f.hear(" 671 ") // RPL_WHOISSECURE
	f.say("JOIN #tea")
	f.hear("ann!ann@192.0.2.9 JOIN")

	for _, test := range []struct {
		path   string
		header http.Header
		want   int
	}{
		{"/chat/socket", http.Header{}, http.StatusBadRequest},
		{"/chat/socket", http.Header{"X-Forwarded-For": {"here"}}, http.StatusBadRequest},
		{"/chat/socket", http.Header{"Forwarded": {"for=192.0.2.9"}}, http.StatusBadRequest},
		{"/socket", http.Header{"X-Forwarded-For": {"192.0.2.9"}}, http.StatusNotFound},
	} {
		if ws, status := dial(test.path, test.header); ws != nil || status != test.want {
			t.Errorf("%s %v: status %d, want %d", test.path, test.header, status, test.want)
		}
	}
	// A health check names no client.
	for path, want := range map[string]string{"/chat": "the page at /", "/chat/": "the page at /",
		"/chat/style.css": "the page at /style.css", "/": "404 page not found\n"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+srv.at[1]+path,
			http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}

// TestNobodyCountsAsTheProxy has clients write the header that a proxy appends to, and sends
// requests in which it names no client. Only a health check of the proxy comes from its address.
func TestNobodyCountsAsTheProxy(t *testing.T) {
	srv := behindProxies(t, func(c *Config) {
		c.WebHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			host, _, _ := net.SplitHostPort(r.RemoteAddr)
			_, _ = io.WriteString(w, "from "+host)
		})
	})
	for _, test := range []struct{ method, header, want string }{
		{http.MethodPost, "X-Forwarded-For: 192.0.2.9", "from 192.0.2.9"},
		{http.MethodPost, "X-Forwarded-For: unknown, 192.0.2.9", "from 192.0.2.9"},
		{http.MethodPost, "X-Forwarded-For: unknown\r\nX-Forwarded-For: 192.0.2.9",
			"from 192.0.2.9"},
		{http.MethodGet, "X-Forwarded-For: unknown", "400 Bad Request"},
		{http.MethodPost, "X-Forwarded-For: unknown", "400 Bad Request"},
		{http.MethodPost, "Accept: *", "400 Bad Request"},
		{http.MethodGet, "Authorization: Basic YTpi", "400 Bad Request"},
		{http.MethodGet, "Accept: *", "from 127.0.0.1"},
		{http.MethodHead, "Accept: *", "200 OK"},
	} {
		c := dialFrom(t, "127.0.0.1", srv.at[1], test.method+" / HTTP/1.1\r\nHost: a\r\n"+
			test.header+"\r\nConnection: close\r\n\r\n")
		if got, err := io.ReadAll(c); err != nil || !strings.Contains(string(got), test.want) {
			t.Errorf("%s, %q: %q, %v, want %q", test.method, test.header, got, err, test.want)
		}
	}
}

// TestPasswordsBehindAProxy sends a password over a connection that is open before the proxy.
func TestPasswordsBehindAProxy(t *testing.T) {
	srv := behindProxies(t, func(c *Config) { c.Accounts = people{} })
	open := irctest.New(t, dialFrom(t, "127.0.0.1", srv.at[0], header))
	open.Send("CAP LS 302")
	if l := open.ExpectLine(" LS "); strings.Contains(l, "sasl") {
		t.Errorf("passwords are taken over an open connection: %s", l)
	}
	safe := irctest.New(t, dialFrom(t, "127.0.0.1", srv.at[0], "\r\n\r\n\x00\r\nQUIT\n"+
		"\x21\x11\x00\x1e\xc0\x00\x02\x07\x7f\x00\x00\x01\x12\x67\x1a\x0b"+
		"\x20\x00\x0f\x01\x00\x00\x00\x00\x21\x00\x07TLSv1.3"))
	safe.Send("CAP REQ :sasl\r\nAUTHENTICATE PLAIN\r\nAUTHENTICATE %s",
		plainWord("ann", "the kettle is on"))
	safe.Expect(" 903 ") // RPL_SASLSUCCESS
}
