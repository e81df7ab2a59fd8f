package servers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const commands = `run: (words: vector<string>, limit: duration) void:
    done <- process.run(words.copy(), most = 1kib) within limit [+stdout]
    match done:
        ok(f): print("status %d\n", f.status())
        error(e): print("%d %s\n", e.code(), e.text())

main: () void:
    for (_ in 0..8): run(["sleep", "600"], 50ms)
    run(["yes"], 1h)
    run(["sh", "-c", "exit 7"], 1h)
    info <- fs.info("/") [+stdout]
    match info:
        ok(i): print("a folder: %v\n", i.is_directory())
        error(e): print("%s\n", e)
`

// Programs that do not end are given up, and one that writes too much is ended: the program that
// has run them ends when they have. More of them than the pool usually has threads do not keep
// files, or other programs, waiting.
func TestCommandsAreGivenUp(t *testing.T) {
	t.Parallel()
	exe := compiled(t, "commands.eve", commands)
	want := append(slices.Repeat([]string{"110 timeout"}, 8), "27 run yes: File too large",
		"a folder: true", "status 7")
	slices.Sort(want)
	eachWorkers(t, func(t *testing.T, workers int) {
		p := start(t, exe, fmt.Sprint("EVE_WORKERS=", workers))
		p.mustExit(0)
		got := strings.Split(strings.TrimSpace(p.out.String()), "\n")
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
