package bans

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"interleave/papaya/irc"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		word string
		want string // kind and form; empty: an error
	}{
		{"ann", "account ann"}, {"~a:ann", "account ann"}, {"[x]", "account [x]"},
		{"192.0.2.7", "address 192.0.2.7"}, {"192.0.2.7/32", "address 192.0.2.7"},
		{"192.0.2.7/24", "address 192.0.2.0/24"}, {"2001:db8::1", "address 2001:db8::1"},
		{"2001:DB8:0:0::1/64", "address 2001:db8::/64"},
		{"::ffff:192.0.2.7", "address 192.0.2.7"}, {"::ffff:c000:207", "address 192.0.2.7"},
		{"::ffff:192.0.2.7/120", "address 192.0.2.0/24"}, {"10.0.0.0/1", "address 0.0.0.0/1"},
		{"ann!*@*", "mask ann!*@*"}, {"a*", "mask a*!*@*"}, {"*!ann@*", "mask *!ann@*"},
		{"*.b.c.cloak.invalid", "mask *!*@*.b.c.cloak.invalid"},
		{"a.b.c.cloak.invalid", "mask *!*@a.b.c.cloak.invalid"},
		{"*!*@192.0.2.*", "mask *!*@192.0.2.*"}, {"@*.example", "mask *!*@*.example"},

		{"", ""}, {"*", ""}, {"*!*@*", ""}, {"?*!*@*.*", ""}, {"0.0.0.0/0", ""}, {"::/0", ""},
		{"127.0.0.1", ""}, {"127.1.2.3/16", ""}, {"::1", ""}, {"::ffff:127.0.0.1", ""},
		{"*!*@127.0.0.1", ""}, {"*!*@127.*", ""}, {"*!*@0::1", ""},
		{"192.0.2.300", ""}, {"192.0.2", ""}, {"192.0.2.0/33", ""}, {"192.0.2.0/-1", ""},
		{"fe80::1%eth0", ""}, {"::ffff:0:0/90", ""}, {"2001:db8::x", ""}, {"1/2", ""},
		{"1ann", ""}, {"~a:1ann", ""}, {"~m:ann", ""}, {"a b!*@*", ""}, {":a*", ""},
		{"a,b*", ""}, {"a\x00*", ""}, {string(make([]byte, maxTarget+1)), ""},
	} {
		got := ""
		if target, err := Parse(test.word); err == nil {
			got = fmt.Sprint(target.Kind(), " ", target)
		}
		if got != test.want {
			t.Errorf("%q is %q, want %q", test.word, got, test.want)
		}
	}
}

func parsed(t *testing.T, word string) Target {
	t.Helper()
	target, err := Parse(word)
	if err != nil {
		t.Fatalf("%q: %v", word, err)
	}
	return target
}

func TestWhomABanIsFor(t *testing.T) {
	for _, test := range []struct {
		target, who string
		want        bool
	}{
		{"Ann", "ann", true}, {"ann", "anna", false}, {"ann", "", false},
		{"192.0.2.0/24", "192.0.2.9", true}, {"192.0.2.0/24", "192.0.3.9", false},
		{"192.0.2.0/24", "::ffff:192.0.2.9", true}, {"192.0.2.9", "::192.0.2.9", false},
		{"fe80::/64", "fe80::1%eth0", true}, {"2001:db8::/32", "2001:DB8:1::1", true},
		{"EVE!*@*", "eve!x@y", true}, {"*.B.invalid", "eve!x@a.b.invalid", true},
		{"*.b.invalid", "eve!x@b.invalid", false},
	} {
		target := parsed(t, test.target)
		got := target.HasAccount(test.who) || target.HasSource(test.who)
		if a, err := netip.ParseAddr(test.who); err == nil {
			got = target.HasAddress(a)
		}
		if got != test.want {
			t.Errorf("%s is for %q: %v, want %v", test.target, test.who, got, test.want)
		}
	}
	if parsed(t, "192.0.2.0/24").HasAddress(netip.Addr{}) {
		t.Error("a network has no address")
	}
}

func TestLengths(t *testing.T) {
	for word, want := range map[string]time.Duration{"forever": 0, "FOREVER": 0,
		"30m": 30 * time.Minute, "7d": 7 * day, "1w2d": 9 * day, "1y": 365 * day,
		"90s": 90 * time.Second, "0d12h": 12 * time.Hour} {
		if got, err := ParseLength(word); err != nil || got != want {
			t.Errorf("%s is %v, %v, want %v", word, got, err, want)
		}
	}
	for _, word := range []string{"", "0", "0s", "7", "d", "7x", "-7d", "7d ", "1.5h", "7é",
		"9999999999d", "999999999y", "200y"} {
		if got, err := ParseLength(word); err == nil {
			t.Errorf("%q is %v", word, got)
		}
	}
}

