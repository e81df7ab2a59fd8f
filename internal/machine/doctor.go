package machine

import (
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A State is the severity of a finding.
type State string

// Warn: runs work, less precisely or with fewer models. Bad: runs do not work.
const (
	OK   State = "ok"
	Warn State = "warn"
	Bad  State = "bad"
)

// A Finding is one property of this machine that affects measurements.
type Finding struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	State State  `json:"state"`
	Why   string `json:"why,omitempty"` // unless ok: its effect on a measurement
	Fix   string `json:"fix,omitempty"` // the command that changes it; "" if there is none
}

// Doctor looks at the machine for about a second. dir is where runs will be kept.
func Doctor(dir string) []Finding {
	f := observe(dir)
	f.tap = tryTap()
	f.looked = lookFor
	f.busy, f.steal = watch(lookFor)
	if cpus := UsableCPUs(); len(cpus) > 1 {
		f.lineTrip, _ = lineTrip(cpus[0], cpus[len(cpus)-1])
	}
	return findings(f)
}

// Ready raises this process's limits and returns the findings that still make runs impossible, with
// their remedies. It does not watch the machine, so a command can call it before it starts
// anything.
func Ready(dir string) error {
	RaiseLimits()
	for _, f := range findings(observe(dir)) {
		if f.State == Bad {
			return fmt.Errorf("%s: %s, which will not do: %s; %s", f.Name, f.Value, f.Why, f.Fix)
		}
	}
	return nil
}

// The limits, each for a run of up to 10,000 connections.
const (
	wantFiles    = 16384     // 10,000 connections of one process, and room
	needFiles    = 1100      // conformance opens 1,000 connections
	wantPorts    = 20000     // ports of one address: closed ones wait for a minute
	wantBacklog  = 1024      // connections that arrive at once
	wantPIDs     = 16384     // a process or thread for each of 10,000 clients
	wantMaps     = 65530     // the kernel's own default; a thread's stack takes two
	wantTracked  = 65536     // both ends of 10,000 connections, and those in TIME-WAIT
	kernelBytes  = 10_500    // of both ends of a connection; measured, experiments/go-c10k
	sparedBytes  = 1 << 30   // that stay free beside them
	otherFiles   = 1024      // that a server opens besides its connections
	wantDisk     = 1 << 30   // raw histograms of a long run
	needDisk     = 100 << 20 // a short run
	wantMemory   = 2 << 30   // 10,000 processes of 200 kB
	stealLimit   = 0.005     // the gate of a round
	foreignLimit = 0.05      // the gate of a round
	pressLimit   = 10        // percent; a guess
	// of a cache line there and back: 80 ns on one chip, 366 ns on two, seen in turn on one machine
	farCores = 200 * time.Nanosecond
)

// findings is pure: facts in, findings out, always in the same order.
func findings(f facts) []Finding {
	j := judgement{}
	j.cores(f)
	j.kernel(f)
	j.limits(f)
	j.quiet(f)
	return j.list
}

type judgement struct{ list []Finding }

// say adds a finding: ok, or otherwise the worse state with the reason and the remedy.
func (j *judgement) say(name, value string, ok bool, worse State, why, fix string) {
	f := Finding{Name: name, Value: value, State: OK}
	if !ok {
		f.State, f.Why, f.Fix = worse, why, fix
	}
	j.list = append(j.list, f)
}

// atLeast judges a number; -1 is unknown here and adds no finding.
func (j *judgement) atLeast(name string, n, want int64, why, fix string) {
	if n >= 0 {
		j.say(name, strconv.FormatInt(n, 10), n >= want, Warn, why, fix)
	}
}

