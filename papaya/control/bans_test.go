package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/bans"
)

// barred records what is asked of it.
type barred struct{ asked []string }

func (b *barred) Bans(context.Context) ([]bans.Ban, error) {
	t, err := bans.Parse("192.0.2.0/24")
	return []bans.Ban{{Target: t, By: "root", Why: "a flood", Set: 1000, Until: 2000}}, err
}

func (b *barred) Ban(_ context.Context, t bans.Target, d time.Duration, by, why string) error {
	b.asked = append(b.asked, fmt.Sprintf("%s %v by %s: %s", t, d, by, why))
	return nil
}

func (b *barred) Unban(_ context.Context, t bans.Target) error {
	if t.Account() == "ann" {
		return errors.New("there is no such ban")
	}
	b.asked = append(b.asked, "not "+t.String())
	return nil
}

func TestBans(t *testing.T) {
	there, book := &barred{}, account.Open(&account.Memory{})
	c := start(t, t.TempDir(), &Server{Accounts: book, Bans: there,
		Logger: slog.New(slog.DiscardHandler)})
	ctx := t.Context()
	if err := book.Add(ctx, "Ann", account.Member, account.Secret{}); err != nil {
		t.Fatal(err)
	}
	target := func(word string) bans.Target {
		one, err := bans.Parse(word)
		if err != nil {
			t.Fatal(err)
		}
		return one
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{c.Ban(ctx, target("ann"), time.Hour, "root", "too many words"), ""},
		{c.Ban(ctx, target("gil"), 0, "root", ""),
			"account gil: " + account.ErrNone.Error() + "; a nick is banned as gil!*@*"},
		{c.Ban(ctx, target("gil!*@*"), 0, "root", ""), ""},
		{c.Unban(ctx, target("ann")), "there is no such ban"},
		{c.Unban(ctx, target("192.0.2.7")), ""},
	} {
		got := ""
		if test.err != nil {
			got = test.err.Error()
		}
		if got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	list, err := c.Bans(ctx)
	if want, _ := there.Bans(ctx); err != nil || len(list) != 1 || list[0] != want[0] {
		t.Errorf("the bans are %+v, %v", list, err)
	}
	want := "ann 1h0m0s by root: too many words; gil!*@* 0s by root: ; not 192.0.2.7"
	if got := strings.Join(there.asked, "; "); got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
	for _, test := range []struct{ verb, word, want string }{
		{"add", "*", "everybody"}, {"king", "ann", "no verb"}, {"remove", "", "expected"},
	} {
		if _, err := c.post(ctx, "/bans/"+test.verb, request{Words: []string{test.word}}); err ==
			nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s: %v", test.verb, test.word, err)
		}
	}
	none := start(t, t.TempDir(), &Server{Logger: slog.New(slog.DiscardHandler)})
	if _, err := none.Bans(ctx); err == nil {
		t.Error("a server without a chat has bans")
	}
}
