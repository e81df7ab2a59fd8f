package report

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"interleave/internal/hist"
	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/record"
)

func TestStretches(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 100, 1000, 4096} {
		at := 0
		for i, s := range stretches(n) {
			if s[0] != at || s[1] <= s[0] || s[1] > n {
				t.Fatalf("%d: stretch %d is %v, after %d", n, i, s, at)
			}
			at = s[1]
		}
		if at != n {
			t.Errorf("%d: they end at %d", n, at)
		}
	}
	if got := len(stretches(1000)); got < 15 || got > 25 {
		t.Errorf("%d points for a thousand", got)
	}
}

// imageRun is a run of three rounds: a JVM whose n-th response takes 10/n ms more than its 1 ms,
// and Go with 0.5 ms always.
func imageRun(tree *manifest.Tree, e *manifest.Experiment) Run {
	run := Run{Tree: tree, Header: header(recipe{rounds: 3, depth: "quick"},
		time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC))}
	run.Header.Experiments = []string{e.Name}
	for round := 1; round <= 3; round++ {
		for _, model := range []string{"java-thread", "go-goroutine", "go-goroutine"} {
			c := record.Cell{Experiment: e.Name, Point: "cold", Service: "images", Model: model,
				Condition: manifest.Own, Round: round, Status: record.Measured,
				Load:    e.Points[2].Load,
				Twin:    len(run.Cells) > 0 && run.Cells[len(run.Cells)-1].Model == model,
				StartUp: 2 * time.Second}
			times := &load.Images{Operations: 1000, Total: 1000}
			for n := range 1000 {
				ns := int64(500_000)
				if model == "java-thread" {
					ns = 1_000_000 + int64(10_000_000/(n+1))
				}
				times.FirstPost, times.FirstGet = append(times.FirstPost, ns*4/5),
					append(times.FirstGet, ns/5)
			}
			times.Response, times.Post, times.Get = flat(500), splitOf(50, 300, 50, 200),
				splitOf(10, 70, 20, 40)
			if model == "java-thread" {
				times.Post = splitOf(50, 900, 50, 250)
			}
			c.Result = &load.Result{Window: time.Second, Threads: 1, Part: times}
			run.Cells = append(run.Cells, c)
		}
	}
	return run
}

func flat(us int64) *hist.Histogram {
	h := &hist.Histogram{}
	h.RecordN(us*1000, 100)
	return h
}

func splitOf(to, in, from, database int64) load.Split {
	return load.Split{Total: flat(to + in + from), ToServer: flat(to), InServer: flat(in),
		FromServer: flat(from), Database: flat(database)}
}

func imageExperiment() (*manifest.Tree, *manifest.Experiment) {
	e := &manifest.Experiment{Name: "pictures", Title: "Pictures", Service: "images",
		Baseline: "go-goroutine", Models: []string{"java-thread", "go-goroutine"},
		Metrics: []manifest.Metric{manifest.First100}, Points: make([]manifest.Point, 3)}
	cold := manifest.Load{Shape: manifest.Cold, Connections: 1, Requests: 1000, SizeBytes: 17_000,
		Pipeline: 1, Ask: manifest.AskImage}
	for i, name := range []string{"size = 17000 B", "size = 128000 B", "cold"} {
		e.Points[i] = manifest.Point{Name: name, X: float64(i), Service: "images", Load: cold}
	}
	e.Points[2].X = math.NaN()
	return &manifest.Tree{Experiments: []*manifest.Experiment{e},
		Services: []*manifest.Service{{Name: "images"}}}, e
}

