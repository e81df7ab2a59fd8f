package prove

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMachineFacts changes what the kernel lets tests do, one thing after the other: each makes
// another machine.
func TestMachineFacts(t *testing.T) {
	proc := t.TempDir()
	before := machineFacts(proc)
	changes := []struct{ file, text string }{
		{"meminfo", "MemTotal: 1 kB\nMemFree: 1 kB\n"},
		{"self/status", "Name: a\nCapEff: 0\n"},
		{"self/status", "Name: a\nCapEff: 1\n"},
		{"self/status", "Name: a\nCapEff: 1\nSeccomp: 2\n"},
		{"self/limits", "Max open files 1024 4096 files\n"},
	}
	for _, permit := range permits {
		changes = append(changes, struct{ file, text string }{"sys/" + permit, "1\n"})
	}
	change := func(file, text string) string {
		t.Helper()
		path := filepath.Join(proc, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return machineFacts(proc)
	}
	for _, c := range changes {
		after := change(c.file, c.text)
		if after == before {
			t.Errorf("%s: %q is the same machine as before", c.file, c.text)
		}
		before = after
	}
	if change("meminfo", "MemTotal: 1 kB\nMemFree: 0 kB\n") != before ||
		change("self/status", "Name: b\nCapEff: 1\nSeccomp: 2\n") != before {
		t.Error("free memory, or the name of the program, makes another machine")
	}
	if facts := machineFacts("/proc"); facts != machineFacts("/proc") {
		t.Errorf("this machine is another one at once: %q", facts)
	}
}
