package findings

// Two sets of figures beside each other, of which one is committed as a rule: what another machine
// says of the same claims, and of the same models. Only what does not depend on how fast a machine
// is can be compared: verdicts, and ratios within rounds.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/stats"
)

// Told is how two machines stand to each other in one question.
type Told string

// The answers.
const (
	Agree   Told = "agree"            // both decide, alike
	Differ  Told = "differ"           // both decide, and not alike
	OneOnly Told = "only one decided" //
	Neither Told = "neither decided"  //
	Changed Told = "not the same"     // the claim was worded differently, or has another margin
	Missing Told = "only in one"      // one of the two has not measured it
)

// answers is the order in which they are counted.
var answers = []Told{Agree, Differ, OneOnly, Neither, Changed, Missing}

// A ClaimPair is one claim on two machines. A word is empty where the claim is not there.
type ClaimPair struct {
	Experiment string     `json:"experiment"`
	Claim      string     `json:"claim"`
	Says       string     `json:"says"`
	Told       Told       `json:"told"`
	A          stats.Word `json:"a"`
	B          stats.Word `json:"b"`
	HereA      string     `json:"figure_a"` // of the part that decides
	HereB      string     `json:"figure_b"`
}

// A RatioPair is one model's ratio to the baseline on two machines.
type RatioPair struct {
	Experiment string             `json:"experiment"`
	Service    string             `json:"service"`
	Point      string             `json:"point"`
	Condition  manifest.Condition `json:"condition"`
	Metric     manifest.Metric    `json:"metric"`
	Model      string             `json:"model"`
	Baseline   string             `json:"baseline"`
	Told       Told               `json:"told"`
	A          Span               `json:"a"`
	B          Span               `json:"b"`
	// the intervals have no value in common: the sizes differ, whatever the side
	Apart bool `json:"apart"`
}

// A Gap is what differs between the machines.
type Gap struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// A Comparison is what Compare finds.
type Comparison struct {
	A      string      `json:"a"`
	B      string      `json:"b"`
	Note   string      `json:"note,omitempty"` // which machine of several this is
	Gaps   []Gap       `json:"machines"`
	Claims []ClaimPair `json:"claims"`
	Ratios []RatioPair `json:"ratios"`
	OnlyA  int         `json:"ratios_only_in_a"`
	OnlyB  int         `json:"ratios_only_in_b"`
}

// Compare holds b against a.
func Compare(a, b *Figures) Comparison {
	c := Comparison{A: a.Run, B: b.Run, Gaps: gaps(a, b), Claims: []ClaimPair{},
		Ratios: []RatioPair{}}
	type key struct{ experiment, id string }
	theirs := map[key]Claim{}
	for _, o := range b.Claims {
		theirs[key{o.Experiment, o.ID}] = o
	}
	for _, x := range a.Claims {
		k := key{x.Experiment, x.ID}
		y, found := theirs[k]
		delete(theirs, k)
		c.Claims = append(c.Claims, claims(&x, &y, found))
	}
	for _, y := range b.Claims {
		if _, left := theirs[key{y.Experiment, y.ID}]; left {
			p := claims(&y, &Claim{}, false)
			p.A, p.B, p.HereA, p.HereB = p.B, p.A, p.HereB, p.HereA
			c.Claims = append(c.Claims, p)
		}
	}
	c.ratios(a, b)
	return c
}

func claims(x, y *Claim, found bool) ClaimPair {
	p := ClaimPair{Experiment: x.Experiment, Claim: x.ID, Says: x.Says, A: x.Word, B: y.Word}
	p.HereA, _, _ = headline(*x)
	p.HereB, _, _ = headline(*y)
	switch {
	case !found:
		p.Told = Missing
	case silent(x.Word) && silent(y.Word):
		p.Told = Neither
	case silent(x.Word) || silent(y.Word):
		p.Told = Missing
	case !sameClaim(x, y):
		p.Told = Changed
	default:
		p.Told = toldWords(x.Word, y.Word)
	}
	return p
}

