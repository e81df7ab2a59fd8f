package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"interleave/internal/live"
	"interleave/internal/machine"
	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/report"
	"interleave/internal/run"
)

// runFlags are the flags of `interleave run`.
type runFlags struct {
	quick, full bool
	budget      budget
	models      []string
	points      []string
	claims      []string
	rounds      int
	seed        uint64
	resume      string
	dryRun      bool
	asJSON      bool
	cpus        string
	hosts       string
	stacks      []string
	condition   string
	trust       bool
}

func runCommand(lab *laboratory) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [experiment...]",
		Short: "measure, and judge the claims",
		Long: `Run builds every model that is needed, plays its service's transcripts to each, calibrates the
instrument, measures in shuffled rounds, and ends with the path of a report.

With --for the time is spent on claims: the headline of each source first, then the claims that are
decided soonest for what they cost, then figures. A claim that is decided is not measured again.
Claims that do not fit are left out, and named. Building and calibration come before, and are not
counted.

Without --for every experiment runs for the rounds of its depth: 12 rounds, more if an interval stays
too wide; --quick and --full are other depths. Ctrl-C stops the current cell and keeps the recorded
ones; --resume goes on.`,
		Example: `  interleave run --for 10m                     ten minutes of measuring
  interleave run --for overnight eve-echo      eight hours for one experiment
  interleave run --for 20m --claims=T3a,T5a    these claims and nothing else
  interleave run --for 1h --dry-run            what an hour would decide
  interleave run --resume=last --for 1h        an hour more for the newest run
  interleave run --resume=last                 finish an interrupted run
  interleave run --quick                       everything at quick depth, ten minutes
  interleave run                               everything, 12 rounds and more
  interleave run papayachat-cpu --full         as published
  interleave run eve-echo --models=c-epoll,go-goroutine --rounds=6
  interleave run eve-echo --point=latency --condition=own
  interleave run --cpus server=0-2,load=3      cores of the two roles
  interleave run --hosts netns                 two network namespaces instead of loopback
  interleave run eve-echo --stack kernel,gonet Go servers on the stack of this project, beside the kernel's`,
		ValidArgsFunction: lab.completeExperiments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, lab, args)
		},
	}
	flags := cmd.Flags()
	flags.Var(&f.budget, "for", "spend so much time on claims: 10m, 1h, overnight (8h)")
	flags.BoolVar(&f.quick, "quick", false, "8 rounds, short windows: ten minutes")
	flags.BoolVar(&f.full, "full", false, "as published: hours")
	flags.StringSliceVar(&f.models, "models", nil, "only these models, and the baseline")
	flags.StringArrayVar(&f.points, "point", nil,
		"only this point of the experiments; may be repeated, since names have commas")
	flags.StringSliceVar(&f.claims, "claims", nil,
		"with --for: only these claims of the experiments, and no other figures")
	flags.IntVar(&f.rounds, "rounds", 0, "so many rounds, at least 6")
	flags.Uint64Var(&f.seed, "seed", 0,
		"the seed of shuffles and schedules (default: drawn and recorded)")
	flags.StringVar(&f.resume, "resume", "", "finish this run: its ID, a path, or last")
	flags.BoolVar(&f.dryRun, "dry-run", false,
		"print what would be measured and for how long, measure nothing")
	flags.BoolVar(&f.asJSON, "json", false, "print the verdicts and figures for scripts at the end")
	flags.StringVar(&f.cpus, "cpus", "", "cores of the roles, as server=0,load=1")
	flags.StringVar(&f.hosts, "hosts", "local",
		"local (loopback) or netns (two network namespaces)")
	flags.StringSliceVar(&f.stacks, "stack", nil,
		"the TCP/IP stacks of servers: kernel, gonet or both (default: kernel)")
	flags.StringVar(&f.condition, "condition", "", "only own or only shared cores")
	trustFlag(cmd, &f.trust)
	return cmd
}

// trustFlag lets a user measure without calibration.
func trustFlag(cmd *cobra.Command, trust *bool) {
	cmd.Flags().BoolVar(trust, "no-calibration", false,
		"do not try the instrument first; record and report say so")
}

