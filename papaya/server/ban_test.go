package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"interleave/internal/irctest"
	"interleave/papaya/bans"
	"interleave/papaya/hall"
)

// staff is everybody, and root is an administrator.
type staff struct{ everybody }

func (s staff) Verify(ctx context.Context, name, password string, a net.Addr) (Person, error) {
	who, err := s.everybody.Verify(ctx, name, password, a)
	if name == "root" {
		who.Role = hall.Admin
	}
	return who, err
}

// from connects a client through the reverse proxy. It says something, since the server looks at
// the first byte behind the header.
func (srv *instance) from(address string) *irctest.Client {
	srv.t.Helper()
	family := "TCP4"
	if strings.Contains(address, ":") {
		family = "TCP6"
	}
	to := map[string]string{"TCP4": "127.0.0.1", "TCP6": "::1"}[family]
	return irctest.New(srv.t, dialFrom(srv.t.(*testing.T), "127.0.0.1", srv.at[0],
		fmt.Sprintf("PROXY %s %s %s 4711 6667\r\nPING there\r\n", family, address, to)))
}

// get sends a request through the reverse proxy, and returns the answer as far as it comes.
func (srv *instance) get(address, path, more string) string {
	srv.t.Helper()
	c := dialFrom(srv.t.(*testing.T), "127.0.0.1", srv.at[1], "GET "+path+" HTTP/1.1\r\n"+
		"Host: a\r\nX-Forwarded-For: "+address+"\r\nConnection: close\r\n"+more+"\r\n")
	got, _ := io.ReadAll(c) // an end by RST is as good
	return string(got)
}

// socketFrom opens a WebSocket through the reverse proxy.
func (srv *instance) socketFrom(ctx context.Context, address string) *frames {
	srv.t.Helper()
	ws, response, err := websocket.Dial(ctx, "ws://"+srv.at[1]+"/socket", &websocket.DialOptions{
		Subprotocols: []string{textProtocol},
		HTTPHeader:   http.Header{"X-Forwarded-For": {address}}})
	if err != nil {
		if response != nil {
			_ = response.Body.Close()
		}
		srv.t.Fatal(err)
	}
	srv.t.Cleanup(func() { _ = ws.CloseNow() })
	return &frames{srv.t.(*testing.T), ctx, ws}
}

// last returns the last line that a client receives.
func last(c *irctest.Client) string {
	lines := c.ExpectEnd()
	return lines[len(lines)-1]
}

