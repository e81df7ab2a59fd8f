package figure

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// drawing is a figure that can be drawn at a width.
type drawing interface{ SVG(Width) string }

// words are the thirteen models and their concurrency models.
var words = map[string]string{
	"c-epoll": "loop", "c-epoll-percore": "prefork", "c-libev": "loop", "c-process": "process",
	"c-thread": "thread",
	"c-uring":  "prefork", "erlang-actor": "actor", "go-goroutine": "goroutine",
	"java-thread":  "thread",
	"java-virtual": "virtual", "node-loop": "loop", "node-prefork": "prefork",
	"rust-async": "async",
}

var names = []string{
	"c-epoll", "c-epoll-percore", "c-libev", "c-process", "c-thread", "c-uring", "erlang-actor",
	"go-goroutine",
	"java-thread", "java-virtual", "node-loop", "node-prefork", "rust-async",
}

func seeded() *rand.Rand { return rand.New(rand.NewPCG(7, 7)) }

func around(r *rand.Rand, n int, center, spread float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = center * math.Exp(spread*r.NormFloat64())
	}
	return v
}

func intervals(r *rand.Rand) Intervals {
	none := math.NaN()
	p := Intervals{
		Frame: Frame{ID: "P1", Title: "P1: ratio of mean CPU",
			Desc: "At all points the interval lies below 1."},
		Axis: "mean CPU, c-process by go-goroutine", Log: true, Reference: 1,
		Less: "c-process uses less", More: "uses more", LabelHead: "connections",
		NoiseLegend: "go-goroutine against itself",
	}
	for i, n := range []int{1, 4, 16, 64} {
		m := .45 + .04*float64(i)
		p.Rows = append(p.Rows, IntervalRow{
			Label: fmt.Sprint(n), Note: "0.451 (0.440–0.465)", Dots: around(r, 12, m, .04),
			Estimate: m, Low: m * .96, High: m * 1.04, InnerLow: m * .97, InnerHigh: m * 1.03,
			Published: none, Accept: [2]float64{0, .95}, Noise: [2]float64{.98, 1.03},
		})
	}
	return p
}

func magnitude(r *rand.Rand) Intervals {
	return Intervals{
		Frame: Frame{ID: "E2", Title: "E2: libev by node",
			Desc: "The interval lies outside the region."},
		Axis: "throughput, c-libev by node-loop", Log: true, Reference: 1,
		Less: "c-libev answers less", More: "answers more",
		Rows: []IntervalRow{
			{Label: "echo", Note: "1.80 (1.72–1.91)", Dots: around(r, 12, 1.8, .05), Estimate: 1.8,
				Low: 1.72, High: 1.91,
				InnerLow: 1.74, InnerHigh: 1.89, Published: 3.88, Accept: [2]float64{3.1, 4.85},
				Noise: [2]float64{.97, 1.01}},
			{Label: "a long name of a point", Note: "1.8 (0–∞)", Dots: around(r, 2, 1.8, .05),
				Estimate: 1.8, Low: 0, High: math.Inf(1),
				Published: 3.88, Accept: [2]float64{3.1, 4.85}, Noise: [2]float64{math.NaN(),
					math.NaN()}},
		},
	}
}

func sweep(r *rand.Rand, styles map[string]Style) Sweep {
	p := Sweep{
		Frame: Frame{ID: "cpu", Title: "Mean CPU over connections", Desc: "All models grow."},
		XName: "open connections", YName: "mean CPU (% of a core)", YUnit: "% of a core",
		LogX: true,
	}
	for i, name := range names {
		s := Series{Name: name, Style: styles[name], Strong: name == "c-process" ||
			name == "go-goroutine"}
		for _, x := range []float64{1, 2, 4, 8, 16, 32, 64} {
			y := (1 + float64(i%7)*.4) * math.Pow(x,
				.6+.02*float64(i)) * math.Exp(.05*r.NormFloat64())
			if name == "c-uring" && x == 8 {
				continue // a point that was voided
			}
			s.Points = append(s.Points, SweepPoint{X: x, Y: y, Low: y * .93, High: y * 1.07})
		}
		p.Series = append(p.Series, s)
	}
	p.Published = []Series{{Name: "published: Go", Style: styles["go-goroutine"],
		Points: []SweepPoint{{X: 1, Y: 2}, {X: 16, Y: 18}, {X: 64, Y: 40}}}}
	return p
}

func strip(r *rand.Rand, styles map[string]Style) Strip {
	p := Strip{Frame: Frame{ID: "strip", Title: "Throughput", Desc: "All models."},
		Axis: "throughput (requests/s)", Unit: "requests/s"}
	for i, name := range names {
		m := 223e3 - 9e3*float64(i)
		p.Rows = append(p.Rows, StripRow{Name: name, Style: styles[name],
			Note: "223 k (220 k–226 k)", Dots: around(r, 12, m, .03),
			Centre: m, Low: m * .98, High: m * 1.02, Strong: name == "c-libev"})
	}
	p.Rows = append(p.Rows, StripRow{Name: "c-epoll again", Style: styles["c-epoll"],
		Note: "222 k (219 k–225 k)", Dots: around(r, 12, 222e3, .03),
		Centre: 222e3, Low: 219e3, High: 225e3, Twin: true})
	return p
}

