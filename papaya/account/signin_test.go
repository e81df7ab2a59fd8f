package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"interleave/papaya/irc"
)

// token makes a token of an account.
func token(t *testing.T, b *Book, name, device string) (Secret, Token) {
	t.Helper()
	secret, made, err := newToken(t.Context(), b, name, device)
	if err != nil {
		t.Fatal(err)
	}
	return secret, made
}

// newToken makes a token for somebody who knows the password.
func newToken(ctx context.Context, b *Book, name, device string) (Secret, Token, error) {
	return b.NewToken(ctx, name, device, Secret{}, func() error { return nil })
}

// enters says whose account a token opens alone; "" if none.
func enters(t *testing.T, b *Book, secret Secret) string {
	t.Helper()
	a, hash, err := b.EnterToken(t.Context(), here, secret, "")
	if err == nil && hash != HashOf(secret) || err != nil && !errors.Is(err, ErrWrong) {
		t.Fatalf("got %+v, %q, %v", a, hash, err)
	}
	return a.Name
}

func TestTokens(t *testing.T) {
	b, c, m := newBook(t)
	b.address = unlimited()
	ctx := t.Context()
	if err := b.Add(ctx, "bob", Member, right); err != nil {
		t.Fatal(err)
	}
	laptop, made := token(t, b, "ann", "Firefox on Linux")
	phone, other := token(t, b, "ANN", "a \x02phone\r\n\u202e")
	if made.ID == other.ID || len(made.ID) != idLen || !IsToken(laptop) ||
		other.Name != "a phone" || strings.Contains(fmt.Sprint(laptop), "papaya-") {
		t.Errorf("made %+v and %+v", made, other)
	}
	for key, value := range m.values {
		if strings.Contains(key+string(value.value), strings.TrimPrefix(laptop.text, tokenPrefix)) {
			t.Errorf("%s has the secret", key)
		}
	}
	for _, test := range []struct {
		name   string
		secret Secret
		want   error
		token  bool
	}{
		{"ann", laptop, nil, true}, {"ANN", phone, nil, true}, {"ann", right, nil, false},
		{"bob", laptop, ErrWrong, false}, {"", laptop, ErrWrong, false},
		{"nobody", laptop, ErrWrong, false},
		{"ann", NewSecret(strings.ToLower(laptop.text)), ErrWrong, false},
		{"ann", NewSecret(laptop.text[:len(laptop.text)-1]), ErrWrong, false},
		{"ann", NewSecret(tokenPrefix + strings.Repeat("A", tokenLen)), ErrWrong, false},
		{"ann", NewSecret(HashOf(laptop)), ErrWrong, false},
		{"ann", NewSecret(made.ID), ErrWrong, false},
	} {
		a, hash, err := b.Enter(ctx, here, test.name, test.secret)
		if !errors.Is(err, test.want) || err == nil && a.Name != "Ann" ||
			(hash != "") != test.token {
			t.Errorf("%s: %+v, %q, %v; want %v", test.name, a, hash, err, test.want)
		}
	}
	// A token is no password.
	if _, err := b.Login(ctx, here, "ann", laptop); !errors.Is(err, ErrWrong) {
		t.Errorf("as a password: %v", err)
	}
	if err := b.ChangePassword(ctx, here, "ann", laptop, wrong); !errors.Is(err, ErrWrong) {
		t.Errorf("as the old password: %v", err)
	}
	if _, _, err := b.EnterToken(ctx, here, laptop, "bob"); !errors.Is(err, ErrWrong) {
		t.Errorf("of another one: %v", err)
	}
	c.add(useEvery)
	if name := enters(t, b, laptop); name != "Ann" {
		t.Errorf("the token alone opens %q", name)
	}
	list, err := b.TokensOf(ctx, "ann")
	if err != nil || len(list) != 2 || list[0].Used.Sub(list[0].Made) != useEvery ||
		!list[1].Used.Equal(list[1].Made) {
		t.Errorf("listed %+v, %v", list, err)
	}
	if err := b.EndToken(ctx, "bob", made.ID); err == nil {
		t.Error("bob has ended ann's token")
	}
	if err := b.EndToken(ctx, "ann", made.ID); err != nil {
		t.Error(err)
	}
	for range 2 { // the second time there is none
		if err := b.EndSecret(ctx, here, phone); err != nil {
			t.Error(err)
		}
	}
	if one, two := enters(t, b, laptop), enters(t, b, phone); one+two != "" {
		t.Errorf("after their ends they open %q and %q", one, two)
	}
	if err := b.UseToken(ctx, HashOf(laptop)); !errors.Is(err, ErrWrong) {
		t.Errorf("an open session: %v", err)
	}
	if keys, _ := m.Keys(ctx, "signin."); len(keys) != 0 {
		t.Errorf("left over: %v", keys)
	}
}

