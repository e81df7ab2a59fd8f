package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/run"
)

// benchFlags are the flags of `interleave bench`.
type benchFlags struct {
	models      []string
	shape       string
	connections int
	size        int
	rate        float64
	readShare   float64
	interval    time.Duration
	direction   string
	rounds      int
	window      time.Duration
	warmUp      time.Duration
	condition   string
	name        string
	asJSON      bool
	trust       bool
}

func benchCommand(lab *laboratory) *cobra.Command {
	f := benchFlags{}
	cmd := &cobra.Command{
		Use:   "bench SERVICE [flags] -- CMD {port}",
		Short: "a server of your own beside ours",
		Long: `Bench starts CMD as a server of the service, with {port} (and {host}) replaced. It plays the
service's transcripts to it, and measures it in the same rounds as the models of --models, of which
the first is the baseline. CMD need not print "ready": it is ready when it listens on the port.

A server of ping or transfer is a host of its own, behind a tap that Bench makes: CMD gets
{device}, {address} and {peer}, and prints "ready" on standard error. A chat must keep the promises
of services/chat if its command has {data}, a folder for its log. Otherwise it is tested only as any
server of IRC.`,
		Example: `  interleave bench echo -- ./my-server {port}
  interleave bench counter --models=c-epoll,erlang-actor --connections=64 -- java -jar counter.jar {port}
  interleave bench chat -- ./my-ircd {port}
  interleave bench ping -- ./my-stack {device} {address} {peer}
  interleave bench echo --shape=open --rate=5000 -- socat TCP-LISTEN:{port},fork,reuseaddr EXEC:cat`,
		ValidArgsFunction: func(c *cobra.Command, args []string, prefix string) ([]string,
			cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return lab.completeShow(nil, prefix), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, lab, args)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.models, "models", []string{"c-epoll", "go-goroutine"},
		"models to measure beside it; the first is the baseline")
	flags.StringVar(&f.shape, "shape", "",
		offeredShapes()+" (default: the one that suits the service)")
	flags.IntVar(&f.connections, "connections", 64, "open connections")
	flags.IntVar(&f.size, "size", 0, "bytes of a message (default: "+offeredSizes()+")")
	flags.Float64Var(&f.rate, "rate", 5000, "requests a second over all connections, shape open")
	flags.DurationVar(&f.interval, "interval", 50*time.Millisecond,
		"between two pings of a pinger, shape ping; 0 sends the next when the last is answered")
	flags.StringVar(&f.direction, "direction", "in", "in to the server or out of it, shape bulk")
	flags.Float64Var(&f.readShare, "read-share", .5, "share of reads, counter")
	flags.IntVar(&f.rounds, "rounds", 6, "rounds, at least 6")
	flags.DurationVar(&f.window, "window", time.Second, "measuring window of a cell")
	flags.DurationVar(&f.warmUp, "warm-up", 0, "before the window (default: 1s, a JVM of ours 5s)")
	flags.StringVar(&f.condition, "condition", "own", "own or shared cores")
	flags.StringVar(&f.name, "name", "own-server", "its name in the report")
	flags.BoolVar(&f.asJSON, "json", false, "for scripts")
	trustFlag(cmd, &f.trust)
	return cmd
}

func (f *benchFlags) run(cmd *cobra.Command, lab *laboratory, args []string) error {
	dash := cmd.ArgsLenAtDash()
	if dash != 1 || len(args) < 2 {
		return usage("bench takes a service, then -- and the server's command, as in: " +
			"interleave bench echo -- ./my-server {port}")
	}
	tree, err := lab.tree()
	if err != nil {
		return err
	}
	service := tree.Service(args[0])
	if service == nil {
		return usage("no service %q: there are %s", args[0],
			names(tree.Services, func(s *manifest.Service) string { return s.Name }))
	}
	if service.Hosts == manifest.Tap && !cmd.Flags().Changed("models") {
		f.models = []string{"go-goroutine-kernel", "go-csp-gonet"}
	}
	if err := f.check(service, args[1:]); err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	own := &record.Own{
		Service: service.Name, Name: f.name, Summary: "your own: " + strings.Join(args[1:], " "),
		Command: args[1:], Dir: here,
	}
	run.AddOwn(tree, own)
	e := f.experiment(service, args[1:])
	tree.Experiments = []*manifest.Experiment{e}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	return measure(cmd, &run.Session{
		Tree: tree, Experiments: tree.Experiments, Choice: run.Choice{Depth: f.depth()},
		Out: out(tree.Root),
		Exe: exe, Hosts: "local", Seed: rand.Uint64(), Command: os.Args, Own: service.Model(f.name),
		Trust: f.trust,
	}, f.asJSON)
}

// depth is quick if the user names the warm-up: then no model has a longer one of its own.
func (f *benchFlags) depth() string {
	if f.warmUp > 0 {
		return "quick"
	}
	return "normal"
}

