package account

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestHash compares the format with a hash of the reference implementation: printf password |
// argon2 somesalt -id -t 2 -k 256 -p 1.
func TestHash(t *testing.T) {
	const reference = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
	h, err := parseHash(reference)
	if err != nil {
		t.Fatal(err)
	}
	hashes := newHasher(cheap, 1)
	for password, want := range map[string]bool{"password": true, "passwords": false} {
		if got, err := hashes.verify(t.Context(), NewSecret(password), h); err != nil ||
			got != want {
			t.Errorf("%s: %v, %v; want %v", password, got, err, want)
		}
	}
	if h.String() != reference {
		t.Errorf("read and written it is %s", h)
	}
}

func TestHashesAreSalted(t *testing.T) {
	hashes := newHasher(cheap, 1)
	a, err := hashes.make(t.Context(), right)
	if err != nil {
		t.Fatal(err)
	}
	b, err := hashes.make(t.Context(), right)
	if err != nil {
		t.Fatal(err)
	}
	if a.String() == b.String() {
		t.Error("one password has one hash twice")
	}
	if back, err := parseHash(a.String()); err != nil || back.String() != a.String() {
		t.Errorf("read back: %v, %v", back, err)
	}
}

func TestHashesThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "a hash of a password is",
		"$argon2i$v=19$m=8,t=1,p=1$c$c": "a hash of a password is",
		"$argon2id$v=16$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4":       "version 16",
		"$argon2id$v=19$m=4000000,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4":   "out of bounds",
		"$argon2id$v=19$m=256,t=4000000,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4": "out of bounds",
		"$argon2id$v=19$m=256,t=2,p=0$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4":       "out of bounds",
		"$argon2id$v=19$m=256,t=2,p=1$c29t$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4":              "wrong length",

		"$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65": "wrong length",

		"$argon2id$v=19$m=256,t=2,p=1 " +
			"$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4": "malformed",
		"$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ=$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4": "the salt",
		// padding bits that are not zero
		"$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/5": "the tag",
		"$argon2id$v=19$m=x,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4":   "the parameters",
	} {
		if _, err := parseHash(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestRenewal: a login with a hash of an older cost stores one of the current cost.
func TestRenewal(t *testing.T) {
	b, _, m := newBook(t)
	newer := open(m, Cost{MemoryKiB: 16, Passes: 2, Lanes: 1}, b.now)
	if _, err := newer.Login(t.Context(), here, "ann", wrong); !errors.Is(err, ErrWrong) {
		t.Fatal(err)
	}
	if r, _ := b.get(t.Context(), "ann"); !strings.Contains(r.Hash, "$m=8,t=1,p=1$") {
		t.Fatalf("a login that failed changed the hash to %s", r.Hash)
	}
	if _, err := newer.Login(t.Context(), here, "ann", right); err != nil {
		t.Fatal(err)
	}
	if r, _ := b.get(t.Context(), "ann"); !strings.Contains(r.Hash, "$m=16,t=2,p=1$") {
		t.Errorf("the hash is %s", r.Hash)
	}
	if _, err := newer.Login(t.Context(), here, "ann", right); err != nil {
		t.Errorf("with the new hash: %v", err)
	}
}

// TestStandard repeats the parameters: a change must give its reason here, too.
func TestStandard(t *testing.T) {
	if Standard != (Cost{19 * 1024, 2, 1}) {
		t.Errorf("%+v is not what OWASP asks for at least", Standard)
	}
}

// TestNamesCannotBeToldByTime: a wrong password and an unknown name take the same work. It compares
// the least CPU time of 15 logins each, which may differ by a third. A login without a hash would
// take a hundredth.
func TestNamesCannotBeToldByTime(t *testing.T) {
	b := open(&Memory{}, Standard, time.Now)
	b.address, b.name = unlimited(), unlimited() // this test guesses often
	for name, password := range map[string]Secret{"ann": right, "bot": {}} {
		if err := b.Add(t.Context(), name, Member, password); err != nil {
			t.Fatal(err)
		}
	}
	took := map[string][]time.Duration{}
	for range 15 {
		for _, name := range []string{"ann", "bot", "nobody", "no name"} {
			start := worked(t)
			if _, err := b.Login(t.Context(), here, name, wrong); !errors.Is(err, ErrWrong) {
				t.Fatal(err)
			}
			took[name] = append(took[name], worked(t)-start)
		}
	}
	for _, d := range took {
		slices.Sort(d)
	}
	known := took["ann"][0] // the least time, since other work on the machine only adds
	for name, d := range took {
		if ratio := float64(d[0]) / float64(known); ratio < 0.67 || ratio > 1.5 {
			t.Errorf("%s takes %v, ann %v", name, d[0], known)
		}
	}
	t.Logf("a wrong password takes %v, a name that is not there %v", known, took["nobody"][0])
}

// worked returns the CPU time of this process.
func worked(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestStormIsBounded: of many concurrent logins, at most maxAtOnce compute hashes, a bounded number
// waits, and the others get ErrBusy.
func TestStormIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHasher(cheap, 2)
		var leaves []func()
		for range 2 {
			leave, err := h.enter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			leaves = append(leaves, leave)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, maxWaiting)
		for range maxWaiting - 2 {
			go func() {
				_, err := h.enter(ctx)
				ended <- err
			}()
		}
		synctest.Wait()
		if len(ended) != 0 {
			t.Fatalf("%d entered beside the 2 that run", len(ended))
		}
		if _, err := h.enter(t.Context()); !errors.Is(err, ErrBusy) {
			t.Errorf("one more: %v", err)
		}
		cancel()
		synctest.Wait()
		for range maxWaiting - 2 {
			if err := <-ended; !errors.Is(err, ErrBusy) {
				t.Errorf("one that waited: %v", err)
			}
		}
		for _, leave := range leaves {
			leave()
		}
		if leave, err := h.enter(t.Context()); err != nil {
			t.Errorf("after the storm: %v", err)
		} else {
			leave()
		}
	})
}

func TestSecretsAreNotPrinted(t *testing.T) {
	s := NewSecret("hunter2hunter2")
	var b bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))
	logger.Debug("login", "password", s, "all", struct{ S Secret }{s})
	slog.New(slog.NewTextHandler(&b, nil)).Info("login", "password", s, "all", []Secret{s})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&b, verb+verb, s, struct{ S Secret }{s})
	}
	data, err := json.Marshal(map[string]any{"s": s})
	if err != nil {
		t.Fatal(err)
	}
	b.Write(data)
	if out := b.String(); strings.Contains(out, "hunter2") || strings.Contains(out, "68756e74") ||
		!strings.Contains(out, "(secret)") {
		t.Errorf("printed: %s", out)
	}
}

func FuzzParseHash(f *testing.F) {
	f.Add("$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4")
	f.Add("$argon2id$v=19$m=256,t=2,p=$c29tZXNhbHQ$")
	f.Add("$$$$$")
	f.Fuzz(func(t *testing.T, s string) {
		if h, err := parseHash(s); err == nil && (h.String() != s ||
			h.cost.MemoryKiB > maxMemoryKiB) {
			t.Errorf("%q was read as %s", s, h)
		}
	})
}
