package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestManual compares the manual page of the settings with the table.
func TestManual(t *testing.T) {
	golden(t, "../../docs/papaya/man/papaya.toml.5", manual())
}

// manual returns the settings as a page of mdoc(7).
func manual() string {
	var b strings.Builder
	b.WriteString(`.\" Made from the table of settings: go test ./papaya/config -update
.Dd November 26, 2026
.Dt PAPAYA.TOML 5
.Os
.Sh NAME
.Nm papaya.toml
.Nd the settings of papaya
.Sh DESCRIPTION
A file of TOML, which
.Ic papaya serve --config
reads.
Every setting has a default.
An unknown key is a mistake, and
.Ic papaya admin check
reports all mistakes of a file.
Settings marked
.Pq live
change with a reload: SIGHUP, or
.Ic papaya admin reload .
.Ic papaya admin example
prints a file with every setting.
`)
	for _, table := range tables {
		fmt.Fprintf(&b, ".Ss [%s]\n%s\n.Bl -tag -width Ds\n", table.name, mdoc(table.help))
		for _, s := range settings {
			if s.table != table.name {
				continue
			}
			live := ""
			if s.live {
				live = "\n.Pq live"
			}
			fmt.Fprintf(&b, ".It Ic %s Li = %s\n%s%s\n", s.key, quoted(literal(s.value)),
				mdoc(strings.ReplaceAll(s.help, "\n", " ")), live)
		}
		b.WriteString(".El\n")
	}
	b.WriteString(".Sh SEE ALSO\n.Xr papaya 1\n")
	return b.String()
}

// mdoc writes a text for mdoc: each sentence in a line of its own. No line may begin with a dot or
// a quote, which would make it a request.
func mdoc(text string) string {
	text = strings.NewReplacer(`\`, `\e`, ". ", ".\n", "…", "...").Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

// quoted writes a text as one argument of a macro.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\e`, `"`, `\(dq`).Replace(text) + `"`
}
