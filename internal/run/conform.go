package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"interleave/internal/manifest"
	"interleave/internal/probe/conform"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/toolchain"
)

// conformPatience lengthens the limits of the contract. Servers are checked here while others are
// built and checked beside them, on a machine that may be busy with more. How quick they are is
// measured afterwards; interleave check asks for the limits themselves.
const conformPatience = 3

// Conforms plays a service's conformance to a model, unless this very build passed this very
// conformance before. It returns the first check that failed, in words, or nothing.
func Conforms(ctx context.Context, service *manifest.Service,
	built *toolchain.Built) (failed string, known bool, err error) {
	if !own(built.Model) {
		known, err := conform.Passed(service, built)
		if known || err != nil {
			return "", known, err
		}
	}
	checks, err := conform.Checks(service, built.Model)
	if err != nil {
		return "", false, err
	}
	// the contract binds the servers of this laboratory; a user's must only serve right
	if own(built.Model) {
		checks = slices.DeleteFunc(checks,
			func(c conform.Check) bool { return strings.HasPrefix(c.Name, "contract:") })
	}
	played := make([]func() error, len(checks))
	var together sync.WaitGroup
	for i, c := range checks {
		played[i] = sync.OnceValue(func() error { return c.Play(ctx, built, conformPatience) })
		if service.Protocol == manifest.Stream { // they wait for the clock: 12 s in place of 31
			together.Go(func() { _ = played[i]() }) // its error is looked at below
		}
	}
	defer together.Wait()
	for i, c := range checks {
		err := forgiven(built.Model, played[i]())
		if ctx.Err() != nil {
			return "", false, ctx.Err()
		}
		if _, missing := errors.AsType[*toolchain.Missing](err); missing {
			continue // this machine cannot make the check; the rest must do
		}
		if err != nil {
			return fmt.Sprintf("%s: %v", c.Name, err), false, nil
		}
	}
	if own(built.Model) {
		// a user's own server: what it is made of is not known, so it is checked each time
		return "", false, nil
	}
	return "", false, conform.Pass(service, built)
}

// own says whether a model is a user's own server.
func own(m *manifest.Model) bool { return m.Language == "own" }

// forgiven drops what a user's own server may do: end by the signal instead of with status 0, and
// complain at length when descriptors run out.
func forgiven(m *manifest.Model, err error) error {
	var failure *serve.Failure
	if own(m) && errors.As(err, &failure) && (failure.Cause == serve.ExitStatus ||
		failure.Cause == serve.Floods) {
		return nil
	}
	return err
}
