package report

import (
	"math"
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

func TestHosts(t *testing.T) {
	service := &manifest.Service{Name: "echo", Models: []*manifest.Model{
		{Name: "c-epoll", Hosts: manifest.Local}, {Name: "go-goroutine-gonet", Hosts: manifest.Tap},
		{Name: "own-server"},
		{Name: "c-kernel", Hosts: manifest.NetNS},
	}}
	cells := func(names ...string) (list []record.Cell) {
		for _, n := range names {
			list = append(list, record.Cell{Service: "echo", Model: n}, record.Cell{Service: "echo",
				Model: n, Round: 2})
		}
		return list
	}
	for _, c := range []struct {
		hosts string
		cells []record.Cell
		want  string
	}{
		{"local", cells("c-epoll", "own-server"), ""},
		{"", cells("c-epoll", "gone"), ""},
		{"netns", cells("own-server", "c-epoll", "go-goroutine-gonet"),
			"hosts of their own behind a tap: go-goroutine-gonet; in a network namespace, over " +
				"a pair of virtual Ethernet devices: c-epoll, own-server"},
		{"local", cells("c-kernel", "c-epoll"),
			"in a network namespace, over a pair of virtual Ethernet devices: c-kernel; on the " +
				"loopback device: c-epoll"},
	} {
		s := &study{Run: Run{Header: record.Header{Hosts: c.hosts},
			Tree: &manifest.Tree{Services: []*manifest.Service{service}}}}
		e := &experiment{Experiment: &manifest.Experiment{Service: "echo"}, cells: c.cells}
		if got := s.hosts(e); got != c.want {
			t.Errorf("--hosts %q: got %q, want %q", c.hosts, got, c.want)
		}
	}
}

// TestPointOverTwoHosts holds that a point over two hosts says so beside its load.
func TestPointOverTwoHosts(t *testing.T) {
	e := &experiment{Experiment: &manifest.Experiment{Points: []manifest.Point{
		{Name: "near", X: math.NaN()},
		{Name: "far", X: math.NaN(), Hosts: manifest.NetNS},
	}}}
	for _, p := range e.Points {
		e.cells = append(e.cells, record.Cell{Point: p.Name, Load: manifest.Load{
			Shape: manifest.Closed, Connections: 1, SizeBytes: 1, Pipeline: 1}})
	}
	lines := (&study{}).loads(e)
	if len(lines) != 2 || strings.Contains(lines[0], "two hosts") ||
		!strings.Contains(lines[1], "far: 1 connection, ") ||
		!strings.Contains(lines[1], "over two hosts: network namespaces") {
		t.Errorf("got %q", lines)
	}
}
