package report

// One function of several TCP/IP stacks, side by side, as section 4.2 of gonet.txt does: how a
// datagram that arrives in fragments is put together. Code is no measurement, so it is read from
// the checkout, not from the record.

import (
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"interleave/internal/manifest"
)

// A stackView is the page's section.
type stackView struct {
	Table   table
	Steps   []stackStep
	Missing []string // stacks whose code is not here, with the reason
}

// A stackStep is one part of the work, in each stack.
type stackStep struct {
	Name, What string
	Sides      []stackSide
}

// A stackSide is a step in one stack.
type stackSide struct {
	Stack, File string
	Lines       int
	Text        template.HTML // empty if it is not there
}

// The stacks, and the folders below a checkout that hold their code.
var stackNames = []string{"GoNet", "lwIP", "tapip"}

var stackFolders = map[string]string{"GoNet": "gonet", "lwIP": "out/tools/lwip/src/core/ipv4",
	"tapip": "out/tools/tapip"}

// A passage is functions of one file of a stack.
type passage struct {
	file      string
	functions []string
}

// steps are the four that the paper compares, with the functions that do each.
var steps = []struct {
	name, what string
	// the lines that the paper prints of GoNet and of tapip, without comments: parts of functions
	printed  [2]int
	passages map[string]passage
}{
	{"Begin a reassembly",
		"GoNet starts a goroutine with a channel for each datagram; the stacks in C put a " +
			"structure on a global list.",
		[2]int{7, 5},
		map[string]passage{"GoNet": {"reassembly.go", []string{"inputFragment"}},
			"lwIP":  {"ip4_frag.c", []string{"ip_reass_enqueue_new_datagram"}},
			"tapip": {"ip/ip_frag.c", []string{"new_frag"}}}},
	{"Add a fragment",
		"The fragment is put in its place, and what overlaps or does not fit is refused.",
		[2]int{1, 7},
		map[string]passage{"GoNet": {"ip/reassemble.go", []string{"Add", "last", "duplicate",
			"insert"}},
			"lwIP": {"ip4_frag.c",
				[]string{"ip_reass_chain_frag_into_datagram_and_validate"}},
			"tapip": {"ip/ip_frag.c", []string{"insert_frag"}}}},
	{"Deal with a whole datagram",
		"GoNet's goroutine waits for fragments and hands the datagram back; the stacks in C find " +
			"the structure, add to it and look whether it is whole, in one call.",
		[2]int{3, 9},
		map[string]passage{"GoNet": {"reassembly.go", []string{"reassemble"}},
			"lwIP":  {"ip4_frag.c", []string{"ip4_reass"}},
			"tapip": {"ip/ip_frag.c", []string{"ip_reass", "reass_frag", "complete_frag"}}}},
	{"Clean up",
		"Memory in C is freed by hand; a goroutine that ends leaves it to the collector, but has " +
			"to be ended.",
		[2]int{1, 8},
		map[string]passage{"GoNet": {"reassembly.go", []string{"endReassembly", "evictOldest",
			"drainFragments"}},
			"lwIP": {"ip4_frag.c", []string{"ip_reass_tmr", "ip_reass_free_complete_datagram",
				"ip_reass_remove_oldest_datagram", "ip_reass_dequeue_datagram"}},
			"tapip": {"ip/ip_frag.c", []string{"delete_frag", "ip_timer"}}}},
}

// stacks compares the code; nil if the run is not about gonet.txt, or GoNet's code is not here.
func (s *study) stacks() *stackView {
	about := func(e *experiment) bool { return strings.HasPrefix(e.Source, "gonet.txt") }
	if s.Checkout == "" || !slices.ContainsFunc(s.experiments, about) {
		return nil
	}
	return compareStacks(s.Checkout)
}

// A StackStep is how many lines of code one step of the comparison has.
type StackStep struct {
	Name    string `json:"name"`
	Printed [2]int `json:"printed"` // in the paper, of GoNet and of tapip: parts of functions
	Lines   []int  `json:"lines"`   // in each stack here; 0: the function is not there
}