func quantiles(styles map[string]Style) Quantiles {
	p := Quantiles{Frame: Frame{ID: "latency", Title: "Latency", Desc: "Tails differ."},
		YName: "latency from the due time"}
	for i, name := range names {
		s := QuantileSeries{Name: name, Style: styles[name], Strong: name == "erlang-actor"}
		for _, q := range Shares(500_000) {
			s.Points = append(s.Points,
				[2]float64{q, (20 + 2*float64(i)) * math.Pow(1-q, -.25-.02*float64(i))})
		}
		p.Series = append(p.Series, s)
	}
	return p
}

func series(r *rand.Rand, styles map[string]Style) TimeSeries {
	p := TimeSeries{Frame: Frame{ID: "time", Title: "CPU over time", Desc: "Steady."},
		YName: "CPU (% of a core)", Style: styles["c-process"], Span: [2]float64{1, 6}}
	for i := range 65 {
		p.X = append(p.X, float64(i)/10)
		p.Y = append(p.Y, 12*math.Exp(.1*r.NormFloat64()))
	}
	return p
}

func parts(styles map[string]Style) Parts {
	p := Parts{Frame: Frame{ID: "parts", Title: "Where the time goes",
		Desc: "Most is in the server."}, Axis: "mean response time", Unit: "µs",
		Names: []string{"to the server", "in its database", "else in the server",
			"from the server"}}
	for i, name := range names {
		v := float64(i)
		p.Rows = append(p.Rows, PartsRow{Name: name, Style: styles[name],
			Parts: []float64{20, 60 + v, 30 + 9*v, 25}, Note: "183 µs",
			Strong: name == "java-thread"})
	}
	return p
}

func flame(styles map[string]Style) Flame {
	return Flame{Frame: Frame{ID: "flame", Title: "What the CPU was busy with",
		Desc: "Most in the database."}, Style: styles["go-goroutine"], Roots: []Call{
		{Name: "main.(*service).post", Share: .7, Calls: []Call{
			{Name: "database/sql.(*DB).QueryRowContext", Share: .45,
				Calls: []Call{{Name: "[native]", Share: .4}}}, {Name: "main.look", Share: .02},
			{Name: "json.<&>", Share: .2},
		}},
		{Name: "runtime.gcBgMarkWorker", Share: .2}, {Name: "narrow", Share: .001,
			Calls: []Call{{Name: "below", Share: .001}}},
	}}
}

func drawings() map[string]drawing {
	r := seeded()
	styles := StylesFor(words)
	return map[string]drawing{
		"intervals": intervals(r), "magnitude": magnitude(r), "sweep": sweep(r, styles),
		"strip":     strip(r, styles),
		"quantiles": quantiles(styles), "series": series(r, styles),
		"intervals-empty": Intervals{Frame: Frame{ID: "e"}, Log: true, Reference: 1},
		"sweep-empty":     Sweep{LogX: true, LogY: true},
		"rates":           rates(styles), "memory": memory(styles), "threads": threads(),
		"parts": parts(styles), "parts-empty": Parts{}, "flame": flame(styles),
		"flame-empty": Flame{},
		"strip-empty": Strip{}, "quantiles-empty": Quantiles{}, "series-empty": TimeSeries{},
	}
}

func TestGolden(t *testing.T) {
	for name, d := range drawings() {
		for suffix, w := range map[string]Width{"": Wide, "-narrow": Narrow} {
			got := []byte(d.SVG(w))
			file := filepath.Join("testdata", name+suffix+".svg")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs from what is drawn; look at it, then: go test "+
					"./internal/report/figure -update", file)
			}
		}
	}
}

// standalone makes a file of its own of a figure: with the styles inside.
func standalone(svg string) string {
	head, rest, found := strings.Cut(svg, "\n")
	if !found {
		return svg
	}
	return head + "\n<style>" + Styles + "</style>\n" + rest
}

func TestFiguresAreXML(t *testing.T) {
	for name, d := range drawings() {
		for _, w := range []Width{Wide, Narrow} {
			svg := standalone(d.SVG(w))
			dec := xml.NewDecoder(strings.NewReader(svg))
			ids := map[string]bool{}
			for {
				token, err := dec.Token()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				start, ok := token.(xml.StartElement)
				if !ok {
					continue
				}
				for _, a := range start.Attr {
					if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
						t.Errorf("%s: <%s %s=%q>", name, start.Name.Local, a.Name.Local, a.Value)
					}
					if a.Name.Local == "id" && ids[a.Value] {
						t.Errorf("%s: the id %q is there twice", name, a.Value)
					}
					if a.Name.Local == "id" {
						ids[a.Value] = true
					}
				}
			}
		}
	}
}
