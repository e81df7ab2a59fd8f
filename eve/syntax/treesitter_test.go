package syntax

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// patience is the longest time that tree-sitter may take for one text: a net for texts on which it
// hangs.
const patience = 2 * time.Minute

// A treeSitter is a process that parses texts with the parser that editors load.
type treeSitter struct {
	t    testing.TB
	cmd  *exec.Cmd
	in   *bufio.Writer
	out  *bufio.Reader
	said *bytes.Buffer // its standard error
}

// A tsNode is a node of tree-sitter's tree.
type tsNode struct {
	kind   string
	parent int // its index; -1 for the root
	// The node reaches from the first token in it to the last. It has none, and both are -1, if it
	// is a comment or empty.
	start, end int
}

// editorsParser makes the parser for editors, and returns its folder. It skips the test when a
// tool for that is missing.
func editorsParser(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "../editors/tree-sitter/build.sh").CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 3 {
		t.Skipf("SKIP: %s", bytes.TrimSpace(out))
	}
	if err != nil {
		t.Fatalf("build.sh: %v\n%s", err, out)
	}
	folder, err := filepath.Abs("../../out/tree-sitter")
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// startTreeSitter starts a process that parses. With sanitize, the parser and its scanner are
// compiled with the sanitizers for addresses and undefined behaviour.
func startTreeSitter(t testing.TB, sanitize bool) *treeSitter {
	t.Helper()
	folder := editorsParser(t)
	program := filepath.Join(t.TempDir(), "treesitter")
	args := []string{"-std=c11", "-g", "-O1", "-o", program, "testdata/treesitter.c"}
	if sanitize {
		src := filepath.Join(folder, "src")
		args = append(args, "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I", src,
			filepath.Join(src, "parser.c"), filepath.Join(src, "scanner.c"))
	} else {
		args = append(args, filepath.Join(folder, "eve.so"), "-Wl,-rpath,"+folder)
	}
	out, err := exec.CommandContext(t.Context(), "cc", append(args, "-ltree-sitter")...).
		CombinedOutput()
	if bytes.Contains(out, []byte("tree_sitter/api.h")) {
		t.Skip("SKIP: install libtree-sitter-dev to compare the grammar with the parser")
	}
	if err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return launch(t, program)
}

// launch starts the program, which ends with the test.
func launch(t testing.TB, program string) *treeSitter {
	t.Helper()
	ts := &treeSitter{t: t, cmd: exec.Command(program), said: &bytes.Buffer{}}
	ts.cmd.Stderr = ts.said
	in, err := ts.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := ts.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := ts.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ts.in, ts.out = bufio.NewWriter(in), bufio.NewReader(out)
	t.Cleanup(func() {
		in.Close()
		if err := ts.cmd.Wait(); err != nil {
			t.Errorf("the process that parses: %v\n%s", err, ts.said)
		}
	})
	return ts
}

// parse returns the nodes of a text, parents first, and whether it has an error.
func (ts *treeSitter) parse(text string) ([]tsNode, bool) { return ts.ask("text", text) }

// edit is parse as editors do it: the text before is known, and changed in one place.
func (ts *treeSitter) edit(text string) ([]tsNode, bool) { return ts.ask("edit", text) }

// show returns the tree as an S-expression.
func (ts *treeSitter) show(text string) (string, bool) {
	ts.t.Helper()
	lines, wrong := ts.send("show", text)
	return strings.Join(lines, ""), wrong
}

func (ts *treeSitter) ask(verb, text string) (nodes []tsNode, wrong bool) {
	ts.t.Helper()
	lines, wrong := ts.send(verb, text)
	var open []int // the node of each depth
	for _, line := range lines {
		f := strings.SplitN(line, " ", 4)
		depth, start, end := number(ts.t, f[0]), number(ts.t, f[1]), number(ts.t, f[2])
		n := tsNode{kind: f[3], parent: -1, start: start, end: end}
		if depth > 0 {
			n.parent = open[depth-1]
		}
		open = append(open[:depth], len(nodes))
		nodes = append(nodes, n)
	}
	return extents(nodes), wrong
}

// send returns the lines of an answer, and whether the text has an error.
func (ts *treeSitter) send(verb, text string) (lines []string, wrong bool) {
	ts.t.Helper()
	net := time.AfterFunc(patience, func() { ts.cmd.Process.Kill() })
	defer net.Stop()
	fmt.Fprintf(ts.in, "%s %d\n%s", verb, len(text), text)
	if err := ts.in.Flush(); err != nil {
		ts.gone(err, text)
	}
	wrong = ts.line(text) == "1"
	for {
		line := ts.line(text)
		if line == "." {
			return lines, wrong
		}
		lines = append(lines, line)
	}
}

// extents sets where nodes start and end from the tokens in them: tree-sitter counts comments and
// blanks in some.
func extents(nodes []tsNode) []tsNode {
	inner := make([]bool, len(nodes))
	for i := len(nodes) - 1; i >= 0; i-- {
		n := &nodes[i]
		if !inner[i] && (n.start == n.end || n.kind == "comment") {
			n.start, n.end = -1, -1
		}
		if n.parent < 0 {
			break
		}
		p := &nodes[n.parent]
		if !inner[n.parent] {
			p.start, p.end = -1, -1
		}
		inner[n.parent] = true
		if n.end >= 0 {
			p.start, p.end = n.start, max(p.end, n.end)
		}
	}
	return nodes
}

