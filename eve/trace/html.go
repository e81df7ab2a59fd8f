package trace

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"interleave/eve/dump"
)

//go:embed page.html
var page string

var pageTemplate = template.Must(template.New("trace").Parse(page))

// The bounds of a page, so that a browser opens it at once. What is left out is said there.
const (
	mostSpans   = 120_000 // the longest
	mostWaits   = 2000    // the longest
	mostObjects = 500     // with the most waiting
	mostPairs   = 12      // of one object
	mostRows    = 16      // objects with a row in the timeline
	mostHolds   = 4000    // of one row, the longest
	mostSteps   = 4000    // of one row's number of waiters
)

// pageData is what the script of the page reads. Lists are used instead of objects where there are
// many, to keep the page small. Codes and objects are indices.
type pageData struct {
	Length  int64        `json:"length"`
	Codes   []pageCode   `json:"codes"`
	Workers [][]pageSpan `json:"workers"`
	Loans   [][4]int64   `json:"loans"` // of, by, from, time
	Objects []pageObject `json:"objects"`
	Rows    []pageRow    `json:"rows"`
	Waits   []pageWait   `json:"waits"`
}

type pageCode struct {
	Name  string `json:"name"`
	Place string `json:"place,omitempty"`
	Text  string `json:"text,omitempty"` // the line of the program
}

// A pageSpan is: from, time, kind, code (-1: none), other worker (-1: none), task (0: none).
type pageSpan [6]int64

type pageObject struct {
	Name    string     `json:"name"`
	Waits   int        `json:"waits"`
	Waited  int64      `json:"waited"`
	Longest int64      `json:"longest"`
	Held    int64      `json:"held"`
	Holds   int        `json:"holds"`
	Pairs   [][4]int64 `json:"pairs"` // waiter, holder, waits, time
	More    int        `json:"more"`  // pairs that are left out
}

// A pageRow is an object in the timeline.
type pageRow struct {
	Object int        `json:"object"`
	Holds  [][4]int64 `json:"holds"` // from, time, code, 1 to write
	Queue  [][2]int64 `json:"queue"` // from a time on, so many tasks wait
}

type pageWait struct {
	From    int64   `json:"from"`
	Time    int64   `json:"time"`
	Object  int     `json:"object"`
	Code    int64   `json:"code"`
	Task    int     `json:"task"`
	Write   bool    `json:"write"`
	Open    bool    `json:"open"`
	Holders []int64 `json:"holders"`
	More    int     `json:"more"`
}

// HTML writes one page with a timeline and lists. It needs no other file and no network. The lines
// of the program are shown if source returns its text by the name of a file.
func (t *Trace) HTML(w io.Writer, source func(file string) (string, error)) error {
	p := &pageMaker{t: t, codes: map[*Code]int64{}, lines: map[string][]string{}, source: source}
	data := p.data()
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	shown := 0
	for _, spans := range data.Workers {
		shown += len(spans)
	}
	return pageTemplate.Execute(w, struct {
		Title, Started, Length, Caution string
		Args                            []string
		Pid, Workers                    int
		Events, Tasks, Spans, Left      int
		Waits, LeftWaits, LeftObjects   int
		Shortest                        string
		Data                            template.JS
	}{
		filepath.Base(t.Program), t.Started.UTC().Format("2006-01-02 15:04:05 MST"),
		dump.Duration(t.Length), t.Caution(), t.Args, t.Pid, t.Workers, t.Events, len(t.Tasks),
		len(t.Spans), len(t.Spans) - shown, len(t.Waits), len(t.Waits) - len(data.Waits),
		max(0, p.waitedFor()-len(data.Objects)), dump.Duration(p.shortest), template.JS(text),
	})
}

// A pageMaker collects the data of a page.
type pageMaker struct {
	t        *Trace
	codes    map[*Code]int64
	listed   []pageCode
	lines    map[string][]string // of files
	source   func(string) (string, error)
	shortest int64 // spans shorter than this are left out
}

// waitedFor is the number of objects that were waited for.
func (p *pageMaker) waitedFor() int {
	n, _ := slices.BinarySearchFunc(p.t.Objects, 0, func(o *Object, _ int) int {
		if o.Waits > 0 {
			return -1
		}
		return 1
	})
	return n
}

func (p *pageMaker) data() pageData {
	d := pageData{Length: p.t.Length}
	d.Workers = p.spans()
	for _, l := range p.t.Loans {
		d.Loans = append(d.Loans, [4]int64{int64(l.Of), int64(l.By), l.From, l.To - l.From})
	}
	index := map[*Object]int{}
	for i, o := range p.t.Objects[:min(len(p.t.Objects), mostObjects)] {
		index[o] = i
		d.Objects = append(d.Objects, p.object(o))
		if i < mostRows && (o.Waits > 0 || i == 0) {
			d.Rows = append(d.Rows, pageRow{i, p.holds(o), p.queue(o)})
		}
	}
	for _, w := range p.t.Waits {
		at, listed := index[w.Object]
		if !listed || len(d.Waits) == mostWaits {
			continue
		}
		x := pageWait{From: w.From, Time: w.Time(), Object: at, Code: p.code(w.Task.Code),
			Task: w.Task.ID, Write: w.Write, Open: w.Open, More: w.More}
		for _, h := range w.Holders {
			x.Holders = append(x.Holders, p.code(h.Code))
		}
		d.Waits = append(d.Waits, x)
	}
	d.Codes = p.listed
	return d
}

