package report

// What was offered and on what machine: the set-up in words.

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// offerChat tells what a chat is offered; nil if the load is another.
func offerChat(l manifest.Load, size string) []string {
	if l.Members == 0 {
		return nil
	}
	members := min(l.Members, l.Connections)
	where := fmt.Sprintf("%s in rooms of %d", quantity.Many(l.Connections, "client"), members)
	switch members {
	case 1:
		where = quantity.Many(l.Connections, "client") + ", each in a room of its own"
	case l.Connections:
		where = quantity.Many(l.Connections, "client") + " in one room"
	}
	speak := "all of whom speak"
	if l.Senders > 0 && l.Senders < members {
		speak = fmt.Sprintf("of whom %d in each speak", l.Senders)
	}
	burst := "a message of " + size
	if l.Pipeline > 1 {
		burst = fmt.Sprintf("%d messages of %s at once", l.Pipeline, size)
	}
	switch l.Shape {
	case manifest.Fanout:
		return []string{where, speak, burst +
			" and the next when they are acknowledged and the room has them"}
	case manifest.Open:
		return []string{where, speak, fmt.Sprintf("%s%smessages/s of %s in open loop, %s gaps",
			quantity.Trim(l.Rate, 4), quantity.Thin, size, cmp.Or(l.Gaps, "constant"))}
	case manifest.Paced:
		return []string{where, quantity.Bits(l.Bits) + " each, " + burst}
	}
	return []string{where, "nothing but a PING of each every " + quantity.Setting(l.Interval)}
}

// offerHost tells what hosts are offered; nil if the load is another.
func offerHost(l manifest.Load, size string) []string {
	var parts []string
	switch l.Shape {
	case manifest.Pings:
		parts = []string{quantity.Many(l.Connections, "pinger"), size +
			", the next when the last has been answered"}
		if l.Interval > 0 {
			parts[1] = fmt.Sprintf("each %s every %s, evenly spread", size,
				quantity.Setting(l.Interval))
		}
		if l.Requests > 0 {
			parts = append(parts, quantity.Many(int(l.Requests), "ping")+" each")
		}
	case manifest.Transfers:
		parts = []string{quantity.Many(l.Connections, "client"), "connect, send " + size +
			", half-close, wait for the end"}
		if l.Requests > 0 {
			parts = append(parts, quantity.Many(int(l.Requests), "transfer")+" each")
		}
	case manifest.Bulk:
		way := "as much as goes into the server"
		if l.Direction == "out" {
			way = "as much as comes out of the server"
		}
		parts = []string{quantity.Many(l.Connections, "connection"), way}
	}
	return parts
}

// offerImages tells what an image service is offered; nil if the load is another.
func offerImages(l manifest.Load) []string {
	if l.Ask == "" {
		return nil
	}
	then := "fetched"
	switch {
	case l.Ask == manifest.AskThumbnail:
		then = "its thumbnail fetched"
	case l.Ask == manifest.AskUnchanged:
		then = fmt.Sprintf("fetched, then %d times found unchanged", l.Reads-1)
	case l.Reads > 1:
		then = fmt.Sprintf("fetched %d times", l.Reads)
	}
	size := quantity.Trim(float64(l.SizeBytes)/1e3, 4) + quantity.Thin + "kB"
	parts := []string{quantity.Many(l.Connections, "client"),
		"an image of " + size + " posted and " + then}
	if l.Chain > 1 {
		parts = append(parts, fmt.Sprintf("through a chain of %d services", l.Chain))
	}
	switch {
	case l.Shape == manifest.Open:
		return append(parts, fmt.Sprintf("%s%sa second in open loop, %s gaps",
			quantity.Trim(l.Rate, 4), quantity.Thin, cmp.Or(l.Gaps, "constant")))
	case l.Shape == manifest.Cold:
		return append(parts, quantity.Count(l.Requests)+" times, the first of a fresh server")
	case l.Requests > 0:
		return append(parts, quantity.Count(l.Requests)+" times each")
	}
	return append(parts, "in closed loop")
}

// offer tells a load in words: "150 connections, each sends 16 B when its reply is there".
func offer(l manifest.Load) string {
	if l.Shape == manifest.Solve && l.Kernel == manifest.KernelTransfer {
		return fmt.Sprintf("%s, 50 transfers of %s B each, again and again",
			quantity.Many(l.Workers, "client"), quantity.Count(l.Problem))
	}
	if l.Shape == manifest.Solve {
		return fmt.Sprintf("%s of %d, solved again and again by %s", l.Kernel, l.Problem,
			quantity.Many(l.Workers, "worker"))
	}
	parts := []string{quantity.Many(l.Connections, "connection")}
	size := quantity.Trim(float64(l.SizeBytes), 4) + quantity.Thin + "B"
	if words := cmp.Or(strings.Join(offerChat(l, size), ", "), strings.Join(offerHost(l, size),
		", "), strings.Join(offerImages(l), ", ")); words != "" {
		return words
	}
	switch l.Shape {
	case manifest.Open:
		gaps := cmp.Or(l.Gaps, "constant")
		parts = append(parts, fmt.Sprintf("%s%srequests/s of %s in open loop, %s gaps",
			quantity.Trim(l.Rate, 4), quantity.Thin, size, gaps))
	case manifest.Paced:
		parts = append(parts, quantity.Bits(l.Bits)+" each in messages of "+size)
		if l.Output == manifest.OutputFile {
			parts = append(parts, "written into a file")
		}
	case manifest.Connect:
		parts = append(parts, "connect, send "+size+", read the reply, close")
	default:
		parts = append(parts, size+" in closed loop")
		if l.Pipeline > 1 {
			parts = append(parts, fmt.Sprintf("%d in flight", l.Pipeline))
		}
	}
	if l.Requests > 0 {
		parts = append(parts, quantity.Count(l.Requests)+" requests each")
	}
	if l.ReadShare > 0 {
		parts = append(parts, quantity.Percent(l.ReadShare)+" reads")
	}
	return strings.Join(parts, ", ")
}

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

// loads are what was offered: the sweep in one line, each other point in its own.
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
			lines = append(lines, p.Name+": "+offer(l))
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
