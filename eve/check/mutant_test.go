package check

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/source"
	"interleave/eve/syntax"
)

var mutants = flag.Int("mutants", 400, "how many mutants of the golden programs to check")

// corpus reads the programs under testdata.
func corpus(t *testing.T) []string {
	t.Helper()
	var texts []string
	for _, pattern := range []string{"../testdata/*/*.eve", "../testdata/*/*/*.eve",
		"testdata/*.eve"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
	}
	return texts
}

// TestMutants holds that the checker does not panic on programs with a few wrong words. Such
// programs parse more often than those of the fuzzer.
func TestMutants(t *testing.T) {
	texts := corpus(t)
	random := rand.New(rand.NewSource(1))
	for i := range *mutants {
		text := mutate(random, texts)
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Fatalf("mutant %d panics: %v\n%s", i, p, text)
				}
			}()
			checkText(text)
		}()
	}
}

// mutate replaces one to three words or lines of a program by those of any program.
func mutate(random *rand.Rand, texts []string) string {
	text := texts[random.Intn(len(texts))]
	for range 1 + random.Intn(3) {
		other := texts[random.Intn(len(texts))]
		if random.Intn(4) == 0 {
			lines, others := strings.Split(text, "\n"), strings.Split(other, "\n")
			lines[random.Intn(len(lines))] = others[random.Intn(len(others))]
			text = strings.Join(lines, "\n")
			continue
		}
		words, others := spans(text), spans(other)
		if len(words) == 0 || len(others) == 0 {
			continue
		}
		w, o := words[random.Intn(len(words))], others[random.Intn(len(others))]
		put := o.Text()
		if random.Intn(8) == 0 {
			put = ""
		}
		text = fmt.Sprint(text[:w.Start], put, text[w.End:])
	}
	return text
}

// spans returns the places of a text's words.
func spans(text string) []source.Span {
	var all []source.Span
	for _, t := range syntax.Parse(source.NewFile("main.eve", text), &diag.List{}).Tokens {
		if t.Span.End > t.Span.Start {
			all = append(all, t.Span)
		}
	}
	return all
}
