package bot

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestOpenAPI sends requests that openapi.yaml allows, and others, and checks the answers against
// it. The document cannot say which texts have something to show, so a refusal of such a text is no
// fault.
func TestOpenAPI(t *testing.T) {
	tool, err := filepath.Abs("../../out/tools/schemathesis")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(tool, "bin", "st")); err != nil {
		t.Skip("SKIP: install schemathesis for the test of the API's openapi.yaml (make " +
			"toolchains puts it into out/tools/schemathesis)")
	}
	var p place
	began := time.Now()
	p.open(t, func() time.Time { // in which no limit is reached
		return start.Add(1000 * time.Since(began))
	})
	token := p.token(Token{Kind: Bot, Name: "b", Rooms: []string{"#dev", "#tea"}, Read: true,
		Send: true})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a net: it takes seconds
	defer cancel()
	cmd := exec.CommandContext(ctx, "python3", filepath.Join(tool, "bin", "st"), "run",
		p.URL+"/api/openapi.yaml", "--no-color", "--warnings=off", "--phases=coverage,fuzzing",
		"--max-examples=3", "--generation-deterministic",
		"--header=Authorization: Bearer "+token, "--exclude-checks=positive_data_acceptance")
	cmd.Env = append(slices.Clone(os.Environ()), "PYTHONPATH="+tool)
	if cache, err := os.UserCacheDir(); err == nil { // compiling its 600 modules takes seconds
		cmd.Env = append(cmd.Env, "PYTHONDONTWRITEBYTECODE=",
			"PYTHONPYCACHEPREFIX="+filepath.Join(cache, "interleave", "python"))
	}
	cmd.Dir = t.TempDir() // it leaves files in its folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("schemathesis: %v\n%s", err, out)
	}
}
