package bot

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"interleave/papaya/account"
)

func TestTokens(t *testing.T) {
	store := &account.Memory{}
	s, ctx := Open(store), t.Context()
	s.now = func() time.Time { return time.Unix(1_800_000_000, 0) }
	secret, made, err := s.Add(ctx, Token{Kind: Hook, Name: "github", Rooms: []string{"#Dev"},
		Send: true})
	if err != nil || len(secret.Reveal()) != 26 || made.Nick() != "github/hook" {
		t.Fatalf("made %+v, %v", made, err)
	}
	keys, _ := store.Keys(ctx, "")
	value, _, _ := store.Get(ctx, keys[0])
	if len(keys) != 1 || strings.Contains(keys[0]+string(value), secret.Reveal()) {
		t.Errorf("the token is kept: %s %s", keys, value)
	}
	for name, want := range map[string]error{secret.Reveal(): nil,
		strings.ToLower(secret.Reveal()): ErrUnknown, "": ErrUnknown, made.ID: ErrUnknown,
		strings.TrimPrefix(keys[0], prefix): ErrUnknown} {
		if got, err := s.Find(ctx, account.NewSecret(name)); !errors.Is(err, want) ||
			err == nil && fmt.Sprint(got) != fmt.Sprint(made) {
			t.Errorf("found %+v, %v by %q; want %v", got, err, name, want)
		}
	}
	if !made.Knows("#dEV") || made.Knows("#de") || made.Knows("#devs") {
		t.Error("it is for other rooms than its own")
	}
	if list, err := s.List(ctx); err != nil || len(list) != 1 || list[0].ID != made.ID {
		t.Errorf("listed: %+v, %v", list, err)
	}
	for _, id := range []string{"", "*", made.ID[:11], made.ID + "0",
		strings.ToUpper("abcdefabcdef"), "000000000000"} {
		if err := s.Remove(ctx, id); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q is removed: %v", id, err)
		}
	}
	if err := errors.Join(s.Remove(ctx, made.ID)); err != nil {
		t.Error(err)
	}
	if _, err := s.Find(ctx, secret); !errors.Is(err, ErrUnknown) {
		t.Errorf("after its removal: %v", err)
	}
}

func TestTokensThatAreNone(t *testing.T) {
	s := Open(&account.Memory{})
	good := Token{Kind: Bot, Name: "weather", Rooms: []string{"#tea", "#den"}, Read: true}
	for _, test := range []struct {
		change func(*Token)
		want   string
	}{
		{func(*Token) {}, ""},
		{func(b *Token) { b.Name = strings.Repeat("a", maxName) }, ""},
		{func(b *Token) { b.Name = strings.Repeat("a", maxName+1) }, "expected a letter"},
		{func(b *Token) { b.Name = "" }, "expected a letter"},
		{func(b *Token) { b.Name = "a b" }, "expected a letter"},
		{func(b *Token) { b.Name = "a!b@c" }, "expected a letter"},
		{func(b *Token) { b.Name = "a\r\nQUIT" }, "expected a letter"},
		{func(b *Token) { b.Kind = "king" }, "expected hook, bot or out"},
		{func(b *Token) { b.Kind = Hook }, "a webhook has one"},
		{func(b *Token) { b.Rooms = nil }, "expected a room"},
		{func(b *Token) { b.Rooms = []string{"tea"} }, "begins with #"},
		{func(b *Token) { b.Rooms = make([]string, maxRooms+1) }, "expected at most 50"},
		{func(b *Token) { b.Read = false }, "may read or send"},
	} {
		one := good
		test.change(&one)
		_, _, err := s.Add(t.Context(), one)
		if (err == nil) != (test.want == "") || err != nil &&
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", one, err, test.want)
		}
	}
}

func TestTokensAreBounded(t *testing.T) {
	s := Open(&account.Memory{})
	one := Token{Kind: Hook, Name: "a", Rooms: []string{"#tea"}, Send: true}
	for n := range maxTokens {
		if err := s.all.Store.Put(t.Context(), fmt.Sprintf("%s%d", prefix, n), []byte("{}"),
			0); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.Add(t.Context(), one); !errors.Is(err, ErrMany) {
		t.Errorf("one more: %v", err)
	}
}
