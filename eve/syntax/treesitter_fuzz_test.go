package syntax

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Editors parse a text again and again, each time from the tree before. When a change is undone,
// the tree is that of the text.
func TestTreeSitterEdits(t *testing.T) {
	ts := startTreeSitter(t, false)
	random := rand.New(rand.NewPCG(3, 4))
	_, words := splices(t)
	for _, name := range []string{"testdata/everything.eve", "testdata/program2.eve",
		"../../docs/eve/examples/bank.eve", "../../docs/eve/examples/redis.eve"} {
		text := read(t, name)
		want, wrong := ts.parse(text)
		if wrong {
			t.Errorf("%s: tree-sitter finds an error", name)
		}
		for range 60 {
			from := random.IntN(len(text))
			to := min(len(text), from+random.IntN(40))
			change := words[random.IntN(len(words))]
			ts.edit(text[:from] + change + text[to:])
			if got, _ := ts.edit(text); !slices.Equal(got, want) {
				t.Errorf("%s: after bytes %d to %d were %q, and undone, the tree is another", name,
					from, to, change)
			}
		}
	}
}

// Texts made of tokens, halves of programs, and random bytes: tree-sitter answers, and its tree is
// that of the parser whenever that finds no error.
func TestTreeSitterMutants(t *testing.T) {
	ts := startTreeSitter(t, true)
	random := rand.New(rand.NewPCG(5, 6))
	files, words := splices(t)
	for range 500 {
		text := splice(random, files[random.IntN(len(files))], words)
		agree(t, ts, "splice.eve", text)
		if t.Failed() {
			t.Fatalf("text:\n%s", text)
		}
	}
	accepted := 0
	for _, name := range programs(t) {
		text := read(t, name)
		ts.edit(text[:random.IntN(len(text)+1)])
		for range 2 {
			mutant := mutate(random, text)
			if agree(t, ts, name, mutant) {
				accepted++
			}
			if t.Failed() {
				t.Fatalf("text:\n%s", mutant)
			}
		}
	}
	if accepted < 150 {
		t.Errorf("the parser accepts only %d mutants: others compare nothing", accepted)
	}
	for range 100 {
		noise := make([]byte, random.IntN(4096))
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		ts.parse(string(noise))
	}
}

// mutate drops, repeats, exchanges or moves lines of a text.
func mutate(random *rand.Rand, text string) string {
	lines := strings.SplitAfter(text, "\n")
	for range 1 + random.IntN(2) {
		i, k := random.IntN(len(lines)), random.IntN(len(lines))
		switch random.IntN(5) {
		case 0:
			lines = slices.Delete(lines, i, i+1)
			if len(lines) == 0 {
				return ""
			}
		case 1:
			lines = slices.Insert(lines, i, lines[i])
		case 2:
			lines[i], lines[k] = lines[k], lines[i]
		case 3:
			lines[i] = "    " + lines[i]
		case 4:
			lines[i] = strings.TrimPrefix(lines[i], "    ")
		}
	}
	return strings.Join(lines, "")
}

// FuzzTreeSitter finds texts on which tree-sitter fails, or that it reads in another way than the
// parser does.
func FuzzTreeSitter(f *testing.F) {
	ts := startTreeSitter(f, false)
	names, err := filepath.Glob("testdata/*.eve")
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		f.Add(read(f, name))
	}
	for _, m := range mistakes {
		f.Add(m.source())
	}
	f.Fuzz(func(t *testing.T, text string) {
		ts.t = t
		agree(t, ts, "fuzz.eve", text)
	})
}
