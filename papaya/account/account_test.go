package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// cheap is a low cost, for tests of other things.
var cheap = Cost{MemoryKiB: 8, Passes: 1, Lanes: 1}

var (
	here  = netip.MustParseAddr("192.0.2.1")
	there = netip.MustParseAddr("192.0.2.2")
	right = NewSecret("the kettle is on")
	wrong = NewSecret("the kettle is off")
)

// clock is a clock that a test sets.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func newBook(t *testing.T) (*Book, *clock, *Memory) {
	c, m := &clock{t: time.Unix(1_800_000_000, 0)}, &Memory{}
	b := open(m, cheap, c.now)
	if err := b.Add(t.Context(), "Ann", Admin, right); err != nil {
		t.Fatal(err)
	}
	return b, c, m
}

func TestLogin(t *testing.T) {
	b, _, _ := newBook(t)
	if err := b.Add(t.Context(), "bot", Member, Secret{}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name     string
		password Secret
		want     error
	}{
		{"Ann", right, nil},
		{"aNN", right, nil},
		{"Ann", wrong, ErrWrong},
		{"Ann", Secret{}, ErrWrong},
		{"nobody", right, ErrWrong},
		{"bot", Secret{}, ErrWrong}, // no password is not the empty password
		{"", right, ErrWrong},
		{strings.Repeat("a", 10_000), right, ErrWrong},
		{"no such name", right, ErrWrong},
	} {
		a, err := b.Login(t.Context(), here, test.name, test.password)
		if !errors.Is(err, test.want) || err == nil && (a.Name != "Ann" || a.Role != Admin) {
			t.Errorf("login of %.20q: %+v, %v; want %v", test.name, a, err, test.want)
		}
	}
	if err := b.Add(t.Context(), "ANN", Member, right); !errors.Is(err, ErrExists) {
		t.Errorf("a second ann: %v", err)
	}
}

