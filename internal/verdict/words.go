package verdict

import (
	"fmt"

	"interleave/internal/manifest"
	"interleave/internal/stats"
)

// phrases say of two models what a ratio of the metric means.
var phrases = map[manifest.Metric]string{
	manifest.Throughput:    "served {ratio}x {b}'s requests a second",
	manifest.CPUPerRequest: "used {ratio}x {b}'s CPU for each request",
	manifest.CPU:           "used {ratio}x {b}'s CPU",
	manifest.CPUVariation:  "had {ratio}x {b}'s coefficient of variation of CPU",
	manifest.LatencyP50:    "had {ratio}x {b}'s median latency",
	manifest.LatencyP99:    "had {ratio}x {b}'s 99th percentile of latency",
	manifest.Jitter:        "had {ratio}x {b}'s jitter (p99 - p50)",
	manifest.PSS:           "held {ratio}x {b}'s memory",
	manifest.Threads:       "ran {ratio}x {b}'s threads",
	manifest.Switches:      "switched contexts {ratio}x as often as {b} for each request",
}

// words tell a finding of a claim.
func (j *judge) words(c manifest.Claim) stats.Words {
	w := stats.Words{A: c.Of.String(), B: c.Against.String(), Phrase: phrases[c.Metric]}
	metric := manifest.Metrics[c.Metric]
	axis := j.experiment.Axis.Label
	if axis == "" {
		axis = "the axis"
	}
	switch {
	case c.Kind == "crossover":
		w.Phrase = "swapped places with {b} in " + metric.Name + " at {ratio} " + axis
	case c.Kind == "absolute":
		w.Phrase = fmt.Sprintf("had a %s of {ratio} %s", metric.Name, metric.Unit)
	case c.Kind != "shape":
	case c.Shape == "order":
		w.A, w.Phrase = "the ratio of "+metric.Name, "was {ratio}x"
	case c.Shape == "linear":
		w.Phrase = fmt.Sprintf("showed a %s that grew with the power {ratio} of %s", metric.Name, axis)
		w.Says = fmt.Sprintf("says that the growth is almost linear; margin %.2f around the power 1", c.Margin)
	case c.Shape == "flattens":
		w.Phrase = fmt.Sprintf("showed a %s whose growth after %g was {ratio}x its growth before", metric.Name, c.After)
		w.Says = fmt.Sprintf("says that growth drops considerably; a drop below 1/%.2f counts", c.Margin)
	case c.Shape == "flat":
		w.Phrase = fmt.Sprintf("showed {ratio}x the %s from one point to another", metric.Name)
		w.Says = fmt.Sprintf("says that it hardly depends on the %s; margin %.2f", axis, c.Margin)
	}
	return w
}
