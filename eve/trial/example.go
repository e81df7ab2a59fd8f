package trial

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An Example is a program with its expected output.
type Example struct{ Name, File, Text, Want string }

// Examples are the programs of testdata/run. The working directory must be that of a package, as
// in its tests.
func Examples(t testing.TB) []Example {
	t.Helper()
	files, err := filepath.Glob("../testdata/run/*.eve")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	var all []Example
	for _, file := range files {
		base := strings.TrimSuffix(file, ".eve")
		all = append(all, Example{filepath.Base(base), file, read(t, file), read(t, base+".out")})
	}
	return all
}

// Tour returns the programs of the pages for newcomers, whose output is written below them.
func Tour(t testing.TB) []Example {
	t.Helper()
	return append(page(t, "tour"), page(t, "coming-from")...)
}

// Cookbook returns those of the pages on services and recipes, which take longer to build.
func Cookbook(t testing.TB) []Example {
	t.Helper()
	return append(page(t, "service"), page(t, "cookbook")...)
}

// page returns the programs of a page of docs/eve that have an output.
func page(t testing.TB, name string) []Example {
	t.Helper()
	var all []Example
	blocks := strings.Split(read(t, "../../docs/eve/"+name+".md"), "```")
	for i, b := range blocks[:len(blocks)-2] {
		text, isProgram := strings.CutPrefix(b, "eve\n")
		if !isProgram {
			continue
		}
		want, isOutput := strings.CutPrefix(blocks[i+2], "output\n")
		if !isOutput {
			t.Errorf("no output stands below the program\n%s", text)
		}
		number := fmt.Sprintf("%s-%d", name, len(all)+1)
		all = append(all, Example{number, name + ".eve", text, want})
	}
	if len(all) < 4 {
		t.Errorf("%s.md has %d programs with output", name, len(all))
	}
	return all
}

func read(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
