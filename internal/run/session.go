package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"interleave/internal/calibrate"
	"interleave/internal/group"
	"interleave/internal/machine"
	"interleave/internal/manifest"
	"interleave/internal/netns"
	"interleave/internal/probe/toolchain"
	"interleave/internal/proc"
	"interleave/internal/quantity"
	"interleave/internal/record"
)

// A Session is one `interleave run`, from manifests to a finished record.
type Session struct {
	Tree        *manifest.Tree
	Experiments []*manifest.Experiment
	Choice      Choice
	Out         string // the folder for what is generated
	Exe         string // this program, which is the engine and the reference servers too
	// by role; nil = the last core for the load, the others for the server
	CPUs  map[string][]int
	Hosts string // "local" or "netns"
	// those that OnStacks has prepared the tree and the experiments for; nil = as they are
	Stacks  []manifest.Stack
	Seed    uint64
	Command []string
	Resume  string // a run's directory; empty = a new run
	// time for measuring; 0 = the rounds of a depth, or the time that is left
	For time.Duration
	Own *manifest.Model // a user's own server among the models; nil = none
	// do not calibrate; the record then has no calibration, and the report says so
	Trust bool
	Watch Watcher

	built   map[*manifest.Model]*toolchain.Built
	skipped []record.Skip
	checks  []record.Check
	wakings []record.Waking // one, unless it was not calibrated
	builds  []record.Build
	before  *Planner // of a budget, before it is known which models can be measured
}

// ErrRefused is a run that did not start because the instrument is not true here.
var ErrRefused = errors.New("the instrument does not measure its own reference servers right")

// ErrOwnServer is a user's own server that cannot be measured.
var ErrOwnServer = errors.New("your server cannot be measured")

// Run prepares everything and measures. The directory is "" if nothing was recorded; after an
// interruption it holds what was measured.
func (s *Session) Run(ctx context.Context) (dir string, err error) {
	s.skipPoints()
	if err := s.check(); err != nil {
		return "", err
	}
	s.sweep()
	if err := netns.Able(manifest.Hosts(s.Hosts)); err != nil {
		return "", fmt.Errorf("--hosts %s: %w; or use --hosts local", s.Hosts, err)
	}
	if err := s.build(ctx); err != nil {
		return "", err
	}
	plan, err := Lay(s.Tree, s.Experiments, s.Choice)
	if err != nil {
		return "", err
	}
	done, err := s.doneBuilds()
	if err != nil {
		return "", err
	}
	if err := s.tryBuilds(ctx, done); err != nil {
		return "", err
	}
	if err := s.enough(plan); err != nil {
		return "", err
	}
	if plan.Cells() > 0 {
		if err := s.calibrate(ctx); err != nil {
			return "", err
		}
	}
	writer, cells, err := s.open()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, writer.Close()) }()
	header := writer.Header()
	r := &Runner{
		Tree: s.Tree, Plan: plan, Record: writer, Cells: cells, Watch: s.Watch, Now: time.Now,
		Bench: &Local{Exe: []string{s.Exe, "load"}, Built: s.built, CPUs: s.CPUs,
			Hosts: manifest.Hosts(s.Hosts), WakeCost: header.WakeCost()},
		Duets:       true,
		Experiments: s.Experiments,
	}
	if s.Choice.Budget {
		r.Planner = s.planner(plan, header.Skipped)
		r.Planner.Later(s.before)
	}
	return writer.Dir, r.Run(ctx)
}

func (s *Session) say(format string, args ...any) {
	s.Watch.Watch(Event{Kind: Note, Text: fmt.Sprintf(format, args...)})
}

