package packetdrill

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// parser reads tokens. The first error moves it to the end, so that every loop ends.
type parser struct {
	tokens []token
	at     int
	depth  int // of nested values
	err    error
}

// Parse reads a script. An error is a *SyntaxError.
func Parse(source string) (*Script, error) {
	tokens, err := lex(source)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	s := p.script()
	if p.err != nil {
		return nil, p.err
	}
	return s, nil
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = &SyntaxError{p.peek().line, fmt.Sprintf(format, args...)}
	}
	p.at = len(p.tokens) - 1
}

func (p *parser) peek() token { return p.tokens[p.at] }

// second returns the token after the next.
func (p *parser) second() token { return p.tokens[min(p.at+1, len(p.tokens)-1)] }

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

// is tells whether the next token is this symbol or word.
func (p *parser) is(s string) bool {
	t := p.peek()
	return (t.kind == symbol || t.kind == word) && t.text == s
}

// accept takes the next token if it is this symbol or word.
func (p *parser) accept(s string) bool {
	if !p.is(s) {
		return false
	}
	p.take()
	return true
}

func (p *parser) expect(s string) {
	if !p.accept(s) {
		p.fail("expected %s, found %v", s, p.peek())
	}
}

// integer takes an integer from 0 up to most.
func (p *parser) integer(most int64) int64 {
	t := p.peek()
	if t.kind != integer {
		p.fail("expected a number, found %v", t)
		return 0
	}
	if t.number < 0 || t.number > most {
		p.fail("%d is not from 0 to %d", t.number, most)
		return 0
	}
	return p.take().number
}

func (p *parser) word() string {
	t := p.peek()
	if t.kind != word {
		p.fail("expected a word, found %v", t)
		return ""
	}
	return p.take().text
}

func (p *parser) script() *Script {
	s := &Script{}
	for p.peek().kind == option {
		t := p.take()
		name, value, _ := strings.Cut(strings.TrimPrefix(t.text, "--"), "=")
		s.Options = append(s.Options, Option{t.line, name, value})
	}
	if p.peek().kind == command {
		s.Init = p.take().text
	}
	for p.peek().kind != end && p.peek().kind != command {
		s.Events = append(s.Events, p.event())
	}
	if p.peek().kind == command {
		s.Cleanup = p.take().text
	}
	if t := p.peek(); t.kind != end {
		p.fail("expected the end, found %v", t)
	}
	return s
}

func (p *parser) event() Event {
	e := Event{Line: p.peek().line}
	e.Time = p.timing()
	e.Action = p.action()
	out := false
	switch a := e.Action.(type) {
	case *Segment:
		out = a.Out
	case *ICMP:
		out = a.Out
	}
	if e.Time.Kind >= AbsoluteRange && !out {
		p.fail("only a segment that is sent may have a range of times")
	}
	return e
}

func (p *parser) timing() (t Timing) {
	if p.accept("*") {
		return Timing{Kind: AnyTime}
	}
	if p.accept("+") {
		t.Kind = Relative
	}
	t.At = p.seconds()
	if !p.accept("~") {
		return t
	}
	if t.Kind == Relative {
		p.expect("+")
	}
	t.Kind += AbsoluteRange - Absolute
	if t.Until = p.seconds(); t.Until < t.At {
		p.fail("the range of times ends before it begins")
	}
	return t
}

// maxSeconds bounds each time of a script: eleven days.
const maxSeconds = 1e6

func (p *parser) seconds() time.Duration {
	t := p.peek()
	if t.kind != integer && t.kind != floating {
		p.fail("expected a time, found %v", t)
		return 0
	}
	s, err := strconv.ParseFloat(t.text, 64)
	if err != nil || s < 0 || s > maxSeconds {
		p.fail("%s is not a time from 0 to %g s", t.text, maxSeconds)
		return 0
	}
	p.take()
	return time.Duration(s*1e6+.5) * time.Microsecond
}

func (p *parser) action() Action {
	switch t := p.peek(); {
	case p.is("<"), p.is(">"):
		return p.packet()
	case t.kind == command:
		return Command(p.take().text)
	case t.kind == code:
		return Code(p.take().text)
	case t.kind == word, t.kind == ellipsis:
		return p.call()
	default:
		p.fail("expected a segment, a call, a command or code, found %v", t)
		return nil
	}
}

func (p *parser) call() *Call {
	c := &Call{}
	if p.peek().kind == ellipsis {
		p.take()
		c.Blocking, c.End = true, p.seconds()
	}
	c.Name = p.word()
	p.expect("(")
	c.Args = p.values(")")
	p.expect("=")
	c.Result = p.value()
	if p.peek().kind == word {
		c.Errno = p.take().text
	}
	if p.accept("(") { // a note, such as the text of the error
		for p.peek().kind != end && !p.accept(")") {
			p.take()
		}
	}
	return c
}

// values takes values up to a closing symbol.
func (p *parser) values(closing string) (all []Value) {
	if p.accept(closing) {
		return nil
	}
	for {
		all = append(all, p.value())
		if !p.accept(",") {
			p.expect(closing)
			return all
		}
	}
}

// maxDepth bounds the nesting of values.
const maxDepth = 50

func (p *parser) value() Value {
	if p.depth++; p.depth > maxDepth {
		p.fail("values are nested too deeply")
	}
	v := p.single()
	if p.is("|") {
		v = Value{Kind: Either, List: []Value{v}}
		for p.accept("|") {
			v.List = append(v.List, p.single())
		}
	}
	p.depth--
	return v
}

func (p *parser) single() Value {
	switch t := p.peek(); {
	case t.kind == ellipsis:
		p.take()
		return Value{}
	case t.kind == integer:
		return Value{Kind: Number, Number: p.take().number}
	case t.kind == text:
		v := Value{Kind: Text}
		for p.peek().kind == text || p.peek().kind == ellipsis {
			v.Text += p.take().text
		}
		return v
	case p.accept("["):
		return Value{Kind: List, List: p.values("]")}
	case p.accept("{"):
		return Value{Kind: Record, List: p.values("}")}
	case t.kind == word:
		return p.wordValue()
	default:
		p.fail("expected a value, found %v", t)
		return Value{}
	}
}

// wordValue takes a word, a function with its arguments, or a name with its value.
func (p *parser) wordValue() Value {
	v := Value{Kind: Word, Text: p.take().text}
	if p.accept("(") {
		v.Kind, v.List = Apply, p.values(")")
	}
	if p.accept("=") {
		v.Kind, v.List = Named, []Value{p.value()}
	}
	return v
}
