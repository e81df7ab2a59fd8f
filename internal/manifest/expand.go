package manifest

import (
	"regexp"
	"strings"
)

// placeholder matches a part of a command that is filled in later. Braces around anything but one
// lower-case word are the command's own: Erlang's -eval is full of them.
var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// Expand replaces the placeholders {name} of a command by their values. A name without a value
// stays as it is. Values are not looked at again: a path may hold braces.
func Expand(command []string, values map[string]string) []string {
	pairs := make([]string, 0, 2*len(values))
	for name, value := range values {
		pairs = append(pairs, "{"+name+"}", value)
	}
	replace := strings.NewReplacer(pairs...)
	out := make([]string, len(command))
	for i, arg := range command {
		out[i] = replace.Replace(arg)
	}
	return out
}
