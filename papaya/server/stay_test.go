package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/coder/websocket"

	"interleave/internal/irctest"
	"interleave/papaya/hall"
)

// A tokenBook implements Stay, and has one token for each name of an account: "papaya-ann". Its
// hash begins with the name, and fills 12 characters with it: "ann0000000000…".
type tokenBook struct {
	everybody
	ownBook
	mu    sync.Mutex
	ended map[string]bool // by token
	said  []string
}

func tokenHash(name string) string { return name + strings.Repeat("0", 64-len(name)) }

func (b *tokenBook) note(words ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, strings.Join(words, " "))
}

func (b *tokenBook) isOver(token string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended[token]
}

func (b *tokenBook) Begin(_ context.Context, name, password, device, former string,
	from net.Addr) (string, error) {
	b.note("begin", name, device, former, from.String())
	switch {
	case password != "the kettle is on":
		return "", ErrNotYours
	case name == "many":
		return "", fullBook{}
	case name == "broken":
		return "", context.DeadlineExceeded
	}
	return "papaya-" + name, nil
}

// fullBook is the error of an account that gets no token.
type fullBook struct{}

func (fullBook) Error() string        { return "20 tokens, end some" }
func (fullBook) Is(target error) bool { return target == ErrNoToken }

func (b *tokenBook) Enter(_ context.Context, token, name string, _ net.Addr) (Person, error) {
	account, ok := strings.CutPrefix(token, "papaya-")
	if !ok || b.isOver(token) || name != "" && name != account {
		return Person{}, ErrNotYours
	}
	return Person{Account: account, Role: hall.Admin, Token: tokenHash(account)}, nil
}

// Verify takes tokens, too.
func (b *tokenBook) Verify(ctx context.Context, name, password string,
	from net.Addr) (Person, error) {
	if strings.HasPrefix(password, "papaya-") {
		return b.Enter(ctx, password, name, from)
	}
	return b.everybody.Verify(ctx, name, password, from)
}

func (b *tokenBook) Use(_ context.Context, hash string) error {
	if b.isOver("papaya-" + strings.TrimRight(hash, "0")) {
		return ErrNotYours
	}
	return nil
}

func (b *tokenBook) End(_ context.Context, token string, _ net.Addr) error {
	b.note("end", token)
	return nil
}

func (b *tokenBook) Life() time.Duration { return time.Hour }

// AddToken makes a token that stays.
func (b *tokenBook) AddToken(_ context.Context, who Owner, device,
	password string) (secret, hash string, err error) {
	if password != "the kettle is on" {
		return "", "", errMine
	}
	b.note("add", device)
	return "papaya-" + who.Account, tokenHash(who.Account), nil
}

// SetPassword ends the tokens, and all are told before it returns.
func (b *tokenBook) SetPassword(ctx context.Context, who Owner, old, fresh string) error {
	if err := b.ownBook.SetPassword(ctx, who, old, fresh); err != nil {
		return err
	}
	return b.admin.Order(ctx, hall.EndTokens, who.Account, tokenHash(who.Account)[:12], SignedOut)
}

// stayPlace is a server behind a proxy that ends TLS.
func stayPlace(t *testing.T, change func(*Config)) (*instance, *tokenBook, *Admin) {
	t.Helper()
	admin := &Admin{}
	book := &tokenBook{ownBook: ownBook{admin: admin}, ended: map[string]bool{}}
	return behindProxies(t, func(c *Config) {
		c.Accounts, c.Own, c.Stay, c.Admin = book, book, book, admin
		c.Origins = []string{"friends.example"}
		if change != nil {
			change(c)
		}
	}), book, admin
}

// A reply is what the server says beside the body.
type reply struct {
	StatusCode int
	Header     http.Header
}

const basicAnn = "Basic YW5uOnRoZSBrZXR0bGUgaXMgb24=" // ann:the kettle is on

