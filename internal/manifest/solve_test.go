package manifest

import (
	"strings"
	"testing"
)

// solving is an experiment on a service of programs.
const solving = `title    = "Tasks"
source   = "a paper"
question = "What does a task cost?"
expect   = "little"
setup    = ["a machine"]
service  = "forkjoin"
models   = ["cpp-serial", "cpp-tbb"]
baseline = "cpp-serial"
metrics  = ["time"]

[load]
shape   = "solve"
workers = 2
kernel  = "fib"
problem = 30
answer  = "832040"

[[point]]
name = "fib"

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

func TestSolvingExperiment(t *testing.T) {
	tree := &Tree{Services: []*Service{{Name: "forkjoin", Protocol: Program},
		{Name: "echo", Protocol: "echo"}}}
	e, err := parseExperiment("experiments/tasks/experiment.toml", []byte(solving), tree)
	if err != nil {
		t.Fatal(err)
	}
	want := Load{Shape: Solve, Pipeline: 1, Kernel: "fib", Problem: 30, Workers: 2,
		Answer: "832040"}
	if got := e.Points[0].Load; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"no answer", "answer  = \"832040\"\n", "", "the load of point \"fib\" has no answer"},
		{"no kernel", "kernel  = \"fib\"\n", "", "has no kernel"},
		{"connections", "workers = 2", "workers = 2\nconnections = 3",
			"means nothing for shape \"solve\""},
		{"a server's load", `service  = "forkjoin"`, `service  = "echo"`, "do not go together"},
		{"time of a server",
			"shape   = \"solve\"\nworkers = 2\nkernel  = \"fib\"\nproblem = 30\nanswer  = " +
				"\"832040\"",
			"shape = \"closed\"\nconnections = 1\nsize = \"1 B\"",
			"time needs a point of shape \"solve\""},
		{"no workers", "workers = 2", "workers = 0", "workers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(solving, c.old, c.new, 1)
			if text == solving {
				t.Fatalf("%q is not in the experiment", c.old)
			}
			if _, err := parseExperiment("experiments/tasks/experiment.toml", []byte(text),
				tree); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestModelFitsItsService(t *testing.T) {
	server := &Model{Name: "c-loop", Run: []string{"{out}/echo", "{port}"}}
	program := &Model{Name: "cpp-serial", Run: []string{"{out}/forkjoin", "{kernel}"}}
	for _, c := range []struct {
		protocol string
		model    *Model
		want     string
	}{
		{"echo", server, ""}, {Program, program, ""}, {"", program, ""},
		{"echo", program, "{port}"}, {Program, server, "{kernel}"},
	} {
		err := (&Service{Name: "s", Protocol: c.protocol}).adopt(c.model, "model.toml")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s and %v: got %v, want %q", c.protocol, c.model.Run, err, c.want)
		}
	}
}
