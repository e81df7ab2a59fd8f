package run

import (
	"strings"
	"testing"
	"time"

	"interleave/internal/hist"
	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/probe/serve"
	"interleave/internal/record"
)

func TestMakeRoom(t *testing.T) {
	for _, test := range []struct {
		connections int
		tables      bool
		want        string
	}{
		{1000, false, ""},
		{1000, true, ""},
		{1 << 40, false, "open files"}, // no kernel has so many
		{1 << 40, true, "memory"},      // and no machine so much
	} {
		s := &Spec{Point: manifest.Point{Load: manifest.Load{Shape: manifest.Streams,
			Connections: test.connections, Rate: 1000}}}
		var opts serve.StartOptions
		err := makeRoom(s, &manifest.Model{Tables: test.tables}, &opts)
		if (err == nil) != (test.want == "") ||
			err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%d connections: got %v, want %q", test.connections, err, test.want)
		}
		if want := serve.Grace * time.Duration(max(1,
			test.connections/50_000)); opts.Grace != want {
			t.Errorf("%d connections: got %v to end, want %v", test.connections, opts.Grace, want)
		}
		if many := opts.OpenFiles == test.connections+otherFiles; many == (test.want == "memory") {
			t.Errorf("%d connections, tables %v: got %d files", test.connections, test.tables,
				opts.OpenFiles)
		}
	}
}

func TestStreamGates(t *testing.T) {
	of := manifest.Load{Shape: manifest.Streams, Connections: 1000, Rate: 500}
	if got := interval(&record.Cell{Load: of}); got != 0 {
		t.Errorf("got an interval of %v, want none: the schedule is the server's", got)
	}
	if got := rampTime(of); got != 2*time.Second {
		t.Errorf("got a ramp of %v, want 2s", got)
	}
	r := &load.Streams{Texts: 1, Offered: 100, Delay: &hist.Histogram{}}
	c := &record.Cell{Load: of, Result: &load.Result{Window: time.Second, Part: r}}
	for range 99 {
		r.Delay.Record(1000)
	}
	if got := achieved(c, Facts{}); got != nil {
		t.Errorf("99 texts of 100 that were due: got %v, want none", got)
	}
	r.Offered = 102
	if achieved(c, Facts{}) == nil {
		t.Error("99 texts of 102 that were due: got no reason, want one")
	}
}
