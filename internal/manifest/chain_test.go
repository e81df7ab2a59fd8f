package manifest

import (
	"strings"
	"testing"
)

// ofChains is an experiment over the length of a chain, and one point of it with many clients.
const ofChains = `title    = "Chains"
source   = "a paper"
question = "What does a hop cost?"
expect   = "a little"
setup    = ["a machine"]
service  = "images"
models   = ["go-goroutine", "node-loop"]
baseline = "go-goroutine"
metrics  = ["response-p50", "hop"]

[load]
shape       = "closed"
connections = 1
size        = "17 kB"
ask         = "image"

[sweep]
over   = "chain"
label  = "services"
values = [1, 8]

[[point]]
name        = "many"
connections = 64
chain       = 4
models      = ["go-goroutine"]

[[point]]
name     = "cold"
shape    = "cold"
requests = 10

[depth.quick]
rounds = 6
window = "1s"
values = []

[depth.normal]
rounds = 6
window = "1s"

[depth.full]
rounds = 6
window = "1s"
`

// chainTree has one model that can stand in a chain, and one that cannot unless can says so.
func chainTree(can bool) *Tree {
	run := map[bool][]string{true: {"images", "{port}", "{next}"}, false: {"images", "{port}"}}
	return &Tree{Services: []*Service{{Name: "echo", Protocol: "echo"},
		{Name: "images", Protocol: Images,
			Models: []*Model{{Name: "go-goroutine", Run: run[true]},
				{Name: "node-loop", Run: run[can]}}}}}
}

func TestChains(t *testing.T) {
	read := func(text string, can bool) (*Experiment, error) {
		return parseExperiment("experiments/chains/experiment.toml", []byte(text), chainTree(can))
	}
	e, err := read(ofChains, true)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Load{
		{Shape: Closed, Connections: 1, SizeBytes: 17_000, Pipeline: 1, Ask: AskImage, Chain: 1},
		{Shape: Closed, Connections: 1, SizeBytes: 17_000, Pipeline: 1, Ask: AskImage, Chain: 8},
		{Shape: Closed, Connections: 64, SizeBytes: 17_000, Pipeline: 1, Ask: AskImage, Chain: 4},
		{Shape: Cold, Connections: 1, SizeBytes: 17_000, Pipeline: 1, Requests: 10, Ask: AskImage},
	} {
		if got := e.Points[i].Load; got != want {
			t.Errorf("%s: got %+v, want %+v", e.Points[i].Name, got, want)
		}
		if got, want := e.Points[i].Load.Shows(Hop), want.Chain > 1; got != want {
			t.Errorf("%s shows %s: got %v, want %v", e.Points[i].Name, Hop, got, want)
		}
	}
	if _, err := read(strings.Replace(ofChains, "[1, 8]", "[1, 1.0]", 1), true); err == nil {
		t.Error("the same length twice: got no error")
	}
	alone := strings.Replace(strings.Replace(ofChains, `over   = "chain"`, `over = "connections"`,
		1), `"hop"`, `"database"`, 1)
	if _, err := read(alone, false); err != nil {
		t.Errorf("a model that cannot stand in a chain, where there is none: %v", err)
	}
	for _, test := range []struct{ old, new, want string }{
		{"", "",
			`20: point "chain = 8": services/images/node-loop cannot stand in a chain: its run does not use {next}`},
		{"[1, 8]", "[1, 17]", "17"},
		{"[1, 8]", "[0, 8]", "0"},
		{`["go-goroutine"]`, `["go-goroutine", "node-loop"]`,
			`point "many": services/images/node-loop cannot stand`},
		{`service  = "images"`, `service = "echo"`, "only an image service has a next one"},
		{`"closed"`, `"connect"`, `chain means nothing for shape "connect"`},
		{"setup    =", "profiles = [\"many\"]\nsetup    =", `profiles: "many" is a chain`},
	} {
		if _, err := read(strings.Replace(ofChains, test.old, test.new, 1), false); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.new, err, test.want)
		}
	}
}