// StackLines counts the lines of one function in the stacks whose code a checkout has, by steps.
func StackLines(checkout string) (stacks []string, lines []StackStep) {
	v := compareStacks(checkout)
	if v == nil {
		return nil, nil
	}
	for i, step := range v.Steps {
		row := StackStep{Name: step.Name, Printed: steps[i].printed}
		for _, side := range step.Sides {
			row.Lines = append(row.Lines, side.Lines)
		}
		lines = append(lines, row)
	}
	return v.Table.Head[1:], lines
}

// compareStacks reads the stacks of a checkout; nil if GoNet is not there.
func compareStacks(checkout string) *stackView {
	v := &stackView{}
	here := stackNames[:0:0]
	for _, name := range stackNames {
		if _, err := os.Stat(filepath.Join(checkout, stackFolders[name])); err == nil {
			here = append(here, name)
			continue
		}
		v.Missing = append(v.Missing, fmt.Sprintf("The code of %s is not here: there is no %s; "+
			"make toolchains gets it where it can.", name, stackFolders[name]))
	}
	if !slices.Contains(here, "GoNet") {
		return nil
	}
	total := make([]int, len(here))
	for _, step := range steps {
		out := stackStep{Name: step.name, What: step.what}
		row := []string{step.name}
		for i, name := range here {
			side := read(checkout, name, step.passages[name])
			total[i] += side.Lines
			out.Sides = append(out.Sides, side)
			row = append(row, count(side.Lines))
		}
		v.Steps, v.Table.Rows = append(v.Steps, out), append(v.Table.Rows, row)
	}
	last := []string{"all four"}
	for _, n := range total {
		last = append(last, count(n))
	}
	v.Table.Rows = append(v.Table.Rows, last)
	v.Table.Head = append([]string{"lines of code"}, here...)
	return v
}

// count writes a number of lines; a function that is not there has none.
func count(n int) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprint(n)
}

// read finds the functions of a passage. One that the file does not have is left out.
func read(checkout, stack string, p passage) stackSide {
	side := stackSide{Stack: stack, File: p.file}
	data, err := readSource(filepath.Join(checkout, stackFolders[stack], p.file))
	if err != nil {
		return side
	}
	source := strings.ReplaceAll(string(data), "\r\n", "\n") // as lwIP ends its lines
	var parts []string
	for _, name := range p.functions {
		if text := function(source, name); text != "" {
			parts = append(parts, text)
		}
	}
	text := strings.Join(parts, "\n\n")
	side.Lines = manifest.CodeLines(p.file, []byte(text))
	side.Text = tint(filepath.Ext(p.file), text)
	return side
}

// function is the text of a function of C or Go, from the line that names it, and the line before
// it where that holds the type, to the brace that ends it in the first column. It is empty if the
// text has no such function.
func function(text, name string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !begins(line, name) || strings.HasSuffix(line, ";") { // a declaration
			continue
		}
		n := slices.Index(lines[i:], "}")
		if n < 0 {
			return ""
		}
		end := i + n + 1
		if i > 0 && !strings.HasPrefix(line, "func ") && typeOnly(lines[i-1]) {
			i--
		}
		return strings.Join(lines[i:end], "\n")
	}
	return ""
}

// begins says whether a line in the first column names a function before its parameters.
func begins(line, name string) bool {
	before, _, found := strings.Cut(line, name+"(")
	if !found || line[0] == ' ' || line[0] == '\t' || line[0] == '/' || line[0] == '#' {
		return false
	}
	return before == "" || strings.HasSuffix(before, " ") || strings.HasSuffix(before, "*")
}

// typeOnly says whether a line is the type of the function below it.
func typeOnly(line string) bool {
	return line != "" && strings.Trim(line, "abcdefghijklmnopqrstuvwxyz_0123456789 *") == ""
}
