// Package syntax reads Eve text: a scanner with layout, a parser that recovers, and a
// lossless tree.
package syntax

import (
	"maps"
	"slices"

	"interleave/eve/source"
)

// A Token is a word of the text, with the text before it that means nothing to the parser.
type Token struct {
	Kind  Kind
	Span  source.Span // of the token itself; empty for layout tokens
	Lead  string      // spaces, comments, line ends and blank lines before it
	Value string      // of literals: unquoted
}

// Text is the token as written.
func (t Token) Text() string { return t.Span.Text() }

// A Kind is the kind of a token.
type Kind uint8

// The kinds of tokens. Operators and keywords are Op and Keyword; their text distinguishes them.
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
	Bad // text that is no token; an error was reported
)

// keywords cannot be names. `for`, `on` and the like are needed only at the start of a statement,
// but one rule for all is simpler for readers.
var keywords = map[string]bool{
	"import": true, "as": true, "pub": true, "type": true, "union": true, "const": true,
	"extern": true, "test": true,
	"finish": true, "on": true, "if": true, "else": true, "while": true, "for": true, "in": true,
	"match":  true,
	"return": true, "break": true, "continue": true, "pass": true, "assert": true, "fail": true,
	"defer": true,
	"emit":  true, "within": true, "true": true, "false": true, "none": true,
}

// Keywords lists the words that the language uses itself, sorted. Some of them may be names where
// their statement or clause cannot be.
func Keywords() []string { return slices.Sorted(maps.Keys(keywords)) }
