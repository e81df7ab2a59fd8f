package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/stats"
)

// phrases say of two models what a ratio of the metric means.
var phrases = map[manifest.Metric]string{
	manifest.Throughput:     "served {ratio}x {b}'s requests a second",
	manifest.CPUPerRequest:  "used {ratio}x {b}'s CPU for each request",
	manifest.CPU:            "used {ratio}x {b}'s CPU",
	manifest.CPUVariation:   "had {ratio}x {b}'s coefficient of variation of CPU",
	manifest.LatencyP50:     "had {ratio}x {b}'s median latency",
	manifest.LatencyP99:     "had {ratio}x {b}'s 99th percentile of latency",
	manifest.Jitter:         "had {ratio}x {b}'s jitter of latency",
	manifest.PSS:            "held {ratio}x {b}'s memory",
	manifest.Threads:        "ran {ratio}x {b}'s threads",
	manifest.Switches:       "switched contexts {ratio}x as often as {b} for each request",
	manifest.SolveTime:      "took {ratio}x {b}'s time",
	manifest.BitRate:        "carried {ratio}x {b}'s bits a second",
	manifest.CPUPerGB:       "used {ratio}x {b}'s CPU for each GB",
	manifest.Loss:           "lost {ratio}x {b}'s share of pings",
	manifest.Deliveries:     "delivered {ratio}x {b}'s messages a second",
	manifest.CPUPerDelivery: "used {ratio}x {b}'s CPU for each delivery",
	manifest.AckP50:         "had {ratio}x {b}'s median delay of acknowledgements",
	manifest.AckP99:         "had {ratio}x {b}'s 99th percentile of the delay of acknowledgements",
	manifest.ClientMemory:   "held {ratio}x {b}'s memory for each client",
	manifest.KernelMemory:   "made the kernel hold {ratio}x {b}'s memory for each connection",
	manifest.Settling:       "had {ratio}x {b}'s ratio of settling times",
	manifest.MemoryGrowth:   "had {ratio}x {b}'s growth of memory over the window",

	manifest.ResponseP50:  "had {ratio}x {b}'s median response time",
	manifest.ResponseP99:  "had {ratio}x {b}'s 99th percentile of response time",
	manifest.ResponseMean: "had {ratio}x {b}'s mean response time",
	manifest.ToServer:     "had {ratio}x {b}'s time to the server",
	manifest.InServer:     "had {ratio}x {b}'s time in the server",
	manifest.FromServer:   "had {ratio}x {b}'s time from the server",
	manifest.Database:     "spent {ratio}x {b}'s time in the database",
	manifest.PostP50:      "had {ratio}x {b}'s median time of an upload",
	manifest.GetP50:       "had {ratio}x {b}'s median time of a fetch",
	manifest.First1:       "took {ratio}x {b}'s time for its first response",
	manifest.First10:      "took {ratio}x {b}'s time for each of its first 10 responses",
	manifest.First100:     "took {ratio}x {b}'s time for each of its first 100 responses",
	manifest.First1000:    "took {ratio}x {b}'s time for each of its first 1000 responses",
	manifest.StartUp:      "took {ratio}x {b}'s time to start",
}

// amounts say the same of one model and a number in the metric's unit.
var amounts = map[manifest.Metric]string{
	manifest.Throughput:     "served {ratio} requests a second",
	manifest.CPUPerRequest:  "used {ratio} µs of CPU for each request",
	manifest.CPU:            "used {ratio} % of a core",
	manifest.CPUVariation:   "had a coefficient of variation of CPU of {ratio}",
	manifest.LatencyP50:     "had a median latency of {ratio} µs",
	manifest.LatencyP99:     "had a 99th percentile of latency of {ratio} µs",
	manifest.Jitter:         "had a jitter of latency of {ratio} µs",
	manifest.PSS:            "held {ratio} bytes of memory",
	manifest.Threads:        "ran {ratio} threads",
	manifest.Switches:       "switched contexts {ratio} times for each request",
	manifest.SolveTime:      "took {ratio} ms",
	manifest.BitRate:        "carried {ratio} bits a second",
	manifest.CPUPerGB:       "used {ratio} s of CPU for each GB",
	manifest.Loss:           "lost {ratio} % of the pings",
	manifest.Deliveries:     "delivered {ratio} messages a second",
	manifest.CPUPerDelivery: "used {ratio} µs of CPU for each delivery",
	manifest.AckP50:         "had a median delay of acknowledgements of {ratio} µs",
	manifest.AckP99:         "had a 99th percentile of the delay of acknowledgements of {ratio} µs",
	manifest.ClientMemory:   "held {ratio} bytes of memory for each client",
	manifest.KernelMemory:   "made the kernel hold {ratio} bytes for each connection",
	manifest.Settling: "took {ratio} times as long until its memory settled as until its " +
		"CPU did",
	manifest.MemoryGrowth: "ended the window with {ratio} times the memory of its beginning",

	manifest.ResponseP50:  "had a median response time of {ratio} µs",
	manifest.ResponseP99:  "had a 99th percentile of response time of {ratio} µs",
	manifest.ResponseMean: "had a mean response time of {ratio} µs",
	manifest.ToServer:     "had a mean time to the server of {ratio} µs",
	manifest.InServer:     "had a mean time in the server of {ratio} µs",
	manifest.FromServer:   "had a mean time from the server of {ratio} µs",
	manifest.Database:     "spent {ratio} µs in the database",
	manifest.PostP50:      "had a median time of an upload of {ratio} µs",
	manifest.GetP50:       "had a median time of a fetch of {ratio} µs",
	manifest.First1:       "took {ratio} µs for its first response",
	manifest.First10:      "took {ratio} µs for each of its first 10 responses",
	manifest.First100:     "took {ratio} µs for each of its first 100 responses",
	manifest.First1000:    "took {ratio} µs for each of its first 1000 responses",
	manifest.StartUp:      "took {ratio} ms to start",
}

