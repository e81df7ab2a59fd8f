package stats

// The boundaries of looks come from here: -update draws twelve million runs and writes
// lookstable.go. Without it the table is held against runs of another seed.

import (
	"flag"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite lookstable.go and the table of docs/method.md")

// run holds the signed-rank statistic of one simulated run after each of its rounds.
type run [LastLook + 1]uint16

// nullRun draws a run whose centre is tested. The rounds' signs are fair coins, and the distance of
// each takes any rank among those before it with the same chance: that is all that the statistic
// depends on. Bit i of the word tells the sign of the distance of rank i+1.
func nullRun(r *rand.Rand) (w run) {
	var word uint64
	sum := 0
	for n := 1; n <= LastLook; n++ {
		draw := r.Uint64()
		rank, _ := bits.Mul64(draw<<1, uint64(n))
		above := word >> rank
		sum += bits.OnesCount64(above)
		word = word&(1<<rank-1) | above<<(rank+1)
		if draw>>63 == 1 {
			word |= 1 << rank
			sum += int(rank) + 1
		}
		w[n] = uint16(sum)
	}
	return w
}

// spent is the share of an error that the looks up to n rounds may use, of which the first look
// comes after `first` rounds: all that the first look takes, since it cannot take less, then as the
// root of the number of looks to four fifths of the rest at 30 rounds, and evenly from there on.
func spent(level float64, first, n int) float64 {
	least := math.Pow(2, -float64(first))
	const knee, early = 30, .8
	share := early * math.Sqrt(float64(n-first)/float64(knee-first))
	if n > knee {
		share = early + (1-early)*float64(n-knee)/float64(LastLook-knee)
	}
	return least + (level-least)*share
}

// boundary finds for each number of rounds the largest statistic at which a look may reject.
func boundary(kept []run, paths, k int) []int {
	crossed := make([]bool, len(kept))
	first, all := MinRounds+k, 0
	var out []int
	for n := first; n <= LastLook; n++ {
		seen := map[int]int{}
		for i, w := range kept {
			if !crossed[i] {
				seen[int(w[n])]++
			}
		}
		c, allowed := 0, spent(levelOf(k), first, n)
		all += seen[0]
		for n > first && float64(all+seen[c+1]) <= allowed*float64(paths) {
			c++
			all += seen[c]
		}
		for i, w := range kept {
			crossed[i] = crossed[i] || int(w[n]) <= c
		}
		out = append(out, c)
	}
	return out
}

// low says whether a run comes so near to a boundary that it has to be kept.
func low(w run) bool {
	for n := MinRounds; n <= LastLook; n++ {
		mean, variance := signedRankMoments(n)
		if float64(w[n]) <= max(0, mean-1.9*math.Sqrt(variance)) {
			return true
		}
	}
	return false
}

func writeTable(t *testing.T) {
	const paths = 12_000_000
	var kept []run
	r := rand.New(rand.NewPCG(6, 60))
	for range paths {
		if w := nullRun(r); low(w) {
			kept = append(kept, w)
		}
	}
	var text strings.Builder
	text.WriteString("package stats\n\n// Written by `go test -run TestLooksTable -update`.\n\n" +
		"// critical holds, for each level, the largest signed-rank statistic at which a look\n" +
		"// rejects: after MinRounds+level rounds first, and after LastLook at last.\n" +
		"var critical = [levels][]int{\n")
	for k := range levels {
		text.WriteString("\t{")
		line := 2
		for i, c := range boundary(kept, paths, k) {
			word := fmt.Sprint(c)
			if i > 0 {
				word = ", " + word
			}
			if line+len(word) > 90 {
				text.WriteString(",\n\t\t")
				word, line = word[2:], 2
			}
			text.WriteString(word)
			line += len(word)
		}
		text.WriteString("},\n")
	}
	text.WriteString("}\n")
	if err := os.WriteFile("lookstable.go", []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestLooksTable holds that a run in which nothing is true is rejected at any of its looks at most
// as often as its level says, and nearly as often, or rounds would be wasted.
func TestLooksTable(t *testing.T) {
	if *update {
		writeTable(t)
		t.Skip("the table was written: run the test again to hold it")
	}
	const paths = 1_000_000
	r := rand.New(rand.NewPCG(7, 70))
	var rejected [levels]int
	for range paths {
		w := nullRun(r)
		for k := range levels {
			for n := MinRounds + k; n <= LastLook; n++ {
				if int(w[n]) <= criticalAt(k, n) {
					rejected[k]++
					break
				}
			}
		}
	}
	for k, seen := range rejected {
		want := levelOf(k)
		luck := 3 * math.Sqrt(want/paths)
		if got := float64(seen) / paths; got > want+luck || got < .95*want-luck {
			t.Errorf("level %d: %.5f of runs are rejected, want %.5f", k, got, want)
		}
	}
}
