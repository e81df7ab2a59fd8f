package check

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzCheck holds that no text makes the checker panic or hang.
func FuzzCheck(f *testing.F) {
	for _, pattern := range []string{"../testdata/*/*.eve", "../testdata/*/*/*.eve", "../std/*.eve",
		"../std/*/*.eve"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return // long texts only take time
		}
		checkText(text)
	})
}
