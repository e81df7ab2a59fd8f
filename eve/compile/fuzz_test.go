package compile

import (
	"os"
	"testing"
	"time"

	"interleave/eve/source"
)

// No text, however broken, makes the checker panic or run on. The golden programs are the seeds.
func FuzzCheck(f *testing.F) {
	for _, kind := range []string{"ok", "err"} {
		names, err := os.ReadDir("../testdata/" + kind)
		if err != nil {
			f.Fatal(err)
		}
		for _, n := range names {
			if text, err := os.ReadFile("../testdata/" + kind + "/" + n.Name()); err == nil {
				f.Add(string(text))
			}
		}
	}
	f.Fuzz(func(_ *testing.T, text string) {
		late := time.AfterFunc(5*time.Minute, func() { panic("still checking:\n" + text) })
		defer late.Stop()
		Check(source.NewFile("fuzz.eve", text), nil)
	})
}
