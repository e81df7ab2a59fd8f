package servers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	chromium "interleave/internal/browser"
)

// meeting has functions with which programs of the tests wait for each other.
const meeting = `extern "C" "meet.h":
    fast meet: (bodies: int) int
    fast enter: () int
    fast leave: () int
    fast hold: (releases: int) int
    fast hold_still: () int
    fast say_holding: () int
    fast release: () int
    fast opened: () int
    fast returned: () int
`

func TestMain(m *testing.M) {
	if err := offerHeader(); err != nil {
		fmt.Fprintln(os.Stderr, "offering meet.h to the compiler:", err)
		os.Exit(2)
	}
	os.Exit(chromium.Main(m))
}

// offerHeader lets the compiler find meet.h.
func offerHeader() error {
	folder, err := filepath.Abs("../testdata/server")
	if err != nil {
		return err
	}
	if before := os.Getenv("CPATH"); before != "" {
		folder += ":" + before
	}
	return os.Setenv("CPATH", folder)
}
