package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const manuals = "../../docs/papaya/man/"

// TestManualHasEveryCommand: papaya.1 has every command and every flag, and no others.
func TestManualHasEveryCommand(t *testing.T) {
	page, err := os.ReadFile(manuals + "papaya.1")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	flags := map[string]bool{"config": true, "data": true, "help": true, "version": true}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		for _, below := range c.Commands() {
			if name := below.Name(); name != "help" && name != "completion" && !below.Hidden {
				walk(below)
			}
		}
		if !c.HasSubCommands() || c.Name() == "torture" { // it does something itself, too
			want = append(want, strings.TrimPrefix(c.CommandPath(), "papaya "))
		}
	}
	walk(rootCommand())
	for _, m := range regexp.MustCompile(`(?m)^\.It Ic ([a-z -]+?)(?: Ar| Op|$)`).
		FindAllStringSubmatch(string(page), -1) {
		got = append(got, m[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("papaya.1 has the commands\n%q\nthe program has\n%q", got, want)
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`Fl -([a-z-]+)`).FindAllStringSubmatch(string(page), -1) {
		named[m[1]] = true
		if !flags[m[1]] {
			t.Errorf("papaya.1 has a flag --%s, which does not exist", m[1])
		}
	}
	for name := range flags {
		if !named[name] {
			t.Errorf("papaya.1 lacks the flag --%s", name)
		}
	}
}

// TestManualsAreClean formats the manual pages as man does, and has mandoc look for mistakes.
func TestManualsAreClean(t *testing.T) {
	pages, err := filepath.Glob(manuals + "*.[15]")
	if err != nil || len(pages) != 2 {
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
				cmd.Env = append(slices.Clone(os.Environ()), "MANWIDTH=80", "MANPAGER=cat",
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