// TestPasswordLikeAToken: somebody may have chosen one.
func TestPasswordLikeAToken(t *testing.T) {
	b, _, _ := newBook(t)
	like := NewSecret(tokenPrefix + strings.Repeat("B", tokenLen))
	if err := b.SetPassword(t.Context(), "ann", like); err != nil {
		t.Fatal(err)
	}
	if a, hash, err := b.Enter(t.Context(), here, "ann", like); err != nil || a.Name != "Ann" ||
		hash != "" {
		t.Errorf("got %+v, %q, %v", a, hash, err)
	}
}

// TestWrongTokensAreLimited: they count as wrong passwords do, and cost the same hash.
func TestWrongTokensAreLimited(t *testing.T) {
	wrong := NewSecret(tokenPrefix + strings.Repeat("A", tokenLen))
	for what, try := range map[string]func(*Book) error{
		"with a name": func(b *Book) error {
			_, _, err := b.Enter(t.Context(), here, "ann", wrong)
			return err
		},
		"alone": func(b *Book) error {
			_, _, err := b.EnterToken(t.Context(), here, wrong, "")
			return err
		},
		"at a sign-out": func(b *Book) error { return b.EndSecret(t.Context(), here, wrong) },
	} {
		b, _, _ := newBook(t)
		var limited *LimitError
		for n := range addressBurst + 1 {
			if err := try(b); errors.As(err, &limited) != (n == addressBurst) {
				t.Errorf("%s, guess %d: %v", what, n, err)
			}
		}
	}
	b, _, _ := newBook(t)
	b.hashes.waiting = make(chan struct{}) // nobody may wait, so each hash is refused
	if _, _, err := b.Enter(t.Context(), here, "ann", wrong); !errors.Is(err, ErrBusy) {
		t.Errorf("a wrong token is told without a hash: %v", err)
	}
}

func TestTokenLimits(t *testing.T) {
	b, c, m := newBook(t)
	ctx := t.Context()
	limits := TokenLimits{Most: 3, Life: 10 * time.Hour}
	b.TokenLimits = func() TokenLimits { return limits }
	var all sync.WaitGroup
	var mu sync.Mutex
	var good []Secret
	for range 8 {
		all.Go(func() {
			secret, _, err := newToken(ctx, b, "ann", "at once")
			if _, mistake := errors.AsType[Mistake](err); err != nil && !mistake &&
				!errors.Is(err, ErrChanged) {
				t.Error(err)
			}
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				good = append(good, secret)
			}
		})
	}
	all.Wait()
	if keys, _ := m.Keys(ctx, "signin."); len(good) != 3 || len(keys) != 3 {
		t.Fatalf("%d tokens of at most 3 were made, and there are %d", len(good), len(keys))
	}
	c.add(6 * time.Hour)
	if name := enters(t, b, good[0]); name != "Ann" {
		t.Errorf("in its time it opens %q", name)
	}
	c.add(6 * time.Hour)
	if one, two := enters(t, b, good[0]), enters(t, b, good[1]); one != "Ann" || two != "" {
		t.Errorf("the token that was used opens %q, the other one %q", one, two)
	}
	if list, err := b.TokensOf(ctx, "ann"); err != nil || len(list) != 1 {
		t.Errorf("listed %+v, %v", list, err)
	}
	token(t, b, "ann", "in the place of those")
	if keys, _ := m.Keys(ctx, "signin."); len(keys) != 2 {
		t.Errorf("there are %v", keys)
	}
	limits.Most = 0
	if name := enters(t, b, good[0]); name != "" {
		t.Errorf("without tokens one opens %q", name)
	}
	if _, _, err := newToken(ctx, b, "ann", "x"); err == nil {
		t.Error("one was made although there are none")
	}
	limits = TokenLimits{Most: 3}
	c.add(1000 * 24 * time.Hour)
	if name := enters(t, b, good[1]); name != "" {
		t.Errorf("a token that was removed opens %q", name)
	}
	if name := enters(t, b, good[0]); name != "Ann" {
		t.Errorf("a token that has no end opens %q", name)
	}
}

