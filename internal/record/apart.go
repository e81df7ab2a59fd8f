package record

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"interleave/internal/manifest"
)

// measuredApart says what two runs have measured in different ways, or nothing: a load, a depth's
// windows, or a server of which both have cells.
func measuredApart(a, b *Run) (string, error) {
	if why := loadsApart(a.Cells, b.Cells); why != "" {
		return why, nil
	}
	x, err := manifest.LoadTree(filepath.Join(a.Dir, TreeDir))
	if err != nil {
		return "", fmt.Errorf("read the manifests of run %s: %w", a.Header.ID, err)
	}
	y, err := manifest.LoadTree(filepath.Join(b.Dir, TreeDir))
	if err != nil {
		return "", fmt.Errorf("read the manifests of run %s: %w", b.Header.ID, err)
	}
	for _, name := range both(a.Cells, b.Cells, experimentOf) {
		e, other := x.Experiment(name), y.Experiment(name)
		if e == nil || other == nil {
			return fmt.Sprintf("one has no file of the experiment %s", name), nil
		}
		for _, depth := range depths(&a.Header) {
			p, err := paced(e, depth)
			q, otherErr := paced(other, depth)
			if err := errors.Join(err, otherErr); err != nil {
				return "", err
			}
			if p != q {
				return fmt.Sprintf("%s has other windows", e.File), nil
			}
		}
	}
	return serversApart(x, y, both(a.Cells, b.Cells, serverOf))
}

// loadsApart looks for a point of an experiment that was measured under two loads.
func loadsApart(a, b []Cell) string {
	type point struct{ experiment, point string }
	loads := map[point]manifest.Load{}
	for _, c := range a {
		loads[point{c.Experiment, c.Point}] = c.Load
	}
	for _, c := range b {
		p := point{c.Experiment, c.Point}
		if load, ok := loads[p]; ok && load != c.Load {
			return fmt.Sprintf("the load of %s, %s differs", c.Experiment, c.Point)
		}
	}
	return ""
}

// A pace is what all cells of a depth have in common.
type pace struct {
	warmUp, window, sample time.Duration
	requests               int64
	baseline               string // it runs twice in each round
	cells                  bool   // no duets
}

func paced(e *manifest.Experiment, depth string) (pace, error) {
	d, err := e.Depth(depth)
	return pace{d.WarmUp, d.Window, d.Sample, d.Requests, e.Baseline, e.Cells}, err
}

// depths are those whose windows a run may have. A budget gives a point that needs longer windows
// those of a deeper depth.
func depths(h *Header) []string {
	if len(h.Budgets) == 0 {
		return []string{h.Depth}
	}
	return manifest.DepthsFrom(h.Depth)
}

// A server is a model of a service.
type server struct{ service, model string }

func serverOf(c Cell) server     { return server{c.Service, c.Model} }
func experimentOf(c Cell) string { return c.Experiment }

// both lists what the cells of one run are of, and those of another one, too.
func both[T comparable](a, b []Cell, of func(Cell) T) []T {
	other := map[T]bool{}
	for _, c := range b {
		other[of(c)] = true
	}
	var list []T
	for _, c := range a {
		if v := of(c); other[v] {
			other[v] = false
			list = append(list, v)
		}
	}
	return list
}

// serversApart looks for a file of some servers that two trees do not have alike.
func serversApart(x, y *manifest.Tree, servers []server) (string, error) {
	for _, s := range servers {
		for _, tree := range []*manifest.Tree{x, y} {
			service := tree.Service(s.service)
			if service == nil {
				return fmt.Sprintf("one has no service %s", s.service), nil
			}
			model := service.Model(s.model)
			if model == nil {
				return fmt.Sprintf("one has no model %s of %s", s.model, s.service), nil
			}
			files := []string{filepath.Join(service.Dir, "service.toml"),
				filepath.Join(model.Dir, "model.toml")}
			for _, f := range model.Source {
				files = append(files, filepath.Join(model.Dir, f))
			}
			for _, f := range files {
				rel, err := filepath.Rel(tree.Root, f)
				if err != nil {
					return "", fmt.Errorf("find %s in its tree: %w", f, err)
				}
				same, err := alike(filepath.Join(x.Root, rel), filepath.Join(y.Root, rel))
				if err != nil || !same {
					return fmt.Sprintf("their trees differ in %s", rel), err
				}
			}
		}
	}
	return "", nil
}

// alike says whether two files have the same bytes; one that is missing is like no other.
func alike(a, b string) (bool, error) {
	var data [2][]byte
	for i, name := range []string{a, b} {
		var err error
		if data[i], err = os.ReadFile(name); errors.Is(err, fs.ErrNotExist) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	return bytes.Equal(data[0], data[1]), nil
}