// check refuses what cannot become a run, before anything is started.
func (s *Session) check() error {
	usable := machine.UsableCPUs()
	if s.CPUs == nil {
		s.CPUs = defaultCPUs(usable)
	}
	for role, cpus := range s.CPUs {
		for _, c := range cpus {
			if !slices.Contains(usable, c) {
				return fmt.Errorf("core %d of the %s is not usable here: there are %v", c, role,
					usable)
			}
		}
	}
	if err := s.apart(); err != nil {
		return err
	}
	if err := machine.Ready(s.Out); err != nil {
		return err
	}
	plan, err := Lay(s.Tree, s.Experiments, s.Choice)
	if err == nil && s.Choice.Budget {
		err = s.afford(plan)
	}
	if err != nil || s.Resume == "" {
		return err
	}
	return unchanged(s.Tree, s.Experiments, plan.models(), s.Resume)
}

// apart sees to it that nothing is called measured on cores of its own where the roles share one.
func (s *Session) apart() error {
	shared := slices.ContainsFunc(s.CPUs["server"],
		func(c int) bool { return slices.Contains(s.CPUs["load"], c) })
	switch {
	case !shared:
	case s.Choice.Condition == manifest.Own:
		return fmt.Errorf("server and load share a core (server %v, load %v): for --condition "+
			"own each needs its own", s.CPUs["server"], s.CPUs["load"])
	case s.Choice.Condition == "":
		s.Choice.Condition = manifest.Shared
		s.say("server and load share a core here: everything is measured in the condition shared")
	}
	return nil
}

// enough says whether what was built can answer what was asked.
func (s *Session) enough(plan *Plan) error {
	for _, k := range s.skipped {
		if s.Own != nil && k.Service == s.Own.Service && k.Model == s.Own.Name {
			return fmt.Errorf("%w: %s\n%s", ErrOwnServer, k.Reason, k.Detail)
		}
	}
	if plan.Cells() == 0 && len(s.builds) == 0 {
		return fmt.Errorf("nothing to measure: %s", s.whyNothing())
	}
	if why := s.whyNoClaim(plan); why != "" {
		return fmt.Errorf("nothing to measure: %s", why)
	}
	for _, e := range s.Experiments {
		if len(e.Builds) == 0 && s.lacks(plan, e) {
			s.say("%s: the baseline %s cannot be measured, so its tables have no ratios", e.Name,
				e.Baseline)
		}
	}
	return nil
}

// lacks says whether an experiment is measured without its baseline. A budget may leave a whole
// experiment out, and then nothing is lacking.
func (s *Session) lacks(plan *Plan, e *manifest.Experiment) bool {
	baseline := func(k record.Skip) bool {
		return k.Service == e.Service && k.Model == e.Baseline
	}
	return !slices.ContainsFunc(plan.models(), func(m *manifest.Model) bool {
		return m.Service == e.Service && m.Name == e.Baseline
	}) && (!s.Choice.Budget || slices.ContainsFunc(s.skipped, baseline))
}

// sweep clears what runs that were killed left behind.
func (s *Session) sweep() {
	if swept, err := group.Sweep(); err != nil {
		s.say("leftovers of an earlier run: %v", err)
	} else if n := len(swept.Directories) + len(swept.PIDs); n > 0 {
		s.say("removed what an earlier run left: %d cgroups, %d processes", len(swept.Directories),
			len(swept.PIDs))
	}
	if err := netns.Sweep(); err != nil {
		s.say("leftovers of an earlier run: %v", err)
	}
}

// calibrate holds the instrument against servers whose truth is known.
func (s *Session) calibrate(ctx context.Context) (err error) {
	const wayOut = "`interleave doctor` may say why, `interleave calibrate` tries at length, " +
		"and --no-calibration measures all the same and says so in the report"
	if s.Trust {
		s.say("not calibrated, as --no-calibration asks")
		return nil
	}
	takes := 7 * time.Second
	all := proc.SeesAll(new(proc.Reader))
	if !all {
		takes += 4 * time.Second // for the cost of a waking
	}
	s.say("calibrating the instrument (%s)", quantity.Setting(takes))
	s.checks, err = calibrate.Run(ctx, s.Exe, false)
	switch {
	case ctx.Err() != nil:
		return ErrStopped
	case err != nil:
		return fmt.Errorf("%w: %w: %s", ErrRefused, err, wayOut)
	}
	for _, c := range s.checks {
		if !c.OK {
			return fmt.Errorf("%w: %s is %.4g %s, %.4g ± %.4g expected%s: %s", ErrRefused, c.Name,
				c.Measured, c.Unit, c.Truth, c.Tolerance, note(c.Note), wayOut)
		}
	}
	if all {
		s.wakings = []record.Waking{record.NeedlessWaking()}
		return nil
	}
	return s.wake(ctx)
}

