package lsp

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/syntax"
)

// A rule is a rule of a TextMate grammar.
type rule struct {
	Name          string
	Match         string
	Begin         string
	End           string
	Include       string
	Captures      map[string]rule
	BeginCaptures map[string]rule
	EndCaptures   map[string]rule
	Patterns      []rule
	Repository    map[string]rule
}

// A grammar colours a text as editors do: line by line, by the rule that matches first.
type grammar struct {
	top      rule
	compiled map[string]*regexp.Regexp
	// the last match of each pattern in the line that is being coloured; nil: it has none any more
	found map[string][]int
}

func readGrammar(t *testing.T) *grammar {
	t.Helper()
	content, err := os.ReadFile("../editors/vscode/syntaxes/eve.tmLanguage.json")
	if err != nil {
		t.Fatal(err)
	}
	g := &grammar{compiled: map[string]*regexp.Regexp{}}
	unmarshal(t, content, &g.top)
	return g
}

// expand returns the rules that a list of patterns stands for.
func (g *grammar) expand(patterns []rule) []rule {
	var all []rule
	for _, r := range patterns {
		switch {
		case r.Include == "$self":
			all = append(all, g.expand(g.top.Patterns)...)
		case r.Include != "":
			all = append(all, g.expand([]rule{g.top.Repository[r.Include[1:]]})...)
		case r.Match == "" && r.Begin == "":
			all = append(all, g.expand(r.Patterns)...)
		default:
			all = append(all, r)
		}
	}
	return all
}

// find returns the groups of the first match in line from pos on. Within a line pos only grows.
func (g *grammar) find(pattern, line string, pos int) []int {
	if g.compiled[pattern] == nil {
		g.compiled[pattern] = regexp.MustCompile(pattern)
	}
	if pos > 0 && pattern[0] == '^' {
		return nil
	}
	if m, ok := g.found[pattern]; ok && (m == nil || m[0] >= pos) {
		return m
	}
	m := slices.Clone(g.compiled[pattern].FindStringSubmatchIndex(line[pos:]))
	for i := range m {
		if m[i] >= 0 {
			m[i] += pos
		}
	}
	g.found[pattern] = m
	return m
}

// scopes returns for each byte of a text the names of the rules that cover it.
func (g *grammar) scopes(text string) []string {
	all := make([]string, 0, len(text))
	var stack []rule
	for line := range strings.SplitAfterSeq(text, "\n") {
		bare := strings.TrimRight(line, "\r\n")
		names := make([]string, len(line))
		stack = g.line(bare, names, stack)
		all = append(all, names...)
	}
	return all
}

// line colours one line, and returns the rules that are open at its end.
func (g *grammar) line(line string, names []string, stack []rule) []rule {
	g.found = map[string][]int{}
	paint := func(from, to int, name string) {
		for i := from; i < to; i++ {
			names[i] += name + " "
		}
	}
	around := func(from, to int) {
		for _, r := range stack {
			paint(from, to, r.Name)
		}
	}
	for pos := 0; ; {
		patterns, best, end := g.top.Patterns, []int(nil), false
		if n := len(stack); n > 0 {
			patterns = stack[n-1].Patterns
			best, end = g.find(stack[n-1].End, line, pos), true
		}
		var chosen rule
		for _, r := range g.expand(patterns) {
			if m := g.find(r.Match+r.Begin, line, pos); m != nil && (best == nil ||
				m[0] < best[0]) {
				best, chosen, end = m, r, false
			}
		}
		if best == nil {
			around(pos, len(line))
			return stack
		}
		around(pos, best[0])
		captures := chosen.Captures
		switch {
		case end:
			around(best[0], best[1])
			captures = stack[len(stack)-1].EndCaptures
			stack = stack[:len(stack)-1]
		case chosen.Begin != "":
			stack = append(stack[:len(stack):len(stack)], chosen)
			around(best[0], best[1])
			captures = chosen.BeginCaptures
		default:
			around(best[0], best[1])
			paint(best[0], best[1], chosen.Name)
		}
		for i := 0; 2*i < len(best); i++ {
			if c, ok := captures[itoa(i)]; ok && best[2*i] >= 0 {
				paint(best[2*i], best[2*i+1], c.Name)
			}
		}
		if best[1] == pos && !end && chosen.Begin == "" {
			return stack // nothing was matched: the grammar would never end
		}
		pos = best[1]
	}
}

// The colours of the grammar agree with the scanner, in every program without an error of the
// syntax.
func TestGrammar(t *testing.T) {
	g := readGrammar(t)
	for _, text := range corpus(t) {
		var diags diag.List
		tree := syntax.Parse(newFile("", text), &diags)
		if len(diags.Sorted()) > 0 {
			continue
		}
		scopes := g.scopes(text)
		for i, tok := range tree.Tokens {
			if why := disagrees(tree, i, scopes); why != "" {
				line := tok.Span.Line()
				t.Errorf("%q in %q: %s, and the grammar says %q", tok.Text(),
					tree.Source.Line(line), why, scopes[tok.Span.Start])
			}
		}
	}
}

// disagrees says how the colour of a token, or of the text before it, is not what the scanner
// makes of it.
func disagrees(tree *syntax.File, i int, scopes []string) string {
	tok := tree.Tokens[i]
	at := tok.Span.Start
	has := func(from, to int, name string) bool {
		return !slices.ContainsFunc(scopes[from:to], func(s string) bool {
			return !strings.Contains(s, name)
		})
	}
	for k := at - len(tok.Lead); k < at; k++ {
		c := tree.Source.Text[k]
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' && !has(k, k+1, "comment") {
			return "a comment before it has no colour of comments"
		}
	}
	if tok.Text() == "" {
		return ""
	}
	kinds := map[syntax.Kind]string{syntax.Int: "constant.numeric",
		syntax.Float: "constant.numeric", syntax.Duration: "constant.numeric",
		syntax.String: "string.quoted.double", syntax.Char: "string.quoted.single",
		syntax.FormatString: "string.quoted.double.format"}
	word := scopes[at]
	isKeyword := strings.Contains(word, "keyword.control") ||
		strings.Contains(word, "keyword.other") || strings.Contains(word, "constant.language")
	switch want := kinds[tok.Kind]; {
	case want != "":
		if !has(at, tok.Span.End, want) {
			return "it is " + want
		}
	case tok.Kind == syntax.Keyword && !isKeyword:
		return "it is a keyword"
	case tok.Kind == syntax.Identifier && isKeyword &&
		(!slices.Contains(syntax.Keywords(), tok.Text()) || tree.Tokens[i-1].Text() == "."):
		return "it is a name"
	case strings.Contains(word, "comment") || tok.Kind == syntax.Identifier &&
		strings.Contains(word, "string"):
		return "it is code"
	}
	return ""
}

// The grammar is JSON that VS Code reads: each rule that is included is there.
func TestGrammarIsWhole(t *testing.T) {
	g := readGrammar(t)
	var visit func(r rule)
	visit = func(r rule) {
		if name, ok := strings.CutPrefix(r.Include, "#"); ok {
			if _, there := g.top.Repository[name]; !there {
				t.Errorf("there is no rule %s", name)
			}
		}
		for _, p := range r.Patterns {
			visit(p)
		}
	}
	visit(g.top)
	for _, r := range g.top.Repository {
		visit(r)
	}
	for _, name := range []string{"package.json", "language-configuration.json"} {
		content, err := os.ReadFile("../editors/vscode/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(content) {
			t.Errorf("%s is not JSON", name)
		}
	}
}
