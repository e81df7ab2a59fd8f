package report

// The set-up in words: the loads that were offered, and the machine.

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/quantity"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// offer tells a load in words: "150 connections, 16 B in closed loop".
func offer(l manifest.Load) string { return strings.Join(load.FamilyOf(l).Words(l), ", ") }

// ours is our side of the set-up, line by line as the source's is told.
func (s *study) ours(e *experiment) []string {
	if len(e.Builds) > 0 {
		return s.oursOfBuilds(e)
	}
	lines := []string{s.machine()}
	if chains := s.chains(e); chains != "" {
		lines = append(lines, chains)
	}
	lines = append(lines, s.loads(e)...)
	d := s.depth(e.Experiment)
	window := "until all requests are answered"
	if d.Window > 0 {
		window = quantity.Setting(d.Window)
	}
	rounds := "no round measured"
	if e.rounds > 0 {
		rounds = quantity.Many(e.rounds, "round")
	}
	lines = append(lines,
		fmt.Sprintf("%s; a cell is a fresh process, %s of warm-up, then a window: %s", rounds,
			quantity.Setting(d.WarmUp), window))
	if d.Sample > 0 {
		whose := "the server's process tree"
		if slices.ContainsFunc(e.Points, func(p manifest.Point) bool { return p.Load.Chain > 1 }) {
			whose = "the process trees of all servers of a chain together"
		}
		lines = append(lines, whose+" sampled every "+quantity.Setting(d.Sample))
	}
	for _, c := range e.conditions {
		lines = append(lines, s.cores(c))
	}
	if hosts := s.hosts(e); hosts != "" {
		lines = append(lines, hosts)
	}
	return lines
}

// chains are the tool chains that the experiment's models need, with versions.
func (s *study) chains(e *experiment) string {
	needed := map[string]bool{}
	for _, c := range e.cells {
		if m := s.model(c.Service, c.Model); m != nil {
			for _, n := range m.Needs {
				chain, _, _ := strings.Cut(n, " ")
				needed[chain] = true
			}
		}
	}
	var parts []string
	for _, chain := range sortedKeys(needed) {
		v := s.Header.Machine.ToolChains[chain]
		switch {
		case v == "":
		case v[0] >= '0' && v[0] <= '9':
			parts = append(parts, strings.TrimPrefix(chain, "pkg:")+" "+v)
		default: // it says itself what it is a version of
			parts = append(parts, v)
		}
	}
	return strings.Join(parts, ", ")
}

// loads tell the loads that were offered: the sweep in one line, each other point in its own.
func (s *study) loads(e *experiment) []string {
	offered := map[string]manifest.Load{}
	for _, c := range e.cells {
		offered[c.Point] = c.Load
	}
	var swept []manifest.Point
	var lines []string
	for _, p := range e.Points {
		l, found := offered[p.Name]
		switch {
		case !found:
		case math.IsNaN(p.X):
			line := p.Name + ": " + offer(l)
			if p.Hosts == manifest.NetNS {
				line += ", over two hosts: network namespaces of this machine, joined by a " +
					"pair of virtual Ethernet devices"
			}
			lines = append(lines, line)
		default:
			swept = append(swept, p)
		}
	}
	if len(swept) == 0 {
		return lines
	}
	first, last := swept[0], swept[len(swept)-1]
	line := offer(offered[last.Name])
	if len(swept) > 1 {
		line = fmt.Sprintf("%s %s to %s, %s; the last: %s", cmp.Or(e.Axis.Label, e.Axis.Over),
			quantity.Trim(first.X, 4), quantity.Trim(last.X, 4),
			quantity.Many(len(swept), "point"), line)
	}
	return append([]string{line}, lines...)
}