// wake measures what it costs to wake a core. A run that goes on keeps the figure that it has, if
// it has one.
func (s *Session) wake(ctx context.Context) error {
	old, err := s.resumed()
	if err != nil || old.Header.HasWakeCost() {
		return err
	}
	w := calibrate.Wakings(ctx, s.Exe)
	if ctx.Err() != nil {
		return ErrStopped
	}
	if w.Note != "" {
		s.say("%s: %s", w.Check().Name, w.Check().Note)
	}
	s.wakings = []record.Waking{w}
	return nil
}

func note(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// defaultCPUs gives the load the last usable core and the server all others; a single
// core is shared.
func defaultCPUs(cpus []int) map[string][]int {
	if len(cpus) < 2 {
		return map[string][]int{"server": cpus, "load": cpus}
	}
	last := len(cpus) - 1
	return map[string][]int{"server": cpus[:last], "load": cpus[last:]}
}

// open makes the run's record, or goes on with the one to resume.
func (s *Session) open() (*record.Writer, []record.Cell, error) {
	if s.Resume != "" {
		w, old, err := record.Resume(s.Resume)
		if err != nil {
			return nil, nil, err
		}
		if err := w.Update(func(h *record.Header) {
			s.skippedToo(h)
			h.Wakings = append(h.Wakings, s.wakings...)
			s.grant(h, old.Cells)
		}); err != nil {
			return nil, nil, errors.Join(err, w.Close())
		}
		return w, old.Cells, nil
	}
	h := record.Header{
		ID: record.NewID(time.Now()), Started: time.Now().UTC(), Command: s.Command,
		Depth: s.Choice.Depth, Seed: s.Seed,
		Models: s.Choice.Models, Points: s.Choice.Points, Claims: s.Choice.Claims,
		Rounds: s.Choice.Rounds, Condition: s.Choice.Condition,
		Hosts: s.Hosts, Stacks: s.Stacks, CPUs: s.CPUs,
		Machine: machine.Describe(s.toolChains()), Calibration: s.checks, Wakings: s.wakings,
		Skipped: s.skipped, Builds: s.builds,
	}
	if s.Own != nil {
		h.Own = &record.Own{Service: s.Own.Service, Name: s.Own.Name, Summary: s.Own.Summary,
			Command: s.Own.Run, Dir: s.Own.Dir}
	}
	for _, e := range s.Experiments {
		h.Experiments = append(h.Experiments, e.Name)
	}
	s.grant(&h, nil)
	w, err := record.Create(filepath.Join(s.Out, "runs"), h, func(dir string) error {
		return snapshot(s.Tree, s.Experiments, dir)
	})
	return w, nil, err
}

// doneBuilds are those of an interrupted run that goes on.
func (s *Session) doneBuilds() ([]record.Build, error) {
	if s.Resume == "" {
		return nil, nil
	}
	old, err := record.Read(s.Resume)
	if err != nil {
		return nil, err
	}
	return old.Header.Builds, nil
}

// skippedToo adds what is built or skipped since the run was interrupted.
func (s *Session) skippedToo(h *record.Header) {
	h.Builds = s.builds
	for _, k := range s.skipped {
		if !slices.ContainsFunc(h.Skipped, func(old record.Skip) bool {
			return old.Service == k.Service && old.Model == k.Model
		}) {
			h.Skipped = append(h.Skipped, k)
		}
	}
}
