package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"interleave/internal/load"
	"interleave/internal/manifest"
)

// formerRun is a run of format 1 with a cell of every kind of load. An earlier version has written
// its lines, and computed the figures of testdata/format1.figures.
func formerRun(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	lines, err := os.ReadFile("testdata/format1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{cellsFile: lines,
		headerFile: []byte(`{"version": 1, "id": "former"}`)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// figures are those that cells show, as in testdata/format1.figures.
func figures(cells []Cell) string {
	var b strings.Builder
	var names []string
	for m := range manifest.Metrics {
		names = append(names, string(m))
	}
	slices.Sort(names)
	for i := range cells {
		for _, m := range names {
			if v, ok := cells[i].Metric(manifest.Metric(m)); ok {
				fmt.Fprintf(&b, "%s: %s = %v\n", cells[i].Point, m, v)
			}
		}
	}
	return b.String()
}

// TestFormerRecords reads what an earlier version has written: the figures are the same to the last
// digit.
func TestFormerRecords(t *testing.T) {
	want, err := os.ReadFile("testdata/format1.figures")
	if err != nil {
		t.Fatal(err)
	}
	run, err := Read(formerRun(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := figures(run.Cells); got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	families := map[string]bool{}
	for _, c := range run.Cells {
		families[c.Load.Family().Name] = true
	}
	if len(families) != 8 {
		t.Errorf("the cells are of the families %v, want all eight", families)
	}
}

// TestFormerFieldsAreKept holds that no number of an earlier record is lost: each stands in the
// part that the cell has now.
func TestFormerFieldsAreKept(t *testing.T) {
	run, err := Read(formerRun(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		point string
		want  string // what the part counts, without histograms
	}{
		{"closed", "requests answered=3000 total=4500"},
		{"open", "requests answered=3000 total=4500 offered=3001"},
		{"connect", "turns answered=3000 total=4500"},
		{"paced", "messages sent=3000 total=4500 offered=3001"},
		{"fanout", "chat acknowledged=3000 total=4500 deliveries=21000"},
		{"open chat", "chat acknowledged=3000 total=4500 offered=3001 deliveries=21000"},
		{"ingest", "ingest sent=3000 total=4500 offered=3001 deliveries=21000"},
		{"idle", "quiet answered=3000 total=4500 offered=3001"},
		{"streams", "streams texts=3000 total=4500 offered=3001"},
		{"images", "images operations=3000 total=4500"},
		{"pings", "pings answered=3000 total=4500 lost=17 offered=3001"},
		{"transfers", "transfers done=3000 total=4500"},
		{"bulk in", "bulk blocks=3000 total=4500 acknowledged=48000"},
		{"bulk out", "bulk blocks=3000 total=4500 received=48003"},
		{"program", "solved solutions=3000 total=4500 bytes=48003"},
	} {
		i := slices.IndexFunc(run.Cells, func(c Cell) bool { return c.Point == test.point })
		if i < 0 {
			t.Fatalf("no cell of %s", test.point)
		}
		if got := counts(t, run.Cells[i].Result); got != test.want {
			t.Errorf("%s: got %s, want %s", test.point, got, test.want)
		}
	}
}

// counts are the kind of a result's part and what it counts, but for bytes out and in.
func counts(t *testing.T, r *load.Result) string {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var form struct {
		Kind string
		Part json.RawMessage
	}
	if err := json.Unmarshal(text, &form); err != nil {
		t.Fatal(err)
	}
	words := form.Kind
	fields := json.NewDecoder(bytes.NewReader(form.Part))
	if _, err := fields.Token(); err != nil {
		t.Fatal(err)
	}
	for fields.More() {
		key, err := fields.Token()
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := fields.Decode(&value); err != nil {
			t.Fatal(err)
		}
		if n, ok := value.(float64); ok && key != "bytes_out" && key != "bytes_in" {
			words += fmt.Sprintf(" %s=%v", key, n)
		}
	}
	return words
}

// TestAFormerRunGoesOn: cells of this format follow those of format 1, and a program that does not
// know this format is told so by the header.
func TestAFormerRunGoesOn(t *testing.T) {
	dir := formerRun(t)
	w, before, err := Resume(dir)
	if err != nil {
		t.Fatal(err)
	}
	next := &Cell{Point: "next", Status: Measured, Load: manifest.Load{Shape: manifest.Closed},
		Result: &load.Result{Part: &load.Requests{Answered: 5}, Window: 1e9}}
	if err := w.Append(next); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	run, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := len(before.Cells)
	if run.Header.Version != Version || len(run.Cells) != n+1 {
		t.Fatalf("got version %d and %d cells, want %d and %d", run.Header.Version,
			len(run.Cells), Version, n+1)
	}
	if v, ok := run.Cells[n].Metric(manifest.Throughput); !ok || v != 5 {
		t.Errorf("the new cell: got %v requests a second, %v; want 5", v, ok)
	}
	if !reflect.DeepEqual(run.Cells[:n], before.Cells) {
		t.Error("the cells of format 1 changed")
	}
}

// TestThisFormatIsReadAsWritten writes the cells of format 1 in this format: they come back equal.
func TestThisFormatIsReadAsWritten(t *testing.T) {
	run, err := Read(formerRun(t))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for i := range run.Cells {
		if err := json.NewEncoder(&text).Encode(&run.Cells[i]); err != nil {
			t.Fatal(err)
		}
	}
	again, _, err := decode(&text)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := figures(again), figures(run.Cells); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for i := range again {
		if got, want := counts(t, again[i].Result), counts(t, run.Cells[i].Result); got != want {
			t.Errorf("%s: got %s, want %s", again[i].Point, got, want)
		}
	}
}

// TestAKindThatIsNotKnown names the line and the kind.
func TestAKindThatIsNotKnown(t *testing.T) {
	_, _, err := decode(strings.NewReader("{}\n" +
		`{"result": {"kind": "telepathy", "part": {}}}` + "\n"))
	if err == nil || !strings.Contains(err.Error(), "cells.jsonl:2:") ||
		!strings.Contains(err.Error(), `"telepathy"`) {
		t.Errorf("got %v, want the line and the kind", err)
	}
}