// TestStay: only the server's own page gets a cookie for a password, and only over TLS. No script
// and no other host can read or send the cookie.
func TestStay(t *testing.T) {
	for _, base := range []string{"", "/chat"} {
		srv, book, _ := stayPlace(t, func(c *Config) { c.Base = base })
		own := "https://" + srv.at[1]
		ask := func(method string, header ...string) (reply, string) {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), method, "http://"+srv.at[1]+base+
				"/stay", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(header); i += 2 {
				r.Header.Add(header[i], header[i+1])
			}
			r.Header.Set("X-Forwarded-For", "192.0.2.9")
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			return reply{answer.StatusCode, answer.Header}, string(body)
		}
		const safe = "X-Forwarded-Proto"
		for _, test := range []struct {
			method string
			header []string
			want   int
		}{
			{"POST", []string{"Origin", own, "Authorization", basicAnn}, 403}, // without TLS
			{"POST", []string{safe, "https", "Authorization", basicAnn}, 403},
			{"POST", []string{safe, "https", "Origin", "https://friends.example",
				"Authorization", basicAnn}, 403},
			{"POST", []string{safe, "https", "Origin", "http://" + srv.at[1],
				"Authorization", basicAnn}, 403},
			{"POST", []string{safe, "https", "Origin", own + "0", "Authorization", basicAnn}, 403},
			{"POST", []string{safe, "https", "Origin", "null", "Authorization", basicAnn}, 403},
			{"POST", []string{safe, "https", "Origin", own}, 401},
			{"POST", []string{safe, "https", "Origin", own,
				"Authorization", "Basic YW5uOng="}, 401}, // ann:x
			{"POST", []string{safe, "https", "Origin", own,
				"Authorization", "Basic bWFueTp0aGUga2V0dGxlIGlzIG9u"}, 409}, // many
			{"POST", []string{safe, "https", "Origin", own,
				"Authorization", "Basic YnJva2VuOnRoZSBrZXR0bGUgaXMgb24="}, 503}, // broken
			{"GET", []string{safe, "https", "Origin", own}, 405},
			{"DELETE", []string{safe, "https"}, 403},
			{"DELETE", []string{safe, "https", "Origin", "https://friends.example"}, 403},
		} {
			answer, body := ask(test.method, test.header...)
			if answer.StatusCode != test.want || !strings.Contains(body, `"error":"`) ||
				answer.Header.Get("Set-Cookie") != "" ||
				answer.Header.Get("WWW-Authenticate") != "" ||
				answer.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %q: %d %s %v, want %d", test.method, test.header, answer.StatusCode,
					body, answer.Header, test.want)
			}
		}
		if said := srv.said.String(); strings.Contains(said, "kettle") ||
			!strings.Contains(said, "a device could not be signed in or out") {
			t.Errorf("the log is\n%s", said)
		}
		answer, _ := ask("POST", safe, "https", "Origin", own, "Authorization", basicAnn,
			"User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
		name, path := "__Host-papaya", "/"
		if base != "" {
			name, path = "__Secure-papaya", "/chat/"
		}
		if got, want := answer.Header.Get("Set-Cookie"), name+"=papaya-ann; Path="+path+
			"; Max-Age=3600; HttpOnly; Secure; SameSite=Strict"; answer.StatusCode != 204 ||
			got != want || answer.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%d, the cookie is %q, want %q", answer.StatusCode, got, want)
		}
		ask("POST", safe, "https", "Origin", own, "Authorization", basicAnn,
			"Cookie", name+"=papaya-former")
		answer, _ = ask("DELETE", safe, "https", "Origin", own, "Cookie", name+"=papaya-ann")
		if got := answer.Header.Get("Set-Cookie"); answer.StatusCode != 204 ||
			!strings.HasPrefix(got, name+"=; Path="+path+"; Max-Age=0;") {
			t.Errorf("%d, the cookie is removed by %q", answer.StatusCode, got)
		}
		said := strings.Join(book.said[len(book.said)-3:], "\n")
		if !strings.HasPrefix(said, "begin ann Firefox on Linux  192.0.2.9:0\nbegin ann a browser "+
			"papaya-former 192.0.2.9:0\nend papaya-ann") {
			t.Errorf("the book is told\n%s", said)
		}
	}
}

// opened opens a WebSocket behind the proxy, with headers beside those of the proxy, and returns
// the cookie that it gets.
func opened(ctx context.Context, t *testing.T, srv *instance, header ...string) (f *frames,
	cookie string) {
	t.Helper()
	h := http.Header{"X-Forwarded-For": {"192.0.2.9"}, "X-Forwarded-Proto": {"https"}}
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	ws, answer, err := websocket.Dial(ctx, "ws://"+srv.at[1]+"/socket", //nolint:bodyclose // Dial closes it
		&websocket.DialOptions{Subprotocols: []string{textProtocol}, HTTPHeader: h})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	return &frames{t, ctx, ws}, answer.Header.Get("Set-Cookie")
}

// external logs in by EXTERNAL, and registers.
func (f *frames) external(name string) {
	f.t.Helper()
	f.say("CAP REQ :sasl", "NICK "+name, "USER "+name+" 0 * :"+name, "AUTHENTICATE EXTERNAL",
		"AUTHENTICATE +")
	f.hear(" 903 ")
	f.say("CAP END")
	f.hear(" 422 ")
}

