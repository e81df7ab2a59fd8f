package config

import (
	"fmt"
	"strings"
)

// Example returns a file with every setting, its meaning and its default. Every key is commented
// out.
func Example() string {
	var b strings.Builder
	b.WriteString("# The settings of papaya, each with its default: take the # from a key to " +
		"change it.\n" +
		"# (live) changes with a reload (SIGHUP, `papaya admin reload`), all else with a " +
		"restart. An unknown key is a mistake.\n")
	for _, t := range tables {
		fmt.Fprintf(&b, "\n# %s\n[%s]\n", t.help, t.name)
		for _, s := range settings {
			if s.table != t.name {
				continue
			}
			help := s.help
			if s.live {
				help += " (live)"
			}
			fmt.Fprintf(&b, "# %s\n", strings.ReplaceAll(help, "\n", "\n# "))
			fmt.Fprintf(&b, "#%s = %s\n", s.key, literal(s.value))
		}
	}
	return b.String()
}