// code is the index of a code; -1 for none.
func (p *pageMaker) code(c *Code) int64 {
	if c == nil {
		return -1
	}
	if at, known := p.codes[c]; known {
		return at
	}
	at := int64(len(p.listed))
	p.codes[c] = at
	p.listed = append(p.listed, pageCode{c.Name, c.Place(), p.line(c)})
	return at
}

// line is the text at the place of a code; empty if it is not to be had.
func (p *pageMaker) line(c *Code) string {
	if c.File == "" || p.source == nil {
		return ""
	}
	lines, known := p.lines[c.File]
	if !known {
		if text, err := p.source(c.File); err == nil {
			lines = strings.Split(text, "\n")
		}
		p.lines[c.File] = lines
	}
	if c.Line < 1 || c.Line > len(lines) {
		return ""
	}
	return strings.TrimSpace(lines[c.Line-1])
}

// spans are those of each worker, without the shortest ones if there are too many.
func (p *pageMaker) spans() [][]pageSpan {
	if n := len(p.t.Spans); n > mostSpans {
		times := make([]int64, n)
		for i, s := range p.t.Spans {
			times[i] = s.To - s.From
		}
		slices.Sort(times)
		p.shortest = times[n-mostSpans] + 1
	}
	all := make([][]pageSpan, p.t.Workers)
	for _, s := range p.t.Spans {
		if s.Worker >= p.t.Workers || s.To-s.From < p.shortest {
			continue
		}
		x := pageSpan{s.From, s.To - s.From, int64(s.Kind), p.code(s.Code), -1, 0}
		if s.Took || s.Kind == Stolen || s.Kind == Joining {
			x[4] = int64(s.Other)
		}
		if s.Task != nil {
			x[5] = int64(s.Task.ID)
		}
		all[s.Worker] = append(all[s.Worker], x)
	}
	return all
}

func (p *pageMaker) object(o *Object) pageObject {
	x := pageObject{Name: o.Name, Waits: o.Waits, Waited: o.Waited, Longest: o.Longest,
		Held: o.Held, Holds: len(o.Holds)}
	for i, pair := range o.Pairs {
		if i == mostPairs {
			x.More = len(o.Pairs) - i
			break
		}
		x.Pairs = append(x.Pairs, [4]int64{p.code(pair.Waiter), p.code(pair.Holder),
			int64(pair.Waits), pair.Time})
	}
	return x
}

// holds are the longest holds of an object, in order.
func (p *pageMaker) holds(o *Object) [][4]int64 {
	holds := o.Holds
	if len(holds) > mostHolds {
		holds = slices.Clone(holds)
		slices.SortFunc(holds, func(x, y Hold) int { return cmp.Compare(y.To-y.From, x.To-x.From) })
		holds = holds[:mostHolds]
		slices.SortFunc(holds, func(x, y Hold) int { return cmp.Compare(x.From, y.From) })
	}
	var all [][4]int64
	for _, h := range holds {
		write := int64(0)
		if h.Write {
			write = 1
		}
		all = append(all, [4]int64{h.From, h.To - h.From, p.code(h.Task.Code), write})
	}
	return all
}

// queue is how many tasks wait for an object over the time. If it changes too often, a step is the
// most of a part of the run.
func (p *pageMaker) queue(o *Object) [][2]int64 {
	var steps [][2]int64
	for _, w := range p.t.Waits {
		if w.Object == o {
			steps = append(steps, [2]int64{w.From, 1}, [2]int64{w.To, -1})
		}
	}
	slices.SortFunc(steps, func(x, y [2]int64) int {
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]))
	})
	part := int64(1)
	if len(steps) > mostSteps {
		part = max(p.t.Length/mostSteps, 1)
	}
	var all [][2]int64
	waiting := int64(0)
	for i, s := range steps {
		at, last := s[0]/part*part, len(all)-1
		switch {
		case last >= 0 && all[last][0] == at: // the same part
		case last >= 0 && part > 1 && at > all[last][0]+part: // parts without a step between
			all = append(all, [2]int64{all[last][0] + part, waiting}, [2]int64{at, waiting})
		default:
			all = append(all, [2]int64{at, waiting * min(part-1, 1)})
		}
		waiting += s[1]
		last = len(all) - 1
		if part == 1 || all[last][1] < waiting {
			all[last][1] = waiting
		}
		if i == len(steps)-1 && part > 1 {
			all = append(all, [2]int64{at + part, waiting})
		}
	}
	return all
}
