// Package probetest is the test that every service has. It finds the models of the service, builds
// each and makes all checks of package conform.
//
//	func TestEcho(t *testing.T) { probetest.Service(t) }
//
// GoNet does the same for models on the stack of this project. Each and One give built models to
// tests that a service has besides.
//
// If a tool that a model needs is missing, the model is skipped with the reason. With the flag
// -sanitize=asan, tsan or race the models are built with that sanitizer; models to which it does
// not apply are skipped.
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
	"sync/atomic"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/probe/conform"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/toolchain"
)

// patience bounds starts and ends. It is so long that it ends only a server that has failed, also
// on a busy machine.
const patience = 5 * time.Minute

var sanitize = flag.String("sanitize", "",
	"build the servers with this sanitizer: asan, tsan (C) or race (Go)")

// Service tests all models of the service in whose folder the test runs. As many models as
// -parallel says are tested at once, since most of them wait. The checks of a model follow one
// another. Each built model is given to all of adapt before its checks are made.
func Service(t *testing.T, adapt ...func(*Subject)) { each(t, after(adapt, test), "*") }

// Models is Service for the models whose names match one of the patterns.
func Models(t *testing.T, patterns ...string) { each(t, test, patterns...) }

// Waiting is Service for a service whose checks wait for the clock: all checks of a model are made
// at once.
func Waiting(t *testing.T, adapt ...func(*Subject)) { each(t, after(adapt, together), "*") }

// A tester tests a built model, and returns how many checks it made.
type tester func(*testing.T, *Subject, []conform.Check) int

// after gives the built model to all of adapt before it is tested.
func after(adapt []func(*Subject), test tester) tester {
	return func(t *testing.T, m *Subject, checks []conform.Check) int {
		for _, change := range adapt {
			change(m)
		}
		return test(t, m, checks)
	}
}

// each calls test for all models whose names match one of the patterns.
func each(t *testing.T, test tester, patterns ...string) {
	root, service := load(t)
	for _, name := range named(t, service, patterns...) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model, checks := look(t, root, service, name, manifest.Kernel)
			made := 0
			t.Cleanup(func() { // after the servers have ended; go test -run may leave checks out
				if made == len(checks) && !t.Failed() && *sanitize == "" {
					remember(t, root, service, model)
				}
			})
			made = test(t, &Subject{build(t, root, model)}, checks)
		})
	}
}

// remember notes that a model has passed all checks, so that a run does not make them again.
func remember(t *testing.T, root string, service *manifest.Service, model *manifest.Model) {
	built, err := toolchain.Build(context.Background(), model, toolchain.BuildOptions{
		OutRoot: filepath.Join(root, "out")})
	if err == nil {
		err = conform.Pass(service, built)
	}
	if err != nil {
		t.Error(err)
	}
}

// named returns the models of the service whose names match one of the patterns. Each pattern must
// match some model.
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

// GoNet tests models of the service on GoNet in place of the kernel's stack. It makes the checks of
// these names, or all if none is named.
func GoNet(t *testing.T, models []string, transcripts ...string) {
	root, service := load(t)
	for _, name := range models {
		t.Run(manifest.NameOn(name, manifest.GoNet), func(t *testing.T) {
			t.Parallel()
			model, checks := look(t, root, service, name, manifest.GoNet)
			if len(transcripts) > 0 {
				checks = only(t, checks, transcripts)
			}
			test(t, &Subject{build(t, root, model)}, checks)
		})
	}
}

// Serve starts a server of a model for one test and returns its address. When the test ends, the
// server must end as the contract says.
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

// only returns the checks of these names.
func only(t *testing.T, checks []conform.Check, names []string) []conform.Check {
	var some []conform.Check
	for _, name := range names {
		i := slices.IndexFunc(checks, func(c conform.Check) bool { return c.Name == name })
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

// look reads a model and its checks. If the stack is not the kernel's, it is the model on that
// stack.
func look(t *testing.T, root string, service *manifest.Service, name string,
	stack manifest.Stack) (*manifest.Model, []conform.Check) {
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
	checks, err := conform.Checks(service, model)
	if err != nil {
		t.Fatal(err)
	}
	return model, checks
}

// test makes the checks of a built model one after the other. It returns how many it made.
func test(t *testing.T, m *Subject, checks []conform.Check) (made int) {
	session := conform.NewSession(m.built, serve.Unhurried)
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, check := range checks {
		if play(t, check, session.Play) {
			made++
		}
	}
	return made
}

// together makes the checks of a built model at once.
func together(t *testing.T, m *Subject, checks []conform.Check) int {
	var wait sync.WaitGroup
	var made atomic.Int32
	for _, check := range checks {
		alone := func(ctx context.Context, c conform.Check) error {
			return c.Play(ctx, m.built, serve.Unhurried)
		}
		wait.Go(func() {
			if play(t, check, alone) {
				made.Add(1)
			}
		})
	}
	wait.Wait()
	return int(made.Load())
}

// build builds a model, or skips the test if that is not possible here.
func build(t *testing.T, root string, model *manifest.Model) *toolchain.Built {
	began := time.Now()
	built, err := toolchain.Build(t.Context(), model, toolchain.BuildOptions{
		OutRoot: filepath.Join(root, "out"), Sanitize: toolchain.Sanitizer(*sanitize)})
	var missing *toolchain.Missing
	if errors.As(err, &missing) || errors.Is(err, toolchain.ErrNotApplicable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !built.Reused { // make test-times shows it
		t.Logf("built %s/%s in %.1fs", model.Service, filepath.Base(built.Out),
			time.Since(began).Seconds())
	}
	return built
}

// play makes one check as a subtest. It returns false if go test -run leaves the check out.
func play(t *testing.T, check conform.Check, by func(context.Context, conform.Check) error) bool {
	made := false
	t.Run(check.Name, func(t *testing.T) {
		made = true
		err := by(t.Context(), check)
		if missing, ok := errors.AsType[*toolchain.Missing](err); ok {
			t.Skip("SKIP:", missing)
		}
		if err != nil {
			t.Error(err)
		}
	})
	return made
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
