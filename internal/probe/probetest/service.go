// Package probetest is the one test that every service has: each model of the service, found by
// itself, is built and held against the service's transcripts and the contract.
//
//	func TestEcho(t *testing.T) { probetest.Service(t) }
//
// A model whose tool chain is not here is skipped with the reason. -sanitize=asan, tsan or race tests
// builds with that sanitizer instead; models of other languages are then skipped.
package probetest

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/probe"
)

var sanitize = flag.String("sanitize", "", "build the servers with this sanitizer: asan, tsan (C) or race (Go)")

// Service tests all models of the service in whose folder the test runs: as many at once as -parallel says, most of
// which wait; the checks of a model one after the other.
func Service(t *testing.T) {
	switch probe.Sanitizer(*sanitize) {
	case probe.Plain, probe.ASan, probe.TSan, probe.Race:
	default:
		t.Fatalf("-sanitize=%s: expected asan, tsan or race", *sanitize)
	}
	root, name := place(t)
	service, err := manifest.LoadService(root, filepath.Join("services", name, "service.toml"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*/model.toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("services/%s: expected a model, a folder with model.toml (%v)", name, err)
	}
	for _, file := range files {
		t.Run(filepath.Dir(file), func(t *testing.T) {
			t.Parallel()
			model, err := service.LoadModel(root, filepath.Join("services", name, file))
			if err != nil {
				t.Fatal(err)
			}
			if err := probe.Able(service, model); err != nil {
				t.Skip("SKIP:", err)
			}
			checks, err := probe.Checks(service, model)
			if err != nil {
				t.Fatal(err)
			}
			test(t, root, model, checks)
		})
	}
}

func test(t *testing.T, root string, model *manifest.Model, checks []probe.Check) {
	built, err := probe.Build(t.Context(), model, probe.BuildOptions{
		OutRoot: filepath.Join(root, "out"), Sanitize: probe.Sanitizer(*sanitize)})
	var missing *probe.Missing
	if errors.As(err, &missing) || errors.Is(err, probe.ErrNotApplicable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range checks {
		t.Run(check.Name, func(t *testing.T) {
			err := check.Play(t.Context(), built, built.Patience())
			if missing, ok := errors.AsType[*probe.Missing](err); ok {
				t.Skip("SKIP:", missing)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// place finds the checkout and the service from the folder in which go test runs.
func place(t *testing.T) (root, service string) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Dir(filepath.Dir(here))
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("%s is not services/SERVICE of a checkout: %v", here, err)
	}
	return root, filepath.Base(here)
}
