package manifest

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Words are the concurrency models that docs/models.md explains. A model's folder and its
// model.toml use these and no others, so that two servers of one word can be compared.
var Words = []string{"process", "thread", "virtual", "goroutine", "green", "actor", "loop",
	"prefork", "async", "task", "csp", "serial"}

var (
	hosts      = []string{string(Local), string(Tap)} // of a service
	apart      = []string{string(NetNS)}              // of a point
	stacks     = []string{string(Kernel), string(GoNet)}
	readies    = []string{string(ReadyLine), string(ReadyConnect)}
	tables     = []string{"process", "thread"} // of descriptors
	shapes     = shapeWords()
	gaps       = []string{"constant", "exponential"}
	conditions = []string{string(Own), string(Shared)}
	axes       = axisWords()
	kinds      = []string{"direction", "magnitude", "equality", "non-inferiority", "shape",
		"crossover", "absolute", "bound"}
	senses  = []string{"less", "greater"}
	forms   = []string{"order", "linear", "straight", "flattens", "steepens", "widens", "flat"}
	leads   = []string{"ratio", Difference} // of which a claim says that it widens
	metrics = metricWords()
)

func metricWords() []string {
	var words []string
	for m := range Metrics {
		words = append(words, string(m))
	}
	slices.Sort(words)
	return words
}

// Nearest returns the known word that is most like word, or nothing if none is near enough to be
// what was meant: at most a third of the known word's letters may differ.
func Nearest(word string, known []string) string {
	best, least := "", math.MaxInt
	for _, k := range known {
		d := distance(strings.ToLower(word), strings.ToLower(k))
		if d <= max(1, len(k)/3) && d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to insert, delete or replace to turn a into b. Words longer than any
// of ours are not compared: a wrong file may hold one of megabytes.
func distance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// suggest ends a message about a word that is not known: what was meant, or all that is known.
func suggest(word string, known []string) string {
	if near := Nearest(word, known); near != "" && near != word {
		return fmt.Sprintf("did you mean %q? (known: %s)", near, strings.Join(known, ", "))
	}
	return "expected one of " + strings.Join(known, ", ")
}
