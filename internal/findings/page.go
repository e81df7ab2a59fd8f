package findings

// The page of a source: each claim with its verdict, its figures, its cautions and its cause.

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/stats"
)

// A writer makes the pages of some machines.
type writer struct {
	*Set
	whys    map[string]Why
	summary Summary
	base    string // from the pages to the checkout: "../.."
	b       strings.Builder
	told    map[string]string // of a page: what it has told already -> the claim where it stands
}

// written is the first line of every page.
const written = "<!-- Written by `interleave findings`. A change here is lost: paragraphs are in " +
	"why/, figures in figures.json. -->\n"

// signs stand before the words, for the eye that runs down a list.
var signs = map[stats.Word]string{stats.Reproduced: "✔", stats.NotReproduced: "✘",
	stats.Inconclusive: "◇", stats.NotMeasured: "…", stats.NotComparable: "≠", Contradicted: "⇄"}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

// columns is the width of prose in this tree.
const columns = 100

// begins are words that would be markup at the beginning of a line, and the sign of a percentage.
var begins = regexp.MustCompile(`^([-+*=|>#%]|[0-9]+[.)]$)`)

// prose writes a text in lines of at most a hundred columns. The mark, such as "- ", begins the
// first line; a quotation's begins all.
func (w *writer) prose(mark, format string, args ...any) {
	rest := strings.Repeat(" ", len(mark))
	if mark == "> " {
		rest = mark
	}
	var units []string // words, with those that must not begin a line joined to the one before
	for word := range strings.FieldsSeq(fmt.Sprintf(format, args...)) {
		if len(units) > 0 && begins.MatchString(word) && !strings.HasPrefix(word, "**") {
			units[len(units)-1] += " " + word
			continue
		}
		units = append(units, word)
	}
	line := mark
	for i, u := range units {
		switch {
		case i == 0:
			line += u
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(u) > columns:
			w.line("%s", line)
			line = rest + u
		default:
			line += " " + u
		}
	}
	w.line("%s", line)
}

// page is the text of a source's page.
func (w *writer) page(s Source) string {
	w.b.Reset()
	w.told = map[string]string{}
	w.line("%s", written)
	w.line("# %s", title(s.Name))
	w.line("")
	w.prose("", "[All findings](README.md) · [words of our own](%s/docs/glossary.md) · [how "+
		"verdicts are found](%s/docs/method.md#verdicts) · measured on %s.", w.base, w.base,
		w.measuredOn())
	claims := w.of(s.Name)
	w.line("")
	w.prose("", "%s", w.tally(claims))
	w.line("")
	w.line("| | claim | verdict |")
	w.line("|---|---|---|")
	for _, c := range claims {
		w.line("| [%s](#%s) | %s | %s |", w.id(c), anchor(w.id(c)), cell(c.Says),
			w.verdictOf(c))
	}
	for _, e := range s.Experiments {
		w.experiment(e, claims)
	}
	if s.Name == "gonet" && w.Stacks != nil {
		w.stacks()
	}
	return w.b.String()
}

// stacks has the lines of one function in several stacks. Nothing is judged: the source compares by
// eye, and counts nothing.
func (w *writer) stacks() {
	w.line("")
	w.line("## Lines of the same function")
	w.line("")
	w.prose("", "How a datagram that arrives in fragments is put together, in each stack (section "+
		"4.2). The paper prints parts of this function of GoNet and of tapip, to show that "+
		"GoNet's code is the simpler one, and counts nothing; the first two columns are the "+
		"lines that it prints. The others are whole functions of this checkout, without blank "+
		"lines and comments. `interleave report` shows their code side by side.")
	w.line("")
	names := append([]string{"GoNet, as printed", "tapip, as printed"},
		texts(w.Stacks.Names, func(name string) string { return cell(name) + " here" })...)
	w.line("| step | %s |", strings.Join(names, " | "))
	w.line("|---|%s", strings.Repeat("--:|", len(names)))
	total := make([]int, len(names))
	for _, step := range w.Stacks.Steps {
		lines := append(step.Printed[:], step.Lines...)
		for i, n := range lines {
			total[i] += n
		}
		w.line("| %s | %s |", cell(step.Name), strings.Join(texts(lines, counted), " | "))
	}
	w.line("| all together | %s |", strings.Join(texts(total, counted), " | "))
}

// counted is a number of lines; a function that is not there has none.
func counted(n int) string {
	if n == 0 {
		return quantity.Missing
	}
	return strconv.Itoa(n)
}

