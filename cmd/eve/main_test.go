package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"interleave/eve/build"
)

func TestPage(t *testing.T) {
	text := "# A title\n\nOne two three four.\n\n```eve wrong\na: long = line\n```\n"
	if got, want := page(text,
		10),
		"# A title\n\nOne two\nthree\nfour.\n\n```eve wrong\na: long = line\n```\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := page(text, 0); got != text {
		t.Errorf("what is no terminal gets\n%s", got)
	}
}

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"eve": main})
}

// TestScripts plays testdata/script/*.txtar: the commands as they are typed. Scripts that need a
// C++ compiler say so and are skipped without one. The compiled runtime comes from the user's
// cache.
func TestScripts(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	examples, err := filepath.Abs("../../docs/eve/examples")
	if err != nil {
		t.Fatal(err)
	}
	editors, err := filepath.Abs("../../eve/editors")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CACHE_HOME", cache)
			env.Setenv("EXAMPLES", examples)
			env.Setenv("EDITORS", editors)
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "compiler":
				return build.Available(), nil
			case "sqlite":
				_, err := os.Stat("/usr/include/sqlite3.h")
				return err == nil, nil
			}
			return false, nil
		},
	})
}