// TestWhatEndsTokens: a new password ends them, in the same write, and the removal of the account.
// A new hash of the same password, or another role, does not.
func TestWhatEndsTokens(t *testing.T) {
	fresh := NewSecret("another kettle is on")
	for what, test := range map[string]struct {
		do   func(*Book) error
		ends bool
	}{
		"the owner": {func(b *Book) error {
			return b.ChangePassword(t.Context(), here, "ann", right, fresh)
		}, true},
		"an administrator": {func(b *Book) error {
			return b.SetPassword(t.Context(), "ann", fresh)
		}, true},
		"no password": {func(b *Book) error {
			return b.SetPassword(t.Context(), "ann", Secret{})
		}, true},
		"a removal": {func(b *Book) error { return b.Remove(t.Context(), "ann") }, true},
		"a role":    {func(b *Book) error { return b.SetRole(t.Context(), "ann", Guest) }, false},
		"a new hash": {func(b *Book) error {
			b.hashes.cost.Passes++
			_, err := b.Login(t.Context(), here, "ann", right)
			return err
		}, false},
		"a wrong old password": {func(b *Book) error {
			_ = b.ChangePassword(t.Context(), here, "ann", wrong, fresh)
			return nil
		}, false},
	} {
		b, _, m := newBook(t)
		secret, made := token(t, b, "ann", "laptop")
		var told []string
		b.Ended = func(name string, ids []string) { told = append(ids, name) }
		if err := test.do(b); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		keys, _ := m.Keys(t.Context(), "signin.")
		if ended := enters(t, b, secret) == ""; ended != test.ends || (len(keys) == 0) != ended {
			t.Errorf("%s: ended %v, want %v; there are %v", what, ended, test.ends, keys)
		}
		if want := []string{made.ID, "Ann"}; test.ends && what != "a removal" &&
			fmt.Sprint(told) != fmt.Sprint(want) || !test.ends && told != nil {
			t.Errorf("%s: told %v", what, told)
		}
	}
}

// TestPasswordThatIsKilled kills the change of a password at each of its changes. With the new
// password there is no token of the time before.
func TestPasswordThatIsKilled(t *testing.T) {
	fresh := NewSecret("another kettle is on")
	for n := range 5 {
		b, _, m := newBook(t)
		secret, _ := token(t, b, "ann", "laptop")
		err := open(&failing{m, n}, cheap, b.now).SetPassword(t.Context(), "ann", fresh)
		_, wrong := b.Login(t.Context(), here, "ann", fresh)
		list, failed := b.TokensOf(t.Context(), "ann")
		if changed := wrong == nil; changed != (enters(t, b, secret) == "") ||
			changed != (len(list) == 0) || failed != nil || err == nil && !changed {
			t.Errorf("killed at %d (%v): changed %v, and there are %+v, %v", n, err, changed, list,
				failed)
		}
		if n == 4 && err != nil {
			t.Error("it does not end")
		}
	}
}

// TestTokenByAnOldPassword: whoever has proved the old password gets no token if the password is
// changed before the token is there. A new hash of the same password is no other password.
func TestTokenByAnOldPassword(t *testing.T) {
	b, _, m := newBook(t)
	ctx := t.Context()
	login := func() error {
		_, err := b.Login(ctx, here, "ann", right)
		return err
	}
	b.hashes.cost.Passes++
	secret, _, err := b.NewToken(ctx, "ann", "laptop", Secret{}, login)
	if err != nil || enters(t, b, secret) != "Ann" {
		t.Errorf("with a new hash: %v", err)
	}
	changed := false
	_, _, err = b.NewToken(ctx, "ann", "phone", Secret{}, func() error {
		err := login()
		if !changed {
			changed = true
			err = errors.Join(err, b.SetPassword(ctx, "ann", NewSecret("another kettle is on")))
		}
		return err
	})
	if keys, _ := m.Keys(ctx, "signin."); !errors.Is(err, ErrWrong) || len(keys) != 0 {
		t.Errorf("by the old password: %v, and there are %v", err, keys)
	}
	if _, _, err := b.NewToken(ctx, "nobody", "x", Secret{}, func() error {
		return nil
	}); !errors.Is(err, ErrNone) {
		t.Errorf("nobody's: %v", err)
	}
}

