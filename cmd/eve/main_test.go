package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"interleave/eve/build"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"eve": main})
}

// TestScripts plays testdata/script/*.txtar: the commands as they are typed. The scripts that need a C++
// compiler say so and are skipped without one. The compiled runtime is that of the user's cache.
func TestScripts(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CACHE_HOME", cache)
			return nil
		},
		Condition: func(name string) (bool, error) {
			return name == "compiler" && build.Available(), nil
		},
	})
}
