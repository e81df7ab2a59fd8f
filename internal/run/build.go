package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/toolchain"
	"interleave/internal/quantity"
	"interleave/internal/record"
)

// build builds the models that the plan needs and holds each against its service's conformance. One
// that cannot be built or does not conform is skipped with the reason.
func (s *Session) build(ctx context.Context) error {
	plan, err := Lay(s.Tree, s.Experiments, s.Choice)
	if err != nil {
		return err
	}
	models, err := s.chosen(plan)
	if err != nil {
		return err
	}
	s.built = map[*manifest.Model]*toolchain.Built{}
	if err := s.readyAll(ctx, models); err != nil {
		return err
	}
	for _, m := range plan.Missing {
		s.skipped = append(s.skipped, record.Skip{Service: m.Service, Model: m.Model,
			Reason: m.Why})
	}
	outer := s.Choice.Skip
	s.Choice.Skip = func(m *manifest.Model) bool {
		return s.built[m] == nil || outer != nil && outer(m)
	}
	return nil
}

// readyAll builds and checks models, as many at once as there are cores: nothing is measured yet.
func (s *Session) readyAll(ctx context.Context, models []*manifest.Model) error {
	if len(models) > 0 {
		s.say("building and checking %s; what has not changed since is known",
			quantity.Many(len(models), "model"))
	}
	began := time.Now()
	outcomes := make([]readied, len(models))
	done := make(chan int)
	slots := make(chan struct{}, max(2, runtime.NumCPU()))
	for i, m := range models {
		go func() {
			slots <- struct{}{}
			outcomes[i] = s.ready(ctx, m)
			<-slots
			done <- i
		}()
	}
	known := 0
	for n := range models {
		i := <-done
		switch o := outcomes[i]; {
		case ctx.Err() != nil: // said once, below
		case o.skip != "":
			s.say("SKIP %s/%s: %s", models[i].Service, models[i].Name, o.skip)
		case o.known:
			known++
		default:
			s.say("%d of %d: %s/%s conforms", n+1, len(models), models[i].Service, models[i].Name)
		}
	}
	if ctx.Err() != nil {
		return ErrStopped
	}
	if took := time.Since(began); known < len(models) {
		s.say("built and checked in %s; %d of %d were known", quantity.Setting(took.Round(
			time.Second)), known, len(models))
	}
	for i, m := range models {
		if o := outcomes[i]; o.skip != "" {
			s.skipped = append(s.skipped, record.Skip{Service: m.Service, Model: m.Name,
				Reason: o.skip, Detail: o.detail})
		} else {
			s.built[m] = o.built
		}
	}
	return nil
}

// readied is a model that can be measured, or why it cannot.
type readied struct {
	built        *toolchain.Built
	known        bool // it conformed before, and nothing has changed
	skip, detail string
}

// ready builds and checks one model.
func (s *Session) ready(ctx context.Context, m *manifest.Model) (r readied) {
	err := serve.Able(s.Tree.Service(m.Service), m)
	if err != nil {
		r.skip = err.Error()
		return r
	}
	if r.built, err = s.make(ctx, m); err != nil {
		r.skip, r.detail, _ = strings.Cut(err.Error(), "\n")
		return r
	}
	failed, known, err := Conforms(ctx, s.Tree.Service(m.Service), r.built)
	r.known = known
	switch {
	case err != nil:
		r.skip, r.detail, _ = strings.Cut("its conformance could not be checked: "+err.Error(),
			"\n")
	case failed != "":
		r.skip, r.detail, _ = strings.Cut("does not conform: "+failed, "\n")
	}
	return r
}

// make builds a model; a user's own server is built already.
func (s *Session) make(ctx context.Context, m *manifest.Model) (*toolchain.Built, error) {
	if !own(m) {
		return toolchain.Build(ctx, m, toolchain.BuildOptions{OutRoot: s.Out})
	}
	b := &toolchain.Built{Model: m, Out: filepath.Join(s.Out, "build", m.Service, m.Name),
		Env: os.Environ(), Reused: true}
	return b, os.MkdirAll(b.Out, 0o755)
}

// whyNothing names the reasons of the skipped models.
func (s *Session) whyNothing() string {
	var why []string
	for _, k := range s.skipped {
		why = append(why, fmt.Sprintf("%s/%s %s", k.Service, k.Model, k.Reason))
	}
	if len(why) == 0 {
		return "no model was chosen, or no point at this depth"
	}
	return strings.Join(why, "; ")
}

// toolChains are the versions that built the measured models.
func (s *Session) toolChains() map[string]string {
	versions := map[string]string{}
	for _, b := range s.built {
		for _, t := range b.Tools {
			versions[t.Need] = t.Version
		}
	}
	return versions
}
