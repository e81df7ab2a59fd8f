package syntax

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// Texts made of tokens of real ones and of tokens that break them: the parse ends, and keeps its
// guarantees.
func TestSplices(t *testing.T) {
	files, words := splices(t)
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		text := splice(random, files[random.IntN(len(files))], words)
		f, diags := parse("splice.eve", text)
		if verify(t, f, diags); t.Failed() {
			t.Fatalf("text:\n%s", text)
		}
	}
}

// splices returns programs as lists of their tokens, and words to put between those.
func splices(t *testing.T) (files [][]string, words []string) {
	t.Helper()
	words = []string{
		"\n", "\n  ", "\n          ", "\t", "\x80", "\"", "'", "f\"{", "{", "}", "(", "[", ")", "]",
		"<", ">>", "\\", "é", "\r\n", "#",
		"0x", "1.",
	}
	for _, name := range []string{"testdata/everything.eve", "testdata/program2.eve",
		"../std/par.eve"} {
		f, _ := parse(name, read(t, name))
		var file []string
		for _, tok := range f.Tokens {
			if text := tok.Lead + tok.Text(); text != "" {
				file = append(file, text)
			}
		}
		files = append(files, file)
		words = append(words, file...)
	}
	return files, words
}

// splice changes some tokens of a part of file.
func splice(random *rand.Rand, file, words []string) string {
	from := random.IntN(len(file) / 2)
	part := append([]string(nil), file[from:from+1+random.IntN(len(file)-from-1)]...)
	for range 1 + random.IntN(12) {
		i, word := random.IntN(len(part)), words[random.IntN(len(words))]
		switch random.IntN(4) {
		case 0:
			part[i] = word
		case 1:
			part[i] = ""
		case 2:
			part[i] += word
		case 3:
			part[i] = strings.TrimSpace(part[i])
		}
	}
	return strings.Join(part, "")
}
