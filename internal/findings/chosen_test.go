package findings

import (
	"slices"
	"testing"

	"interleave/internal/manifest"
)

// answer has so many models told apart for one need of a service.
func answer(service, need string, models ...string) Choice {
	c := Choice{Service: service, Need: need, Metric: manifest.Throughput,
		Experiment: "an-experiment", Point: "a point", Condition: manifest.Own}
	for i, m := range models {
		t := 1 + float64(i)
		c.Models = append(c.Models, Place{Model: m, Group: Behind, Times: Span{t, t, t},
			Value: Span{t, t, t}})
	}
	return c
}

// TestChoose takes the services of which another run tells more, whole, and leaves the others.
func TestChoose(t *testing.T) {
	f := &Figures{Choices: []Choice{answer("chat", "CPU", "a", "b"),
		answer("echo", "CPU", "a", "b"), answer("sink", "CPU", "a", "b", "c")}}
	other := &Figures{Run: "20260101T000000Z", Choices: []Choice{
		answer("chat", "throughput", "a", "b", "c"), answer("chat", "CPU", "a", "b"),
		answer("images", "CPU", "a", "b"), answer("sink", "CPU", "a", "b")}}
	if got, want := f.Choose(other), []string{"chat", "images"}; !slices.Equal(got, want) {
		t.Errorf("taken: %v, want %v", got, want)
	}
	var got []string
	for _, c := range f.Choices {
		got = append(got, c.Service+" "+c.Need+" "+c.Run)
	}
	want := []string{"chat throughput 20260101T000000Z", "chat CPU 20260101T000000Z", "echo CPU ",
		"images CPU 20260101T000000Z", "sink CPU "}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if other.Choices[0].Run != "" {
		t.Error("the other run's figures were changed")
	}

	// A new run of the claims keeps what tells more than it does.
	later := &Figures{Choices: []Choice{answer("chat", "CPU", "a", "b"),
		answer("images", "CPU", "a", "b", "c")}}
	later.KeepChosen(f)
	got = nil
	for _, c := range later.Choices {
		got = append(got, c.Service+" "+c.Need+" "+c.Run)
	}
	want = []string{"chat throughput 20260101T000000Z", "chat CPU 20260101T000000Z", "images CPU "}
	if !slices.Equal(got, want) {
		t.Errorf("afterwards: got %q, want %q", got, want)
	}
}

// TestChoosingNothing is not an error of its own: a run may tell less everywhere.
func TestChoosingNothing(t *testing.T) {
	f := &Figures{Choices: []Choice{answer("chat", "CPU", "a", "b")}}
	if got := f.Choose(&Figures{Choices: []Choice{answer("chat", "CPU", "a", "b")}}); got != nil {
		t.Errorf("taken: %v of a run that tells no more", got)
	}
	if f.Choices[0].Run != "" {
		t.Error("the answer is called that of another run")
	}
}
