package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestChangePassword(t *testing.T) {
	b, _, _ := newBook(t)
	ctx := t.Context()
	fresh := NewSecret("another kettle is on")
	for _, test := range []struct {
		old, new Secret
		want     string
	}{
		{wrong, fresh, ErrWrong.Error()},
		{right, NewSecret("short"), "a password has at least 12 bytes, this one has 5"},
		{Secret{}, fresh, ErrWrong.Error()},
		{right, fresh, ""},
		{right, fresh, ErrWrong.Error()}, // it is the old one now
	} {
		err := b.ChangePassword(ctx, here, "ann", test.old, test.new)
		if got := fmt.Sprint(err); (err == nil) != (test.want == "") ||
			err != nil && got != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
	if _, err := b.Login(ctx, here, "ann", fresh); err != nil {
		t.Errorf("the new password: %v", err)
	}
	if err := b.Add(ctx, "bot", Member, Secret{}); err != nil {
		t.Fatal(err)
	}
	if err := b.ChangePassword(ctx, here, "bot", Secret{}, fresh); err != nil {
		t.Errorf("a first password: %v", err)
	}
	if err := b.ChangePassword(ctx, here, "nobody", right, fresh); !errors.Is(err, ErrNone) {
		t.Errorf("nobody's: %v", err)
	}
}

// TestGuessesOfOwnPassword: a session that was left open does not help to guess the password.
func TestGuessesOfOwnPassword(t *testing.T) {
	b, _, _ := newBook(t)
	var limited *LimitError
	for n := range addressBurst + 1 {
		err := b.ChangePassword(t.Context(), here, "ann", wrong, right)
		if errors.As(err, &limited) != (n == addressBurst) {
			t.Errorf("guess %d: %v", n, err)
		}
	}
}

// renamed makes an account with a certificate and gives it another name.
func renamed(t *testing.T) (*Book, *clock, *Memory) {
	t.Helper()
	b, c, m := newBook(t)
	if err := errors.Join(b.AddCertificate(t.Context(), "ann", print1),
		b.RenameOwn(t.Context(), here, "ann", "Zoe")); err != nil {
		t.Fatal(err)
	}
	return b, c, m
}

func TestRename(t *testing.T) {
	b, _, m := renamed(t)
	ctx := t.Context()
	if a, err := b.Login(ctx, here, "zoe", right); err != nil || a.Name != "Zoe" ||
		a.Role != Admin {
		t.Errorf("the new name: %+v, %v", a, err)
	}
	if _, err := b.Login(ctx, here, "ann", right); !errors.Is(err, ErrWrong) {
		t.Errorf("the old name: %v", err)
	}
	if a, err := b.LoginCertificate(ctx, print1, ""); err != nil || a.Name != "Zoe" {
		t.Errorf("the certificate: %+v, %v", a, err)
	}
	// Until the chat knows it, nobody gets the old name, and the account stays as it is.
	for what, err := range map[string]error{
		"the old name for another": b.Add(ctx, "ann", Member, right),
		"and again":                b.Rename(ctx, "zoe", "eve"),
		"its removal":              b.Remove(ctx, "zoe"),
	} {
		if !errors.Is(err, ErrRenaming) {
			t.Errorf("%s: %v", what, err)
		}
	}
	list, err := b.Renames(ctx)
	if err != nil || len(list) != 1 || list[0].Old != "Ann" || list[0].New != "Zoe" {
		t.Fatalf("for the chat: %+v, %v", list, err)
	}
	for range 2 { // the second call has nothing to do
		if err := b.Renamed(ctx, list[0]); err != nil {
			t.Error(err)
		}
	}
	if list, err := b.Renames(ctx); err != nil || list != nil {
		t.Errorf("when the chat knows it: %+v, %v", list, err)
	}
	if keys, _ := m.Keys(ctx, "renamed."); len(keys) != 0 {
		t.Errorf("left over: %v", keys)
	}
	if err := b.Add(ctx, "ann", Member, right); err != nil {
		t.Errorf("the old name for another, then: %v", err)
	}
}

func TestRenameToWhatIsNotFree(t *testing.T) {
	b, _, m := newBook(t)
	ctx := t.Context()
	if err := errors.Join(b.Add(ctx, "bob", Member, right), b.Add(ctx, "eve", Member, right),
		b.Remove(ctx, "eve")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		want error
	}{{"BOB", ErrExists}, {"eve", ErrRemoving}, {"Ann", nil}, {"aNN", nil}} {
		if err := b.Rename(ctx, "ann", test.name); !errors.Is(err, test.want) {
			t.Errorf("ann to %s: %v, want %v", test.name, err, test.want)
		}
	}
	if err := b.Rename(ctx, "ann", "no name"); err == nil ||
		!strings.Contains(err.Error(), "is not allowed there") {
		t.Errorf("a wrong name: %v", err)
	}
	if err := b.Rename(ctx, "nobody", "zoe"); !errors.Is(err, ErrNone) {
		t.Errorf("nobody: %v", err)
	}
	list, err := b.Renames(ctx)
	if err != nil || len(list) != 1 || list[0].New != "aNN" {
		t.Errorf("for the chat: %+v, %v; want the other letters of ann only", list, err)
	}
	if a, err := b.Find(ctx, "ann"); err != nil || a.Name != "aNN" {
		t.Errorf("it has %+v, %v", a, err)
	}
	if keys, _ := m.Keys(ctx, "renamed."); len(keys) != 1 {
		t.Errorf("plans: %v", keys)
	}
}

// A failing Store fails at its nth change, as a program that is killed there.
type failing struct {
	*Memory
	left int
}

var errKilled = errors.New("killed")

func (f *failing) dead() bool {
	f.left--
	return f.left < 0
}

func (f *failing) Put(ctx context.Context, key string, value []byte, revision uint64) error {
	if f.dead() {
		return errKilled
	}
	return f.Memory.Put(ctx, key, value, revision)
}

func (f *failing) Delete(ctx context.Context, key string, revision uint64) error {
	if f.dead() {
		return errKilled
	}
	return f.Memory.Delete(ctx, key, revision)
}

// TestRenameThatIsKilled kills a rename at each of its changes. What was begun is finished or
// undone: there is one account, with its certificate, and both names can be used again.
func TestRenameThatIsKilled(t *testing.T) {
	for n := range 10 {
		b, c, m := newBook(t)
		ctx := t.Context()
		if err := b.AddCertificate(ctx, "ann", print1); err != nil {
			t.Fatal(err)
		}
		err := open(&failing{m, n}, cheap, c.now).Rename(ctx, "ann", "zoe")
		if err == nil {
			if n != 4 {
				t.Errorf("a rename has %d changes; add them to the list in rename.go", n)
			}
			return
		}
		if list, err := b.Renames(ctx); err != nil || len(list) != 0 {
			t.Errorf("killed at %d, at once: %+v, %v", n, list, err)
		}
		c.add(2 * resumeAfter)
		list, err := b.Renames(ctx)
		if err != nil {
			t.Fatal(err)
		}
		name := "Ann"
		for _, r := range list {
			name = "zoe"
			if err := b.Renamed(ctx, r); err != nil {
				t.Fatal(err)
			}
		}
		all, err := b.List(ctx)
		if err != nil || len(all) != 1 || all[0].Name != name {
			t.Errorf("killed at %d: there are %+v, %v; want %s", n, all, err, name)
		}
		if a, err := b.LoginCertificate(ctx, print1, ""); err != nil || a.Name != name {
			t.Errorf("killed at %d: the certificate's: %+v, %v", n, a, err)
		}
		if keys, _ := m.Keys(ctx, "renamed."); len(keys) != 0 {
			t.Errorf("killed at %d: left over: %v", n, keys)
		}
	}
	t.Error("a rename does not end")
}

// changing changes the account while it is renamed.
type changing struct {
	*Memory
	change func()
}

func (c *changing) Put(ctx context.Context, key string, value []byte, revision uint64) error {
	err := c.Memory.Put(ctx, key, value, revision)
	if change := c.change; change != nil && strings.HasPrefix(key, "account.zoe") {
		c.change = nil
		change()
	}
	return err
}

func TestRenameOfWhatChanges(t *testing.T) {
	b, c, m := newBook(t)
	ctx := t.Context()
	other := &changing{m, func() {
		if err := b.SetPassword(ctx, "ann", wrong); err != nil {
			t.Error(err)
		}
	}}
	if err := b.AddCertificate(ctx, "ann", print1); err != nil {
		t.Fatal(err)
	}
	if err := open(other, cheap, c.now).Rename(ctx, "ann", "zoe"); !errors.Is(err, ErrChanged) {
		t.Errorf("got %v", err)
	}
	if _, err := b.Login(ctx, here, "ann", wrong); err != nil {
		t.Errorf("the changed password: %v", err)
	}
	if a, err := b.LoginCertificate(ctx, print1, ""); err != nil || a.Name != "Ann" {
		t.Errorf("the certificate: %+v, %v", a, err)
	}
	c.add(time.Hour)
	if list, err := b.Renames(ctx); err != nil || list != nil {
		t.Errorf("for the chat: %v, %v", list, err)
	}
	if err := b.Rename(ctx, "ann", "zoe"); err != nil {
		t.Errorf("again: %v", err)
	}
}