func TestLifeOfAnAccount(t *testing.T) {
	b, _, _ := newBook(t)
	ctx := t.Context()
	if err := b.SetPassword(ctx, "ann", wrong); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Login(ctx, here, "ann", right); !errors.Is(err, ErrWrong) {
		t.Errorf("the old password: %v", err)
	}
	if err := b.SetRole(ctx, "ann", Operator); err != nil {
		t.Fatal(err)
	}
	if a, err := b.Login(ctx, here, "ann", wrong); err != nil || a.Role != Operator {
		t.Errorf("the new password: %+v, %v", a, err)
	}
	if err := b.SetRole(ctx, "ann", "king"); err == nil ||
		err.Error() != `role "king": expected admin, operator, member or guest` {
		t.Errorf("a role that is none: %v", err)
	}
	if err := b.Remove(ctx, "ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Login(ctx, here, "ann", wrong); !errors.Is(err, ErrWrong) {
		t.Errorf("after its end: %v", err)
	}
	if err := b.Add(ctx, "Ann", Member, right); !errors.Is(err, ErrRemoving) {
		t.Errorf("another account of the name, before the chat has forgotten the first: %v", err)
	}
	for _, err := range []error{b.Remove(ctx, "ann"), b.SetPassword(ctx, "ann", right),
		b.SetRole(ctx, "ann", Member), b.AddCertificate(ctx, "ann", print1)} {
		if !errors.Is(err, ErrNone) {
			t.Errorf("a change of dummy: %v", err)
		}
	}
	if err := errors.Join(b.Forgotten(ctx, "ann"), b.Add(ctx, "Ann", Member, right)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestList(t *testing.T) {
	b, _, _ := newBook(t)
	for _, name := range []string{"[x]", "bob", "a`b"} {
		if err := b.Add(t.Context(), name, Member, Secret{}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := b.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, a := range list {
		got += fmt.Sprintf("%s %s %v, ", a.Name, a.Role, a.HasPassword)
	}
	const want = "[x] member false, a`b member false, Ann admin true, bob member false, "
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	text, err := json.Marshal(list)
	if err != nil || strings.Contains(string(text), "argon2id") {
		t.Errorf("a list that may be shown has hashes: %s, %v", text, err)
	}
}

func TestPasswordsThatAreRefused(t *testing.T) {
	b, _, _ := newBook(t)
	for password, want := range map[string]string{
		"short":                   "at least 12 bytes, this one has 5",
		strings.Repeat("x", 257):  "at most 256 bytes, this one has 257",
		"with a\x00in the middle": "must not contain NUL",
	} {
		err := b.SetPassword(t.Context(), "ann", NewSecret(password))
		if err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), password) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	b.MinPassword = 5
	if err := b.SetPassword(t.Context(), "ann", NewSecret("short")); err != nil {
		t.Errorf("five bytes are enough: %v", err)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"ann": true, "A": true, "[]\\^_{|}`": true, "a-1": true, strings.Repeat("a", 30): true,
		"": false, "1a": false, "-a": false, "a b": false, "a\nb": false, "ä": false, "a.b": false,
		strings.Repeat("a", 31): false,
	} {
		if got := CheckName(name) == nil; got != want {
			t.Errorf("name %q is allowed: %v, want %v", name, got, want)
		}
	}
}

// TestFailuresByAddress: a burst of failures is allowed, and then one each minute. A correct login
// costs nothing, and other addresses are not affected.
func TestFailuresByAddress(t *testing.T) {
	b, c, _ := newBook(t)
	for i := range 3 * addressBurst {
		if _, err := b.Login(t.Context(), here, "ann", right); err != nil {
			t.Fatalf("login %d: %v", i, err)
		}
	}
	for i := range addressBurst {
		if _, err := b.Login(t.Context(), here, fmt.Sprint("guess", i), wrong); !errors.Is(err,
			ErrWrong) {
			t.Fatalf("guess %d: %v", i, err)
		}
	}
	_, err := b.Login(t.Context(), here, "ann", right)
	var limited *LimitError
	if !errors.As(err, &limited) || limited.Wait != addressEvery {
		t.Fatalf("after the burst: %v", err)
	}
	if err.Error() != "too many logins have failed, try again in 1m0s" {
		t.Errorf("it says: %v", err)
	}
	if _, err := b.Redeem(t.Context(), here, NewSecret("x"), "eve", right); !errors.As(err,
		&limited) {
		t.Errorf("an invitation may be guessed still: %v", err)
	}
	if _, err := b.Login(t.Context(), there, "ann", right); err != nil {
		t.Errorf("from elsewhere: %v", err)
	}
	c.add(addressEvery)
	if _, err := b.Login(t.Context(), here, "ann", right); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}

// TestFailuresByName: failures from many addresses add up, whether the account exists or not.
func TestFailuresByName(t *testing.T) {
	for _, name := range []string{"ann", "nobody"} {
		b, _, _ := newBook(t)
		address := netip.MustParseAddr("198.51.100.1")
		for i := range nameBurst {
			if _, err := b.Login(t.Context(), address, name, wrong); !errors.Is(err, ErrWrong) {
				t.Fatalf("guess %d: %v", i, err)
			}
			address = address.Next()
		}
		var limited *LimitError
		if _, err := b.Login(t.Context(), address, strings.ToUpper(name), wrong); !errors.As(err,
			&limited) {
			t.Errorf("guess %d of %s: %v", nameBurst+1, name, err)
		}
		if _, err := b.Login(t.Context(), address, "bob", wrong); !errors.Is(err, ErrWrong) {
			t.Errorf("another name: %v", err)
		}
	}
}

// TestGuessesAtOnce: the limit also holds for concurrent logins.
func TestGuessesAtOnce(t *testing.T) {
	b, _, _ := newBook(t)
	var mu sync.Mutex
	var done sync.WaitGroup
	tried := 0
	for range 4 * addressBurst {
		done.Go(func() {
			_, err := b.Login(t.Context(), here, "ann", wrong)
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, ErrWrong) {
				tried++
			}
		})
	}
	done.Wait()
	if tried != addressBurst {
		t.Errorf("%d guesses were tried, want %d", tried, addressBurst)
	}
}

// broken is a Store that fails.
type broken struct{ Memory }

var errBroken = errors.New("no leader")

func (*broken) Get(context.Context, string) ([]byte, uint64, error) { return nil, 0, errBroken }
func (*broken) Keys(context.Context, string) ([]string, error)      { return nil, errBroken }

func TestTroubleIsNoWrongPassword(t *testing.T) {
	b := open(&broken{}, cheap, time.Now)
	for range 2 * addressBurst { // a failing store does not count as a failed login
		if _, err := b.Login(t.Context(), here, "ann", right); !errors.Is(err, errBroken) {
			t.Fatalf("got %v", err)
		}
	}
	if _, err := b.List(t.Context()); !errors.Is(err, errBroken) {
		t.Errorf("list: %v", err)
	}
}

func TestNobodyTakesAnothersChange(t *testing.T) {
	_, _, m := newBook(t)
	_, revision, err := m.Get(t.Context(), "account.ann")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Put(t.Context(), "account.ann", []byte("{}"), revision+1); !errors.Is(err,
		ErrChanged) {
		t.Errorf("a put of a wrong revision: %v", err)
	}
	if err := m.Delete(t.Context(), "account.ann", 0); !errors.Is(err, ErrChanged) {
		t.Errorf("a delete of a wrong revision: %v", err)
	}
}