// check refuses loads that cannot be measured, before anything is started.
func (f *benchFlags) check(service *manifest.Service, command []string) error {
	if manifest.ProtocolNamed(service.Protocol).Shape == "" {
		return usage("bench cannot load %s: write an experiment (experiments/README.md)",
			service.Name)
	}
	hold := "{port}"
	if service.Hosts == manifest.Tap {
		hold = "{device}"
	}
	if !strings.Contains(strings.Join(command, " "), hold) {
		return usage("the command %q does not say where %s goes", strings.Join(command, " "), hold)
	}
	if f.rounds < 6 {
		return usage("--rounds=%d: with fewer than 6 rounds no 95 %% interval exists", f.rounds)
	}
	if len(f.models) == 0 {
		return usage("--models is empty: a server alone has nothing to be compared with")
	}
	for i, m := range f.models {
		if slices.Contains(f.models[:i], m) {
			return usage("--models: %s is there twice", m)
		}
		if service.Model(m) == nil {
			return usage("no model %q of %s: there are %s", m, service.Name,
				names(service.Models, func(m *manifest.Model) string { return m.Name }))
		}
	}
	if service.Model(f.name) != nil {
		return usage("--name=%s is a model of ours: choose another", f.name)
	}
	if !ownName.MatchString(f.name) {
		return usage("--name=%q: expected small letters, digits and hyphens, such as my-server",
			f.name)
	}
	if _, shapes := shapesByProtocol(); f.shape != "" &&
		!slices.Contains(slices.Concat(shapes...), f.shape) {
		return usage("--shape=%s: expected %s", f.shape, offeredShapes())
	}
	if f.warmUp < 0 {
		return usage("--warm-up=%v: expected 0, for the models' own, or more", f.warmUp)
	}
	if f.window < leastWindow {
		return usage("--window=%v: expected at least %v, for four samples", f.window, leastWindow)
	}
	if f.condition != "own" && f.condition != "shared" {
		return usage("--condition=%s: expected own or shared", f.condition)
	}
	plan := load.Plan{
		Protocol: service.Protocol, Load: f.load(service),
		Addr:   netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 1),
		Window: f.window, Limit: time.Minute,
	}
	if err := plan.Validate(); err != nil { // the engine's own words
		return usage("this load cannot be made for %s: %v", service.Name, err)
	}
	return nil
}

// ownName matches the allowed names of a model: it appears in records and manifests.
var ownName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

const (
	leastWindow = 100 * time.Millisecond
	// leastSample keeps the sampler's own CPU small: a sample of 100 processes costs up to 5 ms.
	leastSample = 25 * time.Millisecond
)

// offered are the protocols that can be benched.
func offered() []manifest.Protocol {
	return slices.DeleteFunc(slices.Clone(manifest.Protocols),
		func(p manifest.Protocol) bool { return p.Shape == "" })
}

// shapesByProtocol are the shapes of each protocol that no protocol before it has, in the order of
// manifest.Protocols.
func shapesByProtocol() (names []string, shapes [][]string) {
	var seen []manifest.Shape
	for _, p := range offered() {
		var own []string
		for _, s := range manifest.ShapesOf(p.Name) {
			if !slices.Contains(seen, s) {
				seen, own = append(seen, s), append(own, string(s))
			}
		}
		if len(own) > 0 {
			names, shapes = append(names, p.Name), append(shapes, own)
		}
	}
	return names, shapes
}

// offeredShapes are all shapes, in words: "closed, open, paced or connect; for ping ping; ...".
func offeredShapes() string {
	var parts []string
	names, shapes := shapesByProtocol()
	for i, own := range shapes {
		words := strings.Join(own, ", ")
		if last := len(own) - 1; last > 0 {
			words = strings.Join(own[:last], ", ") + " or " + own[last]
		}
		if i > 0 {
			words = "for " + names[i] + " " + words
		}
		parts = append(parts, words)
	}
	return strings.Join(parts, "; ")
}

// offeredSizes are the sizes of messages by protocol: "echo 16, counter 1, ...".
func offeredSizes() string {
	var parts []string
	for _, p := range offered() {
		if p.SizeBytes > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", p.Name, p.SizeBytes))
		}
	}
	return strings.Join(parts, ", ")
}

// load is the load that the flags ask for, in the shape that suits the service unless they name
// one.
func (f *benchFlags) load(service *manifest.Service) manifest.Load {
	p := manifest.ProtocolNamed(service.Protocol)
	l := manifest.Load{Shape: cmp.Or(manifest.Shape(f.shape), p.Shape), Connections: f.connections,
		SizeBytes: cmp.Or(f.size, p.SizeBytes), Pipeline: 1}
	load.Offer(service.Protocol, &l, load.Wishes{Rate: f.rate, ReadShare: f.readShare,
		Interval: f.interval, Direction: f.direction})
	return l
}

// experiment is the experiment that the flags describe: no claim, one point.
func (f *benchFlags) experiment(service *manifest.Service, command []string) *manifest.Experiment {
	l := f.load(service)
	depth := manifest.Depth{
		Rounds: f.rounds, MaxRounds: f.rounds, WarmUp: f.warmUp, Window: f.window,
		Sample:     max(f.window/20, leastSample),
		Conditions: []manifest.Condition{manifest.Condition(f.condition)},
	}
	point := manifest.Point{Name: fmt.Sprintf("%s, %d connections", l.Shape, f.connections),
		X: math.NaN(), Service: service.Name, Load: l}
	return &manifest.Experiment{
		Name: "bench", Title: "Your server beside ours", Source: "interleave bench",
		Question: fmt.Sprintf("How does `%s` stand beside %s?", strings.Join(command, " "),
			strings.Join(f.models, ", ")),
		Expect:  "nothing: it is measured to be seen",
		Service: service.Name, Models: append(slices.Clone(f.models), f.name),
		Baseline: f.models[0], Metrics: load.FamilyOf(l).Metrics(l),
		Load: l, Points: []manifest.Point{point}, Quick: depth, Normal: depth, Full: depth,
	}
}