func (j *judgement) cores(f facts) {
	j.say("cores", strconv.Itoa(f.cores), f.cores >= 2, Warn,
		"server and load must share the core: no claim about a server on its own core can be "+
			"judged",
		"")
	if f.quota > 0 {
		j.say("cpu quota", fmt.Sprintf("%.2f cores", f.quota), false, Warn,
			"a quota stops processes for parts of each 100 ms: latencies show the quota",
			"start the container without --cpus, or with --cpuset-cpus")
	}
	if f.threadsPerCore {
		j.say("hardware threads", "two of a core", false, Warn,
			"server and load on two threads of one core slow each other down",
			"echo off > /sys/devices/system/cpu/smt/control")
	}
	if f.governor != "" {
		j.say("frequency", f.governor, f.governor == "performance", Warn,
			"the clock rate follows the load: the more idle model looks more expensive",
			"cpupower frequency-set -g performance")
	}
	if f.virtual != "" {
		j.say("virtual", f.virtual, true, OK, "", "")
	}
	slow := f.clock == "hpet" || f.clock == "acpi_pm" || f.clock == "jiffies" ||
		f.clock == "refined-jiffies"
	if f.clock == "" {
		f.clock = "unknown"
	}
	j.say("clock", f.clock, !slow, Warn,
		"reading this clock is a slow call into the kernel: it adds to every latency",
		"echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource")
}

