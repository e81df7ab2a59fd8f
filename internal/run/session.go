package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"interleave/internal/calibrate"
	"interleave/internal/group"
	"interleave/internal/machine"
	"interleave/internal/manifest"
	"interleave/internal/netns"
	"interleave/internal/probe"
	"interleave/internal/record"
)

// A Session is one `interleave run`, from manifests to a finished record.
type Session struct {
	Tree        *manifest.Tree
	Experiments []*manifest.Experiment
	Choice      Choice
	Out         string           // the folder for what is generated
	Exe         string           // this program, which is the engine and the reference servers too
	CPUs        map[string][]int // by role; nil = the last core for the load, the others for the server
	Hosts       string           // "local" or "netns"
	Seed        uint64
	Command     []string
	Resume      string          // a run's directory; empty = a new run
	Own         *manifest.Model // a user's own server among the models; nil = none
	Watch       Watcher

	built   map[*manifest.Model]*probe.Built
	skipped []record.Skip
	checks  []record.Check
}

// ErrRefused is a run that did not start because the instrument is not true here.
var ErrRefused = errors.New("the instrument does not measure its own reference servers right")

// Run prepares everything and measures. The directory is "" if nothing was recorded; after an
// interruption it holds what was measured.
func (s *Session) Run(ctx context.Context) (dir string, err error) {
	if err := s.prepare(ctx); err != nil {
		return "", err
	}
	var pair *netns.Pair
	if s.Hosts == "netns" {
		if pair, err = netns.New("interleave"); err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, pair.Close()) }()
	}
	plan, err := Lay(s.Tree, s.Experiments, s.Choice)
	if err != nil {
		return "", err
	}
	if plan.Cells() == 0 {
		return "", fmt.Errorf("nothing to measure: %s", s.whyNothing())
	}
	writer, cells, err := s.open()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, writer.Close()) }()
	r := &Runner{
		Tree: s.Tree, Plan: plan, Record: writer, Cells: cells, Watch: s.Watch, Now: time.Now,
		Bench: &Local{Exe: []string{s.Exe, "load"}, Built: s.built, CPUs: s.CPUs, Net: pair},
	}
	return writer.Dir, r.Run(ctx)
}

func (s *Session) say(format string, args ...any) {
	s.Watch.Watch(Event{Kind: Note, Text: fmt.Sprintf(format, args...)})
}

// prepare clears leftovers, builds and checks every model, and calibrates.
func (s *Session) prepare(ctx context.Context) error {
	if swept, err := group.Sweep(); err != nil {
		s.say("leftovers of an earlier run: %v", err)
	} else if n := len(swept.Directories) + len(swept.PIDs); n > 0 {
		s.say("removed what an earlier run left: %d cgroups, %d processes", len(swept.Directories), len(swept.PIDs))
	}
	if err := netns.Sweep(); err != nil {
		s.say("leftovers of an earlier run: %v", err)
	}
	machine.RaiseLimits()
	if s.CPUs == nil {
		s.CPUs = defaultCPUs()
	}
	if err := s.build(ctx); err != nil {
		return err
	}
	s.say("calibrating the instrument (5 s)")
	var err error
	if s.checks, err = calibrate.Run(ctx, s.Exe, false); err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	for _, c := range s.checks {
		if !c.OK {
			return fmt.Errorf("%w: %s is %.4g %s, %.4g ± %.4g expected%s: `interleave doctor` may say why, `interleave calibrate` tries at length",
				ErrRefused, c.Name, c.Measured, c.Unit, c.Truth, c.Tolerance, note(c.Note))
		}
	}
	return nil
}