// check refuses contradictory flags, before anything is started.
func (f *runFlags) check(args []string) error {
	switch {
	case f.quick && f.full:
		return usage("--quick and --full exclude each other")
	case f.budget > 0 && (f.quick || f.full || f.rounds != 0):
		return usage("--for decides by itself how many rounds there are: no --quick, --full or " +
			"--rounds beside it")
	case f.budget > 0 && len(f.points) > 0:
		return usage("--for measures the points of claims: --claims chooses among these, and " +
			"--point among those of a depth")
	case len(f.claims) > 0 && f.budget == 0 && f.resume == "":
		return usage("--claims says what the time of --for is spent on: give it some")
	case f.rounds != 0 && f.rounds < 6:
		return usage("--rounds=%d: with fewer than 6 rounds no 95 %% interval exists", f.rounds)
	case f.hosts != "local" && f.hosts != "netns":
		return usage("--hosts=%s: expected local or netns", f.hosts)
	case !onlyStacks(f.stacks):
		return usage("--stack=%s: expected kernel, gonet or both", strings.Join(f.stacks, ","))
	case f.condition != "" && f.condition != "own" && f.condition != "shared":
		return usage("--condition=%s: expected own or shared", f.condition)
	case f.resume != "" && (len(args) > 0 || f.quick || f.full || f.rounds != 0 ||
		len(f.models) > 0 || len(f.points) > 0 || len(f.claims) > 0 || f.seed != 0 ||
		f.condition != "" || f.cpus != "" || f.hosts != "local" || len(f.stacks) > 0):
		return usage("--resume goes on with what the run was asked for: no experiments and no " +
			"other choice beside it")
	}
	return nil
}

// onlyStacks tells whether all words are stacks, each there once.
func onlyStacks(words []string) bool {
	for i, w := range words {
		if w != string(manifest.Kernel) && w != string(manifest.GoNet) ||
			slices.Contains(words[:i], w) {
			return false
		}
	}
	return true
}

func stacks(words []string) (list []manifest.Stack) {
	for _, w := range words {
		list = append(list, manifest.Stack(w))
	}
	return list
}

func (f *runFlags) depth() string {
	switch {
	case f.budget > 0:
		return f.budget.depth()
	case f.quick:
		return "quick"
	case f.full:
		return "full"
	}
	return "normal"
}

func (f *runFlags) run(cmd *cobra.Command, lab *laboratory, args []string) error {
	if err := f.check(args); err != nil {
		return err
	}
	if slices.Contains(f.stacks, string(manifest.GoNet)) && f.hosts == "local" {
		if cmd.Flags().Changed("hosts") {
			return usage("--stack=gonet has no loopback device: the kernel's side is measured " +
				"over --hosts=netns, the nearest to a tap")
		}
		f.hosts = "netns"
	}
	tree, err := lab.tree()
	if err != nil {
		return err
	}
	s, err := f.session(tree, args)
	if err != nil {
		return err
	}
	if f.dryRun {
		if s.Choice.Budget {
			return forecast(cmd.OutOrStdout(), s)
		}
		return dryRun(cmd.OutOrStdout(), tree, s)
	}
	return measure(cmd, s, f.asJSON)
}

// session turns the flags into one, of a new run or of one to resume.
func (f *runFlags) session(tree *manifest.Tree, args []string) (*run.Session, error) {
	s := &run.Session{
		Tree: tree, Out: out(tree.Root), Hosts: f.hosts, Seed: f.seed, Command: os.Args,
		Trust: f.trust, For: time.Duration(f.budget),
		Choice: run.Choice{Depth: f.depth(), Models: f.models, Points: f.points,
			Claims: f.claims, Rounds: f.rounds, Condition: manifest.Condition(f.condition),
			Budget: f.budget > 0},
	}
	var err error
	if s.Exe, err = os.Executable(); err != nil {
		return nil, err
	}
	if f.cpus != "" {
		if s.CPUs, err = parseCPUs(f.cpus, machine.UsableCPUs()); err != nil {
			return nil, err
		}
	}
	if s.Seed == 0 {
		s.Seed = rand.Uint64()
	}
	if f.resume != "" {
		if s.Resume, err = record.Find(runs(tree.Root), f.resume); err != nil {
			return nil, &failure{exitUsage, err}
		}
		return s, goOn(s)
	}
	if s.Experiments, err = experiments(tree, args); err != nil {
		return nil, err
	}
	s.Stacks = stacks(f.stacks)
	run.OnStacks(tree, s.Experiments, s.Stacks)
	s.Choice.Models = run.NamesOn(s.Choice.Models, s.Stacks)
	return s, errors.Join(known(s.Experiments, s.Choice.Models),
		knownPoints(s.Experiments, s.Choice.Points),
		knownClaims(s.Experiments, s.Choice.Claims))
}

