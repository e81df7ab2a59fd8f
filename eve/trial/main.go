package trial

import (
	"os"
	"runtime/debug"
	"testing"
)

// Main runs the tests of a package that checks thousands of programs, most of which are garbage a
// moment later. With Go's usual 100 a quarter of their CPU is that of the collector. GOGC overrides
// it.
func Main(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(m.Run())
}
