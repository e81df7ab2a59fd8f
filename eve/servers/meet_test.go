package servers_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// meeting is what programs of the tests need to wait for each other.
const meeting = `extern "C" "meet.h":
    fast meet: (bodies: int) int
    fast enter: () int
    fast leave: () int
    fast hold: (releases: int) int
    fast release: () int
    fast returned: () int
`

// meetHeader is the name of meet.h for the compiler: another one when its text is another one, since programs in the
// cache know headers by their names.
var meetHeader string

func TestMain(m *testing.M) {
	folder, err := offerHeader()
	if err != nil {
		fmt.Fprintln(os.Stderr, "offering meet.h to the compiler:", err)
		os.Exit(2)
	}
	status := m.Run()
	os.RemoveAll(folder)
	os.Exit(status)
}

// offerHeader lets the compiler find meet.h.
func offerHeader() (folder string, err error) {
	text, err := os.ReadFile("../testdata/server/meet.h")
	if err != nil {
		return "", err
	}
	folder, err = os.MkdirTemp("", "meet-*")
	if err != nil {
		return "", err
	}
	meetHeader = fmt.Sprintf("meet-%x.h", sha256.Sum256(text))
	if before := os.Getenv("CPATH"); before == "" {
		os.Setenv("CPATH", folder)
	} else {
		os.Setenv("CPATH", folder+":"+before)
	}
	return folder, os.WriteFile(filepath.Join(folder, meetHeader), text, 0o644)
}
