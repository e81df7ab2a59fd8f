package probe

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/netns"
)

// hostProgram builds testdata/host once.
var hostProgram = sync.OnceValues(func() (string, error) {
	program := filepath.Join(filepath.Dir(badProgram), "host")
	out, err := exec.Command("go", "build", "-o", program, "testdata/host/main.go").CombinedOutput()
	if err != nil {
		return "", &BuildError{Model: &manifest.Model{}, Output: string(out), Err: err}
	}
	return program, nil
})

// behind is a host behind a tap with one fault.
func behind(t *testing.T, fault string) *Built {
	t.Helper()
	if err := netns.Able(manifest.Tap); err != nil {
		t.Skip("SKIP:", err)
	}
	program, err := hostProgram()
	if err != nil {
		t.Fatal(err)
	}
	return &Built{
		Model: &manifest.Model{Name: fault, Service: "transfer", Dir: t.TempDir(),
			Ready: manifest.ReadyLine, Hosts: manifest.Tap,
			Run: []string{program, fault, "{device}", "{address}", "{peer}", "{port}"}},
		Env: os.Environ(),
		Out: t.TempDir(),
	}
}

func needPing(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ping"); err != nil {
		t.Skip("SKIP: ping: apt-get install iputils-ping")
	}
}

// TestTap has clients ping the host behind a tap and connect to both of its ports.
func TestTap(t *testing.T) {
	needPing(t)
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
		err = playFor(t.Context(), transcript, func() *Built { return behind(t, c.fault) }, c.want)
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
		if err := check.Play(t.Context(), behind(t, "good"), Unhurried); err != nil {
			t.Errorf("%s: %v", check.Name, err)
		}
	}
	if err := portInUse(t.Context(), behind(t, "not-behind"), 1); err == nil {
		t.Error("in use: a server that is not behind the tap passed")
	}
	if err := portInUse(t.Context(), behind(t, "wrong-status"), Unhurried); err == nil ||
		!strings.Contains(err.Error(), "want exit status 1") {
		t.Errorf("in use: got %v, want that the status is wrong", err)
	}
	wordy := behind(t, "good")
	link := filepath.Join(t.TempDir(), "wordy")
	if err := os.Symlink(wordy.Model.Run[0], link); err != nil {
		t.Fatal(err)
	}
	wordy.Model.Run[0] = link
	if err := wrongWords(t.Context(), wordy, Unhurried); err == nil ||
		!strings.Contains(err.Error(), "one line") {
		t.Errorf("usage: got %v, want that nothing was said", err)
	}
}

// TestStartBehindTap has servers that are not what they say, and looks for what is left
// of their hosts.
func TestStartBehindTap(t *testing.T) {
	for _, c := range []struct {
		fault string
		ready manifest.Ready
		cause Cause
		text  string
	}{
		{"not-behind", manifest.ReadyLine, TapOwner, "is not behind the tap"},
		{"not-behind", manifest.ReadyConnect, NeverReady, "did not attach to the tap"},
		{"silent", manifest.ReadyLine, NeverReady, "did not say ready"},
		{"silent", manifest.ReadyConnect, "<nil>", ""},
	} {
		built := behind(t, c.fault)
		built.Model.Ready = c.ready
		s, err := startBehind(t, built, c.cause, c.text)
		if got := causeOf(err); got != c.cause ||
			err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s, %s: got %v, want %s", c.fault, c.ready, err, c.cause)
		}
		if err == nil {
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(s.Net.Path("load")); err == nil {
				t.Errorf("%s is left", s.Net.Path("load"))
			}
		}
	}
}

// startBehind starts a server that is to fail in some way, or is not.
func startBehind(t *testing.T, built *Built, cause Cause, text string) (*Server, error) {
	if cause != NeverReady {
		return Start(t.Context(), built, unhurried)
	}
	return startFor(t.Context(), built, StartOptions{}, time.Second, text)
}

// TestKernelsHost is a server of the kernel's stack in a namespace of its own.
func TestKernelsHost(t *testing.T) {
	if err := netns.Able(manifest.NetNS); err != nil {
		t.Skip("SKIP:", err)
	}
	needPing(t)
	built := bad(t, "good")
	built.Model.Hosts = manifest.NetNS
	transcript, err := ParseTranscript("test.txt",
		[]byte("ping 56\nping 8000\ndial a\na echo pattern 1MiB\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := transcript.Play(t.Context(), built, StdoutPipe, Unhurried); err != nil {
		t.Error(err)
	}
	for _, check := range contract(&manifest.Service{Name: "echo"}) {
		if err := check.Play(context.Background(), built, Unhurried); err != nil {
			t.Errorf("%s: %v", check.Name, err)
		}
	}
}

// TestEnvironment is what a server is told besides its command line.
func TestEnvironment(t *testing.T) {
	s := &Server{Built: &Built{Out: "here", Env: []string{"A=b"},
		Model: &manifest.Model{Env: map[string]string{"TABLES": "{out}/{port}"},
			Stack: manifest.GoNet}}, Port: 7}
	if got, want := strings.Join(s.environ(), " "), "A=b TABLES=here/7"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := netns.Able(manifest.Tap); err != nil {
		t.Skip("SKIP:", err)
	}
	pair, err := netns.New("test", manifest.Tap)
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	s.Net = pair
	if got, want := s.environ(), "GONET_TAP=lab0 10.77.0.2/24 10.77.0.1"; got[len(got)-1] != want {
		t.Errorf("got %q, want %s at the end", got, want)
	}
}
