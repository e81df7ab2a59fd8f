package play

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/netns"
	"interleave/internal/probe/faulty"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/toolchain"
)

// TestTap has clients ping the host behind a tap and connect to both of its ports.
func TestTap(t *testing.T) {
	faulty.NeedPing(t)
	for _, c := range []struct{ fault, steps, want string }{
		{"good", "ping 0\nping 56 times 20\nping 1472 times 3\nping 8000\n", ""},
		{"good", "dial a\na send pattern 1MiB\na shut\na eof\n", ""},
		{"good", "dial c*20 port+1\nc recv rising 100KiB\nc reset\nserver terminates\n", ""},
		{"wrong", "dial a port+1\na recv rising 5000 by 1000\n", "after 4000 right bytes"},
		{"deaf", "limit 30s\nping 56 times 2\n", "0 of 2 echo requests of 56 bytes were answered"},
		{"deaf", "limit 1s\nping 56 times 2000\n", "ping does not end"},
	} {
		transcript, err := ParseTranscript("test.txt", []byte(c.steps))
		if err != nil {
			t.Fatal(err)
		}
		err = playFor(t.Context(), transcript,
			func() *toolchain.Built { return faulty.Host(t, c.fault) }, c.want)
		if c.want == "" && err != nil || c.want != "" && (err == nil ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, %q: got %v, want %q", c.fault, c.steps, err, c.want)
		}
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

// TestKernelsHost is a server of the kernel's stack in a namespace of its own.
func TestKernelsHost(t *testing.T) {
	if err := netns.Able(manifest.NetNS); err != nil {
		t.Skip("SKIP:", err)
	}
	faulty.NeedPing(t)
	built := faulty.Server(t, "good")
	built.Model.Hosts = manifest.NetNS
	transcript, err := ParseTranscript("test.txt",
		[]byte("ping 56\nping 8000\ndial a\na echo pattern 1MiB\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := transcript.Play(t.Context(), built, StdoutPipe, serve.Unhurried); err != nil {
		t.Error(err)
	}
	for _, check := range contract(&manifest.Service{Name: "echo"}) {
		if err := check.Play(context.Background(), built, serve.Unhurried); err != nil {
			t.Errorf("%s: %v", check.Name, err)
		}
	}
}
