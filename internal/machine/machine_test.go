package machine

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

// files makes a file system of names and contents.
func files(pairs ...string) fstest.MapFS {
	f := fstest.MapFS{}
	for i := 0; i+1 < len(pairs); i += 2 {
		f[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return f
}

func TestDescribe(t *testing.T) {
	m := Describe(map[string]string{"go": "1.26"})
	if m.Cores < 1 || m.CPU == "" || m.MemBytes < 1<<20 || m.Kernel == "" || m.System == "" ||
		m.Cgroups == "" || m.ToolChains["go"] != "1.26" {
		t.Errorf("something is missing: %+v", m)
	}
	if got := len(UsableCPUs()); got != runtime.NumCPU() {
		t.Errorf("got %d usable cores, want %d", got, runtime.NumCPU())
	}
}

func TestFacts(t *testing.T) {
	tests := []struct{ name, got, want string }{
		{"x86", cpuName(files("proc/cpuinfo",
			"processor\t: 0\nmodel name\t: Intel(R) Xeon(R): E5\n")), "Intel(R) Xeon(R): E5"},
		{"arm", cpuName(files("proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 50\n",
			"proc/device-tree/model", "Raspberry Pi 4\x00")), "Raspberry Pi 4"},
		{"no name", cpuName(files()), runtime.GOARCH},
		{"debian", system(files("etc/os-release",
			"PRETTY_NAME=\"Debian 12\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\n")),
			"Debian GNU/Linux 12"},
		{"arch", system(files("usr/lib/os-release", "NAME=Arch Linux\n")), "Arch Linux"},
		{"no system", system(files()), "linux"},
		{"bare", virtual(files("proc/cpuinfo", "flags\t: fpu sse\n")), ""},
		{"flag only", virtual(files("proc/cpuinfo", "flags\t: fpu hypervisor sse\n")),
			"a virtual machine"},
		{"kvm", virtual(files("sys/class/dmi/id/sys_vendor", "QEMU\n",
			"sys/class/dmi/id/product_name", "Standard PC\n")), "kvm"},
		{"docker", virtual(files(".dockerenv", "")), "docker"},
		{"podman in xen", virtual(files("proc/1/environ", "a=b\x00container=podman\x00",
			"sys/hypervisor/type", "xen\n")), "podman in xen"},
		{"wsl", virtual(files("proc/version", "Linux version 5.15-Microsoft-standard")), "wsl"},
		{"pages", chosen("always [madvise] never"), "madvise"},
		{"pages none", chosen("never"), ""},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestLimits(t *testing.T) {
	const v2 = "0::/a/b\n"
	const v1 = "4:memory:/job\n2:cpu,cpuacct:/job\n"
	tests := []struct {
		name  string
		files fstest.MapFS
		cores float64 // 0: no quota
		mem   int64
	}{
		{"none", files("proc/meminfo", "MemTotal:  1024 kB\n"), 0, 1 << 20},
		{"v2 own", files("proc/self/cgroup", v2, "sys/fs/cgroup/a/b/cpu.max", "150000 100000\n",
			"proc/meminfo", "MemTotal: 1024 kB\n",
			"sys/fs/cgroup/a/b/memory.max", "max\n"), 1.5, 1 << 20},
		{"v2 above", files("proc/self/cgroup", v2, "sys/fs/cgroup/a/b/cpu.max", "max 100000\n",
			"sys/fs/cgroup/a/cpu.max", "50000 100000\n",
			"proc/meminfo", "MemTotal: 1024 kB\n", "sys/fs/cgroup/a/memory.max", "4096\n"), 0.5,
			4096},
		{"v1", files("proc/self/cgroup", v1, "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us",
			"200000\n",
			"sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n", "proc/meminfo",
			"MemTotal: 1024 kB\n",
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes", "8192\n"), 2, 8192},
		{"v1 unlimited", files("proc/self/cgroup", v1,
			"sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n",
			"sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n", "proc/meminfo",
			"MemTotal: 1024 kB\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"), 0, 1 << 20},
	}
	for _, tt := range tests {
		cores, ok := quota(tt.files)
		if cores != tt.cores || ok != (tt.cores > 0) {
			t.Errorf("%s: got a quota of %v, %v, want %v", tt.name, cores, ok, tt.cores)
		}
		if got := memory(tt.files); got != tt.mem {
			t.Errorf("%s: got %d bytes, want %d", tt.name, got, tt.mem)
		}
	}
}

func TestPortRange(t *testing.T) {
	for in, want := range map[string]int64{"32768\t60999": 28232, "1 1": 1, "": -1, "5": -1,
		"9 8": -1} {
		if got := portRange(in); got != want {
			t.Errorf("%q: got %d, want %d", in, got, want)
		}
	}
}

// TestRaiseLimits starts itself with a low soft limit and asks what a child of it then may open.
func TestRaiseLimits(t *testing.T) {
	if os.Getenv("MACHINE_TEST_LIMITS") != "" {
		got := RaiseLimits()
		child, err := exec.Command("sh", "-c", "ulimit -Sn").Output()
		fmt.Printf("limits %d %s %v\n", got, strings.TrimSpace(string(child)), err)
		return
	}
	_, hard := limit(unix.RLIMIT_NOFILE)
	if hard < 512 || hard == unix.RLIM_INFINITY {
		t.Skipf("the hard limit is %d", hard)
	}
	cmd := exec.Command("sh", "-c", `ulimit -Sn 256 && exec "$0" -test.run '^TestRaiseLimits$'`,
		os.Args[0])
	cmd.Env = append(cmd.Environ(), "MACHINE_TEST_LIMITS=1")
	out, err := cmd.CombinedOutput()
	if want := fmt.Sprintf("limits %d %d <nil>\n", hard, hard); err != nil ||
		!strings.Contains(string(out), want) {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
}

func FuzzFacts(f *testing.F) {
	f.Add("0::/a/b\n", "150000 100000")
	f.Add("4:memory:/\n2:cpu:/../..\n", "x")
	f.Fuzz(func(t *testing.T, a, b string) {
		fs := files("proc/self/cgroup", a, "sys/fs/cgroup/a/b/cpu.max", b, "proc/cpuinfo", a,
			"proc/meminfo", b, "etc/os-release", b, "proc/1/environ", a)
		if cores, ok := quota(fs); ok && !(cores > 0) {
			t.Errorf("a quota of %v cores", cores)
		}
		memory(fs)
		cpuName(fs)
		system(fs)
		virtual(fs)
		portRange(a)
		chosen(a)
	})
}
