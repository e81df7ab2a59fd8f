package main

import (
	"os"
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
