package transcript

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A token is a word or a quoted string.
type token struct {
	text   string
	quoted bool
}

// split cuts a line at blanks. A quoted string is one token, and # begins a comment.
func split(line string) ([]token, error) {
	var tokens []token
	for {
		line = strings.TrimLeft(line, " \t")
		switch {
		case line == "" || line[0] == '#':
			return tokens, nil
		case line[0] == '"':
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, fmt.Errorf("expected a closing quote and escapes as in Go: %s", line)
			}
			text, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("expected a quoted string as in Go: %s", quoted)
			}
			tokens = append(tokens, token{text, true})
			line = line[len(quoted):]
		default:
			end := strings.IndexAny(line, " \t\"#")
			if end < 0 {
				end = len(line)
			}
			tokens = append(tokens, token{line[:end], false})
			line = line[end:]
		}
	}
}

// A Line is a line that is being read. Its methods take what comes next, or return an error that
// says what was expected. A verb's Read is given the line behind the verb.
type Line struct {
	Who string // the client or group that the line begins with

	tokens     []token
	at         int // the next token's place
	names      *names
	losesPower bool
}

// peek returns the next token, if there is one.
func (l *Line) peek() (token, bool) {
	if l.at == len(l.tokens) {
		return token{}, false
	}
	return l.tokens[l.at], true
}

// wordAt returns the word at a place of the line, or "" if no word is there.
func (l *Line) wordAt(place int) string {
	if place >= len(l.tokens) || l.tokens[place].quoted {
		return ""
	}
	return l.tokens[place].text
}

// NextWord returns the next word without taking it, or "" if no word comes next.
func (l *Line) NextWord() string { return l.wordAt(l.at) }

// AtEnd reports whether all of the line has been read.
func (l *Line) AtEnd() bool { return l.at == len(l.tokens) }

// AtQuoted reports whether a quoted string comes next.
func (l *Line) AtQuoted() bool {
	next, ok := l.peek()
	return ok && next.quoted
}

// Take takes the next word if it is this one.
func (l *Line) Take(word string) bool {
	if next, ok := l.peek(); ok && !next.quoted && next.text == word {
		l.at++
		return true
	}
	return false
}

// Expect takes these words, which must come next.
func (l *Line) Expect(next ...string) error {
	for _, word := range next {
		if !l.Take(word) {
			return fmt.Errorf("expected %s", strings.Join(next, " "))
		}
	}
	return nil
}

// Quoted reads a quoted string that is not empty.
func (l *Line) Quoted(expected string) (string, error) {
	next, ok := l.peek()
	if !ok || !next.quoted || next.text == "" {
		return "", fmt.Errorf("expected %s in quotes", expected)
	}
	l.at++
	return next.text, nil
}

// Word reads any word.
func (l *Line) Word(expected string) (string, error) {
	next, ok := l.peek()
	if !ok {
		return "", fmt.Errorf("expected %s at the end of the line", expected)
	}
	if next.quoted {
		return "", fmt.Errorf("expected %s, got %q", expected, next.text)
	}
	l.at++
	return next.text, nil
}

// end returns an error unless all of the line has been read.
func (l *Line) end() error {
	if next, ok := l.peek(); ok {
		return fmt.Errorf("expected the end of the line, got %s", next.text)
	}
	return nil
}

// Number reads a whole number between least and most.
func (l *Line) Number(expected string, least, most int64) (int64, error) {
	text, err := l.Word(expected)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("expected %s between %d and %d, got %s", expected, least, most, text)
	}
	return n, nil
}

// Duration reads a duration such as 20ms.
func (l *Line) Duration() (time.Duration, error) {
	text, err := l.Word("a duration such as 20ms")
	if err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxLimit {
		return 0, fmt.Errorf("expected a duration such as 20ms, at most %v, got %s", maxLimit, text)
	}
	return d, nil
}

