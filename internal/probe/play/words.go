package play

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// A token is a word or a quoted string.
type token struct {
	text   string
	quoted bool
}

// split cuts a line at blanks; a quoted string is one token; # begins a comment.
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

// words hands out the tokens of a line; each method says what it expected.
type words struct {
	tokens []token
	at     int
}

func (w *words) peek() (token, bool) {
	if w.at == len(w.tokens) {
		return token{}, false
	}
	return w.tokens[w.at], true
}

// take consumes the next token if it is this word.
func (w *words) take(word string) bool {
	if next, ok := w.peek(); ok && !next.quoted && next.text == word {
		w.at++
		return true
	}
	return false
}

func (w *words) word(expected string) (string, error) {
	next, ok := w.peek()
	if !ok {
		return "", fmt.Errorf("expected %s at the end of the line", expected)
	}
	if next.quoted {
		return "", fmt.Errorf("expected %s, got %q", expected, next.text)
	}
	w.at++
	return next.text, nil
}

func (w *words) end() error {
	if next, ok := w.peek(); ok {
		return fmt.Errorf("expected the end of the line, got %s", next.text)
	}
	return nil
}

func (w *words) number(expected string, least, most int64) (int64, error) {
	text, err := w.word(expected)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("expected %s between %d and %d, got %s", expected, least, most, text)
	}
	return n, nil
}

func (w *words) duration() (time.Duration, error) {
	text, err := w.word("a duration such as 20ms")
	if err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxLimit {
		return 0, fmt.Errorf("expected a duration such as 20ms, at most %v, got %s", maxLimit, text)
	}
	return d, nil
}

// bytes reads a size: 17, 64KiB, 8MiB, 1GiB.
func (w *words) bytes() (int64, error) {
	text, err := w.word("a size such as 64KiB")
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
	if err != nil || n < 1 || n > maxData/unit {
		return 0, fmt.Errorf("expected a size such as 64KiB, at most 1GiB, got %s", text)
	}
	return n * unit, nil
}

// verb reads an action: the word of a table, then what its reader wants.
func (w *words) verb(who string, verbs map[string]func(*words) (action, error)) (action, error) {
	next, ok := w.peek()
	name := next.text
	if next.quoted {
		name = `"`
	}
	read := verbs[name]
	if !ok || read == nil {
		var names []string
		for name := range verbs {
			names = append(names, strings.Replace(name, `"`, "a quoted string", 1))
		}
		sort.Strings(names)
		return nil, fmt.Errorf("expected one of %s after %s", strings.Join(names, ", "), who)
	}
	if !next.quoted {
		w.at++
	}
	return read(w)
}

// data reads one or more parts: "text", "text"*40, hex 00 ff*3, rising 1MiB, pattern 8MiB seed 7.
func (w *words) data() (data, error) {
	var d data
	for {
		next, ok := w.peek()
		switch {
		case ok && next.quoted:
			w.at++
			times, err := w.times()
			if err != nil {
				return nil, err
			}
			if next.text == "" {
				return nil, fmt.Errorf("expected at least one byte in quotes")
			}
			d = append(d, part{text: []byte(next.text), times: times})
		case w.take("hex"):
			parts, err := w.hex()
			if err != nil {
				return nil, err
			}
			d = append(d, parts...)
		case w.take("rising"):
			length, err := w.bytes()
			if err != nil {
				return nil, err
			}
			d = append(d, part{text: rising, length: length})
		case w.take("pattern"):
			p, err := w.pattern()
			if err != nil {
				return nil, err
			}
			d = append(d, p)
		default:
			if len(d) == 0 {
				return nil,
					fmt.Errorf(`expected data: "text", "text"*40, hex 00 ff*3, rising 1MiB or pattern 8MiB seed 7`)
			}
			if size := d.size(); size > maxData {
				return nil, fmt.Errorf("expected at most 1GiB of data, got %d bytes", size)
			}
			return d, nil
		}
		if len(d) > maxClients {
			return nil, fmt.Errorf("expected at most %d parts of data", maxClients)
		}
	}
}

// span reads FROM..TO.
func (w *words) span(expected string, limit int64) (least, most int64, err error) {
	text, err := w.word(expected)
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

// times reads the *N that may follow a part.
func (w *words) times() (int64, error) {
	next, ok := w.peek()
	if !ok || next.quoted || !strings.HasPrefix(next.text, "*") {
		return 1, nil
	}
	w.at++
	return repeats(next.text[1:])
}

func repeats(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > maxData {
		return 0, fmt.Errorf("expected a number of times between 1 and %d after *, got %s", maxData,
			text)
	}
	return n, nil
}

// hex reads bytes of two digits until a word is none.
func (w *words) hex() (data, error) {
	var d data
	for {
		next, ok := w.peek()
		digits, count, many := strings.Cut(next.text, "*")
		b, err := strconv.ParseUint(digits, 16, 8)
		if !ok || next.quoted || len(digits) != 2 || err != nil {
			if len(d) == 0 {
				return nil, fmt.Errorf("expected bytes of two hexadecimal digits after hex")
			}
			return d, nil
		}
		w.at++
		times := int64(1)
		if many {
			if times, err = repeats(count); err != nil {
				return nil, err
			}
		}
		d = append(d, part{text: []byte{byte(b)}, times: times})
	}
}

func (w *words) pattern() (part, error) {
	length, err := w.bytes()
	if err != nil {
		return part{}, err
	}
	seed := int64(1)
	if w.take("seed") {
		if seed, err = w.number("a seed", 0, 1<<32); err != nil {
			return part{}, err
		}
	}
	return part{length: length, seed: uint64(seed)}, nil
}

// A pace is how data is cut and spread: "by 64KiB every 20ms".
type pace struct {
	by    int64 // bytes at a time; 0 = all at once
	every time.Duration
}

func (w *words) pace() (p pace, err error) {
	if w.take("by") {
		if p.by, err = w.bytes(); err != nil {
			return p, err
		}
	}
	if w.take("every") {
		if p.by == 0 {
			return p, fmt.Errorf("expected by SIZE before every")
		}
		p.every, err = w.duration()
	}
	return p, err
}

// keywords begin the lines that are no client's.
var keywords = []string{"limit", "dial", "ping", "visit", "server", "stdout", "data", "log",
	"power"}

// isName tells whether a client may be called so.
func isName(name string) bool {
	for i, r := range name {
		if (r < 'a' || r > 'z') && (i == 0 || (r < '0' || r > '9') && r != '-') {
			return false
		}
	}
	return name != "" && !slices.Contains(keywords, name)
}
