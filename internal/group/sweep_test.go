package group

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// leftOver is the name of a group of a run that is dead: its number is beyond any pid_max.
func leftOver(n int) string {
	return fmt.Sprintf("%s.%d.%d.server.%d", prefix, 1<<30, os.Getpid(), n)
}

func TestSweepDirectory(t *testing.T) {
	dir, err := home()
	if err != nil {
		t.Skip(err)
	}
	old, err := openCgroup(filepath.Join(dir, leftOver(1)))
	if err != nil {
		t.Fatal(err)
	}
	defer old.remove()
	if err := os.Mkdir(filepath.Join(old.path, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "308")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(old.path, "below", "cgroup.procs"),
		fmt.Append(nil, cmd.Process.Pid), 0); err != nil {
		t.Fatal(err)
	}
	ours := start(t, Options{}, `exec sleep 308`)
	s, err := Sweep()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the process of the dead run was not killed")
	}
	if !slices.Contains(s.Directories, old.path) || exists(old.path) {
		t.Errorf("got %v, want %s removed", s.Directories, old.path)
	}
	if !ours.Alive() || !exists(ours.cgroup.path) {
		t.Error("a group of a living run was swept")
	}
}

func TestSweepMarked(t *testing.T) {
	cmd := exec.Command("sleep", "309")
	cmd.Env = append(cmd.Environ(), markName+"="+leftOver(2))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ours := start(t, Options{NoCgroup: true}, `exec sleep 309`)
	s, err := Sweep()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the process of the dead run was not killed")
	}
	if !slices.Contains(s.PIDs, cmd.Process.Pid) {
		t.Errorf("got %v, want %d among them", s.PIDs, cmd.Process.Pid)
	}
	if !ours.Alive() {
		t.Error("a group of a living run was swept")
	}
}

func TestMounts(t *testing.T) {
	const v1 = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
	const v2 = "41 31 0:38 /a\\040b /sys/fs/cgroup/unified rw shared:9 master:1 - cgroup2 " +
		"cgroup2 rw\n"
	tests := []struct{ name, in, kind, point, root string }{
		{"none", "", "none", "", ""},
		{"v1", v1, "v1", "", ""},
		{"v2", v2, "v2", "/sys/fs/cgroup/unified", "/a b"},
		{"hybrid", v1 + v2, "hybrid", "/sys/fs/cgroup/unified", "/a b"},
		{"short", "41 31 - cgroup2\nx - \n", "none", "", ""},
	}
	for _, tt := range tests {
		kind, point, root := mounts([]byte(tt.in))
		if kind != tt.kind || point != tt.point || root != tt.root {
			t.Errorf("%s: got %q %q %q, want %q %q %q", tt.name, kind, point, root, tt.kind,
				tt.point, tt.root)
		}
	}
}

func TestMarkOf(t *testing.T) {
	tests := []struct {
		in    string
		pid   int
		start uint64
		ok    bool
	}{
		{Unique("server"), os.Getpid(), self().Start, true},
		{"interleave.12.34.load.5", 12, 34, true},
		{"interleave.12.34.load", 0, 0, false},
		{"interleave.x.34.load.5", 0, 34, false},
		{"interleave.-1.34.load.5", -1, 34, false},
		{"other.12.34.load.5", 0, 0, false},
		{"", 0, 0, false},
	}
	for _, tt := range tests {
		pid, start, ok := markOf(tt.in)
		if ok != tt.ok || ok && (pid != tt.pid || start != tt.start) {
			t.Errorf("%q: got %d %d %v, want %d %d %v", tt.in, pid, start, ok, tt.pid, tt.start,
				tt.ok)
		}
	}
}

func FuzzMounts(f *testing.F) {
	f.Add([]byte("41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if kind, point, _ := mounts(b); (kind == "v2" || kind == "hybrid") != (point != "") {
			t.Errorf("kind %s with mount point %q", kind, point)
		}
	})
}

func FuzzMarkOf(f *testing.F) {
	f.Add("interleave.12.34.load.5")
	f.Fuzz(func(t *testing.T, s string) {
		if pid, _, ok := markOf(s); ok && pid <= 0 {
			t.Errorf("%q names process %d", s, pid)
		}
	})
}
