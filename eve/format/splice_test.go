package format

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/source"
	"interleave/eve/syntax"
)

var splices = flag.Int("splices", 1000, "how many random texts TestSplices makes")

// Texts made of the tokens of real ones: few have no errors, and those must be formatted
// correctly.
func TestSplices(t *testing.T) {
	names := []string{"../syntax/testdata/everything.eve", "../syntax/testdata/program2.eve",
		"../std/par.eve", "../testdata/fmt/messy.eve"}
	var words []string
	var files [][]string
	for _, name := range names {
		var diags diag.List
		f := syntax.Parse(source.NewFile(name, read(t, name)), &diags)
		var file []string
		for _, tok := range f.Tokens {
			if text := tok.Lead + tok.Text(); text != "" {
				file = append(file, text)
			}
		}
		files = append(files, file)
		words = append(words, file...)
	}
	random := rand.New(rand.NewPCG(1, 2))
	formatted := 0
	for range *splices {
		text := splice(random, files[random.IntN(len(files))], words)
		if _, ok := meaning(text); ok {
			checkFormat(t, "splice", text)
			formatted++
		}
		if t.Failed() {
			t.Fatalf("text:\n%s", text)
		}
	}
	if formatted < *splices/100 {
		t.Errorf("only %d of %d texts have no errors", formatted, *splices)
	}
}

// splice changes some tokens of a part of file.
func splice(random *rand.Rand, file, words []string) string {
	from := random.IntN(len(file) / 2)
	part := append([]string(nil), file[:from+random.IntN(len(file)-from)]...)
	for range 1 + random.IntN(4) {
		if len(part) == 0 {
			break
		}
		i, word := random.IntN(len(part)), words[random.IntN(len(words))]
		switch random.IntN(5) {
		case 0:
			part[i] = word
		case 1:
			part[i] = ""
		case 2:
			part[i] = part[i] + " " + word
		case 3:
			part[i] = strings.TrimSpace(part[i])
		case 4:
			j := min(i+random.IntN(6), len(part))
			part[i] += strings.Join(part[i:j], "")
		}
	}
	return strings.Join(part, "")
}
