package build_test

import (
	"os/exec"
	"slices"
	"testing"

	"interleave/eve"
	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/trial"
)

func needClang(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("clang++"); err != nil {
		t.Skip("no clang++: apt-get install clang")
	}
	t.Setenv("CXX", "clang++")
}

// clang++ accepts the same programs as g++: programs with every kind of finish, events, sockets
// and containers behave alike.
func TestClang(t *testing.T) {
	needClang(t)
	programs := []string{"callbacks", "containers", "events", "fib", "finish", "sockets", "text"}
	for _, e := range trial.Examples(t) {
		if !slices.Contains(programs, e.Name) {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			expect(t, e, emit.Options{Checked: true, Debug: true}, build.Options{})
			expect(t, e, emit.Options{}, build.Options{Optimise: true})
		})
	}
}

// The runtime is clean under clang's warnings, too.
func TestClangWarnings(t *testing.T) {
	needClang(t)
	args := []string{"-std=c++20", "-fno-rtti", "-pthread", "-Wall", "-Wextra", "-Wshadow",
		"-Wconversion", "-Werror",
		// clang takes the headers' -c for one
		"-fsyntax-only", "-Wno-unused-command-line-argument"}
	p := build.Parts{Compiler: "clang++", Dir: "../runtime"}
	if _, err := p.Objects(t.Context(), args, eve.RuntimeSources()...); err != nil {
		t.Error(err)
	}
}
