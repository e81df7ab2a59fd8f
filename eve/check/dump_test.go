package check

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
)

var update = flag.Bool("update", false, "write the results to testdata")

// TestDump holds the ir of whole programs: captures, boxes, reads, handlers, loans.
func TestDump(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.eve")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no programs in testdata: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			diags := &diag.List{}
			p := Program(source.NewFile(filepath.Base(path), string(text)), nil, diags)
			for _, d := range diags.Sorted() {
				t.Errorf("%s:%d: %s: %s", path, d.Span.Line(), d.Code, d.Message)
			}
			got := ir.Dump(p)
			golden := strings.TrimSuffix(path, ".eve") + ".ir"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s\n(go test ./eve/check -run Dump -update)", got, want)
			}
		})
	}
}
