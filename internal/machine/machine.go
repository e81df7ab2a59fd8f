// Package machine describes the machine of a run, for the record, and finds its obstacles to good
// measurements, for `interleave doctor`. The trade: figures without their machine say little, but a
// list of everything that a kernel can report is useless. So there are few facts in the record, and
// each finding of the doctor has a limit, the reason for it, and the command that changes it.
// Reading the facts and judging them are separate: the judgement is a pure function.
package machine

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"

	"interleave/internal/group"
	"interleave/internal/record"

	"golang.org/x/sys/unix"
)

// root is the file system that facts are read from.
var root = os.DirFS("/")

// Describe returns this machine for a run's record; the tool chains are by name, with
// their version.
func Describe(toolchains map[string]string) record.Machine {
	return record.Machine{
		Cores: usableCores(), CPU: cpuName(root), MemBytes: memory(root),
		Kernel: kernel(), System: system(root), Virtual: virtual(root), Clock: clockSource(root),
		Congestion: text(root, "proc/sys/net/ipv4/tcp_congestion_control"),
		Cgroups:    group.CgroupKind(), ToolChains: toolchains,
	}
}

// UsableCPUs returns the cores that this process may use.
func UsableCPUs() []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	var cpus []int
	for c := range maxCores {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	return cpus
}

// maxCores is how many a CPUSet has room for.
const maxCores = 1024

// usableCores is the CPU time, in cores, that this process may use: a quota may be less than its
// cores.
func usableCores() int {
	n := len(UsableCPUs())
	if n == 0 {
		n = runtime.NumCPU()
	}
	if q, ok := quota(root); ok && q < float64(n) {
		n = max(1, int(q+0.999))
	}
	return n
}

// text returns a file's content without blanks around it, or "".
func text(f fs.FS, name string) string {
	b, err := fs.ReadFile(f, strings.TrimPrefix(name, "/"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// number returns the number that a file holds; false for none, or for "max".
func number(f fs.FS, name string) (int64, bool) {
	n, err := strconv.ParseInt(text(f, name), 10, 64)
	return n, err == nil
}

// field returns the value after the first "key" and the separator in a file of lines.
func field(f fs.FS, name, key, separator string) string {
	lines := bufio.NewScanner(strings.NewReader(text(f, name)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		k, v, ok := strings.Cut(lines.Text(), separator)
		if ok && strings.TrimSpace(k) == key {
			return strings.Trim(strings.TrimSpace(v), `"`)
		}
	}
	return ""
}

func cpuName(f fs.FS) string {
	// x86, arm, mips and riscv, power
	for _, key := range []string{"model name", "Model", "cpu model", "cpu"} {
		if name := field(f, "proc/cpuinfo", key, ":"); name != "" {
			return name
		}
	}
	if name := strings.Trim(text(f, "proc/device-tree/model"), "\x00"); name != "" {
		return name
	}
	return runtime.GOARCH
}

// memory is the memory that this process may use: all of the machine's, or its cgroup's limit.
func memory(f fs.FS) int64 {
	kib, _ := strconv.ParseInt(strings.TrimSuffix(field(f, "proc/meminfo", "MemTotal", ":"), " kB"),
		10, 64)
	bytes := kib << 10
	for _, dir := range limits(f) {
		for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
			if n, ok := number(f, path.Join(dir, name)); ok && n > 0 && n < bytes {
				bytes = n
			}
		}
	}
	return bytes
}

// quota is the CPU time, in cores, that the cgroups allow; false if they set no limit.
func quota(f fs.FS) (cores float64, ok bool) {
	least := func(quota, period string) {
		q, err1 := strconv.ParseFloat(quota, 64)
		p, err2 := strconv.ParseFloat(period, 64)
		if err1 == nil && err2 == nil && q > 0 && p > 0 && (!ok || q/p < cores) {
			cores, ok = q/p, true
		}
	}
	for _, dir := range limits(f) {
		if q, p, both := strings.Cut(text(f, path.Join(dir, "cpu.max")), " "); both {
			least(q, p)
		}
		least(text(f, path.Join(dir, "cpu.cfs_quota_us")),
			text(f, path.Join(dir, "cpu.cfs_period_us")))
	}
	return cores, ok
}

// limits lists the cgroup directories that may limit this process: its own and those above, in v2
// and in v1's trees for CPU and memory.
func limits(f fs.FS) (dirs []string) {
	for line := range strings.Lines(text(f, "proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		var trees []string
		switch {
		case parts[1] == "":
			trees = []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}
		case strings.Contains(","+parts[1]+",", ",cpu,"), strings.Contains(","+parts[1]+",",
			",memory,"):
			trees = []string{path.Join("sys/fs/cgroup", parts[1])}
		}
		for _, tree := range trees {
			for own := path.Clean("/" + parts[2]); ; own = path.Dir(own) {
				dirs = append(dirs, path.Join(tree, own))
				if own == "/" {
					break
				}
			}
		}
	}
	return dirs
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return string(bytes.TrimRight(u.Release[:], "\x00"))
}

func system(f fs.FS) string {
	for _, name := range []string{"etc/os-release", "usr/lib/os-release"} {
		if n := field(f, name, "NAME", "="); n != "" {
			return strings.TrimSpace(n + " " + field(f, name, "VERSION_ID", "="))
		}
	}
	return runtime.GOOS
}

func clockSource(f fs.FS) string {
	return text(f, "sys/devices/system/clocksource/clocksource0/current_clocksource")
}

// virtual names the environment of the system: a container, a virtual machine, both, or "" for
// neither.
func virtual(f fs.FS) string {
	container, machine := container(f), hypervisor(f)
	switch {
	case container != "" && machine != "":
		return container + " in " + machine
	default:
		return container + machine
	}
}

func container(f fs.FS) string {
	for entry := range strings.SplitSeq(text(f, "proc/1/environ"), "\x00") {
		if name, ok := strings.CutPrefix(entry, "container="); ok && name != "" {
			return name
		}
	}
	if _, err := fs.Stat(f, ".dockerenv"); err == nil {
		return "docker"
	}
	if _, err := fs.Stat(f, "run/.containerenv"); err == nil {
		return "podman"
	}
	return ""
}

// hypervisor names the virtual machine as far as it is known. The processor shows that there is
// one, the firmware's tables name it.
func hypervisor(f fs.FS) string {
	if name := text(f, "sys/hypervisor/type"); name != "" {
		return name
	}
	firmware := text(f, "sys/class/dmi/id/sys_vendor") + " " +
		text(f, "sys/class/dmi/id/product_name")
	for _, known := range []struct{ in, name string }{
		{"QEMU", "kvm"}, {"KVM", "kvm"}, {"Amazon EC2", "amazon"}, {"Google Compute", "google"},
		{"VMware", "vmware"},
		{"VirtualBox", "virtualbox"}, {"innotek", "virtualbox"}, {"Virtual Machine", "hyper-v"},
		{"Xen", "xen"},
		{"Parallels", "parallels"}, {"DigitalOcean", "digitalocean"}, {"Hetzner", "kvm"},
		{"OpenStack", "kvm"},
	} {
		if strings.Contains(firmware, known.in) {
			return known.name
		}
	}
	if strings.Contains(strings.ToLower(text(f, "proc/version")), "microsoft") {
		return "wsl"
	}
	if strings.Contains(" "+field(f, "proc/cpuinfo", "flags", ":")+" ", " hypervisor ") {
		return "a virtual machine"
	}
	return ""
}
