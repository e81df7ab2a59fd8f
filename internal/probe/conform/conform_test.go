package conform

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/probe/faulty"
	"interleave/internal/probe/serve"
)

func TestMain(m *testing.M) { faulty.Main(m) }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestConform(t *testing.T) {
	service := &manifest.Service{Name: "echo", Dir: t.TempDir()}
	if _, err := Conform(context.Background(), service, faulty.Server(t, "good"),
		Options{Patience: serve.Unhurried}); err == nil {
		t.Error("a service without transcripts passed")
	}
	conform := filepath.Join(service.Dir, "conform")
	if err := os.Mkdir(conform, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(conform, "a.txt"), "dial a\na echo \"X\"\n")
	write(t, filepath.Join(conform, "b.txt"), "dial a\na echo \"x\"\n")
	some := faulty.Server(t, "wrong")
	some.Model.Conform = []string{"a"}
	if outcomes, err := Conform(context.Background(), service, some,
		Options{Patience: serve.Unhurried}); err != nil || len(outcomes) != 3 ||
		outcomes[0].Check != "a" {
		t.Errorf("held to a only: got %v, %v; want a and the contract", outcomes, err)
	}
	some.Model.Conform = []string{"c"}
	if _, err := Conform(context.Background(), service, some,
		Options{Patience: serve.Unhurried}); err == nil ||
		!strings.Contains(err.Error(), `conform: no transcript "c"`) {
		t.Errorf("held to what is not there: got %v", err)
	}
	var told []string
	outcomes, err := Conform(context.Background(), service, faulty.Server(t, "wrong"),
		Options{Patience: serve.Unhurried,
			Done: func(o Outcome) { told = append(told, o.Check) }})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(told,
		", "), "a, b, contract: port in use, contract: killed"; got != want {
		t.Errorf("played %s, want %s", got, want)
	}
	for i, want := range []bool{true, false, true, true} {
		if passed := outcomes[i].Err == nil; passed != want {
			t.Errorf("%s: passed is %v: %v", outcomes[i].Check, passed, outcomes[i].Err)
		}
	}
}
