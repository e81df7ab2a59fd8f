// Package syntax reads Eve text: a scanner with layout, a parser that recovers, and a
// lossless tree.
package syntax

import "interleave/eve/source"

// A Token is a word of the text, with what stands before it that means nothing to the parser.
type Token struct {
	Kind  Kind
	Span  source.Span // of the token itself; empty for layout tokens
	Lead  string      // spaces, comments, line ends and blank lines before it
	Value string      // of literals: unquoted
}

// Text is the token as written.
func (t Token) Text() string { return t.Span.Text() }

// A Kind says what a token is.
type Kind uint8

// The kinds of tokens. Operators and keywords are Op and Keyword: their text tells them apart.
const (
	EOF Kind = iota
	Newline
	Indent
	Dedent
	Identifier
	Keyword
	Op
	Int
	Float
	Char
	String
	FormatString
	Duration
	Bad // what cannot start a token; an error was reported
)

// keywords cannot be names. `for`, `on` and the like stand at the start of a statement only, but
// one rule for all is what readers expect.
var keywords = map[string]bool{
	"import": true, "as": true, "pub": true, "type": true, "union": true, "const": true,
	"extern": true, "test": true,
	"finish": true, "on": true, "if": true, "else": true, "while": true, "for": true, "in": true,
	"match":  true,
	"return": true, "break": true, "continue": true, "pass": true, "assert": true, "fail": true,
	"defer": true,
	"emit":  true, "within": true, "true": true, "false": true, "none": true,
}
