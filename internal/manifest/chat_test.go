package manifest

import (
	"strings"
	"testing"
	"time"
)

// chatting is an experiment on chats in all their shapes.
const chatting = `title    = "Rooms"
source   = "a paper"
question = "Who hears whom?"
expect   = "everybody"
setup    = ["a machine"]
service  = "chat"
models   = ["c-epoll", "go-goroutine"]
baseline = "c-epoll"
metrics  = ["deliveries", "cpu-per-delivery", "ack-p99", "latency-p50", "memory-per-client"]

[load]
shape       = "fanout"
connections = 64
members     = "all"
senders     = 8
size        = "64 B"
pipeline    = 8

[[point]]
name = "full"

[[point]]
name  = "seldom"
shape = "open"
rate  = "100/s"

[[point]]
name     = "ingest"
shape    = "paced"
bits     = "1 Mbit/s"
members  = 1
size     = "106 B"
pipeline = 10

[[point]]
name     = "sink"
service  = "sink"
shape    = "paced"
bits     = "1 Mbit/s"
members  = "none"
size     = "1250 B"
pipeline = 1
output   = "file"

[[point]]
name        = "idle"
shape       = "idle"
connections = 10000
members     = 50
interval    = "10s"

[depth.quick]
rounds = 6
window = "500ms"

[depth.normal]
rounds = 6
window = "500ms"

[depth.full]
rounds = 6
window = "500ms"
`

func TestChatExperiment(t *testing.T) {
	tree := &Tree{Services: []*Service{{Name: "chat", Protocol: Chat},
		{Name: "sink", Protocol: "sink"}, {Name: "echo", Protocol: "echo"}}}
	read := func(text string) (*Experiment, error) {
		return parseExperiment("experiments/rooms/experiment.toml", []byte(text), tree)
	}
	e, err := read(chatting)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Load{
		"full": {Shape: Fanout, Connections: 64, SizeBytes: 64, Pipeline: 8, Members: AllMembers,
			Senders: 8},
		"seldom": {Shape: Open, Connections: 64, SizeBytes: 64, Pipeline: 1, Members: AllMembers,
			Senders: 8, Rate: 100, Gaps: "constant"},
		"ingest": {Shape: Paced, Connections: 64, SizeBytes: 106, Pipeline: 10, Members: 1,
			Bits: 1e6},
		"sink": {Shape: Paced, Connections: 64, SizeBytes: 1250, Pipeline: 1, Bits: 1e6,
			Output: OutputFile},
		"idle": {Shape: Idle, Connections: 10_000, Pipeline: 1, Members: 50,
			Interval: 10 * time.Second},
	}
	for name, load := range want {
		if p, ok := e.Point(name); !ok || p.Load != load {
			t.Errorf("%s: got %+v, want %+v", name, p.Load, load)
		}
	}
	if got := want["ingest"].BurstBytes(); got != 1250 {
		t.Errorf("a burst has %d bytes, want ten lines of 125", got)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"no members", `members     = "all"` + "\n", "",
			"members is missing: how many clients share a room"},
		{"members in words", `"all"`, `"most"`, "members: "},
		{"alone", `members     = "all"`, "members     = 1", "a room of one delivers nothing"},
		{"more senders than members", "senders     = 8", "senders     = 65",
			"65 senders are more than a room's members"},
		{"a short text", `"64 B"`, `"16 B"`, "has 32 to 400 bytes, got 16"},
		{"a long text", `"64 B"`, `"500 B"`, "has 32 to 400 bytes, got 500"},
		{"an echo of it", `name = "full"`, "name = \"full\"\nservice = \"echo\"",
			`shape "fanout" is for chats, and echo is none`},
		{"rooms of an echo", "rate  = \"100/s\"", "rate = \"100/s\"\nservice = \"echo\"",
			"only a chat has rooms"},
		{"a closed chat", `name = "full"`, "name = \"full\"\nshape = \"closed\"",
			"expected fanout, open, paced or idle"},
		{"rooms of a sink", "members  = \"none\"\n", "members = 1\n", "only a chat has rooms"},
		{"the output of a chat", "size     = \"106 B\"\n", "size = \"106 B\"\noutput = \"file\"\n",
			"only a sink writes"},
		{"another output", `"file"`, `"tape"`, `output: "tape" is not known`},
		{"idle without interval", `interval    = "10s"`, "", "has no interval"},
		{"acknowledgements at no rate", "shape = \"open\"\nrate  = \"100/s\"\n", "",
			`ack-p99 needs a point of shape "open" with members`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(chatting, c.old, c.new, 1)
			if text == chatting {
				t.Fatalf("%q is not in the experiment", c.old)
			}
			if _, err := read(text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestSpeakers(t *testing.T) {
	for _, c := range []struct{ connections, members, senders, want int }{
		{64, 0, 0, 64}, {64, AllMembers, 0, 64}, {64, AllMembers, 8, 8}, {20, 5, 2, 8},
		{21, 5, 2, 9}, {23, 5, 2, 10}, {3, 5, 8, 3},
	} {
		if got := (Load{Connections: c.connections, Members: c.members,
			Senders: c.senders}).Speakers(); got != c.want {
			t.Errorf("%+v: got %d", c, got)
		}
	}
}
