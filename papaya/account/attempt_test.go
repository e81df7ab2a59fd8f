package account

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"interleave/papaya/irc"
)

// occupy takes all turns to compute hashes, so that logins stay under way until free is called.
func occupy(t *testing.T, b *Book) (free func()) {
	t.Helper()
	var leaves []func()
	for range cap(b.hashes.running) {
		leave, err := b.hashes.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
	}
	return func() {
		for _, leave := range leaves {
			leave()
		}
	}
}

// atOnce has logins begin while all hashes are occupied, and returns their errors.
func atOnce(t *testing.T, b *Book, logins int, login func(n int) error) []error {
	t.Helper()
	free := occupy(t, b)
	ended := make(chan error, logins)
	for n := range logins {
		go func() { ended <- login(n) }()
	}
	synctest.Wait()
	if len(ended) > 0 {
		t.Fatalf("%d of %d logins have ended at once: %v", len(ended), logins, <-ended)
	}
	free()
	var errs []error
	for range logins {
		errs = append(errs, <-ended)
	}
	return errs
}

// TestDevicesOfOneAddress: three times as many devices as may fail log in at once from one address.
// All get in, by passwords and by SCRAM. Nothing is left of them.
func TestDevicesOfOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newScramBook(t)
		for n := range 3 * addressBurst {
			if err := b.Add(t.Context(), fmt.Sprint("u", n), Member, right); err != nil {
				t.Fatal(err)
			}
		}
		for n, err := range atOnce(t, b, 3*addressBurst, func(n int) error {
			_, err := b.Login(t.Context(), here, fmt.Sprint("u", n), right)
			return err
		}) {
			if err != nil {
				t.Errorf("login %d: %v", n, err)
			}
		}
		var begun []*Scram
		for range addressBurst {
			s, _, err := b.BeginScram(t.Context(), here, "n,,n=ann,r=x")
			if err != nil {
				t.Fatal(err)
			}
			begun = append(begun, s)
		}
		ended := make(chan error)
		go func() {
			_, err := b.loginByScram(t.Context(), here, "n,,n=ann,r=x", right)
			ended <- err
		}()
		synctest.Wait()
		for _, s := range begun[1:] {
			_, _, _ = s.Finish("") // they fail: only the first makes room
		}
		begun[0].done(nil)
		if err := <-ended; err != nil {
			t.Errorf("by SCRAM: %v", err)
		}
		if n, k := len(b.addresses.busy), len(b.names.busy); n+k > 0 {
			t.Errorf("left over: %d addresses and %d names", n, k)
		}
	})
}

// TestGuessesWait: of many guesses at once only as many are tried as may fail. The others are
// refused when these have ended, and none waits for ever.
func TestGuessesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _, _ := newBook(t)
		tried, limited := 0, 0
		for _, err := range atOnce(t, b, 4*addressBurst, func(n int) error {
			_, err := b.Login(t.Context(), here, fmt.Sprint("u", n), wrong)
			return err
		}) {
			switch {
			case errors.Is(err, ErrWrong):
				tried++
			case errors.As(err, new(*LimitError)):
				limited++
			default:
				t.Errorf("a guess: %v", err)
			}
		}
		if tried != addressBurst || limited != 3*addressBurst {
			t.Errorf("%d were tried and %d refused, want %d and %d", tried, limited, addressBurst,
				3*addressBurst)
		}
	})
}

// TestLoginThatMayNotWait: a login whose time is over while it waits for others is not checked, and
// the next one has its turn.
func TestLoginThatMayNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _, _ := newBook(t)
		free := occupy(t, b)
		in := make(chan error, addressBurst)
		for n := range addressBurst {
			go func() {
				_, err := b.Login(t.Context(), here, fmt.Sprint("u", n), wrong)
				in <- err
			}()
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		short, long := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := b.Login(ctx, here, "ann", right)
			short <- err
		}()
		synctest.Wait()
		go func() {
			_, err := b.Login(t.Context(), here, "ann", right)
			long <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-short; !errors.Is(err, ErrBusy) {
			t.Errorf("its time is over: %v", err)
		}
		free()
		for range addressBurst {
			if err := <-in; !errors.Is(err, ErrWrong) {
				t.Errorf("one that was there before: %v", err)
			}
		}
		if err := <-long; !errors.As(err, new(*LimitError)) {
			t.Errorf("after as many failures as may be: %v", err)
		}
	})
}

// TestOneHashForOneAccount: logins of one account with one password cost one hash. Other passwords
// and other names, known or not, cost one each.
func TestOneHashForOneAccount(t *testing.T) {
	for _, test := range []struct {
		name   string
		login  func(n int) (name string, password Secret)
		hashes int
	}{
		{"an account", func(int) (string, Secret) { return "ann", right }, 1},
		{"in other letters", func(n int) (string, Secret) { return "ANN"[:n] + "ann"[n:], right },
			1},
		{"passwords", func(n int) (string, Secret) { return "ann", NewSecret(fmt.Sprint(n)) }, 4},
		{"a name that is not there", func(int) (string, Secret) { return "eve", right }, 1},
		{"such names", func(n int) (string, Secret) { return fmt.Sprint("eve", n), right }, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, _, _ := newBook(t)
				free := occupy(t, b)
				ended := make(chan error, 4)
				for n := range 4 {
					go func() {
						name, password := test.login(n)
						_, err := b.Login(t.Context(), here, name, password)
						ended <- err
					}()
				}
				synctest.Wait()
				if got := len(b.hashes.waiting) - cap(b.hashes.running); got != test.hashes {
					t.Errorf("%d hashes for 4 logins, want %d", got, test.hashes)
				}
				free()
				_, password := test.login(0)
				for range 4 {
					want := error(nil)
					if name, _ := test.login(0); password != right || irc.Lower(name) != "ann" {
						want = ErrWrong
					}
					if err := <-ended; !errors.Is(err, want) {
						t.Errorf("got %v, want %v", err, want)
					}
				}
				if len(b.checks.own) > 0 {
					t.Errorf("left over: %d checks", len(b.checks.own))
				}
			})
		})
	}
}
