package limit

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// clock is a clock that a test sets.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func TestRate(t *testing.T) {
	c := &clock{time.Unix(1000, 0)}
	r := NewRate(3, time.Minute, c.now)
	for i := range 3 {
		if wait, ok := r.Take("a"); !ok {
			t.Fatalf("take %d of 3 was refused for %v", i, wait)
		}
	}
	if wait, ok := r.Take("a"); ok || wait != time.Minute {
		t.Fatalf("take 4: ok %v, wait %v; want to wait a minute", ok, wait)
	}
	if _, ok := r.Take("b"); !ok {
		t.Error("another key was refused")
	}
	c.t = c.t.Add(20 * time.Second)
	if wait, ok := r.Take("a"); ok || wait.Round(time.Millisecond) != 40*time.Second {
		t.Errorf("20 s later: ok %v, wait %v; want 40 s", ok, wait)
	}
	c.t = c.t.Add(40 * time.Second)
	if _, ok := r.Take("a"); !ok {
		t.Error("a minute later it is refused still")
	}
	r.Back("a")
	if _, ok := r.Take("a"); !ok {
		t.Error("what was given back cannot be taken")
	}
}

func TestRateOfAClockThatIsSet(t *testing.T) {
	now := time.Unix(1e9, 0)
	r := NewRate(2, time.Minute, func() time.Time { return now })
	for n, set := range []time.Duration{0, -365 * 24 * time.Hour} {
		now = now.Add(set)
		if wait, ok := r.Take("a"); !ok {
			t.Errorf("try %d: wait %v", n, wait)
		}
	}
	if wait, ok := r.Take("a"); ok || wait != time.Minute {
		t.Errorf("the third at once: %v, %v; want to wait a minute, whatever the clock was", wait,
			ok)
	}
}

func TestRateTakesAllOrNone(t *testing.T) {
	c := &clock{time.Unix(1000, 0)}
	r := NewRate(2, time.Minute, c.now)
	r.Take("account")
	r.Take("account")
	if _, ok := r.Take("address", "account"); ok {
		t.Fatal("a full key let it pass")
	}
	r.Take("address")
	if _, ok := r.Take("address"); !ok {
		t.Error("a refused take was counted for its other key")
	}
}

func TestRateIsBounded(t *testing.T) {
	c := &clock{time.Unix(1000, 0)}
	r := NewRate(2, time.Hour, c.now)
	r.Take("victim")
	r.Take("victim")
	for i := range 10 * maxKeys {
		r.Take(fmt.Sprint(i))
	}
	if n := len(r.levels); n > maxKeys {
		t.Errorf("%d keys are held, at most %d", n, maxKeys)
	}
	if _, ok := r.Take("victim"); ok {
		t.Error("a flood of keys with one take each made room for one that is full")
	}
}

func TestNoBurstIsNoLimit(t *testing.T) {
	r := NewRate(0, time.Hour, time.Now)
	for range 100 {
		if _, ok := r.Take("a"); !ok {
			t.Fatal("refused")
		}
	}
}

func TestKey(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7":           "192.0.2.7",
		"::ffff:192.0.2.7":    "192.0.2.7",
		"2001:db8:1:2:3::4":   "2001:db8:1:2::/64",
		"2001:db8:1:2:ffff::": "2001:db8:1:2::/64",
		"fe80::1%eth0":        "fe80::/64",
	} {
		if got := Key(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s counts as %s, want %s", address, got, want)
		}
	}
}

func TestConnections(t *testing.T) {
	c := NewConnections(3, 2)
	a, b, d := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"),
		netip.MustParseAddr("192.0.2.3")
	var leave []func()
	for _, who := range []netip.Addr{a, a, b} {
		f, err := c.Enter(who)
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, f)
	}
	if _, err := c.Enter(d); err == nil || err.Error() != "too many connections: 3 are open" {
		t.Errorf("a fourth: %v", err)
	}
	leave[2]()
	leave[2]() // a second call has no effect
	if _, err := c.Enter(a); err == nil ||
		!strings.Contains(err.Error(), "from 192.0.2.1: 2 are open") {
		t.Errorf("a third of one address: %v", err)
	}
	if _, err := c.Enter(d); err != nil {
		t.Errorf("after one has left: %v", err)
	}
	leave[0]()
	leave[1]()
	if n := c.Open(); n != 1 || len(c.counted) != 1 {
		t.Errorf("%d open, %d addresses; want 1 and 1", n, len(c.counted))
	}
	c.Set(0, 0)
	for range 10 {
		if _, err := c.Enter(d); err != nil {
			t.Error(err)
		}
	}
}

func TestSpend(t *testing.T) {
	now := time.Unix(1000, 0)
	r := NewRate(10, time.Second, func() time.Time { return now })
	for _, step := range []struct {
		n    int
		pass time.Duration // since the step before
		want time.Duration
	}{
		{10, 0, 0}, {1, 0, time.Second}, {4, 0, 5 * time.Second},
		{0, 3 * time.Second, 2 * time.Second}, {0, 2 * time.Second, 0},
		{3, 2 * time.Second, time.Second},
		{10, time.Hour, 0},
	} {
		now = now.Add(step.pass)
		if got := r.Spend("ann", step.n); got != step.want {
			t.Errorf("%d after %v: wait %v, want %v", step.n, step.pass, got, step.want)
		}
	}
	if got := r.Spend("bob", 10); got != 0 {
		t.Errorf("another waits %v", got)
	}
	if got := NewRate(0, time.Second, time.Now).Spend("ann", 1<<20); got != 0 {
		t.Errorf("without a limit: %v", got)
	}
	for i := range 2 * maxKeys {
		r.Spend(fmt.Sprint(i), 1)
	}
	if len(r.levels) > maxKeys {
		t.Errorf("%d keys are kept, want %d at most", len(r.levels), maxKeys)
	}
}
