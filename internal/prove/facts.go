package prove

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// permits are files of /proc/sys by which the kernel allows what tests do, or refuses it: a test
// that is refused it is skipped, and may fail where it is allowed.
var permits = []string{
	"fs/nr_open",
	"fs/inotify/max_user_instances",
	"fs/inotify/max_user_watches",
	"kernel/apparmor_restrict_unprivileged_userns",
	"kernel/io_uring_disabled",
	"kernel/perf_event_paranoid",
	"kernel/unprivileged_userns_clone",
	"kernel/yama/ptrace_scope",
	"net/core/rmem_max",
	"net/core/somaxconn",
	"net/core/wmem_max",
	"net/ipv4/ip_local_port_range",
	"net/ipv4/ip_unprivileged_port_start",
	"net/ipv4/ping_group_range",
	"net/ipv6/conf/all/disable_ipv6",
	"user/max_net_namespaces",
	"user/max_user_namespaces",
	"vm/max_map_count",
	"vm/overcommit_memory",
}

// abilities begin the lines of /proc/self/status, proc(5), that tell what the user may do.
var abilities = []string{"CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp:"}

// devices are opened by tests, which are skipped without.
var devices = []string{"/dev/net/tun", "/dev/fuse", "/dev/kvm"}

// machineFacts describes the machine and the user, as far as tests may depend on them. proc is the
// path of /proc. What cannot be read is the same each time.
func machineFacts(proc string) string {
	var facts strings.Builder
	var name unix.Utsname
	_ = unix.Uname(&name)
	total, _, _ := strings.Cut(content(proc, "meminfo"), "\n")
	fmt.Fprintln(&facts, unix.ByteSliceToString(name.Release[:]),
		unix.ByteSliceToString(name.Version[:]), unix.ByteSliceToString(name.Machine[:]),
		runtime.NumCPU(), total, os.Getuid())
	for line := range strings.Lines(content(proc, "self/status")) {
		for _, word := range abilities {
			if strings.HasPrefix(line, word) {
				facts.WriteString(line)
			}
		}
	}
	facts.WriteString(content(proc, "self/limits"))
	for _, permit := range permits {
		fmt.Fprintf(&facts, "%s %s\n", permit, strings.TrimSpace(content(proc, "sys/"+permit)))
	}
	for _, device := range devices {
		fmt.Fprintln(&facts, device, unix.Access(device, unix.R_OK|unix.W_OK) == nil)
	}
	return facts.String()
}

// content returns the text of a file of /proc, which is empty if it cannot be read.
func content(proc, name string) string {
	text, _ := os.ReadFile(filepath.Join(proc, name))
	return string(text)
}