// TestCookieSignsIn: the server's own page logs in by its cookie. A WebSocket of any other page
// gets nothing by it, whether it may be opened or not.
func TestCookieSignsIn(t *testing.T) {
	srv, _, _ := stayPlace(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	own, cookie := "https://"+srv.at[1], "__Host-papaya=papaya-ann"
	f, set := opened(ctx, t, srv, "Origin", own, "Cookie", "a=b; "+cookie)
	if !strings.HasPrefix(set, cookie+"; Path=/; Max-Age") {
		t.Errorf("the cookie is not renewed: %q", set)
	}
	f.external("ann")
	f.say("WHOIS ann")
	f.hear(" 330 ann ann ann ") // RPL_WHOISACCOUNT
	for what, header := range map[string][]string{
		"another page that may open it": {"Origin", "https://friends.example", "Cookie", cookie},
		"no page":                       {"Cookie", cookie},
		"the page without TLS":          {"Origin", "http://" + srv.at[1], "Cookie", cookie},
		"no cookie":                     {"Origin", own},
		"a cookie below a path":         {"Origin", own, "Cookie", "__Secure-papaya=papaya-ann"},
		"two cookies":                   {"Origin", own, "Cookie", cookie + "; __Host-papaya=x"},
		"a cookie with other letters":   {"Origin", own, "Cookie", "__Host-papaya=papaya_ann"},
		"a wrong token":                 {"Origin", own, "Cookie", "__Host-papaya=guess"},
	} {
		f, set := opened(ctx, t, srv, header...)
		f.say("CAP REQ :sasl", "AUTHENTICATE EXTERNAL", "AUTHENTICATE +")
		if got := f.hear(" 90"); !strings.Contains(got, " 904 ") {
			t.Errorf("%s: %s", what, got)
		}
		if set != "" && what != "a wrong token" {
			t.Errorf("%s: the server sets %q", what, set)
		}
	}
	f, _ = opened(ctx, t, srv, "Origin", own, "Cookie", cookie)
	f.say("CAP REQ :sasl", "AUTHENTICATE EXTERNAL", "AUTHENTICATE Ym9i") // bob
	f.hear(" 904 ")
	f.say("AUTHENTICATE EXTERNAL", "AUTHENTICATE YW5u") // ann
	f.hear(" 903 ")
}

// TestTokenEndsItsSessions: the order that a token has ended ends its sessions, registered or not,
// and no others. Without the order, the server finds out by itself.
func TestTokenEndsItsSessions(t *testing.T) {
	srv, book, admin := stayPlace(t, func(c *Config) { c.Limits.Tokens = time.Millisecond })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	page := func(name string) *frames {
		f, _ := opened(ctx, t, srv, "Origin", "https://"+srv.at[1], "Cookie",
			"__Host-papaya=papaya-"+name)
		return f
	}
	ann, again, bob, half := page("ann"), page("ann"), page("bob"), page("ann")
	ann.external("ann")
	again.external("ann")
	bob.external("bob")
	half.say("CAP REQ :sasl", "AUTHENTICATE EXTERNAL", "AUTHENTICATE +")
	half.hear(" 903 ")
	laptop, _ := opened(ctx, t, srv)
	laptop.say("CAP REQ :sasl", "NICK ann", "USER ann 0 * :ann", "AUTHENTICATE PLAIN",
		"AUTHENTICATE "+plainWord("ann", "the kettle is on"))
	laptop.hear(" 903 ")
	laptop.say("CAP END")
	laptop.hear(" 422 ")
	if err := admin.Order(ctx, hall.EndTokens, "ann", "x,"+tokenHash("ann")[:12],
		SignedOut); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*frames{ann, again, half} {
		f.hear("ERROR :" + SignedOut)
		f.closed()
	}
	laptop.say("PING :still here")
	laptop.hear("still here")
	bob.say("PING :still here")
	bob.hear("still here")
	book.mu.Lock()
	book.ended["papaya-bob"] = true
	book.mu.Unlock()
	bob.hear("ERROR :" + SignedOut)
	laptop.say("PING :still here, too")
	laptop.hear("still here, too")
}

// TestTokenEndsOnTwoServers: the server that has ended a token is not the one of its session.
func TestTokenEndsOnTwoServers(t *testing.T) {
	url, admin := startNATS(t), &Admin{}
	book := &tokenBook{ownBook: ownBook{admin: admin}, ended: map[string]bool{}}
	var at [2]*member
	for n := range at {
		at[n] = &member{name: fmt.Sprintf("s%d", n), folder: t.TempDir(), accounts: book,
			change: func(c *Config) {
				if c.Stay = book; n == 0 {
					c.Admin = admin
				}
			}}
		at[n].begin(t, url, nil)
	}
	laptop, phone := login(irctest.Dial(t, at[1].at), "ann", "ann"), irctest.Dial(t, at[1].at)
	phone.Send("CAP REQ :sasl\r\nNICK ann\r\nUSER ann 0 * :ann\r\nAUTHENTICATE PLAIN\r\n"+
		"AUTHENTICATE %s", plainWord("ann", "papaya-ann"))
	phone.Expect(" 903 ")
	phone.Send("CAP END")
	phone.Expect(" 422 ")
	if err := admin.Order(t.Context(), hall.EndTokens, "ann", tokenHash("ann")[:12],
		SignedOut); err != nil {
		t.Fatal(err)
	}
	lines := phone.ExpectEnd()
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "ERROR :"+SignedOut) {
		t.Errorf("the phone is told %q", last)
	}
	laptop.Send("PING still")
	laptop.Expect("PONG chat :still")
	for _, m := range at {
		if err := m.end(t); err != nil {
			t.Error(err)
		}
	}
}

