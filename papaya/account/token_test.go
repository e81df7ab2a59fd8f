package account

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"interleave/papaya/limit"
)

var (
	print1 = strings.Repeat("0a", 32)
	print2 = strings.Repeat("0b", 32)
)

func unlimited() *limit.Rate { return limit.NewRate(0, time.Second, time.Now) }

func TestCertificates(t *testing.T) {
	b, _, m := newBook(t)
	ctx := t.Context()
	if err := b.Add(ctx, "bob", Member, Secret{}); err != nil {
		t.Fatal(err)
	}
	colons := strings.ToUpper(strings.TrimSuffix(strings.Repeat("0a:", 32), ":"))
	for range 2 { // the second time changes nothing
		if err := b.AddCertificate(ctx, "ann", colons); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.AddCertificate(ctx, "bob", print1); err == nil ||
		!strings.Contains(err.Error(), "is another account's") {
		t.Errorf("a certificate of two: %v", err)
	}
	if err := b.AddCertificate(ctx, "bob", "0a0b"); err == nil ||
		!strings.Contains(err.Error(), "64 digits of hex") {
		t.Errorf("a fingerprint that is none: %v", err)
	}
	for _, test := range []struct {
		print, name string
		want        error
	}{
		{print1, "", nil}, {print1, "ANN", nil}, {colons, "ann", nil},
		{print1, "bob", ErrWrong}, {print2, "", ErrWrong}, {print2, "ann", ErrWrong},
		{"", "", ErrWrong},
	} {
		a, err := b.LoginCertificate(ctx, test.print, test.name)
		if !errors.Is(err, test.want) || err == nil && a.Name != "Ann" {
			t.Errorf("%.5s as %q: %+v, %v; want %v", test.print, test.name, a, err, test.want)
		}
	}
	if err := b.RemoveCertificate(ctx, "ann", print1); err != nil {
		t.Fatal(err)
	}
	if err := b.RemoveCertificate(ctx, "ann", print1); err == nil {
		t.Error("a certificate was removed twice")
	}
	if _, err := b.LoginCertificate(ctx, print1, ""); !errors.Is(err, ErrWrong) {
		t.Errorf("after its removal: %v", err)
	}
	if err := b.AddCertificate(ctx, "bob", print1); err != nil {
		t.Errorf("to another, then: %v", err)
	}
	if err := b.Remove(ctx, "bob"); err != nil {
		t.Fatal(err)
	}
	if keys, _ := m.Keys(ctx, "certificate."); len(keys) != 0 {
		t.Errorf("left of an account that was removed: %v", keys)
	}
}

// TestCertificateCutOff: a crash may leave the key of a certificate that its account does not list.
// It must not allow a login, and must not prevent another AddCertificate.
func TestCertificateCutOff(t *testing.T) {
	b, _, m := newBook(t)
	ctx := t.Context()
	if err := m.Put(ctx, "certificate."+print1, []byte("Ann"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := b.LoginCertificate(ctx, print1, ""); !errors.Is(err, ErrWrong) {
		t.Errorf("got %v", err)
	}
	if err := b.Add(ctx, "bob", Member, Secret{}); err != nil {
		t.Fatal(err)
	}
	if err := b.AddCertificate(ctx, "bob", print1); err != nil {
		t.Errorf("for another: %v", err)
	}
}

func TestCertificatesAreBounded(t *testing.T) {
	b, _, _ := newBook(t)
	for i := range maxCertificates {
		if err := b.AddCertificate(t.Context(), "ann",
			strings.Repeat("0", 62)+string("0123456789abcdef"[i])+"0"); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.AddCertificate(t.Context(), "ann", print1); err == nil ||
		!strings.Contains(err.Error(), "at most 16") {
		t.Errorf("one more: %v", err)
	}
}

func TestInvitation(t *testing.T) {
	b, c, m := newBook(t)
	ctx := t.Context()
	token, i, err := b.Invite(ctx, "Ann", Operator, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for k, e := range m.values {
		if strings.Contains(k+string(e.value), token.text) {
			t.Errorf("the token is kept in %s", k)
		}
	}
	if _, err := b.Redeem(ctx, here, NewSecret("WRONG"), "bob", right); !errors.Is(err,
		ErrInvitation) {
		t.Errorf("a guess: %v", err)
	}
	if _, err := b.Redeem(ctx, here, token, "ann", right); !errors.Is(err, ErrExists) {
		t.Errorf("a name that is taken: %v", err)
	}
	if _, err := b.Redeem(ctx, here, token, "bob", NewSecret("short")); err == nil {
		t.Error("a short password was taken")
	}
	a, err := b.Redeem(ctx, here, NewSecret(strings.ToLower(token.text)+" "), "bob", right)
	if err != nil || a.Name != "bob" || a.Role != Operator || a.Invited != "Ann" || !a.HasPassword {
		t.Fatalf("redeemed: %+v, %v", a, err)
	}
	if _, err := b.Redeem(ctx, here, token, "eve", right); !errors.Is(err, ErrInvitation) {
		t.Errorf("a second time: %v", err)
	}
	if _, err := b.Login(ctx, here, "bob", right); err != nil {
		t.Errorf("login: %v", err)
	}

	late, _, err := b.Invite(ctx, "Ann", Member, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	c.add(time.Hour)
	if _, err := b.Redeem(ctx, there, late, "eve", right); !errors.Is(err, ErrInvitation) {
		t.Errorf("when it has expired: %v", err)
	}
	if open, err := b.Invitations(ctx); err != nil || len(open) != 0 {
		t.Errorf("open: %v, %v", open, err)
	}
	if keys, _ := m.Keys(ctx, "invitation."); len(keys) != 0 {
		t.Errorf("expired ones are kept: %v", keys)
	}
	if i.By != "Ann" || len(i.ID) != 12 {
		t.Errorf("the invitation says %+v", i)
	}
}

func TestTakeBack(t *testing.T) {
	b, _, _ := newBook(t)
	token, i, err := b.Invite(t.Context(), "Ann", Member, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.TakeBack(t.Context(), i.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.TakeBack(t.Context(), i.ID); !errors.Is(err, ErrInvitation) {
		t.Errorf("twice: %v", err)
	}
	if _, err := b.Redeem(t.Context(), here, token, "bob", right); !errors.Is(err, ErrInvitation) {
		t.Errorf("redeemed nevertheless: %v", err)
	}
	for _, life := range []time.Duration{0, -time.Hour, maxLife + 1} {
		if _, _, err := b.Invite(t.Context(), "Ann", Member, life); err == nil {
			t.Errorf("an invitation for %v", life)
		}
	}
}

// TestOneInvitationOneAccount: if many redeem a token at the same time, one succeeds.
func TestOneInvitationOneAccount(t *testing.T) {
	b, _, _ := newBook(t)
	b.address = unlimited()
	token, _, err := b.Invite(t.Context(), "Ann", Member, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	for _, name := range strings.Fields("a b c d e f g h i j k l") {
		done.Go(func() { _, _ = b.Redeem(t.Context(), here, token, name, right) })
	}
	done.Wait()
	if list, err := b.List(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("%d accounts beside ann, %v; want 1", len(list)-1, err)
	}
}

func TestRegister(t *testing.T) {
	b, _, _ := newBook(t)
	if a, err := b.Register(t.Context(), here, "bob", right); err != nil || a.Role != Member {
		t.Errorf("bob: %+v, %v", a, err)
	}
	if _, err := b.Register(t.Context(), here, "ann", right); !errors.Is(err, ErrExists) {
		t.Errorf("a name that is taken: %v", err)
	}
	if _, err := b.Register(t.Context(), here, "eve", Secret{}); err == nil {
		t.Error("an account without a password was made")
	}
	for range addressBurst - 3 {
		_, _ = b.Register(t.Context(), here, "ann", right)
	}
	var limited *LimitError
	if _, err := b.Register(t.Context(), here, "zoe", right); !errors.As(err, &limited) {
		t.Errorf("one too many from one address: %v", err)
	}
}
