package machine

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// good is a machine without a fault.
func good() facts {
	return facts{
		cores: 8, memAvailable: 16 << 30, cgroups: "v2", files: 65536, filesHard: 65536,
		processes: unix.RLIM_INFINITY,
		ports:     28232, somaxconn: 4096, synBacklog: 4096, pidMax: 4194304, threadsMax: 200000,
		maps: 65530, conntrack: -1, tracked: -1, nrOpen: 1 << 20,
		steal: 0, busy: 0.01, looked: time.Second, load: 0.1, pressure: 0, diskDir: "/",
		disk:      100 << 30,
		autogroup: 1, priority: true, lineTrip: 80 * time.Nanosecond, hugePages: "madvise", aslr: 2,
		clock: "tsc", governor: "performance",
	}
}

func TestJudge(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name  string // of the finding that must not be ok; "": none
		state State
		fix   bool
		spoil func(*facts)
	}{
		{"", OK, false, func(*facts) {}},
		{"", OK, false, func(f *facts) {
			f.pressure, f.disk, f.memAvailable, f.maps, f.steal = -1, -1, -1, -1, -1
		}},
		{"", OK, false, func(f *facts) {
			f.filesHard, f.autogroup, f.hugePages, f.aslr = unix.RLIM_INFINITY, -1, "", -1
			f.lineTrip = 0
		}},
		{"cores", Warn, false, func(f *facts) { f.cores = 1 }},
		{"cpu quota", Warn, true, func(f *facts) { f.quota = 1.5 }},
		{"hardware threads", Warn, true, func(f *facts) { f.threadsPerCore = true }},
		{"frequency", Warn, true, func(f *facts) { f.governor = "powersave" }},
		{"clock", Warn, true, func(f *facts) { f.clock = "hpet" }},
		{"cgroups", Warn, true, func(f *facts) { f.noCgroup = broken }},
		{"loopback", Bad, true, func(f *facts) { f.loopback = broken }},
		{"io_uring", Warn, true, func(f *facts) { f.ioUring = broken }},
		{"taps", Warn, true, func(f *facts) { f.tap = broken }},
		{"priority", Warn, true, func(f *facts) { f.priority = false }},
		{"cache line", Warn, false, func(f *facts) { f.lineTrip = 366 * time.Nanosecond }},
		{"huge pages", Warn, true, func(f *facts) { f.hugePages = "always" }},
		{"address layout", Warn, true, func(f *facts) { f.aslr = 0 }},
		{"open files", Warn, true, func(f *facts) { f.filesHard = 4096 }},
		{"open files", Bad, true, func(f *facts) { f.filesHard = 1024 }},
		{"processes of a user", Warn, true, func(f *facts) { f.processes = 1000 }},
		{"process numbers", Warn, true, func(f *facts) { f.pidMax = 4096 }},
		{"threads", Warn, true, func(f *facts) { f.threadsMax = 4096 }},
		{"memory maps", Warn, true, func(f *facts) { f.maps = 1000 }},
		{"ports", Warn, true, func(f *facts) { f.ports = 1000 }},
		{"listen backlog", Warn, true, func(f *facts) { f.somaxconn = 128 }},
		{"half-open backlog", Warn, true, func(f *facts) { f.synBacklog = 128 }},
		{"tracked connections", Warn, true, func(f *facts) { f.conntrack = 8192 }},
		{"free memory", Warn, false, func(f *facts) { f.memAvailable = 1 << 30 }},
		{"free disk", Warn, true, func(f *facts) { f.disk = 500 << 20 }},
		{"free disk", Bad, true, func(f *facts) { f.disk = 0 }},
		{"stolen time", Warn, false, func(f *facts) { f.steal = 0.02 }},
		{"other programs", Warn, true, func(f *facts) { f.busy = 0.3 }},
		{"load", Warn, true, func(f *facts) { f.load = 9 }},
		{"pressure", Warn, true, func(f *facts) { f.pressure = 40 }},
	}
	for _, tt := range tests {
		f := good()
		tt.spoil(&f)
		var not []Finding
		for _, x := range findings(f) {
			if x.Name == "" || x.Value == "" {
				t.Errorf("%s: a finding without name or value: %+v", tt.name, x)
			}
			if x.State != OK {
				not = append(not, x)
			}
		}
		switch {
		case tt.name == "" && len(not) > 0:
			t.Errorf("nothing is wrong, got %+v", not)
		case tt.name == "":
		case len(not) != 1 || not[0].Name != tt.name || not[0].State != tt.state ||
			not[0].Why == "" || (not[0].Fix != "") != tt.fix:
			t.Errorf("%s: got %+v, want it alone, %s, with a reason", tt.name, not, tt.state)
		}
	}
}