// TestWhatTokensMayNotDo: OPER wants the password. The session that changes the password by it is
// one of the token no more, so it goes on when the tokens end; and after a wrong one it still is.
func TestWhatTokensMayNotDo(t *testing.T) {
	srv, book, admin := stayPlace(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	f, _ := opened(ctx, t, srv, "Origin", "https://"+srv.at[1], "Cookie",
		"__Host-papaya=papaya-ann")
	f.external("ann")
	f.say("OPER ann papaya-ann")
	f.hear(" 464 ann :OPER needs the password, not a token")
	f.say("OPER ann :the kettle is on")
	f.hear(" 491 ") // ann is no operator, but a token is not the reason
	f.say(`NS :PASSWD wrong "another one"`)
	f.hear("Not done: the old password is wrong")
	f.say(`NS :TOKEN ADD "my phone" wrong`)
	f.hear("Not done: ")
	f.say(`NS :TOKEN ADD "my phone" "the kettle is on"`)
	f.hear("new token papaya-ann")
	f.say(`NS :PASSWD "the kettle is on" "another one"`)
	f.hear("The password is changed.")
	f.say("PING :still here")
	f.hear("still here")
	if err := admin.Order(ctx, hall.EndTokens, "ann", tokenHash("ann")[:12], "x"); err != nil {
		t.Fatal(err)
	}
	f.say(`NS :TOKEN STAY "my phone" "the kettle is on"`)
	f.hear("new token papaya-ann")
	f.say(`NS :PASSWD wrong "another one"`)
	f.hear("Not done: the old password is wrong")
	if err := admin.Order(ctx, hall.EndTokens, "ann", tokenHash("ann")[:12],
		SignedOut); err != nil {
		t.Fatal(err)
	}
	f.hear("ERROR :" + SignedOut)
	if said := strings.Join(book.said, "\n"); said != "add my phone\nadd my phone" {
		t.Errorf("the book is told\n%s", said)
	}
}

func TestDeviceOf(t *testing.T) {
	for agent, want := range map[string]string{
		"": "a browser", "curl/8.5.0": "a browser",
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 " +
			"Firefox/140.0": "Firefox on Linux",
		"Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) " +
			"Chrome/138.0.0.0 Mobile Safari/537.36": "Chrome on Android",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, " +
			"like Gecko) Version/18.5 Mobile/15E148 Safari/604.1": "Safari on iPhone",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) " +
			"Chrome/138.0.0.0 Safari/537.36 Edg/138.0.0.0": "Edge on Windows",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like " +
			"Gecko) Version/18.5 Safari/605.1.15": "Safari on macOS",
		"Firefox/\r\nSet-Cookie: x Linux": "Firefox on Linux",
	} {
		if got := deviceOf(agent); got != want {
			t.Errorf("%q is %q, want %q", agent, got, want)
		}
	}
}

func FuzzDeviceOf(f *testing.F) {
	for _, s := range []string{"", "Firefox/ Linux", "\xff\x00", strings.Repeat("Safari/", 1000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, agent string) {
		name := deviceOf(agent)
		if name == "" || len(name) > 40 || strings.ContainsFunc(name, func(r rune) bool {
			return r != ' ' && !unicode.IsLetter(r)
		}) {
			t.Errorf("%q is %q", agent, name)
		}
	})
}
