package run

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

// TestGeneratedLoads writes experiments that have no file, and reads the same loads back.
func TestGeneratedLoads(t *testing.T) {
	for _, l := range []manifest.Load{
		{Shape: manifest.Closed, Connections: 3, SizeBytes: 16, Pipeline: 1},
		{Shape: manifest.Pings, Connections: 100, SizeBytes: 56, Pipeline: 1,
			Interval: 50 * time.Millisecond},
		{Shape: manifest.Pings, Connections: 100, SizeBytes: 56, Pipeline: 1},
		{Shape: manifest.Transfers, Connections: 10, SizeBytes: 4096, Pipeline: 1},
		{Shape: manifest.Bulk, Connections: 10, Pipeline: 1, Direction: "out"},
		{Shape: manifest.Fanout, Connections: 64, SizeBytes: 64, Pipeline: 16,
			Members: manifest.AllMembers, Senders: 8},
		{Shape: manifest.Paced, Connections: 8, SizeBytes: 1250, Pipeline: 1, Bits: 1e6,
			Output: manifest.OutputFile},
		{Shape: manifest.Idle, Connections: 64, Pipeline: 1, Members: 8, Interval: time.Second},
	} {
		e := made("bench", 1)
		e.Title, e.Source, e.Question, e.Expect = "t", "s", "q", "e"
		e.Metrics, e.Load, e.Models = []manifest.Metric{manifest.PSS}, l,
			[]string{"c-loop", "go-csp"}
		e.Baseline, e.Normal.WarmUp = "c-loop", 100*time.Millisecond
		e.Points = []manifest.Point{{Name: "the one", X: math.NaN(), Service: "echo", Load: l}}
		dir := t.TempDir()
		if err := writeGenerated(e, dir); err != nil {
			t.Fatal(err)
		}
		back, err := manifest.LoadExperiment(dir, filepath.Join("experiments", "bench",
			"experiment.toml"))
		if err != nil {
			t.Errorf("%s: %v", l.Shape, err)
			continue
		}
		if got := back.Points[0].Load; got != l {
			t.Errorf("got %+v, want %+v", got, l)
		}
	}
}

// TestOwnHosts puts a server where those of its service are.
func TestOwnHosts(t *testing.T) {
	tree := &manifest.Tree{Services: []*manifest.Service{{Name: "echo", Hosts: manifest.Local},
		{Name: "ping", Hosts: manifest.Tap}}}
	for service, ready := range map[string]manifest.Ready{"echo": manifest.ReadyConnect,
		"ping": manifest.ReadyLine} {
		AddOwn(tree, &record.Own{Service: service, Name: "mine", Command: []string{"./mine"}})
		// is there already
		AddOwn(tree, &record.Own{Service: service, Name: "mine", Command: []string{"./mine"}})
		s := tree.Service(service)
		if m := s.Model("mine"); m == nil || m.Ready != ready || m.Hosts != s.Hosts ||
			len(s.Models) != 1 {
			t.Errorf("%s: got %+v", service, m)
		}
	}
}

// TestOwnChat: a chat of one's own is asked to keep what is said only if it is told where.
func TestOwnChat(t *testing.T) {
	for command, want := range map[string]int{"my-ircd {port}": 1,
		"my-chat {port} {host} {data}": 0} {
		tree := &manifest.Tree{Services: []*manifest.Service{{Name: "chat",
			Protocol: manifest.Chat}}}
		AddOwn(tree, &record.Own{Service: "chat", Name: "mine", Command: strings.Fields(command)})
		if m := tree.Service("chat").Model("mine"); m == nil || len(m.Conform) != want {
			t.Errorf("%s: got %+v, want %d transcripts of its own", command, m, want)
		}
	}
}