func (w *writer) experiment(e Experiment, claims []Claim) {
	w.line("")
	w.line("## %s", e.Title)
	w.line("")
	w.prose("", "%s From %s; [the experiment](%s/experiments/%s/experiment.toml).",
		oneLine(e.Question), oneLine(e.Source), w.base, e.Name)
	setup := strings.Join(e.Setup, "\n")
	if before := w.told[setup]; before != "" && setup != "" {
		w.line("")
		w.prose("", "The source measured as it did for *%s*, above.", before)
	} else if setup != "" {
		w.told[setup] = oneLine(e.Title)
		w.line("")
		w.line("<details><summary>How the source measured</summary>")
		w.line("")
		for _, text := range e.Setup {
			w.prose("- ", "%s", plain(text))
		}
		w.line("")
		w.line("</details>")
	}
	for _, c := range claims {
		if c.Experiment == e.Name {
			w.claim(c)
		}
	}
}

func (w *writer) claim(c Claim) {
	w.line("")
	w.line("### %s", w.id(c))
	w.line("")
	where := ""
	if c.Where != "" {
		where = " (" + plain(c.Where) + ")"
	}
	w.prose("> ", "%s%s", plain(c.Says), where)
	o := w.outcome(c)
	if o.word == Contradicted {
		w.contradiction(c, o)
	}
	if o.by == nil {
		w.verdict("", "", c)
	} else {
		w.verdict("", w.label(o.by.Other), o.by.claim)
		w.verdict("On "+plain(w.firstLabel())+": ", "", c)
	}
	w.elsewhere(c, o)
	if c.Transfer != "" {
		w.line("")
		w.prose("", "*Differs from the source:* %s", w.once(c, c.Transfer,
			w.refer(c.Source, plain(c.Transfer))))
	}
	w.why(c)
}

// once is a text that the page has not told yet, or a link to the claim where it stands.
func (w *writer) once(c Claim, key, text string) string {
	if first := w.told[key]; first != "" {
		return fmt.Sprintf("as for [%s](#%s).", first, anchor(first))
	}
	w.told[key] = w.id(c)
	return text
}

// verdict is what one machine says, with its figures and cautions. The machine is named where it is
// not the first.
func (w *writer) verdict(begin, machine string, c Claim) {
	w.line("")
	w.prose("", "%s%s %s", begin, signs[c.Word], said(c, machine))
	place := "here"
	if machine != "" {
		place = "there"
	}
	w.parts(c, place)
	for _, text := range c.Cautions {
		w.line("")
		w.prose("", "*Caution:* %s.", plain(text))
	}
}

// said is the verdict: its word, the cores on which it was found, and its sentence without the word
// that ends it. The machine is named where it is not the first.
func said(c Claim, machine string) string {
	word := capital(string(c.Word))
	text := strings.TrimSpace(c.Sentence)
	reason, only := strings.CutPrefix(text, word+": ")
	text = plain(strings.TrimSuffix(text, word+"."))
	if machine != "" {
		word += " on " + plain(machine)
		if rest, here := strings.CutPrefix(text, "Here, "); here {
			text = "There, " + rest
		}
	}
	switch {
	case only:
		return "**" + word + ":** " + plain(reason)
	case c.Condition == "":
		return "**" + word + ".** " + text
	}
	return "**" + word + "**, on " + string(c.Condition) + " cores. " + text
}

// why is the paragraph about the cause, or the plain statement that there is none.
func (w *writer) why(c Claim) {
	why, found := w.whys[c.Source+" "+c.ID]
	w.line("")
	if !found {
		w.line("*Why:* nobody has looked yet.")
		return
	}
	head := "*Why:*"
	if o := w.outcome(c); o.word == Contradicted || o.by != nil {
		head = "*Why*, as it was seen on " + plain(why.Machine) + ":"
	}
	if stale := w.stale(why, c); stale != "" {
		head = fmt.Sprintf("*Why* (read with care: %s):", stale)
	}
	if again := w.once(c, fmt.Sprintf("%s:%d", why.File, why.Line), ""); again != "" {
		w.prose("", "%s %s", head, again)
		return
	}
	w.prose("", "%s", head)
	w.line("")
	w.line("%s", w.refer(c.Source, why.Text))
	if why.Tools != "" {
		w.line("")
		w.line("<sub>Looked into with %s.</sub>", plain(why.Tools))
	}
}

