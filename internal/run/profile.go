package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/probe/toolchain"
	"interleave/internal/profile"
	"interleave/internal/record"
)

// A Profiler is a bench that can also profile a server. Its samples are no figure: a server that is
// profiled is slower.
type Profiler interface {
	Profile(ctx context.Context, s *Spec, seed uint64) (*record.Profile, error)
}

// profiles takes, when all is measured, the profiles that experiments ask for and the record lacks:
// one of each model that can be profiled, at the point's own load.
func (r *Runner) profiles(ctx context.Context) error {
	bench, ok := r.Bench.(Profiler)
	if !ok {
		return nil
	}
	for _, b := range r.Plan.Blocks {
		for _, s := range b.Specs {
			if _, can := profile.Of(s.Model.Language); !can || s.Twin ||
				!slices.Contains(b.Experiment.Profiles, b.Point.Name) || r.profiled(s) {
				continue
			}
			if r.Planner != nil && r.used+s.Estimate() > r.end {
				r.Watch.Watch(Event{Kind: Note, Text: "no time is left for profiles"})
				return nil
			}
			began := r.Now()
			r.Watch.Watch(Event{Kind: Note,
				Text: fmt.Sprintf("taking a profile of %s at %s, apart from what is measured",
					s.Model.Name, b.Point.Name)})
			spec := *s
			spec.Point = b.Point
			p, err := bench.Profile(ctx, &spec, seedOf(r.Record.Header().Seed, s.key(0)))
			if ctx.Err() != nil {
				return fmt.Errorf("%w while a profile was taken; what was measured is recorded",
					ErrStopped)
			}
			if err != nil {
				return err
			}
			r.used += r.Now().Sub(began)
			p.Experiment, p.Point, p.Model, p.Condition = b.Experiment.Name, b.Point.Name,
				s.Model.Name, s.Condition
			if p.Samples == nil {
				r.Watch.Watch(Event{Kind: Note, Text: fmt.Sprintf("no profile of %s at %s: %s",
					s.Model.Name, b.Point.Name, p.Why)})
			}
			if err := r.Record.Update(func(h *record.Header) {
				h.Profiles = append(h.Profiles, *p)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Runner) profiled(s *Spec) bool {
	return slices.ContainsFunc(r.Record.Header().Profiles, func(p record.Profile) bool {
		return p.Experiment == s.Experiment.Name && p.Point == s.Point.Name &&
			p.Model == s.Model.Name && p.Condition == s.Condition
	})
}

// Profile loads a server that keeps a profile from its start to its end. If something goes wrong
// with one server, the profile's Why says it.
func (l *Local) Profile(ctx context.Context, s *Spec, seed uint64) (*record.Profile, error) {
	taker, ok := profile.Of(s.Model.Language)
	if !ok {
		return &record.Profile{Why: "servers in " + s.Model.Language + " keep no profile"}, nil
	}
	dir, err := os.MkdirTemp("", "interleave-profile-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "profile.jfr")
	built := *l.Built[s.Model]
	built.Env = append(slices.Clone(built.Env), taker.Env(file))
	apart := *l
	apart.Built = map[*manifest.Model]*toolchain.Built{s.Model: &built}
	c := &record.Cell{Load: s.Point.Load}
	p := &record.Profile{By: taker.Tells}
	if err := apart.measure(ctx, s, seed, func(bool) {}, c, &Facts{}); err != nil {
		p.Why = err.Error()
		return p, nil
	}
	if p.Samples, err = taker.Read(ctx, file, javaOf(&built)); err != nil {
		p.Why = err.Error()
	}
	return p, nil
}

// javaOf is the program that ran the server, if it is a JVM's.
func javaOf(b *toolchain.Built) string {
	for _, t := range b.Tools {
		if t.Need == "java" || strings.HasPrefix(t.Need, "java ") {
			return t.Path
		}
	}
	return "java"
}
