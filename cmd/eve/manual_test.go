package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestManualHasEveryCommand: eve.1 has every command in the order of the help, and every flag, and
// no others.
func TestManualHasEveryCommand(t *testing.T) {
	page, err := os.ReadFile("../../docs/eve/man/eve.1")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	flags := map[string]bool{"-help": true}
	for _, cmd := range commands {
		want = append(want, cmd.name)
		for _, f := range completedOf(cmd).flags {
			flags[strings.TrimPrefix(dashed(f), "-")] = true
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\.It Ic (\S+)`).FindAllStringSubmatch(string(page),
		-1) {
		got = append(got, m[1])
	}
	if !slices.Equal(got, want) {
		t.Errorf("eve.1 has the commands\n%q\nthe program has\n%q", got, want)
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`Fl (-?[a-z-]+)`).FindAllStringSubmatch(string(page), -1) {
		named[m[1]] = true
		if !flags[m[1]] {
			t.Errorf("eve.1 has a flag -%s, which does not exist", m[1])
		}
	}
	for name := range flags {
		if !named[name] {
			t.Errorf("eve.1 lacks the flag -%s", name)
		}
	}
}