// TestBannedAddresses: a ban of a network ends clients of IRC and requests of HTTP behind a reverse
// proxy by their own address, and keeps new ones out, also after a restart. Others stay.
func TestBannedAddresses(t *testing.T) {
	folder, admin, hangs := t.TempDir(), &Admin{}, make(chan string, 10)
	banned := make(chan bool, 100)
	change := func(c *Config) {
		c.Accounts, c.Admin = staff{}, admin
		c.Cloak = func(netip.Addr) string { return "cloak.invalid" }
		c.Metrics.Banned = func() { banned <- true }
		c.WebHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hang" {
				hangs <- "begins"
				<-r.Context().Done()
				hangs <- "ends"
			}
			_, _ = io.WriteString(w, "the page")
		})
	}
	srv := proxied(t, folder, change)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	root := login(srv.from("127.0.0.1"), "root", "root", "#tea")
	eve := srv.from("192.0.2.7").Register("eve", "#tea")
	half, six := srv.from("192.0.2.8"), srv.from("2001:db8::7").Register("six", "#tea")
	half.Send("NICK half")
	for _, path := range []string{"/", "/api/rooms"} {
		if got := srv.get("192.0.2.7", path, ""); !strings.Contains(got, "the page") {
			t.Errorf("before the ban, %s is answered %q", path, got)
		}
	}
	hanging := make(chan string, 1)
	go func() { hanging <- srv.get("192.0.2.9", "/hang", "") }()
	await(t, hangs, "begins")

	root.Send("UBAN ADD 0::ffff:192.0.2.0/120 DURATION 1h :a flood")
	root.Expect("NOTICE root :192.0.2.0/24 is banned until ")
	root.Expect(":eve!eve@cloak.invalid QUIT :Banned")
	for name, c := range map[string]*irctest.Client{"eve": eve, "half": half,
		"new": srv.from("192.0.2.200"), "mapped": srv.from("::ffff:192.0.2.1")} {
		lines := c.ExpectEnd()
		end := lines[max(0, len(lines)-2):]
		if len(end) != 2 || !strings.Contains(end[0], " 465 ") ||
			!strings.HasPrefix(end[1], "ERROR :You are banned from this server until 2") ||
			!strings.HasSuffix(end[1], " UTC: a flood") {
			t.Errorf("%s is told %q", name, end)
		}
	}
	await(t, hangs, "ends")
	if got := <-hanging; strings.Contains(got, "the page") {
		t.Errorf("a request of a banned client is answered %q", got)
	}
	for _, more := range []string{"", "Authorization: Bearer abc\r\n", "Upgrade: websocket\r\n"} {
		got := srv.get("192.0.2.7", "/api/rooms", more)
		if !strings.HasPrefix(got, "HTTP/1.1 403 ") || !strings.Contains(got, ": a flood") {
			t.Errorf("with %q it is answered %q", more, got)
		}
	}
	f := srv.socketFrom(ctx, "192.0.2.7")
	f.hear(" 465 ")
	f.closed()
	if got := srv.get("203.0.113.1", "/", ""); !strings.Contains(got, "the page") {
		t.Errorf("another address is answered %q", got)
	}
	synced(six)
	select {
	case <-banned:
	default:
		t.Error("nothing is counted")
	}
	srv.said.until(t, `msg="ban added" target=192.0.2.0/24 by=root reason="a flood" until=`)
	srv.end()

	srv = proxied(t, folder, change)
	if got := last(srv.from("192.0.2.7")); !strings.Contains(got, ": a flood") {
		t.Errorf("after a restart eve is told %q", got)
	}
	if err := admin.Unban(ctx, target(t, "192.0.2.0/24")); err != nil {
		t.Error(err)
	}
	srv.from("192.0.2.7").Register("eve", "#tea")
	if err := admin.Unban(ctx, target(t, "192.0.2.0/24")); err == nil {
		t.Error("a ban is removed twice")
	}
	if strings.Contains(srv.said.String(), "ban added") {
		t.Error("the log says at the start what was done before")
	}
}

// proxied is behindProxies with a folder.
func proxied(t *testing.T, folder string, change func(*Config)) *instance {
	t.Helper()
	return open(t, folder, func(c *Config) {
		c.Plain, c.Proxies = nil, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"),
			netip.MustParsePrefix("10.0.0.0/8")}
		c.Proxied, c.ProxiedWeb = []string{"127.0.0.1:0"}, []string{"127.0.0.1:0"}
		change(c)
	})
}

func target(t *testing.T, word string) bans.Target {
	t.Helper()
	one, err := bans.Parse(word)
	if err != nil {
		t.Fatal(err)
	}
	return one
}

func await(t *testing.T, from <-chan string, want string) {
	t.Helper()
	select {
	case got := <-from:
		if got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	case <-time.After(patience):
		t.Fatalf("nobody says %q", want)
	}
}

// TestProxiesAndThisMachineAreNotBanned: neither a ban of a proxy's address nor one of a network
// around it keeps its clients out.
func TestProxiesAndThisMachineAreNotBanned(t *testing.T) {
	admin := &Admin{}
	srv := proxied(t, t.TempDir(), func(c *Config) { c.Accounts, c.Admin = staff{}, admin })
	if err := admin.Ban(t.Context(), target(t, "10.1.2.3"), 0, "test", ""); err == nil {
		t.Error("a proxy is banned")
	}
	for _, network := range []string{"10.0.0.0/7", "126.0.0.0/7", "0.0.0.0/1"} {
		if err := admin.Ban(t.Context(), target(t, network), 0, "test", ""); err != nil {
			t.Errorf("%s: %v", network, err)
		}
	}
	srv.from("127.0.0.1").Register("here")
	srv.from("10.9.9.9").Register("proxy")
	if got := last(srv.from("11.1.1.1")); !strings.HasPrefix(got, "ERROR :You are banned") {
		t.Errorf("beside the proxies: %q", got)
	}
	if list, err := admin.Bans(t.Context()); err != nil || len(list) != 3 || admin.BanCount() != 3 {
		t.Errorf("the bans are %v, %v", list, err)
	}
}