func number(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// line returns the next line of an answer.
func (ts *treeSitter) line(text string) string {
	ts.t.Helper()
	line, err := ts.out.ReadString('\n')
	if err != nil {
		ts.gone(err, text)
	}
	return strings.TrimSuffix(line, "\n")
}

// gone reports that the process has ended, or was killed because it hung.
func (ts *treeSitter) gone(err error, text string) {
	ts.t.Helper()
	ts.t.Fatalf("no answer: %v\n%s\nThe text:\n%q", err, ts.said, text)
}

// programs lists all programs of the tree.
func programs(t testing.TB) []string {
	t.Helper()
	all := slices.Concat(eveFiles(t, ".."), eveFiles(t, "../../docs/eve"),
		eveFiles(t, "../../services"))
	if len(all) < 400 {
		t.Fatalf("only %d programs are found", len(all))
	}
	return all
}

// The tree of tree-sitter has the nodes of the parser's, in the same places.
func TestTreeSitterAgrees(t *testing.T) {
	ts := startTreeSitter(t, false)
	for _, name := range programs(t) {
		agree(t, ts, name, read(t, name))
	}
}

// agree compares the trees of a text that the parser accepts. It returns whether it does.
func agree(t *testing.T, ts *treeSitter, name, text string) bool {
	t.Helper()
	f, diags := parse(name, text)
	nodes, wrong := ts.parse(text)
	if diags.HasErrors() || onlyOurs(f) {
		return false
	}
	if wrong {
		t.Errorf("%s: tree-sitter finds an error%s", name, place(f, nodes))
		return true
	}
	got, want := grammarOutline(nodes), parserOutline(f)
	if slices.Equal(got, want) {
		return true
	}
	show := func(of, less []string) string {
		var b strings.Builder
		shown := 0
		for _, o := range of {
			if _, there := slices.BinarySearch(less, o); !there && shown < 8 {
				shown++
				var start, end int
				var kind string
				fmt.Sscanf(o, "%d %d %s", &start, &end, &kind)
				line, _ := f.Source.Position(start)
				fmt.Fprintf(&b, "\n  %d: %s %q", line, kind, f.Source.Text[start:end])
			}
		}
		return b.String()
	}
	t.Errorf("%s: only tree-sitter has%s\nonly the parser has%s", name, show(got, want),
		show(want, got))
	return true
}

// onlyOurs says whether a text has what only tree-sitter refuses: in literals and comments bytes
// that are zero or not UTF-8, and quotes in the format of a value, which eve check refuses later.
func onlyOurs(f *File) bool {
	text := f.Source.Text
	found := !utf8.ValidString(text) || strings.Contains(text, "\x00")
	Walk(f, func(n Node) bool {
		if s, ok := n.(*FString); ok {
			for _, part := range s.Parts {
				found = found || strings.Contains(part.Format, `"`)
			}
		}
		return true
	})
	return found
}

// place says where the first error is that has a node.
func place(f *File, nodes []tsNode) string {
	for _, n := range nodes {
		if n.kind == "ERROR" && n.start >= 0 {
			line, _ := f.Source.Position(n.start)
			return fmt.Sprintf(" in line %d: %q", line, f.Source.Line(line))
		}
	}
	return ", a missing token"
}

// loose are the mistakes that tree-sitter accepts, with the reason.
var loose = map[string]string{
	"tabs":                      "only the parser reports a tab; both take it for four columns",
	"keyword as parameter":      "a keyword is a name where the grammar expects only names",
	"keyword as function":       "as above: reserved words need ABI 15, which few editors read",
	"keyword as operand":        "as above",
	"self that is no parameter": "only the parser compares a list with the parameters",
}

// What the parser refuses is an error in tree-sitter's tree.
func TestTreeSitterRefuses(t *testing.T) {
	ts := startTreeSitter(t, false)
	for _, m := range mistakes {
		_, diags := parse("wrong.eve", m.source())
		_, wrong := ts.parse(m.source())
		_, listed := loose[m.name]
		switch {
		case diags.HasErrors() && !wrong && !listed:
			t.Errorf("%s: tree-sitter finds no error\n%s", m.name, m.source())
		case wrong && listed:
			t.Errorf("%s is listed as accepted, and is not", m.name)
		case wrong && !diags.HasErrors():
			t.Errorf("%s: only tree-sitter finds an error\n%s", m.name, m.source())
		}
	}
}

// mostLost bounds the mistakes behind which tree-sitter loses the next function. There were 5 with
// tree-sitter 0.20.7, of 135; another version may repair others.
const mostLost = 10

// A mistake in a function leaves the function behind it whole, so that an editor keeps its colours.
func TestTreeSitterRecovers(t *testing.T) {
	ts := startTreeSitter(t, false)
	var lost []string
	for _, m := range mistakes {
		if m.in == "" {
			continue
		}
		text := m.source()
		next := strings.Index(text, "g: () void")
		nodes, _ := ts.parse(text)
		if !slices.ContainsFunc(nodes, func(n tsNode) bool {
			return n.kind == "function_declaration" && n.start == next
		}) {
			lost = append(lost, m.name)
		}
	}
	if len(lost) > mostLost {
		t.Errorf("the next function is lost behind %d mistakes: %q", len(lost), lost)
	}
}
