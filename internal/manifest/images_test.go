package manifest

import (
	"strings"
	"testing"
)

// ofImages is an experiment on an image service: warm by size, and cold.
const ofImages = `title    = "Images"
source   = "a paper"
question = "What takes the time?"
expect   = "the start"
setup    = ["a machine"]
service  = "images"
models   = ["java-thread", "go-goroutine"]
baseline = "go-goroutine"
metrics  = ["response-p50", "in-server", "first-100"]

[load]
shape       = "closed"
connections = 64
ask         = "image"

[sweep]
over   = "size"
label  = "bytes"
values = ["17 kB", "128 kB"]

[[point]]
name     = "cold"
shape    = "cold"
size     = "17 kB"
requests = 1000

[[point]]
name  = "unchanged"
size  = "17 kB"
ask   = "unchanged"
reads = 20

[depth.quick]
rounds   = 6
window   = "1s"
requests = "none"

[depth.normal]
rounds = 6
window = "1s"

[depth.full]
rounds = 6
window = "1s"
`

func TestImageExperiment(t *testing.T) {
	tree := &Tree{Services: []*Service{{Name: "images", Protocol: Images},
		{Name: "echo", Protocol: "echo"}}}
	read := func(text string) (*Experiment, error) {
		return parseExperiment("experiments/images/experiment.toml", []byte(text), tree)
	}
	e, err := read(ofImages)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Load{
		{Shape: Closed, Connections: 64, SizeBytes: 17_000, Pipeline: 1, Ask: AskImage},
		{Shape: Closed, Connections: 64, SizeBytes: 128_000, Pipeline: 1, Ask: AskImage},
		{Shape: Cold, Connections: 1, SizeBytes: 17_000, Requests: 1000, Pipeline: 1,
			Ask: AskImage},
		{Shape: Closed, Connections: 64, SizeBytes: 17_000, Pipeline: 1, Ask: AskUnchanged,
			Reads: 20},
	} {
		if got := e.Points[i].Load; got != want {
			t.Errorf("%s: got %+v, want %+v", e.Points[i].Name, got, want)
		}
	}
	if without, err := read(strings.Replace(ofImages, "[depth.quick]\n",
		"[depth.quick]\nvalues = []\n", 1)); err != nil {
		t.Error(err)
	} else if d := without.Quick; d.Has(e.Points[0]) || !d.Has(e.Points[2]) ||
		!without.Normal.Has(e.Points[0]) {
		t.Errorf("values = [] leaves the sweep out at that depth, and nothing else: %+v", d)
	}
	for _, test := range []struct{ old, new, want string }{
		{`ask         = "image"`, "", "ask is missing"},
		{`ask         = "image"`, `ask = "imag"`, `did you mean "image"?`},
		{`reads = 20`, "", "expected reads of 2 at least"},
		{`"17 kB", "128 kB"`, `"17 kB", "1 MB"`, "an image has 10000 to 150000 bytes"},
		{"requests = 1000\n", "", "requests is missing: how many a cold server is asked"},
		{"requests = 1000\n", "requests = 100000\n",
			"100000 images of 17000 bytes are left on the disk"},
		{"requests = 1000\n", "requests = 1000\nconnections = 2\n",
			`connections: means nothing for shape "cold"`},
		{`shape       = "closed"`, `shape = "connect"`, `ask: means nothing for shape "connect"`},
		{`service  = "images"`, `service  = "echo"`, "only an image service is asked for images"},
		{`"first-100"]`, `"deliveries"]`, "deliveries needs"},
		{`connections = 64`, "connections = 64\npipeline = 4", "waits for each answer"},
	} {
		_, err := read(strings.Replace(ofImages, test.old, test.new, 1))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.new, err, test.want)
		}
	}
	for _, test := range []struct {
		load   Load
		metric Metric
		shows  bool
	}{
		{e.Points[0].Load, ResponseP50, true}, {e.Points[0].Load, First10, false},
		{e.Points[2].Load, First10, true},
		{e.Points[2].Load, Throughput, true}, {Load{Shape: Closed, Connections: 1, SizeBytes: 16},
			Database, false}, {e.Points[0].Load, LatencyP50, false},
	} {
		if got := test.load.Shows(test.metric); got != test.shows {
			t.Errorf("%s of %+v: got %v", test.metric, test.load, got)
		}
	}
}