func note(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// defaultCPUs gives the load the last usable core and the server all others; a single core is shared.
func defaultCPUs() map[string][]int {
	cpus := machine.UsableCPUs()
	if len(cpus) < 2 {
		return map[string][]int{"server": cpus, "load": cpus}
	}
	last := len(cpus) - 1
	return map[string][]int{"server": cpus[:last], "load": cpus[last:]}
}

// build builds the models that the plan needs and holds each against its service's conformance. One
// that cannot be built or does not conform is skipped with the reason.
func (s *Session) build(ctx context.Context) error {
	plan, err := Lay(s.Tree, s.Experiments, s.Choice)
	if err != nil {
		return err
	}
	s.built = map[*manifest.Model]*probe.Built{}
	if err := s.readyAll(ctx, plan.models()); err != nil {
		return err
	}
	for _, m := range plan.Missing {
		s.skipped = append(s.skipped, record.Skip{Service: m.Service, Model: m.Model, Reason: "not in this laboratory yet"})
	}
	outer := s.Choice.Skip
	s.Choice.Skip = func(m *manifest.Model) bool {
		return s.built[m] == nil || outer != nil && outer(m)
	}
	return nil
}

// readyAll builds and checks models, as many at once as there are cores: nothing is measured yet.
func (s *Session) readyAll(ctx context.Context, models []*manifest.Model) error {
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
	for range models {
		i := <-done
		switch o := outcomes[i]; {
		case ctx.Err() != nil: // said once, below
		case o.skip != "":
			s.say("SKIP %s/%s: %s", models[i].Service, models[i].Name, o.skip)
		case !o.known:
			s.say("%s/%s conforms", models[i].Service, models[i].Name)
		}
	}
	if ctx.Err() != nil {
		return ErrStopped
	}
	for i, m := range models {
		if o := outcomes[i]; o.skip != "" {
			s.skipped = append(s.skipped, record.Skip{Service: m.Service, Model: m.Name, Reason: o.skip, Detail: o.detail})
		} else {
			s.built[m] = o.built
		}
	}
	return nil
}

// readied is a model that can be measured, or why it cannot.
type readied struct {
	built        *probe.Built
	known        bool // it conformed before, and nothing has changed
	skip, detail string
}

// ready builds and checks one model.
func (s *Session) ready(ctx context.Context, m *manifest.Model) (r readied) {
	var err error
	if r.built, err = s.make(ctx, m); err != nil {
		r.skip, r.detail, _ = strings.Cut(err.Error(), "\n")
		return r
	}
	failed, known, err := Conforms(ctx, s.Tree.Service(m.Service), r.built)
	r.known = known
	switch {
	case err != nil:
		r.skip, r.detail = "its conformance could not be checked", err.Error()
	case failed != "":
		r.skip, r.detail, _ = strings.Cut("does not conform: "+failed, "\n")
	}
	return r
}

// make builds a model; a user's own server is built already.
func (s *Session) make(ctx context.Context, m *manifest.Model) (*probe.Built, error) {
	if !own(m) {
		return probe.Build(ctx, m, probe.BuildOptions{OutRoot: s.Out})
	}
	b := &probe.Built{Model: m, Out: filepath.Join(s.Out, "build", m.Service, m.Name), Env: os.Environ(), Reused: true}
	return b, os.MkdirAll(b.Out, 0o755)
}

// models are those that the plan measures, each once.
func (p *Plan) models() []*manifest.Model {
	var out []*manifest.Model
	for _, b := range p.Blocks {
		for _, spec := range b.Specs {
			if !slices.Contains(out, spec.Model) {
				out = append(out, spec.Model)
			}
		}
	}
	return out
}

// whyNothing names the reasons of the skipped models.
func (s *Session) whyNothing() string {
	var why []string
	for _, k := range s.skipped {
		why = append(why, fmt.Sprintf("%s/%s %s", k.Service, k.Model, k.Reason))
	}
	if len(why) == 0 {
		return "no model was chosen"
	}
	return strings.Join(why, "; ")
}

// open makes the run's record, or goes on with the one to resume.
func (s *Session) open() (*record.Writer, []record.Cell, error) {
	if s.Resume != "" {
		w, old, err := record.Resume(s.Resume)
		if err != nil {
			return nil, nil, err
		}
		return w, old.Cells, nil
	}
	h := record.Header{
		ID: record.NewID(time.Now()), Started: time.Now().UTC(), Command: s.Command, Depth: s.Choice.Depth, Seed: s.Seed,
		Models: s.Choice.Models, Rounds: s.Choice.Rounds, Condition: s.Choice.Condition, Hosts: s.Hosts, CPUs: s.CPUs,
		Machine: machine.Describe(s.toolChains()), Calibration: s.checks, Skipped: s.skipped,
	}
	if s.Own != nil {
		h.Own = &record.Own{Service: s.Own.Service, Name: s.Own.Name, Summary: s.Own.Summary, Command: s.Own.Run}
	}
	for _, e := range s.Experiments {
		h.Experiments = append(h.Experiments, e.Name)
	}
	w, err := record.Create(filepath.Join(s.Out, "runs"), h)
	if err != nil {
		return nil, nil, err
	}
	if err := snapshot(s.Tree, s.Experiments, w.Dir); err != nil {
		return nil, nil, errors.Join(err, w.Close())
	}
	return w, nil, nil
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
