package toolchain

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLookupFindsCc(t *testing.T) {
	found, err := Lookup(t.TempDir(), "cc")
	if err != nil {
		t.Fatal(err)
	}
	if found.Version == "" || !filepath.IsAbs(found.Path) {
		t.Errorf("got %+v, want a version and an absolute path", found)
	}
}

func TestLookupSaysWhatToInstall(t *testing.T) {
	fake := fakeJDK(t, "17.0.9")
	t.Setenv("JAVA_HOME", "")
	for _, test := range []struct{ need, want string }{
		{"no-such-tool", "needs no-such-tool: install it and put it on PATH"},
		{"cc >= 1000", "apt-get install gcc"},
		{"java >= 1000", "make toolchains"},
		{"pkg:no-such-library", "needs pkg:no-such-library: apt-get install no-such-library-dev"},
		{"pkg:gevent >= 1000", "apt-get install python3-gevent"},
		{"pkg:mochiweb >= 1000", "apt-get install erlang-mochiweb erlang-inets"},
	} {
		_, err := Lookup(fake, test.need)
		var missing *Missing
		if !errors.As(err, &missing) {
			t.Errorf("%s: got %v, want a *Missing", test.need, err)
			continue
		}
		if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %q, want it to say %q", test.need, err, test.want)
		}
	}
	if _, err := Lookup(fake, "java > 25"); err == nil ||
		!strings.Contains(err.Error(), "expected") {
		t.Errorf("java > 25: got %v, want what was expected", err)
	}
}

func TestLookupTakesTheNewestJDK(t *testing.T) {
	out := fakeJDK(t, "999.1")
	t.Setenv("JAVA_HOME", filepath.Join(fakeJDK(t, "998.7"), "tools/jdk"))
	found, err := Lookup(out, "java >= 998")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(out, "tools/jdk/bin")
	if found.Version != "999.1" || found.Path != filepath.Join(bin, "java") {
		t.Errorf("got %+v, want 999.1 in %s", found, bin)
	}
	env := environ([]Found{found}, nil)
	if path, err := LookPath("javac", "/", env); err != nil || path != filepath.Join(bin, "javac") {
		t.Errorf("javac is %s, %v; want the one beside that java", path, err)
	}
}

// TestLookupTakesTheProgramThatHasThePackage has two programs python3, of which only the one that a
// shell would not start has the package.
func TestLookupTakesTheProgramThatHasThePackage(t *testing.T) {
	without, with := t.TempDir(), t.TempDir()
	fakeProgram(t, filepath.Join(without, "python3"), "exit 1")
	fakeProgram(t, filepath.Join(with, "python3"), "echo 999.1")
	t.Setenv("PATH", without)
	keeper := tool{[]string{"-c", "import gevent"}, []string{with},
		"apt-get install python3-gevent"}
	found, err := lookupProgram(t.TempDir(), "pkg:gevent", "python3", "", keeper)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(with, "python3"); found.Version != "999.1" || found.Path != want {
		t.Errorf("got %+v, want 999.1 of %s", found, want)
	}
	t.Setenv("PATH", without+string(os.PathListSeparator)+with)
	if path, err := LookPath("python3", "/", environ([]Found{found}, nil)); err != nil ||
		path != found.Path {
		t.Errorf("python3 is %s, %v; want the one that has the package, %s", path, err, found.Path)
	}
	keeper.also = nil
	t.Setenv("PATH", without)
	if _, err := lookupProgram(t.TempDir(), "pkg:gevent", "python3", "", keeper); err == nil ||
		!strings.Contains(err.Error(), "needs pkg:gevent") {
		t.Errorf("got %v, want that the package is needed", err)
	}
}

// fakeProgram writes a shell script of one line.
func fakeProgram(t *testing.T, path, line string) {
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+line+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// fakeJDK makes an output folder with a JDK that prints this version.
func fakeJDK(t *testing.T, version string) (outRoot string) {
	outRoot, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(outRoot, "tools/jdk/bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"java", "javac"} {
		fakeProgram(t, filepath.Join(bin, name), "echo 'openjdk version \""+version+
			"\" 2025-01-01' >&2")
	}
	return outRoot
}

func TestAtLeast(t *testing.T) {
	for _, test := range []struct {
		version, least string
		want           bool
	}{
		{"25.0.1", "25", true}, {"25", "25.0.1", false}, {"17.0.15", "25", false},
		{"1.100", "1.26", true}, {"2", "1.26", true}, {"", "1", false}, {"25", "25.0", true},
	} {
		if got := atLeast(test.version, test.least); got != test.want {
			t.Errorf("atLeast(%q, %q) = %v, want %v", test.version, test.least, got, test.want)
		}
	}
}