// TestDoctor looks at the machine that the tests run on, and checks that it describes any machine.
func TestDoctor(t *testing.T) {
	findings := Doctor(filepath.Join(t.TempDir(), "not", "yet", "there"))
	seen := map[string]bool{}
	for _, f := range findings {
		if seen[f.Name] {
			t.Errorf("%s: found twice", f.Name)
		}
		seen[f.Name] = true
		if f.State != OK {
			t.Logf("%s %s: %s; %s; %s", f.State, f.Name, f.Value, f.Why, f.Fix)
		}
	}
	for _, f := range findings { // servers are tested here, so runs are possible
		if f.State == Bad {
			t.Errorf("bad: %+v", f)
		}
	}
	for _, name := range []string{"cores", "cgroups", "open files", "ports", "free disk",
		"other programs", "io_uring"} {
		if !seen[name] {
			t.Errorf("%s is not among the findings", name)
		}
	}
}

func TestMostConnections(t *testing.T) {
	const files = "open files, but for servers that have a table of them for each thread"
	for _, test := range []struct {
		spoil func(*facts)
		most  int64
		by    string
	}{
		{func(*facts) {}, 64_512, files},
		{func(f *facts) { f.raises = true }, 1_047_552, files},
		{func(f *facts) { f.raises, f.memAvailable = true, 5<<30 }, (4 << 30) / 10_500,
			"free memory, for the kernel needs 10 KB for the two ends of each"},
		{func(f *facts) { f.memAvailable = 1 << 20 }, 0,
			"free memory, for the kernel needs 10 KB for the two ends of each"},
		{func(f *facts) { f.raises, f.tracked, f.conntrack = true, 144, 262_144 }, 262_000,
			"connections that the packet filter tracks"},
		{func(f *facts) { f.memAvailable, f.filesHard = -1, unix.RLIM_INFINITY }, 1 << 20, files},
	} {
		f := good()
		test.spoil(&f)
		if n, by := mostConnections(f); n != test.most || by != test.by {
			t.Errorf("got %d by %q, want %d by %q", n, by, test.most, test.by)
		}
	}
}

func TestHas(t *testing.T) {
	for caps, want := range map[string]bool{"000001ffffffffff": true, "0000000001000000": true,
		"00000000a80425fb": false, "": false, "x": false} {
		if got := has(caps, unix.CAP_SYS_RESOURCE); got != want {
			t.Errorf("%q: got %v, want %v", caps, got, want)
		}
	}
	if has("0000000001000000", unix.CAP_SYS_NICE) || !has("0000000000800000", unix.CAP_SYS_NICE) {
		t.Error("CAP_SYS_NICE is bit 23")
	}
}

// TestLineTrip asks only for what a busy machine cannot spoil: the time lies above that of two
// stores and below the limit.
func TestLineTrip(t *testing.T) {
	cpus := UsableCPUs()
	if len(cpus) < 2 {
		t.Skip("SKIP: a machine of two cores is needed")
	}
	got, err := lineTrip(cpus[0], cpus[len(cpus)-1])
	if err != nil {
		t.Fatal(err)
	}
	if got < 2*time.Nanosecond || got > lineLimit/lineTrips {
		t.Errorf("a cache line takes %v between cores %v", got, cpus)
	}
	if _, err := lineTrip(cpus[0], 1023); err == nil {
		t.Error("a core that is not there was used")
	}
}
