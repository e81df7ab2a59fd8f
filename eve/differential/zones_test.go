package differential

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// Zones with rules of all forms, with offsets below a minute and above half a day, and without
// summer time.
var someZones = []string{"Europe/Berlin", "Europe/Dublin", "America/New_York", "America/Nuuk",
	"Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca", "Pacific/Apia", "Asia/Gaza",
	"Antarctica/Troll", "America/Scoresbysund", "Asia/Jerusalem", "America/Santiago", "UTC",
	"Etc/GMT+5", "EST5EDT"}

// Zones say the same as Go, before their first change and behind their last one, too.
func TestZones(t *testing.T) {
	l := libraryProgram(t, "zones")
	random := rand.New(rand.NewPCG(*seed, 3))
	var all []int64
	for year := 1880; year < 2260; year += 9 {
		for range 3 {
			first := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
			all = append(all, first+random.Int64N(366*86400))
		}
	}
	for _, name := range someZones {
		there, err := time.LoadLocation(name)
		if err != nil {
			t.Logf("no zone %s on this machine", name)
			continue
		}
		args := []string{name}
		for _, s := range changes(there, all) {
			args = append(args, fmt.Sprint(s))
		}
		got := strings.SplitAfter(l.everywhere(t, fixed(args...), asItIs).Out, "\n")
		for i, arg := range args[1:] {
			compareZone(t, there, arg, got[i])
		}
	}
}

// changes adds the moments before and at the changes of the zone next to each of all.
func changes(there *time.Location, all []int64) []int64 {
	var found []int64
	for _, s := range all {
		found = append(found, s)
		if _, end := time.Unix(s, 0).In(there).ZoneBounds(); !end.IsZero() &&
			end.Unix() < 9_000_000_000 {
			found = append(found, end.Unix()-1, end.Unix(), end.Unix()+3599)
		}
	}
	return found
}

// compareZone compares a line of zones.eve with what Go says. The last word is how much earlier the
// instant is that has the same date: the first of two.
func compareZone(t *testing.T, there *time.Location, arg, got string) {
	t.Helper()
	var s, offset, back int64
	var name, date string
	var summer bool
	if _, err := fmt.Sscan(got, &s, &offset, &name, &summer, &date, &back); err != nil {
		t.Errorf("%s in %s: %q: %v", arg, there, got, err)
		return
	}
	at := time.Unix(s, 0).In(there)
	wantName, want := at.Zone()
	earlier := time.Unix(s-back, 0).In(there)
	twice := earlier.Format(time.DateTime) == at.Format(time.DateTime)
	if fmt.Sprint(s) != arg || name != wantName || offset != int64(want) ||
		summer != at.IsDST() || back < 0 || !twice {
		t.Errorf("in %s: got %q, want %s %d %s %v", there, got, arg, want, wantName, at.IsDST())
	}
}

// Files that are damaged, and names that are none, are errors.
func TestZonesDamaged(t *testing.T) {
	l := libraryProgram(t, "zones")
	file, err := os.ReadFile("/usr/share/zoneinfo/America/Nuuk")
	if err != nil {
		t.Skip("install tzdata")
	}
	for name, want := range map[string]string{
		"":               "22 zone : this is no name of a zone\n",
		"../etc/passwd":  "22 zone ../etc/passwd: this is no name of a zone\n",
		"/etc/localtime": "22 zone /etc/localtime: this is no name of a zone\n",
		"Europe//Berlin": "22 zone Europe//Berlin: this is no name of a zone\n",
		"hex:":           "22 zone here: its file is not of the tz database\n",
		"tzdata.zi":      "22 zone tzdata.zi: its file is not of the tz database\n",
		"hex:545a69662d": "22 zone here: its file is not of the tz database\n",
		"Europe/Atlantis": "2 read /usr/share/zoneinfo/Europe/Atlantis: " +
			"No such file or directory\n",
	} {
		if got := l.everywhere(t, fixed(name, "0"), asItIs); got.Out != want || got.Status != 0 {
			t.Errorf("%q: got %+v, want %q", name, got, want)
		}
	}
	random := rand.New(rand.NewPCG(*seed, 4))
	for range 60 {
		bad := damaged(random, file)
		end := l.interpret(1, "hex:"+hex.EncodeToString(bad), "0", "4102444800", "-9000000000")
		if end.Status != 0 {
			t.Fatalf("a damaged file: %+v\n%x", end, bad)
		}
	}
}

// damaged changes some bytes of a file, mostly of its headers and its rule, and may cut it off.
func damaged(random *rand.Rand, file []byte) []byte {
	bad := append([]byte{}, file...)
	for range 1 + random.IntN(3) {
		at := random.IntN(len(bad))
		switch random.IntN(3) {
		case 0:
			at = 20 + random.IntN(24)
		case 1:
			at = len(bad) - 1 - random.IntN(40)
		}
		bad[at] ^= byte(1 << random.IntN(8))
	}
	if random.IntN(4) == 0 {
		bad = bad[:random.IntN(len(bad))]
	}
	return bad
}

// Any bytes are a zone or an error.
func FuzzZones(f *testing.F) {
	l := libraryText(f, "zones")
	f.Add([]byte("TZif"))
	for _, name := range []string{"UTC", "Europe/Berlin", "America/Nuuk"} {
		if file, err := os.ReadFile("/usr/share/zoneinfo/" + name); err == nil {
			f.Add(file)
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		end := l.interpret(1, "hex:"+hex.EncodeToString(file), "0", "4102444800", "-9000000000")
		if end.Status != 0 {
			t.Fatalf("%+v", end)
		}
	})
}
