package prove

import (
	"os"
	"path/filepath"
	"testing"
)

// TestConcurrent makes packages of one file, or two, and asks whether they start goroutines.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"plain/a.go":      "package plain\n// go f() in a comment\nconst s = \"go f()\"\n",
		"plain/a_test.go": "package plain\nimport \"m/deep/go\"\nfunc f() { t.Run(\"go\", nil) }\n",
		"statement/a.go":  "package statement\nfunc f() { for { if x { go f() } } }\n",
		"group/a.go":      "package group\nfunc f() { wait.Go(f) }\n",
		"timer/a.go":      "package timer\nimport \"time\"\nvar _ = time.AfterFunc(1, nil)\n",
		"limit/a.go":      "package limit\n",
		"limit/a_test.go": "package limit\nimport \"time\"\nvar _ = time.AfterFunc(1, nil)\n",
		"tests/a.go":      "package tests\n",
		"tests/a_test.go": "package tests_test\nfunc TestA(t *testing.T) { t.Parallel() }\n",
		"script/a.go":     "package script\n",
		"script/a_test.go": "package script\n" +
			"import \"github.com/rogpeppe/go-internal/testscript\"\n",
		"server/a.go":  "package server\nimport \"net/http\"\n",
		"deep/go/a.go": "package deep\nimport \"m/statement\"\n",
		"above/a.go":   "package above\nimport \"m/deep/go\"\n",
		"other/a.go":   "package other\nimport \"n/statement\"\n",
	} {
		write(name, text)
	}
	look := &inspector{root: dir, known: map[string]bool{}}
	for name, want := range map[string]bool{"plain": false, "statement": true, "group": true,
		"timer": true, "limit": false, "tests": true, "script": true, "server": true,
		"deep/go": true, "above": true, "other": false} {
		for range 2 { // the second answer is a remembered one
			if got, err := look.concurrent(testPackage{"m/" + name, name}); got != want ||
				err != nil {
				t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
			}
		}
	}
	write("broken/a.go", "package broken\nfunc {\n")
	if _, err := look.concurrent(testPackage{"m/broken", "broken"}); err == nil {
		t.Error("a file with an error in it was understood")
	}
}

// TestRaceDetectorTakes checks which packages of this checkout the race detector takes: those with
// goroutines, as long as they have some, and no pure ones.
func TestRaceDetectorTakes(t *testing.T) {
	table, err := LoadRings(filepath.Join(root, RingsFile))
	if err != nil {
		t.Fatal(err)
	}
	var packages []testPackage
	for dir := range testsOf(t) {
		packages = append(packages, testPackage{"interleave/" + dir, dir})
	}
	look := &inspector{root: root, known: map[string]bool{}}
	jobs, err := look.without(table.jobs("race", packages))
	if err != nil {
		t.Fatal(err)
	}
	taken := map[string]bool{}
	for _, j := range jobs {
		taken[j.pkg.dir] = true
	}
	for dir, want := range map[string]bool{"gonet": true, "gonet/link": true, "papaya/server": true,
		"papaya/log": true, "papaya/keep": true, "internal/load": true, "internal/prove": true,
		"eve/lsp": true, "cmd/interleave": true, "gonet/wire": false, "papaya/irc": false,
		"eve/check": false} {
		if taken[dir] != want {
			t.Errorf("%s under the race detector: %v, want %v", dir, taken[dir], want)
		}
	}
}