func TestImageFigures(t *testing.T) {
	tree, e := imageExperiment()
	s := examine(imageRun(tree, e))
	drawn := s.ofImages(s.experiments[0], manifest.Own, s.styles())
	if len(drawn) != 2 {
		t.Fatalf("got %d figures, want one by number and one of parts", len(drawn))
	}
	rows := func(i int) string {
		var lines []string
		for _, row := range drawn[i].Table.Rows {
			lines = append(lines, plainSpaces(strings.Join(row, " | ")))
		}
		return strings.Join(lines, "\n")
	}
	// The harmonic numbers of 10, 100 and 1000 are 2.93, 5.19 and 7.49.
	want := "go-goroutine | 500 µs | 500 µs | 500 µs | 500 µs | 2.00 s | 3\n" +
		"java-thread | 11.0 ms (22.0) | 3.93 ms (7.86) | 1.52 ms (3.04) | 1.07 ms (2.15) | 2.00 " +
		"s | 3"
	if got := rows(0); got != want {
		t.Errorf("by number: got\n%s\nwant\n%s", got, want)
	}
	want = "go-goroutine | 60.0 µs | 240 µs | 130 µs | 70.0 µs | 500 µs | – | – | –\n" +
		"java-thread | 60.0 µs | 290 µs | 680 µs | 70.0 µs | 1.10 ms | 600 µs | 50.0 µs | 550 µs"
	if got := rows(1); got != want {
		t.Errorf("parts: got\n%s\nwant\n%s", got, want)
	}
	var page bytes.Buffer
	if err := HTML(&page, imageRun(tree, e)); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"by their number since the server", "in its database",
		"fig-pictures-cold-by-number-own-wide", "fig-pictures-cold-parts-own-narrow"} {
		if !strings.Contains(page.String(), text) {
			t.Errorf("the page does not say %q", text)
		}
	}
}

// TestImagesWithoutTimes: void cells, a server that does not tell of its database, and a run that
// was stopped early.
func TestImagesWithoutTimes(t *testing.T) {
	tree, e := imageExperiment()
	run := imageRun(tree, e)
	for i := range run.Cells {
		times := imageTimes(&run.Cells[i])
		times.Post.Database, times.Get.Database = &hist.Histogram{}, &hist.Histogram{}
	}
	imageTimes(&run.Cells[0]).FirstPost = nil
	s := examine(run)
	drawn := s.ofImages(s.experiments[0], manifest.Own, s.styles())
	if len(drawn) != 2 || !strings.HasPrefix(plainSpaces(strings.Join(drawn[0].Table.Rows[1],
		" | ")), "java-thread | – | – | – | –") {
		t.Errorf("got %d figures, %v", len(drawn), drawn[0].Table.Rows)
	}
	for i := range run.Cells {
		run.Cells[i].Status = record.Void
	}
	s = examine(run)
	if got := s.ofImages(s.experiments[0], manifest.Own, s.styles()); len(got) != 0 {
		t.Errorf("%d figures of void cells", len(got))
	}
}

// TestImagesOfAChain: what a server waits for those behind it is a part of its own.
func TestImagesOfAChain(t *testing.T) {
	tree, e := imageExperiment()
	e.Points[2].Load.Chain = 4
	run := imageRun(tree, e)
	for i := range run.Cells {
		run.Cells[i].Load.Chain = 4
		times := imageTimes(&run.Cells[i])
		times.Post.Next, times.Get.Next = flat(80), flat(20)
	}
	s := examine(run)
	figure := s.ofImages(s.experiments[0], manifest.Own, s.styles())[1]
	parts := figure.Table
	if !strings.Contains(figure.Caption, "of the services behind") {
		t.Errorf("the caption does not say whose the parts are: %s", figure.Caption)
	}
	want := [][]string{
		{"model", "to the server", "in its database", "in the services behind",
			"else in the server", "from the server", "response",
			"more than go-goroutine", "of it in its database", "of it in the services behind",
			"of it else in the server"},
		{"go-goroutine", "60.0 µs", "240 µs", "100 µs", "30.0 µs", "70.0 µs", "500 µs", "–", "–",
			"–", "–"},
		{"java-thread", "60.0 µs", "290 µs", "100 µs", "580 µs", "70.0 µs", "1.10 ms", "600 µs",
			"50.0 µs", "0 µs", "550 µs"},
	}
	for i, row := range append([][]string{parts.Head}, parts.Rows...) {
		if got, want := plainSpaces(strings.Join(row, " | ")), strings.Join(want[i],
			" | "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