// TestList: a ban replaces that of the same target, ends at its time, and no list changes.
func TestList(t *testing.T) {
	var none List
	ann := Ban{Target: parsed(t, "ann"), By: "olga", Why: "spam", Set: 1, Until: 100}
	one := none.With(ann)
	longer := ann
	longer.Target, longer.Until = parsed(t, "ANN"), 200
	two := one.With(Ban{Target: parsed(t, "192.0.2.0/24"), Set: 1}).With(longer)
	if len(none) != 0 || len(one) != 1 || one[0].Until != 100 || len(two) != 2 {
		t.Errorf("the lists are %v, %v, %v", none, one, two)
	}
	for _, test := range []struct {
		list List
		now  int64
		want int64 // the end of ann's ban; -1: there is none
	}{{one, 99, 100}, {one, 100, -1}, {two, 199, 200}, {two, 200, -1}, {none, 0, -1}} {
		b, banned := test.list.Account("aNN", test.now)
		if banned != (test.want >= 0) || banned && b.Until != test.want {
			t.Errorf("%v at %d: %v, %v", test.list, test.now, b, banned)
		}
	}
	host := netip.MustParseAddr("192.0.2.7")
	nets := two.With(Ban{Target: parsed(t, "192.0.2.7"), Until: 50})
	if b, banned := nets.Address(host, 10); !banned || b.Until != 0 {
		t.Errorf("of two bans the longer one is not found, but %v, %v", b, banned)
	}
	if open, ended := nets.At(50); len(open) != 2 || len(ended) != 1 || nets.NextEnd() != 50 ||
		open.NextEnd() != 200 {
		t.Errorf("at 50: %v and %v", open, ended)
	}
	if renamed := two.Renamed("Ann", "zoe"); len(renamed) != 2 {
		t.Errorf("renamed: %v", renamed)
	} else if _, banned := renamed.Account("ann", 1); banned {
		t.Error("the former name is banned")
	} else if _, banned := renamed.Account("Zoe", 1); !banned {
		t.Error("the new name is not banned")
	}
	rest, b, found := two.Without(parsed(t, "Ann"))
	if !found || b.Until != 200 || len(rest) != 1 || len(two) != 2 {
		t.Errorf("without ann: %v, %v, %v", rest, b, found)
	}
}

func TestText(t *testing.T) {
	b := Ban{Target: parsed(t, "ann"), Why: "spam"}
	if got := b.Text(); got != "You are banned from this server: spam" {
		t.Error(got)
	}
	b.Until, b.Why = 1_800_000_000_000, ""
	if got := b.Text(); got != "You are banned from this server until 2027-01-15 08:00:00 UTC" {
		t.Error(got)
	}
}

func TestJSON(t *testing.T) {
	for _, b := range []Ban{
		{Target: parsed(t, "192.0.2.0/24"), By: "root", Why: "a flood", Set: 1000, Until: 2000},
		{Target: parsed(t, "ann"), By: "root", Set: 1000}} {
		data, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		var again Ban
		if err := json.Unmarshal(data, &again); err != nil || again != b {
			t.Errorf("%s is read as %+v, %v", data, again, err)
		}
	}
}

// FuzzParse: a target is read back as it is shown, and is neither everybody nor this machine.
func FuzzParse(f *testing.F) {
	for _, word := range []string{"ann", "~a:ann", "192.0.2.0/24", "::ffff:1.2.3.4/97",
		"a*!b@c.d", "*.example", "127.0.0.1/8"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		target, err := Parse(word)
		if err != nil {
			return
		}
		again, err := Parse(target.String())
		if err != nil || !again.Same(target) || again.Kind() != target.Kind() {
			t.Errorf("%q is shown as %q, which is %v, %v", word, target, again, err)
		}
		if !irc.IsNick(target.Account()) && target.Kind() == Account {
			t.Errorf("%q is an account", word)
		}
		if target.HasSource("\x01!\x01@\x01") || target.HasSource("\x01!\x01@127.0.0.1") {
			t.Errorf("%q is for everybody on this machine", word)
		}
	})
}

// FuzzParseLength: a length is never negative, and 0 only if it is for ever.
func FuzzParseLength(f *testing.F) {
	for _, word := range []string{"forever", "7d", "1w2d", "999999999999y", "0s"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		d, err := ParseLength(word)
		if err == nil && (d < 0 || d == 0 && irc.Lower(word) != "forever") {
			t.Errorf("%q is %v", word, d)
		}
	})
}
