// Package probetest is the one test that every service has: each model of the service, found by
// itself, is built and held against the service's transcripts and the contract.
//
//	func TestEcho(t *testing.T) { probetest.Service(t) }
//
// GoNet does so for models on the stack of this project.
//
// A model whose tool chain is not here is skipped with the reason. -sanitize=asan, tsan or race
// tests builds with that sanitizer instead; models of other languages are then skipped.
package probetest

import (
	"context"
	"errors"
	"flag"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/probe/play"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/toolchain"
)

// patience is a net: what it bounds has failed, on a machine however busy.
const patience = 5 * time.Minute

var sanitize = flag.String("sanitize", "",
	"build the servers with this sanitizer: asan, tsan (C) or race (Go)")

// Service tests all models of the service in whose folder the test runs: as many at once as
// -parallel says, most of which wait; the checks of a model one after the other.
func Service(t *testing.T) { Models(t, "*") }

// Models is Service for the models whose names one of the patterns matches.
func Models(t *testing.T, patterns ...string) { each(t, test, patterns...) }

// Waiting does so for a service whose checks wait for the clock: those of a model are
// played all at once.
func Waiting(t *testing.T) { each(t, together, "*") }

// each tests models, by a way to play the checks of one.
func each(t *testing.T, test func(*testing.T, string, *manifest.Model, []play.Check),
	patterns ...string) {
	root, service := load(t)
	for _, name := range named(t, service, patterns...) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model, checks := look(t, root, service, name, manifest.Kernel)
			test(t, root, model, checks)
		})
	}
}

// named are the models of the service whose names one of the patterns matches; each
// must match some.
func named(t *testing.T, service *manifest.Service, patterns ...string) (names []string) {
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(pattern, "model.toml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("services/%s: expected a model, a folder %s with model.toml (%v)",
				service.Name, pattern, err)
		}
		for _, file := range files {
			names = append(names, filepath.Dir(file))
		}
	}
	return names
}

// GoNet plays to models of the service, on GoNet in place of the kernel's stack, those of its
// transcripts that a stack can spoil; all, where none is named.
func GoNet(t *testing.T, models []string, transcripts ...string) {
	root, service := load(t)
	for _, name := range models {
		t.Run(manifest.NameOn(name, manifest.GoNet), func(t *testing.T) {
			t.Parallel()
			model, checks := look(t, root, service, name, manifest.GoNet)
			if len(transcripts) > 0 {
				checks = only(t, checks, transcripts)
			}
			test(t, root, model, checks)
		})
	}
}

// Serve starts a model for a test of its own and returns where it listens. It must end well
// when the test does.
func Serve(t *testing.T, name string) (addr string) {
	root, service := load(t)
	model, _ := look(t, root, service, name, manifest.Kernel)
	server, err := serve.Start(t.Context(), build(t, root, model),
		serve.StartOptions{Limit: patience, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return net.JoinHostPort(server.Host, strconv.Itoa(server.Port))
}

// only picks checks by their names.
func only(t *testing.T, checks []play.Check, names []string) []play.Check {
	var some []play.Check
	for _, name := range names {
		i := slices.IndexFunc(checks, func(c play.Check) bool { return c.Name == name })
		if i < 0 {
			t.Fatalf("expected a transcript, got %q", name)
		}
		some = append(some, checks[i])
	}
	return some
}

// load reads the service in whose folder the test runs.
func load(t *testing.T) (root string, service *manifest.Service) {
	switch toolchain.Sanitizer(*sanitize) {
	case toolchain.Plain, toolchain.ASan, toolchain.TSan, toolchain.Race:
	default:
		t.Fatalf("-sanitize=%s: expected asan, tsan or race", *sanitize)
	}
	root, name := place(t)
	service, err := manifest.LoadService(root, filepath.Join("services", name, "service.toml"))
	if err != nil {
		t.Fatal(err)
	}
	return root, service
}

// look reads a model that runs on a stack, unless it is its own, and what it has to do.
func look(t *testing.T, root string, service *manifest.Service, name string,
	stack manifest.Stack) (*manifest.Model, []play.Check) {
	model, err := service.LoadModel(root, filepath.Join("services", service.Name, name,
		"model.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if stack != manifest.Kernel {
		if model = model.OnStack(stack); model == nil {
			t.Fatalf("services/%s/%s/model.toml: expected stack to name %s", service.Name, name,
				stack)
		}
	}
	if err := serve.Able(service, model); err != nil {
		t.Skip("SKIP:", err)
	}
	checks, err := play.Checks(service, model)
	if err != nil {
		t.Fatal(err)
	}
	return model, checks
}

// test builds a model and plays its checks one after the other.
func test(t *testing.T, root string, model *manifest.Model, checks []play.Check) {
	session := play.NewSession(build(t, root, model), serve.Unhurried)
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, check := range checks {
		playOne(t, check, session.Play)
	}
}

// together builds a model and plays its checks at once.
func together(t *testing.T, root string, model *manifest.Model, checks []play.Check) {
	built := build(t, root, model)
	var wait sync.WaitGroup
	defer wait.Wait()
	for _, check := range checks {
		alone := func(ctx context.Context,
			c play.Check) error {
			return c.Play(ctx, built, serve.Unhurried)
		}
		wait.Go(func() { playOne(t, check, alone) })
	}
}

func build(t *testing.T, root string, model *manifest.Model) *toolchain.Built {
	built, err := toolchain.Build(t.Context(), model, toolchain.BuildOptions{
		OutRoot: filepath.Join(root, "out"), Sanitize: toolchain.Sanitizer(*sanitize)})
	var missing *toolchain.Missing
	if errors.As(err, &missing) || errors.Is(err, toolchain.ErrNotApplicable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return built
}

func playOne(t *testing.T, check play.Check, by func(context.Context, play.Check) error) {
	t.Run(check.Name, func(t *testing.T) {
		err := by(t.Context(), check)
		if missing, ok := errors.AsType[*toolchain.Missing](err); ok {
			t.Skip("SKIP:", missing)
		}
		if err != nil {
			t.Error(err)
		}
	})
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
