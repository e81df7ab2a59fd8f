package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/internal/irctest"
)

// signedIn connects a session with an account.
func signedIn(t *testing.T, s *Session) string {
	t.Helper()
	s.Opened()
	hear(t, s, ":x CAP * LS :sasl", ":x CAP * ACK :sasl", "AUTHENTICATE +",
		":x 900 * * ann :logged in", ":x 903 * :successful", ":x 001 ann :hello")
	return hear(t, s, ":x 422 ann :no MOTD")
}

const notice = ":NickServ!NickServ@x NOTICE ann :"

const fresh = "papaya-ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZ"

func TestStay(t *testing.T) {
	var stored []string
	s := newSession(Settings{Account: "ann", Password: `the "kettle" \ is on`, Device: "laptop",
		Former: "0a0a", Keep: func(token string) error {
			stored = append(stored, token)
			return nil
		}})
	wants(t, signedIn(t, s), `NS :TOKEN STAY "laptop" "the \"kettle\" \\ is on"`+"\n")
	// Nobody else is believed, and what is no token is not stored.
	hear(t, s, ":bob!bob@x NOTICE ann :"+newToken+"bobs", ":NickServ!n@evil NOTICE ann :"+newToken+
		"evils", ":NickServ!NickServ@x NOTICE ann :"+newToken+"two words",
		":NickServ!NickServ@x NOTICE ann :"+newToken)
	if stored != nil {
		t.Fatalf("stored %q", stored)
	}
	wants(t, hear(t, s, ":NickServ!NickServ@x NOTICE ann :"+newToken+fresh,
		":NickServ!NickServ@x NOTICE ann :"+aboutToken+", and is not shown again."),
		"NS :TOKEN DEL 0a0a\n")
	if len(stored) != 1 || stored[0] != fresh {
		t.Errorf("stored %q", stored)
	}
	if all := shown(s.active); strings.Contains(all, fresh) || !strings.Contains(all,
		"stays signed in") || strings.Contains(all, aboutToken) {
		t.Errorf("shown is\n%s", all)
	}
	// The next connection uses the token, and asks for none.
	s.Lost()
	s.Opened()
	hear(t, s, ":x CAP * LS :sasl", ":x CAP * ACK :sasl")
	wants(t, hear(t, s, "AUTHENTICATE +"), "AUTHENTICATE "+plainOf("ann", fresh)+"\n")
	if got := hear(t, s, ":x 903 * :successful", ":x 001 ann :hello",
		":x 422 ann :no MOTD"); strings.Contains(got, "TOKEN") {
		t.Errorf("asked again: %s", got)
	}
}

// TestStayIsRefused: the session goes on without a token, by the password.
func TestStayIsRefused(t *testing.T) {
	for why, keep := range map[string]func(string) error{
		"20 tokens":       nil,
		"no space on ...": func(string) error { return errors.New("no space on ...") },
	} {
		s := newSession(Settings{Account: "ann", Password: "the kettle is on", Device: "laptop",
			Keep: func(token string) error {
				if keep == nil {
					t.Error("nothing is to be stored")
					return nil
				}
				return keep(token)
			}})
		signedIn(t, s)
		answer := newToken + fresh
		if keep == nil {
			answer = notDone + why
		}
		hear(t, s, ":NickServ!NickServ@x NOTICE ann :"+answer)
		if all := shown(s.active); !strings.Contains(all, why) || strings.Contains(all, fresh) {
			t.Errorf("%s: shown is\n%s", why, all)
		}
		if s.settings.Password != "the kettle is on" {
			t.Errorf("%s: the password is lost", why)
		}
	}
}

func plainOf(account, password string) string {
	s := New(Settings{Account: account, Password: password})
	s.authenticate()
	return s.Out()[0].Params[0]
}

