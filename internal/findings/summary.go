package findings

// The summary at the head of the page over all. People write it, and no command changes it. Its
// figures are taken from the record, so that they cannot be stale:
//
//	- Go's memory for a connection is what it was: {G1 here}, published {G1 published} ({G1}).
//	- Eve beats Erlang, {E1a of erlang-actor} times, not the loops in C ({E1a: not reproduced}).
//
// "of" names one of the comparisons that the claim rests on.
// A link with a verdict says for which the sentence was written. Where the record has another, the
// page says so, and the command warns.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"interleave/internal/stats"
)

// summaryFile is the name of the summary, in the folder of the paragraphs.
const summaryFile = "summary.md"

// A Summary is what people have written at the head of the pages.
type Summary struct {
	File string
	Text string // empty: there is none
}

// ReadSummary reads the summary below a folder of pages; a folder without one has none.
func ReadSummary(dir string) (Summary, error) {
	s := Summary{File: filepath.Join(dir, WhyDir, summaryFile)}
	data, err := os.ReadFile(s.File)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	s.Text = strings.ReplaceAll(string(data), "\r\n", "\n")
	return s, err
}

// fields are the places of a summary that the record fills.
var fields = regexp.MustCompile(`\{[^{}\n]*\}`)

// interval is that of a figure with its unit: "26.4 (26.1–26.6) KiB".
var interval = regexp.MustCompile(` \([^)]*\)`)

// fill puts the figures of a record into a summary. Warnings name the sentences that were written
// for another verdict.
func (s Summary) fill(set *Set) (text string, warnings []string, err error) {
	lines := strings.Split(s.Text, "\n")
	var errs []error
	for i, l := range lines {
		lines[i] = fields.ReplaceAllStringFunc(l, func(field string) string {
			out, warning, err := set.field(strings.Trim(field, "{}"))
			if err != nil {
				errs = append(errs, &lineError{s.File, i + 1, err})
			}
			if warning != "" {
				warnings = append(warnings, fmt.Sprintf("%s:%d: %s", s.File, i+1, warning))
			}
			return out
		})
	}
	return strings.Join(lines, "\n"), warnings, errors.Join(errs...)
}

// field is what stands for a place of the summary.
func (s *Set) field(field string) (text, warning string, err error) {
	if word, counts := strings.CutPrefix(field, "count "); counts {
		n, err := s.counted(word)
		return fmt.Sprint(n), "", err
	}
	if id, word, expects := strings.Cut(field, ": "); expects {
		return s.expected(id, stats.Word(word))
	}
	id, what, _ := strings.Cut(field, " ")
	first, err := s.named(id)
	if err != nil {
		return "", "", err
	}
	o := s.outcome(first)
	c := o.claim // of the machine whose verdict it is
	if part, isOf := strings.CutPrefix(what, "of "); isOf {
		text, err := c.figureOf(part)
		return text, "", err
	}
	here, published, region := headline(c)
	switch what {
	case "":
		return s.link(c), "", nil
	case "here":
		return here, "", nil
	case "figure":
		return interval.ReplaceAllString(here, ""), "", nil
	case "published":
		return published, "", nil
	case "accept":
		return region, "", nil
	case "verdict":
		return string(o.word), "", nil
	}
	return "", "", fmt.Errorf("{%s}: expected nothing, here, figure, of COMPARISON, published, "+
		"accept or verdict after the claim", field)
}

// figureOf is the figure of one comparison of a claim, without its interval.
func (c *Claim) figureOf(part string) (string, error) {
	var names []string
	for _, p := range c.Parts {
		if p.Name == part {
			return interval.ReplaceAllString(figure(p.Estimate, p.Unit), ""), nil
		}
		names = append(names, p.Name)
	}
	return "", fmt.Errorf("claim %s has no comparison %q: expected one of %q", c.ID, part, names)
}

// named finds a claim by its name on the pages.
func (f *Figures) named(id string) (Claim, error) {
	i := slices.IndexFunc(f.Claims, func(c Claim) bool { return f.id(c) == id })
	if i < 0 {
		return Claim{}, fmt.Errorf("there is no claim %q", id)
	}
	return f.Claims[i], nil
}

// expected is the link to a claim of which a sentence was written for a verdict.
func (s *Set) expected(id string, word stats.Word) (text, warning string, err error) {
	c, err := s.named(id)
	switch {
	case err != nil:
		return "", "", err
	case !slices.Contains(outcomes, word):
		return "", "", fmt.Errorf("%q is no verdict: expected %s", word, joined(outcomes))
	}
	if now := s.outcome(c).word; now != word {
		return fmt.Sprintf("%s, *now %s*", s.link(c), now), fmt.Sprintf("the summary was "+
			"written for %s: %s; the verdict is now: %s", id, word, now), nil
	}
	return s.link(c), "", nil
}

// counted is the number of claims with a verdict on any machine, of decided ones, of those on which
// two machines agree, or of all. "published" before the word leaves out our own, "our" the others.
func (s *Set) counted(word string) (int, error) {
	with := func(ours bool) bool { return true }
	if rest, only := strings.CutPrefix(word, "published "); only {
		word, with = rest, func(ours bool) bool { return !ours }
	} else if rest, only := strings.CutPrefix(word, "our "); only {
		word, with = rest, func(ours bool) bool { return ours }
	}
	claims := slices.DeleteFunc(slices.Clone(s.Claims), func(c Claim) bool { return !with(c.Ours) })
	all := s.agreement(claims)
	switch word {
	case "claims":
		return all.claims, nil
	case "decided":
		return all.decided, nil
	case "agreed":
		return all.agree, nil
	}
	if !slices.Contains(outcomes, stats.Word(word)) {
		return 0, fmt.Errorf("%q cannot be counted: expected claims, decided, agreed or a verdict",
			word)
	}
	n := 0
	for _, c := range claims {
		if s.outcome(c).word == stats.Word(word) {
			n++
		}
	}
	return n, nil
}

// summarise writes the summary: its headings as they are, all else in lines of a hundred columns.
func (w *writer) summarise() {
	for block := range strings.SplitSeq(w.summary.Text, "\n\n") {
		if block = strings.TrimSpace(block); block == "" || strings.HasPrefix(block, "<!--") {
			continue
		}
		w.line("")
		if strings.HasPrefix(block, "#") {
			w.line("%s", strings.ReplaceAll(block, "\n", " "))
			continue
		}
		for i, item := range strings.Split("\n"+block, "\n- ") {
			switch item = strings.TrimSpace(item); {
			case item == "":
			case i == 0:
				w.prose("", "%s", item)
			default:
				w.prose("- ", "%s", item)
			}
		}
	}
}
