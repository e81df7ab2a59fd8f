package serve

import (
	"os"
	"strings"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/netns"
	"interleave/internal/probe/faulty"
	"interleave/internal/probe/toolchain"
)

// TestStartBehindTap starts servers that are not what they say, and checks that their hosts are
// removed.
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
		built := faulty.Host(t, c.fault)
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

// startBehind starts a server that is expected to fail in some way, or not at all.
func startBehind(t *testing.T, built *toolchain.Built, cause Cause, text string) (*Server, error) {
	if cause != NeverReady {
		return Start(t.Context(), built, unhurried)
	}
	return startFor(t.Context(), built, StartOptions{}, time.Second, text)
}

// TestEnvironment checks what a server is told besides its command line.
func TestEnvironment(t *testing.T) {
	s := &Server{Built: &toolchain.Built{Out: "here", Env: []string{"A=b"},
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