// TestSignOut: the server is asked to end the token, and its end of the session is the answer.
func TestSignOut(t *testing.T) {
	for what, test := range map[string]struct {
		says, ends string // the server's answers to AUTHENTICATE, and to the end of the token
		want       string
	}{
		"signed out":    {":x 903 * :successful", "ERROR :Signed out", ""},
		"and told":      {":x 903 * :successful", notice + "1 tokens ended.", ""},
		"a wrong token": {":x 904 * :wrong name or password", "", "wrong name or password"},
		"a lost server": {"", "", "the connection was lost"},
		"a full disk": {":x 903 * :successful", notice + "That cannot be done at the moment.",
			"cannot be done"},
		"another server": {":x 903 * :successful", ":x 421 ann NS :Unknown command",
			"knows no tokens"},
	} {
		ended := make(chan struct{})
		dial := func(context.Context) (net.Conn, error) {
			here, there := net.Pipe()
			go func() {
				defer close(ended)
				c := irctest.NewConn(there)
				defer there.Close()
				for _, step := range [][2]string{{"CAP LS", ":x CAP * LS :sasl"},
					{"CAP REQ", ":x CAP * ACK :sasl"}, {"AUTHENTICATE PLAIN", "AUTHENTICATE +"},
					{plainOf("ann", fresh), test.says},
					{"CAP END", ":x 001 ann :hello\r\n:x 422 ann :no MOTD"},
					{"NS :TOKEN DEL HERE", test.ends}} {
					if _, err := c.Await(func(l string) bool {
						return strings.Contains(l, step[0])
					}); err != nil || step[1] == "" {
						return
					}
					if _, err := fmt.Fprintf(there, "%s\r\n", step[1]); err != nil {
						return
					}
				}
			}()
			return here, nil
		}
		err := SignOut(t.Context(), dial, "ann", fresh)
		if got := fmt.Sprint(err); (err == nil) != (test.want == "") ||
			err != nil && !strings.Contains(got, test.want) {
			t.Errorf("%s: %v, want %q", what, err, test.want)
		}
		<-ended
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := SignOut(ctx, func(ctx context.Context) (net.Conn, error) {
		return nil, ctx.Err()
	}, "ann", fresh); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "tokens")
	f := TokenFile{path}
	if _, ok, err := f.Find("a:1", ""); ok || err != nil {
		t.Errorf("without a file: %v, %v", ok, err)
	}
	for _, k := range []Kept{{"a:1", "ann", "one"}, {"a:1", "bob", "two"}, {"b:1", "ann", "three"},
		{"a:1", "ANN", "four"}} {
		if err := f.Put(k); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode: %v, %v", info.Mode(), err)
	}
	for _, test := range []struct{ addr, account, want string }{
		{"a:1", "ann", "four"}, {"a:1", "Bob", "two"}, {"b:1", "", "three"}, {"a:1", "", ""},
		{"c:1", "ann", ""}, {"b:1", "bob", ""},
	} {
		one, ok, err := f.Find(test.addr, test.account)
		if one.Token != test.want || ok != (test.want != "") || err != nil {
			t.Errorf("%+v: %+v, %v, %v", test, one, ok, err)
		}
	}
	if err := f.Remove(Kept{Addr: "a:1", Account: "ann"}); err != nil {
		t.Error(err)
	}
	if one, ok, err := f.Find("a:1", ""); one.Token != "two" || !ok || err != nil {
		t.Errorf("bob's: %+v, %v, %v", one, ok, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left over: %v, %v", entries, err)
	}
	// A file that others may read is not used, and its text is in no error.
	for text, change := range map[string]func() error{
		"chmod 600": func() error { return os.Chmod(path, 0o640) },
		"line 2": func() error {
			return os.WriteFile(path, []byte("a:1 ann secret-1\nsecret-2 ann\n"), 0o600)
		},
	} {
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o600),
			change()); err != nil {
			t.Fatal(err)
		}
		_, _, err := f.Find("a:1", "ann")
		if err == nil || !strings.Contains(err.Error(), text) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
		if err := f.Put(Kept{"a:1", "eve", "x"}); err == nil {
			t.Errorf("%s: it was written", text)
		}
	}
}

func FuzzParseTokens(f *testing.F) {
	for _, s := range []string{"", "a:1 ann token\n", "\n\n[::1]:6697 a b\r\n", "a b", "a b \xff",
		"a b " + strings.Repeat("x", 200), "a\u00a0b c d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseTokens(text)
		if err != nil {
			return
		}
		var again strings.Builder
		for _, k := range list {
			if !isWord(k.Token) || k.Addr == "" || k.Account == "" {
				t.Errorf("%q: %+v", text, k)
			}
			fmt.Fprintln(&again, k.Addr, k.Account, k.Token)
		}
		if got, err := parseTokens(again.String()); err != nil || fmt.Sprint(got) !=
			fmt.Sprint(list) {
			t.Errorf("%q: %v, then %v, %v", text, list, got, err)
		}
	})
}