// TestTokenInThePlaceOfAnother: a device that has a token and gets another one never has two or
// none, whatever fails or is killed, and needs no room for a second one.
func TestTokenInThePlaceOfAnother(t *testing.T) {
	prove := func() error { return nil }
	for n := range 10 {
		b, _, m := newBook(t)
		ctx := t.Context()
		most := func() TokenLimits { return TokenLimits{Most: 2} }
		b.TokenLimits = most
		former, _ := token(t, b, "ann", "laptop")
		phone, _ := token(t, b, "ann", "phone")
		if _, _, err := b.NewToken(ctx, "ann", "laptop", former, func() error {
			return ErrWrong
		}); !errors.Is(err, ErrWrong) || enters(t, b, former) != "Ann" {
			t.Errorf("with a wrong password: %v, and the former token has ended", err)
		}
		dying := open(&failing{m, n}, cheap, b.now)
		dying.TokenLimits = most
		fresh, _, err := dying.NewToken(ctx, "ann", "laptop", former, prove)
		there := err == nil && enters(t, b, fresh) == "Ann"
		if there == (enters(t, b, former) == "Ann") || enters(t, b, phone) != "Ann" {
			t.Errorf("killed at %d (%v): the new token is there: %v; so is the former one", n, err,
				there)
		}
		if list, err := b.TokensOf(ctx, "ann"); err != nil || len(list) != 2 {
			t.Errorf("killed at %d: there are %+v, %v", n, list, err)
		}
		if n < 9 {
			continue
		}
		if err != nil {
			t.Fatal("it does not end")
		}
		for range addressBurst + 1 { // one that has ended already is no failed login
			if err := b.EndFormer(ctx, former); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.EndFormer(ctx, phone); err != nil || enters(t, b, phone) != "" {
			t.Errorf("the token of another device goes on: %v", err)
		}
	}
}

// TestBannedNames: no account gets one. The account that has it may be written in other letters.
func TestBannedNames(t *testing.T) {
	b, _, _ := newBook(t)
	b.address = unlimited()
	ctx := t.Context()
	b.Barred = func(name string) bool {
		return irc.Lower(name) == "eve" || irc.Lower(name) == "ann"
	}
	invitation, _, err := b.Invite(ctx, "Ann", Member, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for what, try := range map[string]func() error{
		"added": func() error { return b.Add(ctx, "Eve", Member, right) },
		"registered": func() error {
			_, err := b.Register(ctx, here, "eve", right)
			return err
		},
		"invited": func() error {
			_, err := b.Redeem(ctx, here, invitation, "eve", right)
			return err
		},
		"renamed": func() error { return b.RenameOwn(ctx, here, "ann", "eve") },
	} {
		if _, mistake := errors.AsType[Mistake](try()); !mistake {
			t.Errorf("an account with a banned name was %s", what)
		}
	}
	if err := b.Rename(ctx, "Ann", "ANN"); err != nil {
		t.Error(err)
	}
	if _, err := b.Redeem(ctx, here, invitation, "bob", right); err != nil {
		t.Errorf("the invitation is lost: %v", err)
	}
}

// TestTokenWhileTheNameIsTried: those who try passwords of a name from everywhere keep the password
// out, and no token.
func TestTokenWhileTheNameIsTried(t *testing.T) {
	b, _, _ := newBook(t)
	secret, _ := token(t, b, "ann", "laptop")
	b.address = unlimited()
	for range nameBurst {
		if _, err := b.Login(t.Context(), there, "ann", wrong); !errors.Is(err, ErrWrong) {
			t.Fatal(err)
		}
	}
	var limited *LimitError
	if _, err := b.Login(t.Context(), here, "ann", right); !errors.As(err, &limited) {
		t.Errorf("the password: %v", err)
	}
	if _, hash, err := b.Enter(t.Context(), here, "ann", secret); err != nil || hash == "" {
		t.Errorf("the token: %q, %v", hash, err)
	}
}

// TestTokenOfALaterAccount: what a crash has left of a token opens no later account of the name.
func TestTokenOfALaterAccount(t *testing.T) {
	b, _, m := newBook(t)
	ctx := t.Context()
	secret, _ := token(t, b, "ann", "laptop")
	dying := open(&failing{m, 2}, cheap, b.now) // what leads to the token stays
	if err := dying.Remove(ctx, "ann"); !errors.Is(err, errKilled) {
		t.Fatalf("got %v", err)
	}
	if err := errors.Join(b.Forgotten(ctx, "ann"), b.Add(ctx, "Ann", Member, right)); err != nil {
		t.Fatal(err)
	}
	if keys, _ := m.Keys(ctx, "signin."); len(keys) != 1 {
		t.Fatalf("the test leaves %v", keys)
	}
	if name := enters(t, b, secret); name != "" {
		t.Errorf("it opens %q", name)
	}
}

// TestTokenThatIsKilled kills the making of a token at each of its changes. Either it is there as a
// whole, or it opens nothing.
func TestTokenThatIsKilled(t *testing.T) {
	for n := range 5 {
		b, _, m := newBook(t)
		_, _, err := newToken(t.Context(), open(&failing{m, n}, cheap, b.now), "ann", "laptop")
		list, failed := b.TokensOf(t.Context(), "ann")
		if failed != nil || (len(list) == 1) != (err == nil) {
			t.Errorf("killed at %d (%v): there are %+v, %v", n, err, list, failed)
		}
		if err == nil {
			return
		}
	}
	t.Error("it does not end")
}

// TestTokensOfARename: they go with the account, also if the rename is killed at any change.
func TestTokensOfARename(t *testing.T) {
	for n := range 10 {
		b, c, m := newBook(t)
		ctx := t.Context()
		secret, _ := token(t, b, "ann", "laptop")
		err := open(&failing{m, n}, cheap, c.now).Rename(ctx, "ann", "zoe")
		if name := enters(t, b, secret); name != "Ann" && name != "zoe" {
			t.Errorf("killed at %d, at once: it opens %q", n, name)
		}
		c.add(2 * resumeAfter)
		list, failed := b.Renames(ctx)
		name := "Ann"
		for _, r := range list {
			name = "zoe"
			failed = errors.Join(failed, b.Renamed(ctx, r))
		}
		if got := enters(t, b, secret); got != name || failed != nil {
			t.Errorf("killed at %d: it opens %q, want %s; %v", n, got, name, failed)
		}
		if _, _, wrong := b.Enter(ctx, here, name, secret); wrong != nil {
			t.Errorf("killed at %d: with the name: %v", n, wrong)
		}
		if err == nil {
			return
		}
	}
	t.Error("a rename does not end")
}

// TestProve: what a token may not do needs the password, also of an account that has none.
func TestProve(t *testing.T) {
	b, _, _ := newBook(t)
	if err := b.Add(t.Context(), "bot", Member, Secret{}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name     string
		password Secret
		byToken  bool
		ok       bool
	}{
		{"ann", right, true, true}, {"ann", right, false, true}, {"ann", wrong, false, false},
		{"ann", Secret{}, true, false}, {"bot", Secret{}, false, true},
		{"bot", Secret{}, true, false}, {"nobody", right, false, false},
	} {
		err := b.Prove(t.Context(), here, test.name, test.password, test.byToken)
		if (err == nil) != test.ok {
			t.Errorf("%s, by a token %v: %v", test.name, test.byToken, err)
		}
	}
}

// a full store can read only.
type full struct{ *Memory }

func (full) Put(context.Context, string, []byte, uint64) error { return errKilled }

// TestTokenOnAFullDisk: those who have one still come in.
func TestTokenOnAFullDisk(t *testing.T) {
	b, c, m := newBook(t)
	secret, _ := token(t, b, "ann", "laptop")
	c.add(2 * useEvery)
	if name := enters(t, open(full{m}, cheap, c.now), secret); name != "Ann" {
		t.Errorf("it opens %q", name)
	}
}

func FuzzDeviceName(f *testing.F) {
	for _, s := range []string{"", "Firefox on Linux", "\x00\r\n", "\xff\xfe",
		strings.Repeat("é", 100), " \u202e x ", strings.Repeat("👩\u200d👧", 20)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name := DeviceName(text)
		if name == "" || len(name) > maxDevice || !utf8.ValidString(name) ||
			strings.ContainsAny(name, "\r\n\x00\x02\x1f\u202e") || DeviceName(name) != name {
			t.Errorf("%q: %q", text, name)
		}
	})
}