// Bytes reads a size: 17, 64KiB, 8MiB, 1GiB.
func (l *Line) Bytes() (int64, error) {
	text, err := l.Word("a size such as 64KiB")
	if err != nil {
		return 0, err
	}
	digits, unit := text, int64(1)
	for suffix, factor := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if cut, ok := strings.CutSuffix(text, suffix); ok {
			digits, unit = cut, factor
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > MaxData/unit {
		return 0, fmt.Errorf("expected a size such as 64KiB, at most 1GiB, got %s", text)
	}
	return n * unit, nil
}

// maxParts bounds the parts of the data of one step.
const maxParts = 10_000

// Data reads one or more parts: "text", "text"*40, hex 00 ff*3, rising 1MiB, pattern 8MiB seed 7.
func (l *Line) Data() (Data, error) {
	var d Data
	for {
		next, ok := l.peek()
		switch {
		case ok && next.quoted:
			l.at++
			times, err := l.times()
			if err != nil {
				return nil, err
			}
			if next.text == "" {
				return nil, fmt.Errorf("expected at least one byte in quotes")
			}
			d = append(d, part{text: []byte(next.text), times: times})
		case l.Take("hex"):
			parts, err := l.hex()
			if err != nil {
				return nil, err
			}
			d = append(d, parts...)
		case l.Take("rising"):
			length, err := l.Bytes()
			if err != nil {
				return nil, err
			}
			d = append(d, part{text: rising, length: length})
		case l.Take("pattern"):
			p, err := l.pattern()
			if err != nil {
				return nil, err
			}
			d = append(d, p)
		default:
			if len(d) == 0 {
				return nil,
					fmt.Errorf(`expected data: "text", "text"*40, hex 00 ff*3, rising 1MiB or pattern 8MiB seed 7`)
			}
			if size := d.Size(); size > MaxData {
				return nil, fmt.Errorf("expected at most 1GiB of data, got %d bytes", size)
			}
			return d, nil
		}
		if len(d) > maxParts {
			return nil, fmt.Errorf("expected at most %d parts of data", maxParts)
		}
	}
}

// Span reads FROM..TO, two numbers of 1 or more that rise up to limit.
func (l *Line) Span(expected string, limit int64) (least, most int64, err error) {
	text, err := l.Word(expected)
	if err != nil {
		return 0, 0, err
	}
	from, to, _ := strings.Cut(text, "..")
	least, err1 := strconv.ParseInt(from, 10, 64)
	most, err2 := strconv.ParseInt(to, 10, 64)
	if err1 != nil || err2 != nil || least < 1 || most < least || most > limit {
		return 0, 0, fmt.Errorf("expected %s, at most %d, got %s", expected, limit, text)
	}
	return least, most, nil
}

// times reads the *N that may follow a part of data.
func (l *Line) times() (int64, error) {
	next, ok := l.peek()
	if !ok || next.quoted || !strings.HasPrefix(next.text, "*") {
		return 1, nil
	}
	l.at++
	return repeats(next.text[1:])
}

// repeats reads the N of *N.
func repeats(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > MaxData {
		return 0, fmt.Errorf("expected a number of times between 1 and %d after *, got %s", MaxData,
			text)
	}
	return n, nil
}

// hex reads bytes of two hexadecimal digits, up to the first word that is none.
func (l *Line) hex() (Data, error) {
	var d Data
	for {
		next, ok := l.peek()
		digits, count, many := strings.Cut(next.text, "*")
		b, err := strconv.ParseUint(digits, 16, 8)
		if !ok || next.quoted || len(digits) != 2 || err != nil {
			if len(d) == 0 {
				return nil, fmt.Errorf("expected bytes of two hexadecimal digits after hex")
			}
			return d, nil
		}
		l.at++
		times := int64(1)
		if many {
			if times, err = repeats(count); err != nil {
				return nil, err
			}
		}
		d = append(d, part{text: []byte{byte(b)}, times: times})
	}
}

// pattern reads a length and a seed.
func (l *Line) pattern() (part, error) {
	length, err := l.Bytes()
	if err != nil {
		return part{}, err
	}
	seed := int64(1)
	if l.Take("seed") {
		if seed, err = l.Number("a seed", 0, 1<<32); err != nil {
			return part{}, err
		}
	}
	return part{length: length, seed: uint64(seed)}, nil
}

// Pace reads how the data before it is cut and spread: by 64KiB every 20ms. All of it is optional.
func (l *Line) Pace() (p Pace, err error) {
	if l.Take("by") {
		if p.By, err = l.Bytes(); err != nil {
			return p, err
		}
	}
	if l.Take("every") {
		if p.By == 0 {
			return p, fmt.Errorf("expected by SIZE before every")
		}
		p.Every, err = l.Duration()
	}
	return p, err
}

// FileUsage is how a line with File is written.
const FileUsage = `data file "NAME" DATA, or data append "NAME" DATA`

// File reads the name and the data of a file in the server's folder.
func (l *Line) File() (f File, err error) {
	if f.Name, err = l.Quoted("a file's name"); err != nil {
		return f, err
	}
	if strings.Contains(f.Name, "/") || f.Name == "." || f.Name == ".." {
		return f, fmt.Errorf("expected the name of a file in the server's folder, got %q", f.Name)
	}
	f.Data, err = l.Data()
	return f, err
}
