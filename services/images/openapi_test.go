package images

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"interleave/internal/probe/probetest"
)

var documented = flag.String("documented", "go-goroutine-nethttp",
	"the models that openapi.yaml is held against, with commas between them")

// TestOpenAPI sends requests that openapi.yaml allows, and others, and checks the answers against
// it. The document cannot say which bytes are an image, so a refusal of such bytes is no fault.
func TestOpenAPI(t *testing.T) {
	tool, err := filepath.Abs("../../out/tools/schemathesis")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(tool, "bin", "st")); err != nil {
		t.Skip("SKIP: install schemathesis for the test of openapi.yaml (make toolchains puts " +
			"it into out/tools/schemathesis)")
	}
	for name := range strings.SplitSeq(*documented, ",") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := probetest.One(t, name)
			folder, _ := m.Folder(t, 0)
			c := newClient(t, m.Start(t, folder).Port)
			c.upload("image/png", "first", pngOf(t, gray(20, 20)))
			ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, "python3", filepath.Join(tool, "bin", "st"), "run",
				"http://"+c.address+"/openapi.yaml", "--no-color", "--warnings=off",
				"--phases=coverage,fuzzing", "--max-examples=2", "--generation-deterministic",
				"--exclude-checks=positive_data_acceptance")
			cmd.Env = append(slices.Clone(os.Environ()), "PYTHONPATH="+tool)
			if cache, err := os.UserCacheDir(); err == nil { // compiling it takes seconds
				cmd.Env = append(cmd.Env, "PYTHONDONTWRITEBYTECODE=",
					"PYTHONPYCACHEPREFIX="+filepath.Join(cache, "interleave", "python"))
			}
			cmd.Dir = t.TempDir() // it leaves files in its folder
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("schemathesis: %v\n%s", err, out)
			}
		})
	}
}
