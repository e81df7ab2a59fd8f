package record

import (
	"fmt"
	"reflect"
	"slices"
)

// sameMemory is by how much the memory of one machine may differ between two starts of its kernel.
const sameMemory = .02

// Same says in words what keeps two machines from being one, or nothing. A kernel may have been
// updated in between, and reports show which one it was.
func (m Machine) Same(other Machine) string {
	switch diff := float64(m.MemBytes - other.MemBytes); {
	case m.CPU != other.CPU:
		return fmt.Sprintf("one has %s, the other %s", m.CPU, other.CPU)
	case m.Cores != other.Cores:
		return fmt.Sprintf("one has %d cores, the other %d", m.Cores, other.Cores)
	case max(diff, -diff) > sameMemory*float64(max(m.MemBytes, other.MemBytes)):
		return fmt.Sprintf("one has %d MiB of memory, the other %d", m.MemBytes>>20,
			other.MemBytes>>20)
	}
	return ""
}

// Merge makes one run of several: all of one machine, of the same servers under the same options.
// The rounds of a later run follow those of the earlier ones. What only one of them has measured
// may differ, and so may words and claims: those of the first count. An error says what differs.
func Merge(runs []*Run) (*Run, error) {
	first := runs[0]
	out := &Run{Dir: first.Dir, Header: first.Header, Cells: slices.Clone(first.Cells)}
	for i, r := range runs[1:] {
		for _, earlier := range runs[:i+1] {
			if earlier.Header.ID == r.Header.ID {
				return nil, fmt.Errorf("run %s is there twice", r.Header.ID)
			}
		}
		if why, err := apart(first, r); err != nil || why != "" {
			return nil, cannotMerge(first, r, why, err)
		}
		after := lastRounds(out.Cells)
		for _, c := range r.Cells {
			c.Round += after[c.Experiment]
			out.Cells = append(out.Cells, c)
		}
		out.Header.join(&r.Header)
	}
	return out, nil
}

func cannotMerge(a, b *Run, why string, err error) error {
	if err != nil {
		return fmt.Errorf("merge %s and %s: %w", a.Header.ID, b.Header.ID, err)
	}
	return fmt.Errorf("%s and %s cannot be merged: %s; `interleave compare` sets them side by side",
		a.Header.ID, b.Header.ID, why)
}

// lastRounds are the last rounds of the experiments of some cells.
func lastRounds(cells []Cell) map[string]int {
	last := map[string]int{}
	for _, c := range cells {
		last[c.Experiment] = max(last[c.Experiment], c.Round)
	}
	return last
}

// apart says what keeps two runs from being merged, or nothing.
func apart(a, b *Run) (string, error) {
	x, y := &a.Header, &b.Header
	paced := func(h *Header) string {
		if len(h.Budgets) > 0 {
			return "a budget with the windows of " + h.Depth
		}
		return "the depth " + h.Depth
	}
	switch why := x.Machine.Same(y.Machine); {
	case why != "":
		return "their machines differ: " + why, nil
	case x.Own != nil || y.Own != nil:
		return "a server of your own is measured in runs of its own", nil
	case paced(x) != paced(y):
		return fmt.Sprintf("one has %s, the other %s", paced(x), paced(y)), nil
	case x.Hosts != y.Hosts:
		return fmt.Sprintf("one has --hosts %s, the other %s", x.Hosts, y.Hosts), nil
	case !slices.Equal(x.Stacks, y.Stacks):
		return fmt.Sprintf("one has the stacks %v, the other %v", x.Stacks, y.Stacks), nil
	case !reflect.DeepEqual(x.CPUs, y.CPUs):
		return fmt.Sprintf("one has the cores %v, the other %v", x.CPUs, y.CPUs), nil
	}
	return measuredApart(a, b)
}

// join adds to a header what another run of the same machine has.
func (h *Header) join(o *Header) {
	h.ID += "+" + o.ID
	if h.Finished == nil || o.Finished == nil {
		h.Finished = nil
	} else if o.Finished.After(*h.Finished) {
		h.Finished = o.Finished
	}
	for _, e := range o.Experiments {
		if !slices.Contains(h.Experiments, e) {
			h.Experiments = append(slices.Clone(h.Experiments), e)
		}
	}
	h.Budgets = append(slices.Clone(h.Budgets), o.Budgets...)
	// a calibration counts if each of the runs has one
	if len(h.Calibration) > 0 && len(o.Calibration) > 0 {
		h.Calibration = append(slices.Clone(h.Calibration), o.Calibration...)
	} else {
		h.Calibration = nil
	}
	h.Wakings = append(slices.Clone(h.Wakings), o.Wakings...)
	h.Skipped = slices.DeleteFunc(slices.Clone(h.Skipped), func(s Skip) bool {
		return !slices.ContainsFunc(o.Skipped, func(k Skip) bool {
			return s.Service == k.Service && s.Model == k.Model
		})
	})
	h.Builds = add(h.Builds, o.Builds, func(a, b Build) bool {
		return a.Experiment == b.Experiment && a.Target == b.Target
	})
	h.Profiles = add(h.Profiles, o.Profiles, func(a, b Profile) bool {
		return a.Experiment == b.Experiment && a.Point == b.Point && a.Model == b.Model &&
			a.Condition == b.Condition
	})
	h.Turn, h.Undecided = nil, nil
}

// add appends what a list does not have yet.
func add[T any](list, more []T, same func(a, b T) bool) []T {
	out := slices.Clone(list)
	for _, v := range more {
		if !slices.ContainsFunc(out, func(o T) bool { return same(o, v) }) {
			out = append(out, v)
		}
	}
	return out
}
