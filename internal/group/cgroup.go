package group

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"interleave/internal/proc"

	"golang.org/x/sys/unix"
)

// A cgroup is a directory of the cgroup v2 tree, with its files held open.
type cgroup struct {
	path     string
	dir      int // the directory, for clone3
	procs    int
	stat     int
	pressure int // -1: the kernel has no pressure file
	r        proc.Reader
}

// CgroupKind says what the machine mounts: "v2", "hybrid" (v2 beside v1), "v1" or "none".
func CgroupKind() string {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "none"
	}
	kind, _, _ := mounts(text)
	return kind
}

// mounts finds the kind, and where and from which root the v2 tree is mounted, in a mountinfo file.
func mounts(mountinfo []byte) (kind, point, root string) {
	v1 := false
	lines := bufio.NewScanner(bytes.NewReader(mountinfo))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		// 41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw
		left, right, ok := strings.Cut(lines.Text(), " - ")
		f, g := strings.Fields(left), strings.Fields(right)
		if !ok || len(f) < 5 || len(g) < 1 {
			continue
		}
		switch {
		case g[0] == "cgroup":
			v1 = true
		case g[0] == "cgroup2" && point == "":
			root, point = unescape(f[3]), unescape(f[4])
		}
	}
	switch {
	case point != "" && v1:
		kind = "hybrid"
	case point != "":
		kind = "v2"
	case v1:
		kind = "v1"
	default:
		kind = "none"
	}
	return kind, point, root
}

// unescape undoes mountinfo's octal escapes of blank, tab, newline and backslash.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// Directory returns this process's own directory in the v2 tree: groups are made below it.
func Directory() (string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", fmt.Errorf("finding cgroup v2: %w", err)
	}
	kind, point, root := mounts(text)
	if point == "" {
		return "", fmt.Errorf("finding cgroup v2: it is not mounted (%s)", kind)
	}
	text, err = os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", fmt.Errorf("finding our cgroup: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			return "", fmt.Errorf("finding our cgroup: %s lies outside of what is mounted (%s)",
				path, root)
		}
		return filepath.Join(point, rel), nil
	}
	return "", errors.New("finding our cgroup: /proc/self/cgroup has no v2 line")
}

// home is the directory in which groups can be made. It is found once, by making one and forking
// into it.
var home = sync.OnceValues(func() (string, error) {
	dir, err := Directory()
	if err != nil {
		return "", err
	}
	g, err := openCgroup(filepath.Join(dir, Unique("probe")))
	if err != nil {
		return "", err
	}
	// The command does not exist. This error proves that the fork into the group worked.
	_, err = syscall.ForkExec("/proc/self/no-such-command", nil,
		&syscall.ProcAttr{Sys: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: g.dir}})
	if removed := g.remove(); removed != nil {
		return "", removed
	}
	if !errors.Is(err, syscall.ENOENT) {
		return "", fmt.Errorf("forking into a cgroup: %w", err)
	}
	return dir, nil
})

// Supported returns the reason why groups cannot use cgroups, or nil.
func Supported() error {
	_, err := home()
	return err
}

func newCgroup(name string) (*cgroup, error) {
	dir, err := home()
	if err != nil {
		return nil, err
	}
	return openCgroup(filepath.Join(dir, name))
}

func openCgroup(path string) (g *cgroup, err error) {
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, fmt.Errorf("making a cgroup: %w", err)
	}
	g = &cgroup{path: path, dir: -1, procs: -1, stat: -1, pressure: -1}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.remove())
		}
	}()
	if g.dir, err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return nil, fmt.Errorf("opening the cgroup %s: %w", path, err)
	}
	if g.procs, err = g.open("cgroup.procs"); err != nil {
		return nil, err
	}
	if g.stat, err = g.open("cpu.stat"); err != nil {
		return nil, err
	}
	if g.pressure, err = g.open("cpu.pressure"); err != nil {
		g.pressure = -1 // PSI is off: booted with psi=0, or not built in
	}
	return g, nil
}

func (g *cgroup) open(file string) (int, error) {
	fd, err := unix.Openat(g.dir, file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("opening %s of the cgroup %s: %w", file, g.path, err)
	}
	return fd, nil
}

// look reads three files: about 20 us, however many processes have come and gone.
func (g *cgroup) look(u *Usage) error {
	var ok bool
	if u.User, u.System, ok = proc.ParseCPUStat(g.r.FD(g.stat)); !ok {
		return fmt.Errorf("reading cpu.stat of the cgroup %s: it does not answer", g.path)
	}
	if g.pressure >= 0 {
		u.Pressure, _ = proc.ParsePressure(g.r.FD(g.pressure))
	}
	u.PIDs = g.pids(u.PIDs)
	return nil
}

func (g *cgroup) pids(to []int) []int {
	b := g.r.FD(g.procs)
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			end = len(b) - 1
		}
		pid := 0
		for _, c := range b[:end] {
			pid = pid*10 + int(c-'0')
		}
		if pid > 0 { // 0 is a process of another pid namespace
			to = append(to, pid)
		}
		b = b[end+1:]
	}
	return to
}

// kill kills every process of the group at once; before Linux 5.14 one by one, frozen, so that none
// forks away.
func (g *cgroup) kill() error { return killDir(g.path) }

func killDir(dir string) error {
	err := os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
	if !errors.Is(err, fs.ErrNotExist) || !exists(dir) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	// Frozen processes still die of SIGKILL. Without the freezer the loop ends forking processes,
	// too, but later.
	_ = os.WriteFile(filepath.Join(dir, "cgroup.freeze"), []byte("1"), 0)
	defer func() { _ = os.WriteFile(filepath.Join(dir, "cgroup.freeze"), []byte("0"), 0) }()
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return fmt.Errorf("killing the cgroup %s: %w", dir, err)
	}
	for field := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
			_ = unix.Kill(pid, unix.SIGKILL) // gone already: fine
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// remove closes the files and removes the directory.
func (g *cgroup) remove() error {
	for _, fd := range []*int{&g.procs, &g.stat, &g.pressure, &g.dir} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
	return removeDir(g.path)
}

// removeTries bounds the wait for the kernel to let go of killed processes: 200 x 5 ms.
const removeTries = 200

// removeDir removes a cgroup and those below it, deepest first. The directory stays busy until the
// last process has really gone.
func removeDir(dir string) error {
	var err error
	for range removeTries {
		if err = removeBelow(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	return fmt.Errorf("removing a cgroup: %w", err)
}

func removeBelow(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeBelow(filepath.Join(dir, e.Name())); err != nil &&
				!errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return os.Remove(dir)
}
