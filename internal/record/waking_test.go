package record

import (
	"strings"
	"testing"
	"time"
)

const us = time.Microsecond

// TestMeasuredWaking: the mean of the patterns counts, and nothing beyond what is plausible.
func TestMeasuredWaking(t *testing.T) {
	for _, test := range []struct {
		name     string
		slopes   []time.Duration
		want     time.Duration
		measured bool
		note     string // a part of it
	}{
		{"two", []time.Duration{2 * us, 5 * us}, 3500, true, ""},
		{"one", []time.Duration{4500}, 4500, true, ""},
		{"nothing", []time.Duration{0}, us, true, "0s was measured, which is not plausible"},
		{"negative", []time.Duration{-5 * us, -9 * us}, us, true, "-7µs was measured"},
		{"a millisecond", []time.Duration{time.Millisecond, time.Millisecond}, 7 * us, true,
			"1ms was measured, which is not plausible: 7µs stands for it"},
		{"at the upper bound", []time.Duration{7 * us}, 7 * us, true, ""},
		{"at the lower bound", []time.Duration{us}, us, true, ""},
		{"no pattern", nil, 3 * us, false, "no pattern"},
	} {
		var patterns []Pattern
		for _, s := range test.slopes {
			patterns = append(patterns, Pattern{Name: "threads", Slope: s})
		}
		w := MeasuredWaking(patterns)
		if w.Cost != test.want || w.Measured != test.measured ||
			!strings.Contains(w.Note, test.note) || (w.Note == "") != (test.note == "") {
			t.Errorf("%s: got %v, measured %v, note %q; want %v, %v, %q", test.name, w.Cost,
				w.Measured, w.Note, test.want, test.measured, test.note)
		}
	}
}

// TestWakeCost reads the figure of a record, whatever stands there.
func TestWakeCost(t *testing.T) {
	for _, test := range []struct {
		name    string
		wakings []Waking
		want    time.Duration
	}{
		{"an earlier record", nil, 3 * us},
		{"measured", []Waking{{Cost: 4600, Measured: true}}, 4600},
		{"not measured", []Waking{UnknownWaking("the cores never rested")}, 3 * us},
		{"the last of several", []Waking{{Cost: 2 * us, Measured: true},
			{Cost: 5 * us, Measured: true}}, 5 * us},
		{"the last that was measured", []Waking{{Cost: 2 * us, Measured: true},
			UnknownWaking("the cores never rested")}, 2 * us},
		{"nothing", []Waking{{}}, 3 * us},
		{"zero", []Waking{{Measured: true}}, us},
		{"negative", []Waking{{Cost: -time.Hour, Measured: true}}, us},
		{"a millisecond", []Waking{{Cost: time.Millisecond, Measured: true}}, 7 * us},
	} {
		h := Header{Wakings: test.wakings}
		if got := h.WakeCost(); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
		measured := len(test.wakings) > 0 && test.wakings[0].Measured
		if h.HasWakeCost() != measured {
			t.Errorf("%s: measured is %v", test.name, !measured)
		}
	}
}

// TestWakingChecks: the line of a calibration says what was measured, or why nothing was.
func TestWakingChecks(t *testing.T) {
	known := Check{Name: "an injected delay", OK: true}
	measured := MeasuredWaking([]Pattern{
		{Name: "a thread that sleeps", Slope: 3200, Low: 3 * us, High: 3500},
		{Name: "two threads", Slope: 4600, Low: 4400, High: 5 * us},
	})
	for _, test := range []struct {
		name   string
		header Header
		lines  int
		value  float64
		note   string
	}{
		{"measured", Header{Calibration: []Check{known}, Wakings: []Waking{measured}}, 2, 3.9,
			"for information: a thread that sleeps 3.2µs (3µs–3.5µs), two threads 4.6µs " +
				"(4.4µs–5µs)"},
		{"an earlier record", Header{Calibration: []Check{known}}, 2, 3,
			"not measured, 3µs is taken: the run was made by a version that did not measure it"},
		{"two runs", Header{Calibration: []Check{known, known},
			Wakings: []Waking{measured, UnknownWaking("the cores never rested")}}, 3, 3.9,
			"for information: a thread that sleeps 3.2µs (3µs–3.5µs), two threads 4.6µs " +
				"(4.4µs–5µs)"},
		{"none", Header{Calibration: []Check{known},
			Wakings: []Waking{UnknownWaking("the cores never rested")}}, 2, 3,
			"not measured, 3µs is taken: the cores never rested"},
		{"bounded", Header{Calibration: []Check{known},
			Wakings: []Waking{MeasuredWaking([]Pattern{{Name: "two threads"}})}}, 2, 1,
			"for information: two threads 0s (0s–0s); 0s was measured, which is not plausible: " +
				"1µs stands for it"},
		{"needless", Header{Calibration: []Check{known}, Wakings: []Waking{NeedlessWaking()}}, 1,
			0, ""},
	} {
		checks := test.header.Checks()
		last := checks[len(checks)-1]
		if len(checks) != test.lines || last.Measured != test.value || last.Note != test.note ||
			!last.OK {
			t.Errorf("%s: got %d lines, the last %+v; want %d, %v, %q", test.name, len(checks),
				last, test.lines, test.value, test.note)
		}
	}
	if checks := (&Header{}).Checks(); checks != nil {
		t.Errorf("a run without calibration has the lines %+v", checks)
	}
}
