package record

import (
	"fmt"
	"slices"
	"time"
)

// A Waking is what it costs to wake a core, as it was measured before a run: time of the kernel and
// of interrupts that is charged to no process. The gate foreign-cpu takes it off for each waking.
type Waking struct {
	Cost     time.Duration `json:"cost_ns"` // that the gate takes off
	Measured bool          `json:"measured"`
	Patterns []Pattern     `json:"patterns,omitempty"`
	Note     string        `json:"note,omitempty"` // why it was not measured, or was bounded
	// nothing is taken off: all processes are seen, and what they are charged with is counted
	Needless bool `json:"needless,omitempty"`
}

// A Pattern is one way to wake cores at several rates, and by how much the time that no process is
// charged with grows with the wakings.
type Pattern struct {
	Name    string        `json:"name"`
	Slope   time.Duration `json:"slope_ns"` // of each waking: the median of all pairs of windows
	Low     time.Duration `json:"low_ns"`   // their quartiles
	High    time.Duration `json:"high_ns"`
	Windows int           `json:"windows"`
}

const (
	// DefaultWakeCost stands where it was not measured, as in all earlier records. In cells of
	// 3,000 to 23,000 switches a second 1.6 to 4.2 µs were seen.
	DefaultWakeCost = 3 * time.Microsecond
	// The bounds of what a calibration may say. 1.6 to 7 µs were seen on quiet machines. With a
	// larger figure the 24,000 wakings a second of a thousand pingers would excuse a program that
	// uses 5 % of two cores.
	minWakeCost = time.Microsecond
	maxWakeCost = 7 * time.Microsecond
)

// MeasuredWaking is what a calibration has measured: the mean of its patterns, within bounds. The
// dearest of them would be the one that other programs have disturbed most.
func MeasuredWaking(patterns []Pattern) Waking {
	if len(patterns) == 0 {
		return UnknownWaking("no pattern of wakings was measured")
	}
	w := Waking{Measured: true, Patterns: patterns}
	for _, p := range patterns {
		w.Cost += p.Slope / time.Duration(len(patterns))
	}
	w.Cost, w.Note = bounded(w.Cost)
	return w
}

// UnknownWaking is one that could not be measured.
func UnknownWaking(why string) Waking { return Waking{Cost: DefaultWakeCost, Note: why} }

// NeedlessWaking is one that was not measured, for all processes of the machine are seen.
func NeedlessWaking() Waking { return Waking{Needless: true} }

// bounded keeps a cost within what is plausible, and says so.
func bounded(cost time.Duration) (time.Duration, string) {
	within := min(max(cost, minWakeCost), maxWakeCost)
	if within == cost {
		return cost, ""
	}
	return within, fmt.Sprintf("%v was measured, which is not plausible: %v stands for it", cost,
		within)
}

// WakeCost is what the gate foreign-cpu takes off for each waking in this run: what was measured
// last. A record may have been written by an earlier version, or by hand.
func (h *Header) WakeCost() time.Duration {
	for _, w := range slices.Backward(h.Wakings) {
		if w.Measured {
			cost, _ := bounded(w.Cost)
			return cost
		}
	}
	return DefaultWakeCost
}

// HasWakeCost tells whether the cost of a waking was measured in this run.
func (h *Header) HasWakeCost() bool {
	return slices.ContainsFunc(h.Wakings, func(w Waking) bool { return w.Measured })
}

// Check is the waking as a line of a calibration. It has no known truth and cannot fail.
func (w Waking) Check() Check {
	us := float64(w.Cost) / float64(time.Microsecond)
	c := Check{Name: "time of the kernel for each waking of a core, charged to no process",
		Unit: "µs", Truth: us, Measured: us, OK: true}
	switch {
	case !w.Measured:
		c.Note = fmt.Sprintf("not measured, %v is taken: %s", w.Cost, w.Note)
	default:
		c.Note = "for information"
		for i, p := range w.Patterns {
			c.Note += []string{": ", ", "}[min(i, 1)] + fmt.Sprintf("%s %v (%v–%v)", p.Name,
				p.Slope, p.Low, p.High)
		}
		if w.Note != "" {
			c.Note += "; " + w.Note
		}
	}
	return c
}

// Checks are the lines of a run's calibration, that of the wakings with them if it is of use. A run
// without a calibration has none.
func (h *Header) Checks() []Check {
	if len(h.Calibration) == 0 {
		return nil
	}
	checks := append([]Check(nil), h.Calibration...)
	wakings := h.Wakings
	if len(wakings) == 0 {
		wakings = []Waking{UnknownWaking("the run was made by a version that did not measure it")}
	}
	for _, w := range wakings {
		if !w.Needless && (w.Measured || !h.HasWakeCost()) {
			checks = append(checks, w.Check())
		}
	}
	return checks
}
