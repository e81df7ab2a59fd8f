package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var include = regexp.MustCompile(`(?m)^#\s*include\s+"([^"]*)"`)

// TestModelsOfCReadAlone: a server in C includes what stands in its own folder, so that all of it
// is read there. A model that runs another's server in another way builds that one's files, which
// `uses` names. A fuzzer stands in a folder below its model's.
func TestModelsOfCReadAlone(t *testing.T) {
	for _, f := range tracked(t) {
		c := strings.HasSuffix(f, ".c") || strings.HasSuffix(f, ".h")
		if !c || !strings.HasPrefix(f, "services/") {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, f))
		if err != nil {
			t.Fatal(err)
		}
		model := filepath.Dir(f)
		if filepath.Base(model) == "fuzz" {
			model = filepath.Dir(model)
		}
		for _, m := range include.FindAllSubmatch(source, -1) {
			path := filepath.Join(filepath.Dir(f), string(m[1]))
			if !strings.HasPrefix(path, model+string(filepath.Separator)) {
				t.Errorf("%s includes %q: expected a file of %s", f, m[1], model)
			}
		}
	}
}
