package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/hall"
	"interleave/papaya/metrics"
)

const password = "the kettle is on"

// start runs a server on a folder until the test ends, and returns a client.
func start(t *testing.T, folder string, s *Server) *Client {
	t.Helper()
	l, err := Listen(folder)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	c, err := Dial(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAccounts(t *testing.T) {
	var said bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	// The folder's path is longer than a socket's path may be.
	folder := filepath.Join(t.TempDir(), strings.Repeat("a long name ", 10))
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	c := start(t, folder, &Server{Accounts: account.Open(&account.Memory{}), Logger: logger})
	if info, err := os.Stat(filepath.Join(folder, socketName)); err != nil ||
		info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	ctx, print := t.Context(), strings.Repeat("0a", 32)
	for i, err := range []error{
		c.Add(ctx, "ann", account.Admin, account.NewSecret(password)),
		c.SetPassword(ctx, "ann", account.NewSecret(password+"!")),
		c.Add(ctx, "bob", account.Member, account.Secret{}),
		c.SetRole(ctx, "bob", account.Operator),
		c.AddCertificate(ctx, "bob", print),
		c.AddCertificate(ctx, "ann", strings.Repeat("0b", 32)),
		c.RemoveCertificate(ctx, "ann", strings.Repeat("0b", 32)),
		c.Add(ctx, "eve", account.Member, account.Secret{}),
		c.Rename(ctx, "bob", "Bob"),
		c.Remove(ctx, "eve"),
	} {
		if err != nil {
			t.Errorf("step %d: %v", i, err)
		}
	}
	list, err := c.List(ctx)
	got := ""
	for _, a := range list {
		got += fmt.Sprintln(a.Name, a.Role, a.HasPassword, a.Certificates)
	}
	if want := fmt.Sprintf("ann admin true []\nBob operator false [%s]\n", print); err != nil ||
		got != want {
		t.Errorf("the list: %s, %v; want %s", got, err, want)
	}
	token, i, err := c.Invite(ctx, "ann", account.Member, time.Hour)
	if err != nil || len(token.Reveal()) != 26 || i.By != "ann" {
		t.Errorf("an invitation: %d, %+v, %v", len(token.Reveal()), i, err)
	}
	if open, err := c.Invitations(ctx); err != nil || len(open) != 1 || open[0].ID != i.ID {
		t.Errorf("the open ones: %v, %v", open, err)
	}
	if err := c.TakeBack(ctx, i.ID); err != nil {
		t.Error(err)
	}
	if err := c.Add(ctx, "ann", account.Member, account.Secret{}); err == nil ||
		err.Error() != "account ann: the account exists already" {
		t.Errorf("ann again: %v", err)
	}
	if out := said.String(); strings.Contains(out, password) ||
		strings.Contains(out, token.Reveal()) ||
		!strings.Contains(out, `"verb":"add","account":"ann"`) {
		t.Errorf("the log has secrets, or not what was done: %s", out)
	}
}

func TestTheRest(t *testing.T) {
	var figures metrics.Set
	figures.Counter("papaya_things_total", "Things.").Add(3)
	fail := false
	c := start(t, t.TempDir(), &Server{
		Metrics: &figures,
		Logger:  slog.New(slog.DiscardHandler),
		Reload: func() (Reloaded, error) {
			if fail {
				return Reloaded{}, errors.New("papaya.toml:1: wrong")
			}
			return Reloaded{Live: []string{"server.motd"}, Later: []string{"server.name"}}, nil
		},
		Backup: func(_ context.Context, w io.Writer) error {
			if _, err := io.WriteString(w, "a backup"); err != nil || !fail {
				return err
			}
			return errors.New("backup: disk\nfull")
		},
	})
	ctx := t.Context()
	var b strings.Builder
	if err := c.Metrics(ctx, &b); err != nil ||
		!strings.Contains(b.String(), "papaya_things_total 3\n") {
		t.Errorf("metrics: %q, %v", b.String(), err)
	}
	b.Reset()
	if err := c.Backup(ctx, &b); err != nil || b.String() != "a backup" {
		t.Errorf("backup: %q, %v", b.String(), err)
	}
	if r, err := c.Reload(ctx); err != nil || fmt.Sprint(r) != "{[server.motd] [server.name]}" {
		t.Errorf("reload: %v, %v", r, err)
	}
	if _, err := c.List(ctx); err == nil || err.Error() != "this server has no accounts" {
		t.Errorf("no accounts: %v", err)
	}
	fail = true
	if err := c.Backup(ctx, &b); err == nil || err.Error() != "backup: disk; full" {
		t.Errorf("a backup that fails in the middle: %v", err)
	}
	if _, err := c.Reload(ctx); err == nil || err.Error() != "papaya.toml:1: wrong" {
		t.Errorf("a wrong file: %v", err)
	}
}

func TestNobody(t *testing.T) {
	folder := t.TempDir()
	if _, err := Dial(t.Context(), folder); !errors.Is(err, ErrNobody) {
		t.Errorf("no socket: %v", err)
	}
	l, err := Listen(folder)
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // as a killed server leaves it
	if _, err := Dial(t.Context(), folder); !errors.Is(err, ErrNobody) {
		t.Errorf("a dead socket: %v", err)
	}
	again, err := Listen(folder)
	if err != nil {
		t.Fatalf("after it: %v", err)
	}
	again.Close()
}

// TestWrongRequests: the answers to wrong requests do not repeat what was in them.
func TestWrongRequests(t *testing.T) {
	s := &Server{Accounts: account.Open(&account.Memory{}), Logger: slog.New(slog.DiscardHandler)}
	for _, test := range []struct{ path, body, want string }{
		{"/accounts/add", `{"name":"ann","passwort":"hunter2"}`, "not a request"},
		{"/accounts/add", `{"password": hunter2}`, "not a request"},
		{"/accounts/add", "", "not a request"},
		{"/accounts/add", `{"name":"` + strings.Repeat("x", maxRequest) + `"}`, "not a request"},
		{"/accounts/king", `{}`, `no verb \"king\"`},
		{"/reload", `{}`, "without a file of settings"},
		{"/nothing", `{}`, "404"},
	} {
		w := httptest.NewRecorder()
		s.handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, test.path,
			strings.NewReader(test.body)))
		if got := w.Body.String(); !strings.Contains(got, test.want) ||
			strings.Contains(got, "hunter2") {
			t.Errorf("%s %.40s: %s", test.path, test.body, got)
		}
	}
}