// parts is the table of the comparisons that a verdict rests on: here, or on another machine.
func (w *writer) parts(c Claim, place string) {
	if len(c.Parts) == 0 {
		return
	}
	w.line("")
	w.line("| comparison | %s (95 %% interval) | published by the source | reproduced if | "+
		"rounds that count |", place)
	w.line("|---|--:|--:|--:|--:|")
	for _, p := range c.Parts {
		name := cell(p.Name)
		if p.Name == c.Weakest {
			name += " (decides)"
		}
		rounds := fmt.Sprint(p.Rounds)
		if p.Rounds+p.Void == 0 {
			rounds = quantity.Missing // lines are counted once
		} else if p.Void > 0 {
			rounds += fmt.Sprintf(" of %d", p.Rounds+p.Void)
		}
		w.line("| %s | %s | %s | %s | %s |", name, figure(p.Estimate, p.Unit),
			publishedCell(p), region(p.Accept, p.Unit), rounds)
	}
}

// publishedCell is what the source gives: a figure, or the two ends of a range.
func publishedCell(p Part) string {
	switch from, to := written3(p.Published[0], p.Unit), written3(p.Published[1], p.Unit); {
	case p.Published == Range{}:
		return quantity.Missing
	case from == to:
		return from
	default:
		return from + " to " + to
	}
}

// written3 is a figure of three digits in the unit that figures here are written in.
func written3(v float64, unit string) string {
	if scales(unit) {
		return plain(quantity.Short(v, unit))
	}
	return plain(quantity.Significant(v, 3)) + after(unit)
}

// after is a unit as it follows a number. A ratio has none.
func after(unit string) string {
	if unit == "" || unit == "ratio" || unit == "slope" {
		return ""
	}
	return " " + cell(unit)
}

// scales tells the units that take a prefix.
func scales(unit string) bool {
	switch unit {
	case "µs", "bytes", "s", "bit/s", "requests/s", "deliveries/s":
		return true
	}
	return false
}

// figure is an estimate with its interval: "0.81 (0.78–0.84)".
func figure(s Span, unit string) string {
	if !s.known() {
		return quantity.Missing
	}
	switch {
	case scales(unit) && s.bounded():
		return plain(quantity.Estimate(s.Estimate, s.Lower, s.Upper, unit))
	case scales(unit):
		return plain(quantity.Short(s.Estimate, unit))
	case math.IsInf(s.Lower, -1) || math.IsInf(s.Upper, 1):
		return strconv.FormatFloat(s.Estimate, 'f', stats.Decimals(s.Estimate, 0, 0), 64) +
			after(unit)
	}
	write := func(v float64) string { // as the sentence does
		return strconv.FormatFloat(v, 'f', stats.Decimals(s.Estimate, s.Lower, s.Upper), 64)
	}
	return write(s.Estimate) + " (" + write(s.Lower) + "–" + write(s.Upper) + ")" + after(unit)
}

// region is what reproduces a claim: "below 0.952", "3.10 to 4.85".
func region(accept Range, unit string) string {
	low, high := written3(accept[0], unit), written3(accept[1], unit)
	openLow, openHigh := accept[0] <= 0, math.IsInf(accept[1], 1)
	if end := after(unit); end != "" && !scales(unit) {
		low = strings.TrimSuffix(low, end) // the unit once
		if openHigh {
			low += end
		}
	}
	switch {
	case openLow && openHigh:
		return quantity.Missing
	case openLow:
		return plain("below " + high)
	case openHigh:
		return plain("above " + low)
	}
	return plain(low + " to " + high)
}

// machine is the machine in a phrase.
func (f *Figures) machine() string {
	m := f.Machine
	var in []string
	for _, part := range []string{m.Virtual, m.System} {
		if part != "" {
			in = append(in, part)
		}
	}
	if m.Kernel != "" {
		in = append(in, "Linux "+strings.TrimPrefix(m.Kernel, "Linux "))
	}
	text := f.machineOf()
	if len(in) > 0 {
		text += " (" + strings.Join(in, ", ") + ")"
	}
	return plain(text)
}

// anchor is the link that a heading of a claim gets: its letters and digits in small letters.
func anchor(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		case r == ' ':
			return '-'
		}
		return -1
	}, id)
}

func verdictCell(w stats.Word) string {
	return signs[w] + "&nbsp;" + strings.ReplaceAll(string(w), " ", "&nbsp;")
}

// plain is a text of a manifest or a record within a paragraph: on one line, no markup.
func plain(text string) string {
	return strings.NewReplacer("\n", " ", quantity.Thin, " ", "<", "&lt;", "*", `\*`, "_", `\_`,
		"`", "'").Replace(strings.TrimSpace(text))
}

func oneLine(text string) string { return strings.Join(strings.Fields(plain(text)), " ") }

// cell keeps a text within its column of a table.
func cell(text string) string { return strings.ReplaceAll(oneLine(text), "|", `\|`) }

func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}

// metricName is a metric as tables name it.
func metricName(m manifest.Metric) string {
	info := manifest.Metrics[m]
	if info.Name == "" {
		return string(m)
	}
	return info.Name
}
