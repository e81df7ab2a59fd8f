package report

// The abstract and the small sentences of a report, made from the data.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"interleave/internal/quantity"
	"interleave/internal/record"
	"interleave/internal/stats"
)

// order is that in which words are counted.
var order = []stats.Word{stats.Reproduced, stats.NotReproduced, stats.Inconclusive,
	stats.NotMeasured, stats.NotComparable}

// tally counts the verdicts by word.
func (s *study) tally() map[stats.Word]int {
	n := map[stats.Word]int{}
	for _, v := range s.verdicts() {
		n[v.Word]++
	}
	return n
}

// abstract is a paragraph: the result, the machine, the effort, what was left out.
func (s *study) abstract() []string {
	out := []string{s.resultSentence()}
	if len(s.Cells) == 0 {
		out = append(out, "No cell was measured.", s.unfinished())
		return slices.DeleteFunc(out, func(s string) bool { return s == "" })
	}
	out = append(out, s.effortSentence(), s.unfinished(), s.lossSentence())
	out = slices.DeleteFunc(out, func(s string) bool { return s == "" })
	if len(s.Header.Calibration) == 0 {
		out = append(out,
			"Not calibrated: the instrument was not held against known truths before this run.")
	}
	if n := len(record.Servers(s.Header.Skipped)); n > 0 {
		out = append(out, capital(quantity.Many(n, "server"))+" "+wasWere(n)+
			" skipped, with the reason given below.")
	}
	if s.rounds < stats.MinRounds {
		out = append(out, fmt.Sprintf("With %s no 95 %% interval can be given: %d are the least.",
			quantity.Many(s.rounds, "round"), stats.MinRounds))
	}
	return out
}

func (s *study) resultSentence() string {
	if len(s.verdicts()) == 0 {
		return "This run holds no claim against this machine."
	}
	n := s.tally()
	// The numbers of one sentence are written alike: as words only if all of them are.
	write := number
	for _, w := range order {
		if number(n[w])[0] <= '9' {
			write = func(n int) string { return quantity.Count(int64(n)) }
		}
	}
	var parts []string
	for _, w := range order {
		if n[w] > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", write(n[w]), counted[w](n[w])))
		}
	}
	return fmt.Sprintf("Of %s, %s.", s.claimed(), list(parts))
}

// claimed is how many claims there are, and whose. Of sources, "eve.txt, section V" and "eve.txt,
// section VI" are one.
func (s *study) claimed() string {
	published, ours, sources := 0, 0, map[string]bool{}
	for _, e := range s.experiments {
		for _, v := range e.verdicts {
			if v.Claim.Ours {
				ours++
				continue
			}
			published++
			name, _, _ := strings.Cut(e.Source, ",")
			sources[name] = true
		}
	}
	var parts []string
	if published > 0 {
		parts = append(parts, quantity.Many(published, "published claim")+" from "+
			quantity.Many(len(sources), "source"))
	}
	switch {
	case ours == 1:
		parts = append(parts, "1 hypothesis of our own")
	case ours > 1:
		parts = append(parts, quantity.Count(int64(ours))+" hypotheses of our own")
	}
	return list(parts)
}

// counted is how a number of claims with a word is told.
var counted = map[stats.Word]func(int) string{
	stats.Reproduced:    func(n int) string { return isAre(n) + " reproduced here" },
	stats.NotReproduced: func(n int) string { return isAre(n) + " not reproduced" },
	stats.Inconclusive:  func(n int) string { return isAre(n) + " inconclusive" },
	stats.NotMeasured:   func(n int) string { return wasWere(n) + " not measured in this run" },
	stats.NotComparable: func(int) string { return "cannot be compared" },
}

func (s *study) effortSentence() string {
	d, sittings := s.took()
	took := "in " + quantity.Duration(d.Round(time.Second))
	if sittings > 1 {
		took += fmt.Sprintf(" over %s sittings", number(sittings))
	}
	return fmt.Sprintf("Measured on %s on %s %s: %s, %s, %s, %s.",
		s.machine(), date(s.Header.Started), took,
		quantity.Many(len(s.experiments), "experiment"),
		quantity.Many(len(s.measuredModels()), "model"),
		quantity.Many(s.rounds, "round"), quantity.Many(s.count.all, "cell"))
}

// unfinished says that a run has no end.
func (s *study) unfinished() string {
	if s.Header.Finished != nil {
		return ""
	}
	return "The run has no end: it was stopped, or is still under way; what it recorded counts, " +
		"and it can be resumed."
}

func (s *study) lossSentence() string {
	n := s.count
	if n.void+n.broken == 0 {
		return "No cell was voided and none failed."
	}
	share := quantity.Percent(float64(n.void+n.broken) / float64(n.all))
	var parts []string
	if n.void > 0 {
		parts = append(parts, fmt.Sprintf("%s %s voided by a gate", number(n.void),
			wasWere(n.void)))
	}
	if n.broken > 0 {
		parts = append(parts, fmt.Sprintf("%s failed", number(n.broken)))
	}
	if len(parts) > 1 {
		share += " together"
	}
	return fmt.Sprintf("Of the cells, %s (%s); no figure rests on them.", list(parts), share)
}

// pause is a time without cells that is none of building and calibration: a run was left, and
// resumed later.
const pause = 20 * time.Minute

// took is from the start to the end, without pauses; of a run without an end, to the end of its
// last cell. A run has one sitting more than pauses.
func (s *study) took() (d time.Duration, sittings int) {
	cells := slices.SortedFunc(slices.Values(s.Cells), func(a, b record.Cell) int {
		return a.Started.Compare(b.Started)
	})
	last, paused := s.Header.Started, time.Duration(0)
	for _, c := range cells {
		if gap := c.Started.Sub(last); gap > pause {
			paused, sittings = paused+gap, sittings+1
		}
		if end := c.Started.Add(c.Took); end.After(last) {
			last = end
		}
	}
	if s.Header.Finished != nil && s.Header.Finished.After(last) {
		last = *s.Header.Finished
	}
	return last.Sub(s.Header.Started) - paused, sittings + 1
}

// machine is the machine in a phrase.
func (s *study) machine() string {
	m := s.Header.Machine
	in := []string{}
	for _, part := range []string{m.Virtual, m.System, kernel(m.Kernel)} {
		if part != "" {
			in = append(in, part)
		}
	}
	text := quantity.Many(m.Cores, "core") + " of " + article(cmp.Or(m.CPU, "unknown processor"))
	if len(in) > 0 {
		text += " (" + strings.Join(in, ", ") + ")"
	}
	return text
}

func kernel(v string) string {
	if v == "" || strings.HasPrefix(v, "Linux") {
		return v
	}
	return "Linux " + v
}

func article(noun string) string {
	if strings.ContainsRune("AEIOUaeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

func date(t time.Time) string { return t.UTC().Format("2 January 2006") }

// number writes small numbers as words, as a paragraph does.
func number(n int) string {
	small := []string{"none", "one", "two", "three", "four", "five", "six", "seven", "eight",
		"nine", "ten", "eleven", "twelve"}
	if n < len(small) {
		return small[n]
	}
	return quantity.Count(int64(n))
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func wasWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// list is "a", "a and b" or "a, b and c".
func list(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
