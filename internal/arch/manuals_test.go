package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestManualsAreClean formats the manual pages as man does, and has mandoc look for mistakes.
func TestManualsAreClean(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs/*/man/*.[15]"))
	if err != nil || len(pages) < 3 {
		t.Fatalf("the pages are %v, %v", pages, err)
	}
	for _, tool := range [][]string{{"man", "--warnings=w", "-l"},
		{"mandoc", "-T", "lint", "-W", "warning"}} {
		t.Run(tool[0], func(t *testing.T) {
			if _, err := exec.LookPath(tool[0]); err != nil {
				t.Skipf("SKIP: install %s for the test of the manual pages", tool[0])
			}
			for _, page := range pages {
				cmd := exec.Command(tool[0], append(tool[1:], page)...)
				cmd.Env = append(os.Environ(), "MANWIDTH=80", "MANPAGER=cat",
					"LC_ALL=C.UTF-8")
				var complaints strings.Builder
				cmd.Stderr = &complaints
				out, err := cmd.Output()
				if tool[0] == "mandoc" {
					complaints.Write(out)
				} else if !strings.Contains(string(out), "NAME") {
					t.Errorf("%s: formatted it is\n%s", page, out)
				}
				if err != nil || complaints.Len() > 0 {
					t.Errorf("%s %s: %v\n%s", tool[0], page, err, complaints.String())
				}
			}
		})
	}
}