func (j *judgement) kernel(f facts) {
	value := f.cgroups
	if f.noCgroup != nil {
		value += ", not usable"
	}
	why := "all of /proc is read at each sample, the CPU of dead processes is known to 10 ms, " +
		"and pressure not at all"
	if f.noCgroup != nil {
		why += fmt.Sprintf(" (%v)", f.noCgroup)
	}
	j.say("cgroups", value, f.noCgroup == nil, Warn, why,
		"mount -t cgroup2 none /sys/fs/cgroup/unified  (as root; or run under systemd-run "+
			"--user --scope -p Delegate=yes)")
	if f.loopback != nil {
		j.say("loopback", f.loopback.Error(), false, Bad, "servers and load meet at 127.0.0.1",
			"ip link set lo up")
	}
	uring := "usable"
	if f.ioUring != nil {
		uring = f.ioUring.Error()
	}
	j.say("io_uring", uring, f.ioUring == nil, Warn, "models that need it cannot be measured",
		"sysctl -w kernel.io_uring_disabled=0  (in a container also: --security-opt "+
			"seccomp=unconfined)")
	taps := "can be made"
	if f.tap != nil {
		taps = f.tap.Error()
	}
	j.say("taps", taps, f.tap == nil, Warn,
		"servers behind a tap are skipped, and --stack=gonet and --hosts=netns are unavailable",
		"sudo, apt-get install iproute2, modprobe tun  (in a container: --privileged --device "+
			"/dev/net/tun)")
	j.priority(f)
	if f.hugePages != "" {
		j.say("huge pages", f.hugePages, f.hugePages != "always", Warn,
			"memory is given in steps of 2 MiB: the sizes of small processes mean little",
			"echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
	}
	if f.aslr >= 0 {
		j.say("address layout", layout(f.aslr), f.aslr >= 2, Warn,
			"every process gets the same layout: rounds repeat its luck instead of averaging it",
			"sysctl -w kernel.randomize_va_space=2")
	}
}

func (j *judgement) priority(f facts) {
	value := "servers and load run before other programs"
	if !f.priority {
		value = "as that of other programs"
	}
	why := "another program takes its full share of the cores from servers and load"
	if f.autogroup > 0 {
		why += "; nice does not change that, for it counts only within a session (autogroup)"
	}
	j.say("priority", value, f.priority, Warn, why,
		"run as root, or: setcap cap_sys_nice,cap_sys_admin+ep out/bin/interleave")
	if f.lineTrip > 0 {
		j.say("cache line", fmt.Sprintf("%d ns between two cores, there and back",
			f.lineTrip.Nanoseconds()), f.lineTrip < farCores, Warn,
			"the host runs this machine's cores far apart now: servers that pass work between "+
				"cores are a quarter slower, until the host moves them", "")
	}
}

func layout(aslr int64) string {
	switch aslr {
	case 0:
		return "fixed"
	case 1:
		return "random except the heap"
	}
	return "random"
}

func (j *judgement) limits(f facts) {
	worse, files := Warn, strconv.FormatUint(f.filesHard, 10)
	if f.filesHard < needFiles {
		worse = Bad
	}
	if f.filesHard == unix.RLIM_INFINITY {
		files = "unlimited"
	}
	j.say("open files", files, f.filesHard >= wantFiles, worse,
		"each connection is an open file, in the server and in the load",
		"ulimit -n 65536  (as root; or a line in /etc/security/limits.conf)")
	if f.processes != unix.RLIM_INFINITY {
		j.say("processes of a user", strconv.FormatUint(f.processes, 10), f.processes >= wantPIDs,
			Warn, "models with a process or thread for each client stop there", "ulimit -u 65536")
	}
	j.atLeast("process numbers", f.pidMax, wantPIDs,
		"models with a process or thread for each client stop there",
		"sysctl -w kernel.pid_max=65536")
	j.atLeast("threads", f.threadsMax, wantPIDs,
		"models with a process or thread for each client stop there",
		"sysctl -w kernel.threads-max=65536")
	j.atLeast("memory maps", f.maps, wantMaps,
		"each thread's stack takes two: models with a thread for each client stop there",
		"sysctl -w vm.max_map_count=262144")
	j.atLeast("ports", f.ports, wantPorts,
		"each connection takes a port, for a minute beyond its end",
		`sysctl -w net.ipv4.ip_local_port_range="1024 65535"`)
	j.atLeast("listen backlog", f.somaxconn, wantBacklog,
		"connections that arrive together are dropped and tried again after a second",
		"sysctl -w net.core.somaxconn=4096")
	j.atLeast("half-open backlog", f.synBacklog, wantBacklog,
		"connections that arrive together are dropped and tried again after a second",
		"sysctl -w net.ipv4.tcp_max_syn_backlog=4096")
	j.atLeast("tracked connections", f.conntrack, wantTracked,
		"the packet filter drops what it cannot track",
		"sysctl -w net.netfilter.nf_conntrack_max=262144")
	if n, by := mostConnections(f); by != "" {
		// their bounds are judged separately
		j.say("connections at once", fmt.Sprintf("about %d, bounded by %s", n, by), true, OK,
			"", "")
	}
	if f.memAvailable >= 0 {
		j.say("free memory", size(f.memAvailable), f.memAvailable >= wantMemory, Warn,
			"models with a process for each client may not fit", "")
	}
	if f.disk >= 0 {
		worse := Warn
		if f.disk < needDisk {
			worse = Bad
		}
		j.say("free disk", size(f.disk)+" at "+f.diskDir, f.disk >= wantDisk, worse,
			"every run is kept, with its raw histograms",
			"rm -r out/runs/ID  (of runs that you no longer need)")
	}
}

// mostConnections is the number of connections over loopback that this machine can hold, and the
// limit that bounds it. Ports are no limit, since clients use many addresses of 127.0.0.0/8.
func mostConnections(f facts) (n int64, by string) {
	n = 1 << 20 // the most that a load may have
	bound := func(most int64, name string) {
		if most >= 0 && (by == "" || most < n) {
			n, by = min(n, most), name
		}
	}
	if f.memAvailable >= 0 {
		bound(max(0, f.memAvailable-sparedBytes)/kernelBytes,
			"free memory, for the kernel needs 10 KB for the two ends of each")
	}
	files := f.filesHard
	if f.raises && f.nrOpen >= 0 {
		files = max(files, uint64(f.nrOpen)) // which a run raises itself
	}
	bound(int64(min(files, 1<<40))-otherFiles,
		"open files, but for servers that have a table of them for each thread")
	if f.tracked > 0 { // the packet filter looks at connections here
		bound(f.conntrack-f.tracked, "connections that the packet filter tracks")
	}
	return n, by
}

func (j *judgement) quiet(f facts) {
	if f.looked > 0 && f.steal >= 0 {
		over := fmt.Sprintf(" over %v", f.looked)
		j.say("stolen time", percent(f.steal)+over, f.steal <= stealLimit, Warn,
			"the hypervisor gives this machine's cores to others: such rounds are void", "")
		j.say("other programs", percent(f.busy)+over, f.busy <= foreignLimit, Warn,
			"they take time from the server: such rounds are void", "top")
	}
	j.say("load", fmt.Sprintf("%.2f", f.load), f.load <= float64(f.cores), Warn,
		"more was to be done in the last minute than the cores could do", "top")
	if f.pressure >= 0 {
		j.say("pressure", fmt.Sprintf("%.1f %%", f.pressure), f.pressure <= pressLimit, Warn,
			"in the last 10 s programs waited for a core", "top")
	}
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func size(bytes int64) string {
	if bytes >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}
