package profile

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"html/template"
	"io"
	"path/filepath"
	"slices"
)

//go:embed page.html
var page string

var pageTemplate = template.Must(template.New("profile").Parse(page))

// leastShare of all samples has a function in the page: narrower ones cannot be seen.
const leastShare = .0005

// A pageNode is a function for the script of the page.
type pageNode struct {
	Name  string      `json:"n"`
	Place string      `json:"p,omitempty"`
	Eve   bool        `json:"e,omitempty"`
	N     int64       `json:"c"`
	Self  int64       `json:"s,omitempty"`
	Calls []*pageNode `json:"k,omitempty"`
}

// HTML writes one page with a flame graph. It needs no other file and no network.
func (p *Profile) HTML(w io.Writer) error {
	text, err := json.Marshal(p.page(p.Root))
	if err != nil {
		return err
	}
	type row struct{ Name, Place, Time, Share string }
	var tasks []row
	for _, n := range p.byTime() {
		tasks = append(tasks, row{n.Name, n.Place(), p.Time(n.N), p.share(n.N)})
	}
	return pageTemplate.Execute(w, struct {
		Title, Caution, Time string
		Pid, Workers, Rate   int
		Samples              int64
		Tasks                []row
		Data                 template.JS
	}{filepath.Base(p.Program), p.Caution(), p.Time(p.Samples), p.Pid, p.Workers,
		p.Rate, p.Samples, tasks, template.JS(text)})
}

// byTime are the tasks and handlers, the one with the most samples first.
func (p *Profile) byTime() []*Node {
	all := slices.Clone(p.Root.Calls)
	slices.SortStableFunc(all, func(x, y *Node) int { return cmp.Compare(y.N, x.N) })
	return all
}

func (p *Profile) page(n *Node) *pageNode {
	out := &pageNode{Name: n.Name, Place: n.Place(), Eve: n.Eve, N: n.N, Self: n.Self}
	for _, c := range n.Calls {
		if float64(c.N) >= leastShare*float64(p.Samples) {
			out.Calls = append(out.Calls, p.page(c))
		}
	}
	return out
}
