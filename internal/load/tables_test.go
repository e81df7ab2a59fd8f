package load

import (
	"os"
	"strings"
	"testing"

	"interleave/internal/manifest"
)

// TestTables has more streams than one table of descriptors holds, on one core.
func TestTables(t *testing.T) {
	t.Parallel()
	const n = 400
	s := streamServer{}
	p := streamPlan(listen(t, s.serve), n)
	p.CPUs = []int{0}
	r := runCommand(t, p, "sh", "-c", `ulimit -n 128 && exec "$0" load`, os.Args[0])
	noErrors(t, r)
	seen := of(r)
	if got := seen.Service.Count(); got != n {
		t.Errorf("%d streams were greeted, want %d", got, n)
	}
	if got := int64(seen.Latency.Count()); got != seen.Offered || got < n {
		t.Errorf("got %d latenesses of %d texts due, want one each, of about %d", got, seen.Offered,
			2*n)
	}

	// Others do not say that they could.
	p.Load = manifest.Load{Shape: manifest.Closed, Connections: n, SizeBytes: 16}
	p.Protocol = "echo"
	e, err := Start(t.Context(), []string{"sh", "-c", `ulimit -n 128 && exec "$0" load`,
		os.Args[0]}, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Kill()
	switch ev, err := e.Next(); {
	case err != nil:
		t.Fatal(err)
	case ev.At != Failed || !strings.Contains(ev.Error, "ulimit -n"):
		t.Errorf("got %s %q, want the command that raises the limit", ev.At, ev.Error)
	}
}
