package conform

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/netns"
	"interleave/internal/probe/faulty"
	"interleave/internal/probe/play"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/transcript"
)

func TestContract(t *testing.T) {
	for _, check := range contract(&manifest.Service{Name: "echo"}) {
		err := check.Play(context.Background(), faulty.Server(t, "good"), serve.Unhurried)
		if err != nil {
			t.Errorf("%s: %v", check.Name, err)
		}
	}
	err := portInUse(context.Background(), faulty.Server(t, "dies-early"), serve.Unhurried)
	if err == nil || !strings.Contains(err.Error(), "want exit status 1") {
		t.Errorf("port in use: got %v, want that the status is wrong", err)
	}
	if err := portInUse(context.Background(), faulty.Server(t, "ready-without-listening"),
		serve.Unhurried); err == nil {
		t.Error("port in use: a server that does not notice passed")
	}
}

func TestContractOfTaps(t *testing.T) {
	service := &manifest.Service{Name: "transfer", Hosts: manifest.Tap, Protocol: manifest.Transfer}
	checks := contract(service)
	if len(checks) != 3 {
		t.Fatalf("%d checks, want that a tap is in use, a server is killed, words are wrong",
			len(checks))
	}
	for _, check := range checks {
		if err := check.Play(t.Context(), faulty.Host(t, "good"), serve.Unhurried); err != nil {
			t.Errorf("%s: %v", check.Name, err)
		}
	}
	if err := portInUse(t.Context(), faulty.Host(t, "not-behind"), 1); err == nil {
		t.Error("in use: a server that is not behind the tap passed")
	}
	if err := portInUse(t.Context(), faulty.Host(t, "wrong-status"), serve.Unhurried); err == nil ||
		!strings.Contains(err.Error(), "want exit status 1") {
		t.Errorf("in use: got %v, want that the status is wrong", err)
	}
	wordy := faulty.Host(t, "good")
	link := filepath.Join(t.TempDir(), "wordy")
	if err := os.Symlink(wordy.Model.Run[0], link); err != nil {
		t.Fatal(err)
	}
	wordy.Model.Run[0] = link
	if err := wrongWords(t.Context(), wordy, serve.Unhurried); err == nil ||
		!strings.Contains(err.Error(), "one line") {
		t.Errorf("usage: got %v, want that nothing was said", err)
	}
}

// TestKernelsHost has a server on the kernel's stack in a network namespace of its own.
func TestKernelsHost(t *testing.T) {
	if err := netns.Able(manifest.NetNS); err != nil {
		t.Skip("SKIP:", err)
	}
	faulty.NeedPing(t)
	built := faulty.Server(t, "good")
	built.Model.Hosts = manifest.NetNS
	script, err := transcript.Parse("test.txt",
		[]byte("ping 56\nping 8000\ndial a\na echo pattern 1MiB\n"), Vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	err = play.Run(t.Context(), script, built, transcript.StdoutPipe, serve.Unhurried)
	if err != nil {
		t.Error(err)
	}
	for _, check := range contract(&manifest.Service{Name: "echo"}) {
		if err := check.Play(context.Background(), built, serve.Unhurried); err != nil {
			t.Errorf("%s: %v", check.Name, err)
		}
	}
}
