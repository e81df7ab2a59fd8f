package toolchain

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"interleave/internal/manifest"
)

// A Sanitizer names a build that finds faults which an ordinary build hides.
type Sanitizer string

// The sanitizers. For C and Eve: AddressSanitizer with UndefinedBehaviorSanitizer, and
// ThreadSanitizer. For Go: the race detector.
const (
	Plain Sanitizer = "" // none
	ASan  Sanitizer = "asan"
	TSan  Sanitizer = "tsan"
	Race  Sanitizer = "race"
)

// ErrNotApplicable says that a sanitizer has nothing to look for in a model: the model is written
// in another language, or has processes where the sanitizer is for threads.
var ErrNotApplicable = errors.New("does not apply to this model")

// sanitized returns the model's build commands with the sanitizer's flags.
func sanitized(m *manifest.Model, s Sanitizer) ([][]string, error) {
	if s == Plain {
		return m.Build, nil
	}
	flags := map[Sanitizer][]string{
		ASan: {"-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"},
		TSan: {"-g1", "-fsanitize=thread", "-fno-sanitize-recover=all"},
	}[s]
	var commands [][]string
	applied := false
	for _, args := range m.Build {
		args = slices.Clone(args)
		switch {
		case s == TSan && m.Model == "process":
		case s == TSan && m.Tables: // TSan takes equal numbers in two threads for one descriptor
		case flags != nil && m.Language == "c" && len(args) > 0 && args[0] == "cc":
			// The sanitizer's own library is loaded at run time: such a program cannot be static.
			args = slices.DeleteFunc(args, func(word string) bool { return word == "-static" })
			// Reports name files from the checkout's root, whichever checkout built the program.
			place := fmt.Sprintf("-ffile-prefix-map={dir}=services/%s/%s", m.Service, m.Name)
			args, applied = append(append(args, flags...), place), true
		case s == Race && m.Language == "go" && len(args) > 1 && args[0] == "go" &&
			args[1] == "build":
			args, applied = withFlag(withoutDWARF(args), "-race"), true
		case flags != nil && m.Language == "eve" && len(args) > 1 && args[0] == "eve" &&
			args[1] == "build":
			args, applied = slices.Insert(args, 2, "--sanitize="+eveSanitizer[s]), true
		}
		commands = append(commands, args)
	}
	if !applied {
		return nil, fmt.Errorf("%s %w", s, ErrNotApplicable)
	}
	return commands, nil
}

// onStack returns the commands that build a Go model with the stack that it runs on: they get the
// stack's build tag.
func onStack(m *manifest.Model, commands [][]string) [][]string {
	if m.Stack != manifest.GoNet {
		return commands
	}
	commands = slices.Clone(commands)
	for i, args := range commands {
		if len(args) > 1 && args[0] == "go" && args[1] == "build" {
			commands[i] = withFlag(slices.Clone(args), "-tags="+string(m.Stack))
		}
	}
	return commands
}

// withFlag adds a flag to a command "go build". The flag -C must stay the first, so it goes behind
// that one.
func withFlag(args []string, flag string) []string {
	if len(args) > 3 && args[2] == "-C" {
		return slices.Insert(args, 4, flag)
	}
	return slices.Insert(args, 2, flag)
}

// withoutDWARF has the linker leave out DWARF, which takes it a third of its time. Reports of the
// race detector take their lines from the table that tracebacks have, too.
func withoutDWARF(args []string) []string {
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-ldflags") }) {
		return args // the model says what it wants
	}
	return withFlag(args, "-ldflags=-w")
}

// eveSanitizer has the names that the Eve compiler gives to the sanitizers.
var eveSanitizer = map[Sanitizer]string{ASan: "address", TSan: "thread"}

// sanitizedPatience is for servers with a sanitizer, which are 2 to 15 times slower.
const sanitizedPatience = 5

// Patience is the factor by which the time limits of an ordinary build are lengthened for this one.
func (b *Built) Patience() float64 {
	if b.Sanitize != Plain {
		return sanitizedPatience
	}
	return 1
}
