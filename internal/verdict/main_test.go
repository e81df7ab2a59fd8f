package verdict

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets the collector run less often: a simulated run allocates cells by the thousand,
// which are garbage when it is judged. With the usual 100 a third of the CPU is that of the
// collector. GOGC overrides it.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(m.Run())
}
