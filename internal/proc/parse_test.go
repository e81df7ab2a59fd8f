package proc

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

const statLine = "4242 (a (b) c) S 17 4242 4200 0 -1 4194304 100 200 3 4 11 12 13 14 20 0 7 0 " +
	"998877 3579904 440 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 " +
	"0 0\n"

func TestParseStat(t *testing.T) {
	got, ok := ParseStat([]byte(statLine))
	if !ok || string(got.Comm) != "a (b) c" {
		t.Fatalf("got %+v, %v, comm %q", got, ok, got.Comm)
	}
	got.Comm = nil
	want := Stat{State: 'S', PPID: 17, Session: 4200, MinorFaults: 100, ChildMinorFaults: 200,
		MajorFaults:      3,
		ChildMajorFaults: 4, User: 110 * time.Millisecond, System: 120 * time.Millisecond,
		ChildUser: 130 * time.Millisecond, ChildSystem: 140 * time.Millisecond, Threads: 7,
		Start: 998877, RSS: 440}
	if got.State != want.State || got.PPID != want.PPID || got.Session != want.Session ||
		got.MinorFaults != want.MinorFaults ||
		got.ChildMinorFaults != want.ChildMinorFaults || got.MajorFaults != want.MajorFaults ||
		got.ChildMajorFaults != want.ChildMajorFaults || got.User != want.User ||
		got.System != want.System ||
		got.ChildUser != want.ChildUser || got.ChildSystem != want.ChildSystem ||
		got.Threads != want.Threads ||
		got.Start != want.Start || got.RSS != want.RSS {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, bad := range []string{"", "1", "1 (x)", "1 (x) S", "1 (x) S 1 2 3", ")(",
		"1 (x) S a b c d e f g h i j k l m n o p q r s t u"} {
		if got, ok := ParseStat([]byte(bad)); ok {
			t.Errorf("%q: got %+v, want nothing", bad, got)
		}
	}
}

func TestDead(t *testing.T) {
	tests := []struct {
		state   byte
		threads int
		want    bool
	}{{'S', 1, false}, {'R', 4, false}, {'Z', 1, true}, {'X', 0, true}, {'Z', 3, false}}
	for _, tt := range tests {
		if s := (Stat{State: tt.state, Threads: tt.threads}); s.Dead() != tt.want {
			t.Errorf("state %c with %d threads: got %v, want %v", tt.state, tt.threads, s.Dead(),
				tt.want)
		}
	}
}

func TestParseLines(t *testing.T) {
	if got, ok := ParseStatm([]byte("2000 440 300 1 0 90 0\n")); !ok || got != 440 {
		t.Errorf("statm: got %d, %v", got, ok)
	}
	if ran, waited, ok := ParseSchedstat([]byte("120 34 5\n")); !ok || ran != 120 || waited != 34 {
		t.Errorf("schedstat: got %v, %v, %v", ran, waited, ok)
	}
	status := "Name:\tvoluntary_ctxt_switches:\t9\nUmask:\t0022\nThreads:\t1\n" +
		"voluntary_ctxt_switches:\t31\nnonvoluntary_ctxt_switches:\t7\n"
	if v, n, ok := ParseSwitches([]byte(status)); !ok || v != 31 || n != 7 {
		t.Errorf("status: got %d, %d, %v", v, n, ok)
	}
	rollup := "562a240e3000-7ffdd18a7000 ---p 00000000 00:00 0   [rollup]\nRss:                " +
		"1760 kB\nPss:                 334 kB\nPss_Dirty:           112 kB\n"
	if rss, pss, ok := ParseRollup([]byte(rollup)); !ok || rss != 1760<<10 || pss != 334<<10 {
		t.Errorf("smaps_rollup: got %d, %d, %v", rss, pss, ok)
	}
	if u, s, ok := ParseCPUStat(
		[]byte("usage_usec 30\nuser_usec 20\nsystem_usec 10\nnice_usec 0\n")); !ok ||
		u != 20*time.Microsecond || s != 10*time.Microsecond {
		t.Errorf("cpu.stat: got %v, %v, %v", u, s, ok)
	}
	some := "some avg10=2.73 avg60=11.81 avg300=5.36 total=24384788\nfull avg10=0.00 avg60=0.00 " +
		"avg300=0.00 total=99\n"
	if got, ok := ParsePressure([]byte(some)); !ok || got != 24384788*time.Microsecond {
		t.Errorf("pressure: got %v, %v", got, ok)
	}
}

func TestParseMachine(t *testing.T) {
	const stat = "cpu  1 2 3 400 50 6 7 8 9 10\ncpu0 1 0 0 9 9 0 0 1\ncpu1 2 0 0 9 9 0 0 0\n" +
		"cpu3 4 0 0 9 9 0 0 5\ncpu12 8 0 0 9 9 0 0 0\nintr 5\n"
	tests := []struct {
		text  string
		cores []int
		want  Machine
		ok    bool
	}{
		{stat, nil, Machine{450 * Tick, 8 * Tick, 4}, true},
		{stat, []int{0}, Machine{18 * Tick, 1 * Tick, 1}, true},
		{stat, []int{1, 3}, Machine{36 * Tick, 5 * Tick, 2}, true},
		{stat, []int{0, 1, 3, 12}, Machine{72 * Tick, 6 * Tick, 4}, true},
		{stat, []int{2}, Machine{}, false},
		{stat, []int{12, 13}, Machine{}, false},
		{"cpu  1 2 3 4 5 6 7 8\n", []int{0}, Machine{}, false},
		{"cpu  1 2 3\n", nil, Machine{}, false},
		{"intr 5\n", nil, Machine{}, false},
	}
	for _, tt := range tests {
		got, ok := ParseMachine([]byte(tt.text), tt.cores)
		if got != tt.want || ok != tt.ok {
			t.Errorf("cores %v: got %v, %v, want %v, %v", tt.cores, got, ok, tt.want, tt.ok)
		}
	}
}

func TestBusyIsWhatCoresDidNotRest(t *testing.T) {
	before := Machine{Idle: 10 * time.Second, Steal: time.Second, Cores: 2}
	after := Machine{Idle: 11500 * time.Millisecond, Steal: 1100 * time.Millisecond, Cores: 2}
	got := after.Busy(7*time.Second) - before.Busy(6*time.Second)
	if got != 400*time.Millisecond { // of two seconds of cores
		t.Errorf("got %v, want 400 ms", got)
	}
}

// FuzzParse feeds every parser: none may panic, and a process's name must not be taken as a figure.
func FuzzParse(f *testing.F) {
	f.Add([]byte(statLine))
	f.Add([]byte("some avg10=0 total=1\n"))
	f.Add([]byte("cpu  1 2 3 4 5 6 7 8\n"))
	f.Add([]byte("usage_usec 1\nuser_usec 1\nsystem_usec 99999999999999999999999\n"))
	f.Add([]byte("x\nRss: 1 kB\nPss: -1 kB\n"))
	f.Add([]byte("voluntary_ctxt_switches:1\nnonvoluntary_ctxt_switches: 2"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, ok := ParseStat(b); ok && !bytes.Contains(b, s.Comm) {
			t.Errorf("%q: the name %q is not in it", b, s.Comm)
		}
		ParseStatm(b)
		ParseSchedstat(b)
		ParseSwitches(b)
		ParseRollup(b)
		ParseCPUStat(b)
		ParsePressure(b)
		ParseMachine(b, nil)
		ParseMachine(b, []int{0, 2})
		numbers(b, func(n int) {
			if n < 0 {
				t.Errorf("%q: entry %d", b, n)
			}
		})
	})
}

func FuzzStatName(f *testing.F) {
	f.Add("a (b) c")
	f.Add(") S 1 2 3 4 (")
	f.Fuzz(func(t *testing.T, name string) {
		line := strings.Replace(statLine, "a (b) c", name, 1)
		s, ok := ParseStat([]byte(line))
		if !ok || string(s.Comm) != name || s.PPID != 17 || s.RSS != 440 {
			t.Errorf("%q: got %+v, %v", name, s, ok)
		}
	})
}

func TestParseMemory(t *testing.T) {
	text := []byte("MemTotal:       24683856 kB\nMemFree:         1000 kB\nMemAvailable:   " +
		"22000000 kB\nSlab:             200000 kB\n" +
		"SReclaimable:     100000 kB\nKernelStack:        3000 kB\nPageTables:         4000 kB\n" +
		"Percpu:             1000 kB\n")
	if available, total, ok := ParseMemory(text); available != 22000000<<10 ||
		total != 24683856<<10 || !ok {
		t.Errorf("got %d of %d, %v", available, total, ok)
	}
	if kernel, ok := ParseKernelMemory(text); kernel != 208000<<10 || !ok {
		t.Errorf("got %d, %v, want %d", kernel, ok, 208000<<10)
	}
	if _, _, ok := ParseMemory(nil); ok {
		t.Error("of nothing: got memory")
	}
	if _, ok := ParseKernelMemory([]byte("Slab: 1 kB\n")); ok {
		t.Error("of a part: got the kernel's memory")
	}
}