// goOn sets a session to the options of an interrupted run.
func goOn(s *run.Session) error {
	old, err := record.Read(s.Resume)
	if err != nil {
		return err
	}
	h := old.Header
	switch {
	case s.For > 0 && len(h.Budgets) == 0:
		return usage("run %s has the rounds of a depth, and no budget that --for could add to: "+
			"start a run with --for", h.ID)
	case h.Finished != nil && s.For == 0 && len(h.Budgets) > 0:
		return usage("run %s is finished: `interleave report %s` shows it, and --for 1h gives it "+
			"an hour more", h.ID, h.ID)
	case h.Finished != nil && s.For == 0:
		return usage("run %s is finished: `interleave report %s` shows it", h.ID, h.ID)
	}
	s.Seed, s.Hosts, s.CPUs = h.Seed, h.Hosts, h.CPUs
	s.Trust = s.Trust || len(h.Calibration) == 0
	s.Choice = run.Choice{Depth: h.Depth, Models: h.Models, Points: h.Points, Claims: h.Claims,
		Rounds: h.Rounds, Condition: h.Condition, Budget: len(h.Budgets) > 0}
	if h.Own == nil {
		s.Experiments, err = experiments(s.Tree, h.Experiments)
		s.Stacks = h.Stacks
		run.OnStacks(s.Tree, s.Experiments, s.Stacks)
		return err
	}
	copied, err := manifest.LoadTree(filepath.Join(s.Resume, record.TreeDir))
	if err != nil {
		return fmt.Errorf("read the run's own manifests: %w", err)
	}
	run.AddOwn(s.Tree, h.Own) // its experiment has no file but the run's copy
	s.Experiments, err = experiments(copied, h.Experiments)
	return err
}

// known refuses a model that no chosen experiment has: otherwise a typing error would measure
// nothing.
func known(list []*manifest.Experiment, models []string) error {
	all := map[string]bool{}
	for _, e := range list {
		for _, m := range e.Models {
			all[m] = true
		}
		for _, p := range e.Points {
			for _, m := range e.ModelsAt(p) {
				all[m] = true
			}
		}
	}
	for _, m := range models {
		if !all[m] {
			return usage("--models: no model %q in %s", m,
				names(list, func(e *manifest.Experiment) string { return e.Name }))
		}
	}
	return nil
}

// knownPoints refuses a point that no chosen experiment has.
func knownPoints(list []*manifest.Experiment, points []string) error {
	var all []string
	for _, e := range list {
		for _, p := range e.Points {
			all = append(all, p.Name)
		}
	}
	for _, p := range points {
		if !slices.Contains(all, p) {
			return usage("--point: no point %q in %s: there are %s", p,
				names(list, func(e *manifest.Experiment) string { return e.Name }),
				strings.Join(all, "; "))
		}
	}
	return nil
}

// knownClaims refuses a claim that no chosen experiment has, and claims of which none takes time.
func knownClaims(list []*manifest.Experiment, claims []string) error {
	counted := len(claims) > 0
	for _, id := range claims {
		if !slices.ContainsFunc(list, func(e *manifest.Experiment) bool {
			return slices.ContainsFunc(e.Claims, func(c manifest.Claim) bool { return c.ID == id })
		}) {
			return usage("--claims: no claim %q in %s", id,
				names(list, func(e *manifest.Experiment) string { return e.Name }))
		}
		counted = counted && !slices.ContainsFunc(list, func(e *manifest.Experiment) bool {
			return slices.ContainsFunc(e.Claims, func(c manifest.Claim) bool {
				return c.ID == id && c.Metric != manifest.Lines && len(e.Builds) == 0
			})
		})
	}
	if counted {
		return usage("--claims=%s: nothing of that takes time; every run of its experiment "+
			"judges it", strings.Join(claims, ","))
	}
	return nil
}