// told is how two machines stand to each other that decide a question or do not, and if both do,
// alike or not.
func told(a, b, alike bool) Told {
	switch {
	case a && b && alike:
		return Agree
	case a && b:
		return Differ
	case a || b:
		return OneOnly
	}
	return Neither
}

// toldWords compares the verdicts on one claim.
func toldWords(a, b stats.Word) Told { return told(Decided(a), Decided(b), a == b) }

// sameClaim says whether two machines were asked the same.
func sameClaim(x, y *Claim) bool {
	return x.Says == y.Says && x.Margin == y.Margin && x.Metric == y.Metric
}

// silent says whether a word tells nothing of its machine.
func silent(w stats.Word) bool { return w == stats.NotMeasured || w == stats.NotComparable }

// ratios pairs every ratio to the baseline that both have.
func (c *Comparison) ratios(a, b *Figures) {
	theirs := map[tableKey]Table{}
	for _, t := range b.Tables {
		theirs[t.key()] = t
		c.OnlyB += t.ratios()
	}
	for _, x := range a.Tables {
		y, found := theirs[x.key()]
		if !found || x.Baseline != y.Baseline {
			c.OnlyA += x.ratios()
			continue
		}
		for _, r := range x.Rows {
			i := slices.IndexFunc(y.Rows, func(o Row) bool { return o.Model == r.Model })
			switch {
			case r.Model == x.Baseline || !r.Ratio.known():
			case i < 0 || !y.Rows[i].Ratio.known():
				c.OnlyA++
			default:
				c.OnlyB--
				c.Ratios = append(c.Ratios, RatioPair{x.Experiment, x.Service, x.Point,
					x.Condition, x.Metric, r.Model, x.Baseline, toldOf(r.Ratio, y.Rows[i].Ratio),
					r.Ratio, y.Rows[i].Ratio, apart(r.Ratio, y.Rows[i].Ratio)})
			}
		}
	}
	slices.SortStableFunc(c.Ratios, func(a, b RatioPair) int {
		return cmp.Compare(b.distance(), a.distance())
	})
}

// ratios counts the rows that have one to another model.
func (t *Table) ratios() int {
	n := 0
	for _, r := range t.Rows {
		if r.Model != t.Baseline && r.Ratio.known() {
			n++
		}
	}
	return n
}

// toldOf compares the sides of 1 on which two intervals lie.
func toldOf(a, b Span) Told {
	x, y := a.side(), b.side()
	return told(x != 0, y != 0, x == y)
}

func apart(a, b Span) bool {
	return a.bounded() && b.bounded() && (a.Lower > b.Upper || b.Lower > a.Upper)
}

// distance is by how much the two ratios differ, whichever is the larger.
func (p *RatioPair) distance() float64 {
	if p.A.Estimate <= 0 || p.B.Estimate <= 0 {
		return 0
	}
	return math.Abs(math.Log(p.A.Estimate / p.B.Estimate))
}

// gaps are the differences of the machines.
func gaps(a, b *Figures) []Gap {
	out := []Gap{}
	add := func(name, x, y string) {
		if x != y {
			out = append(out, Gap{name, cmp.Or(x, "none"), cmp.Or(y, "none")})
		}
	}
	m, o := a.Machine, b.Machine
	add("cores", fmt.Sprint(m.Cores), fmt.Sprint(o.Cores))
	add("processor", m.CPU, o.CPU)
	add("memory", spaced(quantity.Of(float64(m.MemBytes), "bytes")),
		spaced(quantity.Of(float64(o.MemBytes), "bytes")))
	add("kernel", m.Kernel, o.Kernel)
	add("system", m.System, o.System)
	add("virtual", m.Virtual, o.Virtual)
	add("congestion control", m.Congestion, o.Congestion)
	add("hosts", a.Hosts, b.Hosts)
	var names []string
	for _, list := range []map[string]string{m.ToolChains, o.ToolChains} {
		for name := range list {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		add(name, m.ToolChains[name], o.ToolChains[name])
	}
	return out
}

// spaced has blanks for the narrow spaces of figures, which terminals draw too wide.
func spaced(text string) string { return strings.ReplaceAll(text, quantity.Thin, " ") }
