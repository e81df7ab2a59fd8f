package account

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// noHashes makes each login that needs a hash end with ErrBusy.
func noHashes(b *Book) { b.hashes.waiting = make(chan struct{}) }

// TestRightPasswordIsRemembered: a login with a password that was right a short time ago costs no
// hash. All others do: a wrong password, another account, an old password, and the same one later.
func TestRightPasswordIsRemembered(t *testing.T) {
	fresh := NewSecret("another kettle is on")
	for what, test := range map[string]struct {
		change   func(*testing.T, *Book) error // after ann has logged in
		name     string
		password Secret
		want     error
	}{
		"the same":            {nil, "ann", right, nil},
		"in other letters":    {nil, "ANN", right, nil},
		"wrong":               {nil, "ann", wrong, ErrBusy},
		"empty":               {nil, "ann", Secret{}, ErrBusy},
		"of another account":  {nil, "bob", right, ErrBusy},
		"of nobody":           {nil, "eve", right, ErrBusy},
		"with the hash in it": {nil, "a", NewSecret("nn" + right.text), ErrBusy},
		"an old one": {func(t *testing.T, b *Book) error {
			return b.SetPassword(t.Context(), "ann", fresh)
		}, "ann", right, ErrBusy},
		"the same, set again": {func(t *testing.T, b *Book) error {
			return b.SetPassword(t.Context(), "ann", right)
		}, "ann", right, ErrBusy},
		"of an account that was removed": {func(t *testing.T, b *Book) error {
			return b.Remove(t.Context(), "ann")
		}, "ann", right, ErrBusy},
		"of a later account of the name": {func(t *testing.T, b *Book) error {
			return errors.Join(b.Remove(t.Context(), "ann"), b.Forgotten(t.Context(), "ann"),
				b.Add(t.Context(), "Ann", Member, right))
		}, "ann", right, ErrBusy},
		"a short time later": {func(*testing.T, *Book) error {
			time.Sleep(rememberFor - time.Second)
			return nil
		}, "ann", right, nil},
		"too late": {func(*testing.T, *Book) error {
			time.Sleep(2*rememberFor + time.Second)
			return nil
		}, "ann", right, ErrBusy},
		"too late, although it was used": {func(t *testing.T, b *Book) error {
			for range 4 {
				time.Sleep(rememberFor/2 + time.Second)
				if !b.right.has(rightKey(t, b)) {
					return nil
				}
				if _, err := b.Login(t.Context(), here, "ann", right); err != nil {
					return err
				}
			}
			return nil
		}, "ann", right, ErrBusy},
		"a hash that is due": {func(_ *testing.T, b *Book) error {
			b.hashes.cost.Passes++
			return nil
		}, "ann", right, ErrBusy},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, _, _ := newBook(t)
				if err := b.Add(t.Context(), "bob", Member, right); err != nil {
					t.Fatal(err)
				}
				if _, err := b.Login(t.Context(), here, "ann", right); err != nil {
					t.Fatal(err)
				}
				if test.change != nil {
					if err := test.change(t, b); err != nil {
						t.Fatal(err)
					}
				}
				noHashes(b)
				a, err := b.Login(t.Context(), here, test.name, test.password)
				if !errors.Is(err, test.want) || err == nil && a.Name != "Ann" {
					t.Errorf("got %+v, %v; want %v", a, err, test.want)
				}
			})
		})
	}
}

// rightKey is that under which the password of ann is remembered.
func rightKey(t *testing.T, b *Book) checkKey {
	t.Helper()
	r, err := b.get(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	return checkKey{"ann", right.text, r.Hash}
}

// TestWrongPasswordIsNotRemembered: it costs a hash each time, and so does a password after that.
func TestWrongPasswordIsNotRemembered(t *testing.T) {
	b, _, _ := newBook(t)
	if _, err := b.Login(t.Context(), here, "ann", wrong); !errors.Is(err, ErrWrong) {
		t.Fatal(err)
	}
	noHashes(b)
	for _, password := range []Secret{wrong, right} {
		if _, err := b.Login(t.Context(), here, "ann", password); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v", err)
		}
	}
}

// TestRememberedPasswords: their number is bounded, no two keys are equal, and after their time
// nothing is left: neither sums, nor keys, nor a timer. No password is in what is remembered.
func TestRememberedPasswords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p rightPasswords
		k := func(n int) checkKey { return checkKey{fmt.Sprint("u", n), "the kettle", "$hash$"} }
		look := func() (now, before remembered, ages bool) {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.now, p.before, p.ages
		}
		p.add(k(0))
		if now, _, _ := look(); strings.Contains(fmt.Sprintf("%+v", now), "kettle") {
			t.Error("the password is there")
		}
		for n := range maxRemembered + 10 {
			p.add(k(n))
		}
		now, _, _ := look()
		if len(now.sums) != maxRemembered || !p.has(k(0)) || p.has(k(maxRemembered)) {
			t.Errorf("%d are remembered, want %d", len(now.sums), maxRemembered)
		}
		first := now.key
		pass := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait() // the timer of age is done
		}
		pass(rememberFor + time.Second)
		p.add(k(maxRemembered))
		if now, _, _ := look(); string(first) == string(now.key) || !p.has(k(0)) ||
			!p.has(k(maxRemembered)) {
			t.Error("after the time of a key there is no second one beside it")
		}
		pass(rememberFor)
		if p.has(k(0)) || !p.has(k(maxRemembered)) {
			t.Error("the first ones are remembered still, or the last one is not any more")
		}
		if string(first) != string(make([]byte, len(first))) {
			t.Error("the first key was not erased")
		}
		pass(2 * rememberFor)
		if now, before, ages := look(); now.key != nil || before.key != nil || ages {
			t.Errorf("left over: %+v, %+v, %v", now, before, ages)
		}
	})
}

// TestHashesLeaveACore: hashes leave a core to the others, if there are several.
func TestHashesLeaveACore(t *testing.T) {
	for cores, want := range map[int]int{1: 1, 2: 1, 3: 2, 4: 3, 5: 4, 64: maxAtOnce} {
		if got := hashesAtOnce(cores); got != want {
			t.Errorf("%d cores: %d hashes at once, want %d", cores, got, want)
		}
	}
}