// chat records the orders.
type chat struct{ orders []string }

func (c *chat) Sessions(context.Context) ([]hall.Session, error) {
	return []hall.Session{{Nick: "Ann", Account: "ann", Rooms: []string{"#tea"}}}, nil
}

func (c *chat) Rooms(context.Context) ([]hall.Room, error) {
	return []hall.Room{{Name: "#tea", Here: 1}}, nil
}

func (c *chat) Order(_ context.Context, verb string, words ...string) error {
	c.orders = append(c.orders, verb+" "+strings.Join(words, ","))
	return nil
}

func TestChat(t *testing.T) {
	there, erased, removed := &chat{}, "", 0
	book := account.Open(&account.Memory{})
	c := start(t, t.TempDir(), &Server{Accounts: book, Chat: there,
		Logger: slog.New(slog.DiscardHandler),
		Settle: func(context.Context) error { removed++; return nil },
		Erase: func(ctx context.Context, room string) (int, error) {
			if _, bounded := ctx.Deadline(); bounded {
				t.Error("a large text is not read to its end")
			}
			erased = room
			return 7, nil
		}})
	ctx := t.Context()
	sessions, err := c.Sessions(ctx)
	if err != nil || len(sessions) != 1 || sessions[0].Nick != "Ann" {
		t.Errorf("sessions: %v, %v", sessions, err)
	}
	rooms, err := c.Rooms(ctx)
	if err != nil || len(rooms) != 1 || rooms[0].Name != "#tea" {
		t.Errorf("rooms: %v, %v", rooms, err)
	}
	for _, test := range []struct{ words, want string }{
		{"end ann bye", ""}, {"end bob", "bob is not here"}, {"logout ANN", ""},
		{"logout bob", "bob is not here"},
		{"kick #TEA ann out", ""}, {"kick #pot ann", "there is no room #pot"}, {"remove #tea", ""},
		{"remove #pot", "there is no room #pot"},
		{"role ann a", `no verb "role"`}, // roles belong to accounts
	} {
		words := strings.Fields(test.words)
		got := ""
		if err := c.Order(ctx, words[0], words[1:]...); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.words, got, test.want)
		}
	}
	if n, err := c.Erase(ctx, "#tea"); n != 7 || err != nil || erased != "#tea" {
		t.Errorf("erased %q: %d, %v", erased, n, err)
	}
	if err := c.Add(ctx, "ann", account.Guest, account.Secret{}); err != nil {
		t.Fatal(err)
	}
	if err := c.SetRole(ctx, "ann", account.Operator); err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(ctx, "ann"); err != nil || removed != 1 {
		t.Errorf("removed %d, %v", removed, err)
	}
	if names, err := book.Removed(ctx); err != nil || len(names) != 1 || names[0] != "ann" {
		t.Errorf("to be forgotten: %q, %v", names, err)
	}
	if err := errors.Join(book.Forgotten(ctx, "ann"), book.Forgotten(ctx, "ann")); err != nil {
		t.Error(err)
	}
	if names, err := book.Removed(ctx); err != nil || names != nil {
		t.Errorf("to be forgotten: %q, %v", names, err)
	}
	want := "end ann,bye; logout ANN,; kick #TEA,ann,out; remove #tea,; role ann,o"
	if got := strings.Join(there.orders, "; "); got != want {
		t.Errorf("ordered %s, want %s", got, want)
	}
}
