package load

// A result has the figures that all loads have in common, and the part of the load's family.

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"interleave/internal/hist"
	"interleave/internal/manifest"
)

// A Result is what the engine saw between the window's opening and its close.
type Result struct {
	Window time.Duration `json:"window_ns"` // as it was, not as it was planned
	// Part is what the load's family counts: *Requests, *Pings, *Images ... A record has it under
	// "part", and its kind beside it.
	Part Part `json:"-"`
	// by kind: connect, reset, wrong-reply, short, timeout, undrained ...
	Errors    map[string]int64 `json:"errors,omitempty"`
	FirstFail string           `json:"first_error,omitempty"` // the first error in words
	// requests served, in equal parts of the window
	Slices  []int64       `json:"slices"`
	User    time.Duration `json:"user_ns"` // the engine's own CPU in the window
	System  time.Duration `json:"system_ns"`
	RunWait time.Duration `json:"run_wait_ns"` // the engine's wait for a core in the window
	Runs    int64         `json:"runs"`        // how often it was given one
	Threads int           `json:"threads"`
	// of a load of stints: the time after each in which nothing was sent and replies were awaited
	Lull time.Duration `json:"lull_ns,omitempty"`
}

// A Part is what the loads of one family count. Every type of part embeds plain, and has more
// methods of its own where it has more to say.
type Part interface {
	// kind is the part's name in records.
	kind() string
	// add adds what another thread has counted, a part of the same type.
	add(o Part)
	// Served is how many requests were served in the window: what a rate, and a cost for each,
	// are about.
	Served() int64
	// Kept is how many requests were due in the window, and how many of them the server has
	// served. Due is 0 where nothing is due by a schedule, or where a request that is not served
	// shows in other figures.
	Kept() (served, due int64)
	// Latencies are from the due time of a request; nil if none is due by a schedule.
	Latencies() *hist.Histogram
	// Lateness is from the due time of a request to its sending; nil if none is due by a schedule.
	Lateness() *hist.Histogram
	// Loop says of a closed loop how many requests are in flight all the time, and how long each
	// was; nil if the load is none.
	Loop(l manifest.Load) (inFlight int, took *hist.Histogram)
	// Figure computes a metric of the family's own; false if the part has none.
	Figure(m manifest.Metric, l manifest.Load, window time.Duration) (float64, bool)
	// Cost computes a metric of the family's own from the CPU that the server has used in the
	// window; false if the part has none.
	Cost(m manifest.Metric, l manifest.Load, cpu time.Duration) (float64, bool)
	// Lean is a copy without what no metric is computed of.
	Lean() Part
}

// plain has the methods that most parts share.
type plain struct{}

func (plain) Kept() (served, due int64) { return 0, 0 }

func (plain) Latencies() *hist.Histogram { return nil }

func (plain) Lateness() *hist.Histogram { return nil }

func (plain) Loop(manifest.Load) (inFlight int, took *hist.Histogram) { return 0, nil }

func (plain) Figure(manifest.Metric, manifest.Load, time.Duration) (float64, bool) {
	return 0, false
}

func (plain) Cost(manifest.Metric, manifest.Load, time.Duration) (float64, bool) {
	return 0, false
}

// Served is how many requests were served in the window.
func (r *Result) Served() int64 {
	if r.Part == nil {
		return 0
	}
	return r.Part.Served()
}

// Latencies are from the due time of a request; nil if there are none.
func (r *Result) Latencies() *hist.Histogram {
	if r.Part == nil {
		return nil
	}
	return r.Part.Latencies()
}

// Lean is a copy without what no metric is computed of.
func (r *Result) Lean() *Result {
	lean := *r
	lean.Slices = nil
	if r.Part != nil {
		lean.Part = r.Part.Lean()
	}
	return &lean
}

// A bare result is one without its methods, for encoding.
type bare Result

// MarshalJSON writes the part and its kind beside what all results have.
func (r Result) MarshalJSON() ([]byte, error) {
	text := struct {
		bare
		Kind string `json:"kind,omitempty"`
		Part Part   `json:"part,omitempty"`
	}{bare: bare(r), Part: r.Part}
	if r.Part != nil {
		text.Kind = r.Part.kind()
	}
	return json.Marshal(text)
}

// UnmarshalJSON reads a result. One without a kind has no part: an older version has written it.
func (r *Result) UnmarshalJSON(data []byte) error {
	var text struct {
		bare
		Kind string          `json:"kind"`
		Part json.RawMessage `json:"part"`
	}
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	*r = Result(text.bare)
	if text.Kind == "" {
		return nil
	}
	empty, known := parts[text.Kind]
	if !known {
		return fmt.Errorf("a result of kind %q, which this program does not know", text.Kind)
	}
	r.Part = empty()
	return json.Unmarshal(text.Part, r.Part)
}

// add adds what another thread has counted.
func (r *Result) add(o *Result) {
	r.User += o.User
	r.System += o.System
	r.RunWait += o.RunWait
	r.Runs += o.Runs
	r.Threads += o.Threads
	for i, n := range o.Slices {
		r.Slices[i] += n
	}
	if r.Part == nil {
		r.Part = o.Part
		return
	}
	r.Part.add(o.Part)
}

// merge adds histograms to others in pairs. Both of a pair are there, or neither is.
func merge(pairs ...[2]*hist.Histogram) {
	for _, h := range pairs {
		if h[0] != nil {
			h[0].Merge(h[1])
		}
	}
}

// counted is how many times a histogram has.
func counted(h *hist.Histogram) int64 {
	if h == nil {
		return 0
	}
	return int64(h.Count())
}

// micros is a quantile in microseconds.
func micros(h *hist.Histogram, q float64) (float64, bool) {
	if h == nil || h.Count() == 0 {
		return 0, false
	}
	return float64(h.Quantile(q)) / float64(time.Microsecond), true
}

// rate is how many of a number there were in a second of the window.
func rate(n int64, window time.Duration) (float64, bool) {
	return Positive(float64(n) / window.Seconds())
}

// bitRate is in bits a second.
func bitRate(bytes float64, took time.Duration) (float64, bool) {
	return Positive(8 * bytes / took.Seconds())
}

// perGB is the CPU in seconds for 10^9 bytes.
func perGB(bytes float64, cpu time.Duration) (float64, bool) {
	return Positive(cpu.Seconds() / bytes * 1e9)
}

// Positive refuses figures of which no ratio can be formed.
func Positive(v float64) (float64, bool) {
	return v, v > 0 && !math.IsInf(v, 0) && !math.IsNaN(v)
}