// dryRun prints the cells that would be measured.
func dryRun(w io.Writer, tree *manifest.Tree, s *run.Session) error {
	plan, err := run.Lay(tree, s.Experiments, s.Choice)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "experiment\tpoint\tcondition\tcells a round\trounds\tmeasured")
	for _, b := range plan.Blocks {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%s\n", b.Experiment.Name, b.Point.Name, b.Condition,
			len(b.Specs), plan.Rounds[b.Experiment.Name], measured(b))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, e := range s.Experiments {
		if len(e.Builds) > 0 {
			fmt.Fprintf(w, "%s builds %s for many systems and measures nothing\n", e.Name,
				strings.Join(e.Models, ", "))
		}
	}
	for _, m := range plan.Missing {
		fmt.Fprintf(w, "%s names %s/%s: %s\n", m.Experiment, m.Service, m.Model, m.Why)
	}
	_, err = fmt.Fprintf(w,
		"%d cells, about %.1f minutes besides building and 5 s of calibration\n", plan.Cells(),
		plan.Estimate().Minutes())
	return err
}

// measured says how the cells of a block are measured.
func measured(b *run.Block) string {
	can, why := run.Duets(b)
	if can {
		return "as a duet"
	}
	kind, _, _ := strings.Cut(why, ":")
	return "in cells: " + kind
}

// measure runs a session with live progress and reports the recorded cells, complete or not.
func measure(cmd *cobra.Command, s *run.Session, asJSON bool) error {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	view := live.New(cmd.ErrOrStderr(), cancel)
	s.Watch = view
	dir, runErr := s.Run(ctx)
	view.Close()
	switch {
	case errors.Is(runErr, run.ErrRefused):
		return &failure{exitRefused, runErr}
	case errors.Is(runErr, run.ErrBudget):
		return &failure{exitUsage, runErr}
	case errors.Is(runErr, run.ErrOwnServer):
		return &failure{exitNonconform, runErr}
	}
	if dir == "" {
		return interrupted(ctx, runErr)
	}
	if runErr != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "not finished: `interleave run --resume=%s` goes on\n",
			filepath.Base(dir))
	}
	path, h, err := writeReport(cmd.OutOrStdout(), dir, asJSON)
	if err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "what was measured is recorded, and not reported yet: "+
			"`interleave report %s` does that\n", filepath.Base(dir))
		return interrupted(ctx, errors.Join(runErr, err))
	}
	if !asJSON {
		if err := tellMore(cmd.OutOrStdout(), h); err != nil {
			return interrupted(ctx, errors.Join(runErr, err))
		}
		fmt.Fprintf(cmd.OutOrStdout(), "\ntables: interleave report %s\nreport: %s\n",
			filepath.Base(dir), path)
	}
	return interrupted(ctx, runErr)
}

// interrupted gives an error that a Ctrl-C caused its exit code.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return &failure{exitInterrupted, err}
	}
	return err
}

// writeReport writes the HTML beside the record, prints the terminal's form, and returns the path
// of the page, relative to here if that is shorter, and the header of the run.
func writeReport(w io.Writer, dir string, asJSON bool) (string, *record.Header, error) {
	r, err := openRun(dir)
	if err != nil {
		return "", nil, err
	}
	path := filepath.Join(dir, "report.html")
	if err := toFile(path, func(w io.Writer) error { return report.HTML(w, r) }); err != nil {
		return "", nil, err
	}
	if here, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(rel, "..") {
			path = rel
		}
	}
	if asJSON {
		return path, &r.Header, report.JSON(w, r)
	}
	width, _ := terminal(w)
	return path, &r.Header, report.Summary(w, r, width, colour(w))
}

// toFile writes a file whole or not at all.
func toFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(f.Name(), path)
}
