package manifest

import (
	"math"
	"strings"
	"testing"
)

// streaming is an experiment on streams, from one thousand to a million.
const streaming = `title    = "Streams"
source   = "a paper"
question = "What does it cost to have them?"
expect   = "memory"
setup    = ["a machine"]
service  = "stream"
models   = ["c-epoll", "go-goroutine"]
baseline = "go-goroutine"
metrics  = ["latency-p99", "memory-per-client", "kernel-memory-per-client"]

[load]
shape = "stream"
rate  = "2000/s"

[sweep]
over   = "connections"
label  = "open streams"
values = [1000, 1000000]
log    = true

[depth.quick]
rounds = 6
window = "1s"

[depth.normal]
rounds = 6
window = "1s"

[depth.full]
rounds = 6
window = "1s"
`

func TestStreamExperiment(t *testing.T) {
	tree := &Tree{Services: []*Service{{Name: "stream", Protocol: Stream},
		{Name: "echo", Protocol: "echo"}}}
	read := func(text string) (*Experiment, error) {
		return parseExperiment("experiments/streams/experiment.toml", []byte(text), tree)
	}
	e, err := read(streaming)
	if err != nil {
		t.Fatal(err)
	}
	want := Load{Shape: Streams, Connections: 1_000_000, Rate: 2000, Pipeline: 1}
	if got := e.Points[1].Load; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if e.Asked || !e.Quick.Has(Point{Name: "named", X: math.NaN()}) {
		t.Errorf("only when named: %v, depth quick %+v; want neither", e.Asked, e.Quick)
	}
	e, err = read("only_when_named = true\n" + strings.Replace(streaming, "[depth.normal]",
		"points = []\n[depth.normal]", 1))
	if err != nil || !e.Asked || e.Quick.Has(Point{Name: "named", X: math.NaN()}) ||
		!e.Normal.Has(Point{Name: "named", X: math.NaN()}) {
		t.Errorf(
			"got %v, depth quick %+v, %v; want it only when named, and no named point at quick",
			e.Asked, e.Quick, err)
	}
	for _, test := range []struct{ old, new, want string }{
		{`rate  = "2000/s"`, "",
			"the load of the sweep has no rate: expected how many are opened in a second"},
		{`"2000/s"`, `"2000/s"` + "\nsize = \"16 B\"", `size: means nothing for shape "stream"`},
		{`"2000/s"`, `"2000/s"` + "\ngaps = \"constant\"",
			`gaps: means nothing for shape "stream"`},
		{`service  = "stream"`, `service  = "echo"`,
			`shape "stream" and the protocol "echo" do not go together`},
		{"shape = \"stream\"\nrate  = \"2000/s\"",
			"shape = \"idle\"\nmembers = 2\ninterval = \"1s\"", "do not go together"},
		{`"latency-p99", `, `"latency-jitter", "cpu-per-request", "deliveries", `,
			"deliveries needs a point at which"},
		{"1000000]", "2000000]", "from 1 to 1048576"},
	} {
		_, err := read(strings.Replace(streaming, test.old, test.new, 1))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.new, err, test.want)
		}
	}
}
