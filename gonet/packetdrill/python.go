package packetdrill

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// This file evaluates the code of scripts. It is Python, of which the scripts use assertions about
// integers, assignments and print. All else is an error, for which the script does not apply.

// statement is an assertion or an assignment.
type statement struct {
	name  string // of the variable; "" in an assertion
	add   bool   // += in place of =
	value *expression
	text  string // of an assertion
}

// expression is a tree of operators over integers. A comparison's value is 0 or 1.
type expression struct {
	op     string // "number", "name", "compare", or an operator
	number int64
	name   string
	args   []*expression
	ops    []string // of a chain of comparisons: one fewer than args
}

var pythonToken = regexp.MustCompile(`^(?:0x[0-9a-fA-F]+|[0-9]+|[A-Za-z_][A-Za-z0-9_]*|` +
	`'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|\+=|-=|//|==|!=|<=|>=|<<|>>|[-+*/%&|^~()<>=,;.])`)

// pythonTokens divides code into tokens. A semicolon ends each statement; a line in brackets goes
// on in the next one.
func pythonTokens(source string) ([]string, error) {
	var tokens []string
	depth := 0
	for source != "" {
		switch {
		case strings.HasPrefix(source, "\\\n"):
			source = source[2:]
		case source[0] == ' ' || source[0] == '\t' || source[0] == '\r':
			source = source[1:]
		case source[0] == '#':
			_, rest, found := strings.Cut(source, "\n")
			if source = ""; found {
				source = "\n" + rest
			}
		case source[0] == '\n':
			if depth == 0 {
				tokens = append(tokens, ";")
			}
			source = source[1:]
		default:
			t := pythonToken.FindString(source)
			if t == "" {
				return nil, fmt.Errorf("unexpected %q", source[:1])
			}
			switch t {
			case "(":
				depth++
			case ")":
				depth--
			}
			tokens = append(tokens, t)
			source = source[len(t):]
		}
	}
	return append(tokens, ";"), nil
}

// python reads statements from tokens.
type python struct {
	tokens []string
	depth  int
	err    error
}

// parseCode returns the statements of code.
func parseCode(source Code) ([]statement, error) {
	tokens, err := pythonTokens(string(source))
	if err != nil {
		return nil, err
	}
	p := &python{tokens: tokens}
	var all []statement
	for len(p.tokens) > 0 {
		if p.accept(";") {
			continue
		}
		begin := p.tokens
		s := p.statement()
		if s.value != nil {
			s.text = strings.Join(begin[:len(begin)-len(p.tokens)], " ")
			all = append(all, s)
		}
		p.endStatement()
	}
	return all, p.err
}

func (p *python) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
	p.tokens = nil
}

func (p *python) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *python) accept(t string) bool {
	if p.peek() != t {
		return false
	}
	p.tokens = p.tokens[1:]
	return true
}

// endStatement passes over the end of a statement: after the condition of an assertion its message,
// and the arguments of print.
func (p *python) endStatement() {
	if p.peek() == "," || p.peek() == "(" {
		for p.peek() != ";" && p.peek() != "" {
			p.tokens = p.tokens[1:]
		}
	}
	if len(p.tokens) > 0 && !p.accept(";") {
		p.fail("unexpected %q", p.peek())
	}
}

func (p *python) statement() (s statement) {
	switch {
	case p.accept("assert"):
		s.value = p.expression()
		return s
	case p.accept("print"):
		return s
	}
	s.name = p.name()
	switch {
	case p.accept("="):
	case p.accept("+="):
		s.add = true
	default:
		p.fail("a statement of Python that is not read: %s %s", s.name, p.peek())
	}
	s.value = p.expression()
	return s
}

var pythonName = regexp.MustCompile(`^[A-Za-z_]`)

func (p *python) name() string {
	n := p.peek()
	if !pythonName.MatchString(n) {
		p.fail("expected a name, found %q", n)
		return ""
	}
	p.tokens = p.tokens[1:]
	return n
}