// TestBansAreCounted: each connection that a ban has refused or ended is counted once, whatever the
// ban is for.
func TestBansAreCounted(t *testing.T) {
	var counted atomic.Int64
	admin := &Admin{}
	srv := proxied(t, t.TempDir(), func(c *Config) {
		c.Accounts, c.Admin = staff{}, admin
		c.Metrics.Banned = func() { counted.Add(1) }
	})
	ann := login(srv.from("127.0.0.1"), "ann", "ann")
	gil, eve := srv.from("127.0.0.1").Register("gil"), srv.from("192.0.2.7").Register("eve")
	half := srv.from("192.0.2.8")
	half.Send("CAP LS 302")
	half.Expect(" CAP * LS ") // it has come, and will not register
	enter := func(nick string) *irctest.Client {
		c := srv.from("127.0.0.1")
		c.Send("NICK %s\r\nUSER %s 0 * :%s", nick, nick, nick)
		return c
	}
	for _, test := range []struct {
		target string
		ends   func() []*irctest.Client
	}{
		{"ann", func() []*irctest.Client { return []*irctest.Client{ann} }},
		{"g?l!*@*", func() []*irctest.Client { return []*irctest.Client{gil, enter("gul")} }},
		{"192.0.2.0/24", func() []*irctest.Client {
			return []*irctest.Client{eve, half, srv.from("192.0.2.9")}
		}},
	} {
		before := counted.Load()
		if err := admin.Ban(t.Context(), target(t, test.target), 0, "test", ""); err != nil {
			t.Fatal(err)
		}
		all := test.ends()
		for _, c := range all {
			c.ExpectEnd()
		}
		if got := counted.Load() - before; got != int64(len(all)) {
			t.Errorf("%s: %d are counted, want %d", test.target, got, len(all))
		}
	}
	if err := admin.Order(t.Context(), hall.AddBan, "*", "0", "test", ""); err == nil {
		t.Error("a ban that the hall has refused is told as done")
	}
}

// TestBansReachAllServers: a ban on one server ends the clients of the other, and an account's ban
// that of all sessions. It ends without a restart.
func TestBansReachAllServers(t *testing.T) {
	url := startNATS(t)
	var at [2]*member
	for n := range at {
		at[n] = &member{name: fmt.Sprintf("s%d", n), folder: t.TempDir(), accounts: staff{}}
		at[n].begin(t, url, nil)
	}
	root := login(irctest.Dial(t, at[0].at), "root", "root", "#tea")
	ann := login(irctest.Dial(t, at[1].at), "ann", "ann", "#tea")
	phone := login(irctest.Dial(t, at[0].at), "ann", "ann")
	gil := irctest.Dial(t, at[1].at).Register("gil", "#tea")
	root.Send("UBAN ADD ANN DURATION 1s :spam")
	root.Send("UBAN ADD g?l!*@* :bad name")
	for name, c := range map[string]*irctest.Client{"ann": ann, "phone": phone, "gil": gil} {
		if got := last(c); !strings.HasPrefix(got, "ERROR :You are banned from this server") {
			t.Errorf("%s is told %q", name, got)
		}
	}
	again := irctest.Dial(t, at[1].at)
	again.Send("NICK GIL\r\nUSER gil 0 * :gil")
	again.Expect(" 465 GIL :You are banned from this server: bad name")
	again.ExpectEnd()
	refused := 0
	for start, in := time.Now(), false; !in; { // the ban of ann lasts for a second
		c := irctest.Dial(t, at[1].at)
		c.Send("CAP REQ :sasl\r\nNICK ann\r\nUSER ann 0 * :ann\r\nAUTHENTICATE PLAIN\r\n"+
			"AUTHENTICATE %s", plainWord("ann", "the kettle is on"))
		c.Expect(" 903 ")
		c.Send("CAP END")
		lines := c.ExpectFunc("422 or 465", func(l string) bool {
			return strings.Contains(l, " 422 ") || strings.Contains(l, " 465 ")
		})
		in = strings.Contains(lines[len(lines)-1], " 422 ")
		refused++
		if time.Since(start) > patience {
			t.Fatalf("the ban has not ended: it has refused ann %d times", refused)
		}
	}
	root.Send("NAMES #tea")
	if got := root.ExpectLine(" 353 "); strings.Contains(got, "ann") {
		t.Errorf("ann is still in the room: %s", got)
	}
	for _, m := range at {
		if err := m.end(t); err != nil {
			t.Error(err)
		}
	}
}