// claimant is who says so.
func claimant(c manifest.Claim) string {
	if c.Ours {
		return "Our hypothesis"
	}
	return "The paper"
}

// words tell the finding of a verdict.
func (j *judge) words(v *Verdict, points []manifest.Point) stats.Words {
	c := v.Claim
	w := stats.Words{A: c.Of.String(), B: c.Against.String(), Phrase: phrases[c.Metric],
		Source: claimant(c)}
	note := ""
	if len(c.Best) > 0 {
		w.B, note = j.rival(v)
	}
	metric := manifest.Metrics[c.Metric].Name
	switch {
	case c.Kind == string(stats.KindCrossover):
		w.Phrase = fmt.Sprintf("swapped places with {b} in %s at {ratio} %s", metric, j.axis())
		return w
	case c.Kind == string(stats.KindBound):
		w.Phrase = amounts[c.Metric]
	case c.Kind == string(stats.KindAbsolute):
		w.Phrase = amounts[c.Metric]
		w.Says = strings.TrimSpace(fmt.Sprintf("says %g %s", c.Published,
			manifest.Metrics[c.Metric].Unit)) + fmt.Sprintf("; margin %.2f", c.Margin)
	case c.Shape == "order" && len(c.Order) == 2:
		w.A, w.B = c.Order[1].String(), c.Order[0].String()
	case c.Shape == "order":
		w.A, w.Phrase = "the ratio of "+metric, "was {ratio}x"
	case c.Kind == string(stats.KindShape):
		j.sweepWords(&w, c, metric)
		return w
	}
	switch {
	case averaged(c) && len(points) > 1:
		w.Phrase += fmt.Sprintf(" on average over %d points", len(points))
	case len(points) == 1 && !math.IsNaN(points[0].X) &&
		slices.ContainsFunc(j.terms(c), func(t manifest.Term) bool { return t.Point == "" }):
		w.Phrase += " at " + points[0].Name
	}
	w.Phrase += note
	return w
}

// rival names what a claim about the best of several compares with: for a size at one place the
// rival that was the best here, for a direction the rival of the comparison that decides.
func (j *judge) rival(v *Verdict) (name, note string) {
	switch {
	case len(v.Parts) == 1:
		return v.Parts[0].Name, ""
	case v.Claim.Kind != string(stats.KindMagnitude):
		return "the other", ""
	case len(v.Parts) > len(j.terms(v.Claim))-1:
		return "the best other", "" // which one it is depends on the point
	}
	// A's ratio to the best is the smallest where more of the metric is better, else the largest
	most := manifest.Metrics[v.Claim.Metric].MoreIsBetter
	best := slices.MinFunc(v.Parts, func(a, b Part) int {
		if most {
			return cmp.Compare(a.Finding.Estimate, b.Finding.Estimate)
		}
		return cmp.Compare(b.Finding.Estimate, a.Finding.Estimate)
	})
	return best.Name, ", {b} being the best of the others"
}

// sweepWords tell how one model's metric runs over the sweep.
func (j *judge) sweepWords(w *stats.Words, c manifest.Claim, metric string) {
	switch c.Shape {
	case "linear":
		w.Phrase = fmt.Sprintf("showed a %s that grew with the power {ratio} of %s", metric,
			j.axis())
		w.Says = fmt.Sprintf("says the power %g, which is linear growth; margin %.2f", power(c),
			c.Margin)
		if power(c) != 1 {
			w.Says = fmt.Sprintf("says the power %g; margin %.2f", power(c), c.Margin)
		}
	case "straight", "steepens":
		w.Phrase = "showed {ratio}x in " + metric
		w.Says = fmt.Sprintf("says that it grows in a straight line over %s; margin %.2f", j.axis(),
			c.Margin)
		if c.Shape == "steepens" {
			w.Says = fmt.Sprintf("says that it grows, and faster after %g; %.3gx or more counts",
				c.After, c.Margin)
		}
	case "widens":
		w.Phrase = fmt.Sprintf("showed a ratio to {b} in %s that became {ratio}x itself over %s",
			metric, j.axis())
		side := "grows"
		if c.Sense == string(stats.Less) {
			side = "falls"
		}
		w.Says = fmt.Sprintf("says that the ratio %s; differences from %.3g %% on count", side,
			100*(c.Margin-1))
	case "flattens":
		w.Phrase = fmt.Sprintf("showed a %s whose growth after %g was {ratio}x its growth before",
			metric, c.After)
		w.Says = fmt.Sprintf("says that growth drops there; %.3gx or less counts", 1/c.Margin)
	case "flat":
		w.Phrase = fmt.Sprintf("showed {ratio}x the %s", metric)
		w.Says = fmt.Sprintf("says that it hardly depends on %s; margin %.2f", j.axis(), c.Margin)
	}
}

// axis is what the sweep's axis is called.
func (j *judge) axis() string { return cmp.Or(j.experiment.Axis.Label, "the axis") }

// sentence is a word and its reason as the end of a paragraph.
func sentence(word stats.Word, reason string) string {
	s := strings.ToUpper(string(word[:1])) + string(word[1:])
	if reason != "" {
		s += ": " + reason
	}
	return s + "."
}
