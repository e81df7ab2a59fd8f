package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// One row of the matrix, from the compiler to the last transcript, and one that cannot be built.
func TestRows(t *testing.T) {
	root, err := checkout()
	if err != nil {
		t.Fatal(err)
	}
	m := matrix{root: root, server: "chat/c-process"}
	if err := m.load(); err != nil {
		t.Fatal(err)
	}
	absent := target{"absent", []string{"no-such-compiler"}, "", "it"}
	if got, want := m.row(t.Context(), absent), "absent\tskip\t0\t0\tinstall it"; got != want {
		t.Errorf("got the row %q, want %q", got, want)
	}
	wrong := target{"wrong", []string{"gcc", "-D__GCC_ATOMIC_LLONG_LOCK_FREE=1"}, "", "gcc"}
	if _, err := m.build(t.Context(), wrong); err == nil {
		t.Error("a machine without 64-bit words for several processes: got a build, want an error")
	}
	elsewhere := target{"elsewhere", []string{"gcc"}, "-", "gcc"}
	built, err := m.build(t.Context(), elsewhere)
	if err != nil {
		t.Skip("SKIP: install gcc for the build matrix of c-process:", err)
	}
	if _, _, err := m.play(t.Context(), elsewhere, built); !errors.Is(err, errElsewhere) {
		t.Errorf("playing what cannot run here: got %v, want %v", err, errElsewhere)
	}
}

func TestUnknownTarget(t *testing.T) {
	if err := (matrix{names: []string{"vax"}}).run(t.Context(), nil); err == nil ||
		!strings.Contains(err.Error(), "vax") {
		t.Errorf("got %v, want an error that names vax", err)
	}
}

// TestServers: the sink passes its transcripts, too, and a server that is not there is an error.
func TestServers(t *testing.T) {
	root, err := checkout()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "sink", "sink/", "sink/c-procces", "no/c-process"} {
		if err := (matrix{root: root, server: name}).run(t.Context(), io.Discard); err == nil {
			t.Errorf("the server %q: got no error", name)
		}
	}
	var rows strings.Builder
	m := matrix{root: root, server: "sink/c-process", quick: true,
		names: []string{"x86_64-linux-gnu-gcc"}}
	if err := m.run(t.Context(), &rows); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(rows.String(), "\tskip\t") {
		t.Skip("SKIP: install gcc for the build matrix of the sink")
	}
	row := strings.Split(rows.String(), "\t")
	if len(row) != 5 || row[1] != "yes" || row[2] == "0" || row[2] != row[3] {
		t.Errorf("got %q, want a build that passes all that is played", row)
	}
}

// The parsers of lines under libFuzzer, for a moment: longer by hand, see fuzz/line.c.
func TestFuzzLines(t *testing.T) {
	root, err := checkout()
	if err != nil {
		t.Fatal(err)
	}
	fuzzer := filepath.Join(t.TempDir(), "fuzzer")
	build := exec.CommandContext(t.Context(), "clang", "-g", "-O1",
		"-fsanitize=fuzzer,address,undefined",
		"-fno-sanitize-recover=all", "-o", fuzzer, "fuzz/line.c", "line.c")
	build.Dir = filepath.Join(root, "services", "chat", "c-process")
	if said, err := build.CombinedOutput(); err != nil {
		t.Skipf("SKIP: install clang for the fuzzer of c-process: %v %s", err, said)
	}
	corpus := t.TempDir()
	for name, seed := range map[string]string{
		"command": ":ann PRIVMSG #tea,bob :the kettle is on",
		"log":     "2026-11-22T07:20:11.123Z :ann!ann@127.0.0.1 PRIVMSG #tea :the kettle is on",
	} {
		if err := os.WriteFile(filepath.Join(corpus, name), []byte(seed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.CommandContext(t.Context(), fuzzer, "-max_total_time=3", corpus)
	run.Dir = corpus
	if said, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