// precedence lists the binary operators, from those that bind least.
var precedence = [][]string{{"or"}, {"and"}, {"compare"}, {"|"}, {"&"}, {"<<", ">>"},
	{"+", "-"}, {"*", "//", "%"}}

var comparisons = []string{"==", "!=", "<=", ">=", "<", ">"}

func (p *python) expression() *expression { return p.binary(0) }

func (p *python) binary(level int) *expression {
	if p.depth++; p.depth > maxDepth*len(precedence) {
		p.fail("an expression is nested too deeply")
	}
	defer func() { p.depth-- }()
	if level == len(precedence) {
		return p.unary()
	}
	if precedence[level][0] == "compare" {
		return p.comparison(level)
	}
	left := p.binary(level + 1)
	for {
		op := p.oneOf(precedence[level])
		if op == "" {
			return left
		}
		left = &expression{op: op, args: []*expression{left, p.binary(level + 1)}}
	}
}

func (p *python) oneOf(ops []string) string {
	for _, op := range ops {
		if p.accept(op) {
			return op
		}
	}
	return ""
}

func (p *python) comparison(level int) *expression {
	e := &expression{op: "compare", args: []*expression{p.binary(level + 1)}}
	for {
		op := p.oneOf(comparisons)
		if op == "" {
			break
		}
		e.ops = append(e.ops, op)
		e.args = append(e.args, p.binary(level+1))
	}
	if len(e.ops) == 0 {
		return e.args[0]
	}
	return e
}

func (p *python) unary() *expression {
	switch t := p.peek(); {
	case p.accept("-"):
		return &expression{op: "negate", args: []*expression{p.binary(len(precedence))}}
	case p.accept("("):
		e := p.expression()
		if !p.accept(")") {
			p.fail("a bracket is not closed")
		}
		return e
	case t != "" && t[0] >= '0' && t[0] <= '9':
		p.accept(t)
		n, err := strconv.ParseInt(t, 0, 64)
		if err != nil {
			p.fail("%s is not a number", t)
		}
		return &expression{op: "number", number: n}
	default:
		return &expression{op: "name", name: p.name()}
	}
}

// names calls visit for each name in the expression.
func (e *expression) names(visit func(string)) {
	if e.op == "name" {
		visit(e.name)
	}
	for _, a := range e.args {
		a.names(visit)
	}
}

// eval returns the value of an expression with these values of names.
func (e *expression) eval(vars map[string]int64) (int64, error) {
	switch e.op {
	case "number":
		return e.number, nil
	case "name":
		v, ok := vars[e.name]
		if !ok {
			return 0, fmt.Errorf("%s has no value", e.name)
		}
		return v, nil
	}
	args := make([]int64, len(e.args))
	for i, a := range e.args {
		v, err := a.eval(vars)
		if err != nil {
			return 0, err
		}
		args[i] = v
	}
	switch e.op {
	case "negate":
		return -args[0], nil
	case "compare":
		for i, op := range e.ops {
			if !compare(op, args[i], args[i+1]) {
				return 0, nil
			}
		}
		return 1, nil
	}
	return operate(e.op, args[0], args[1])
}

func compare(op string, a, b int64) bool {
	switch op {
	case "==":
		return a == b
	case "!=":
		return a != b
	case "<=":
		return a <= b
	case ">=":
		return a >= b
	case "<":
		return a < b
	}
	return a > b
}

func operate(op string, a, b int64) (int64, error) {
	switch op {
	case "or":
		if a != 0 {
			return a, nil
		}
		return b, nil
	case "and":
		if a == 0 {
			return a, nil
		}
		return b, nil
	case "|":
		return a | b, nil
	case "&":
		return a & b, nil
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	case "<<", ">>":
		if b < 0 || b > 63 {
			return 0, fmt.Errorf("a shift by %d", b)
		}
		if op == "<<" {
			return a << b, nil
		}
		return a >> b, nil
	}
	if b <= 0 || a < 0 {
		return 0, fmt.Errorf("the quotient of %d and %d is not read", a, b)
	}
	if op == "//" {
		return a / b, nil
	}
	return a % b, nil
}
