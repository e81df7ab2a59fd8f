package play

import (
	"fmt"
	"strings"
)

// A wanted line is what a transcript says must come. Most of it stands for itself; "…" is any text
// or none, {time} a time such as 2026-11-22T07:20:11.123Z, and {log} the time that stands before
// the same line in the log.
type wanted struct {
	text  string
	parts []string // between the dots; {log} is written {time} in them
	log   bool
}

const (
	anything  = "…"
	someTime  = "{time}"
	timeOfLog = "{log}"
	// timeForm is the form of a time, 0 for each digit.
	timeForm = "0000-00-00T00:00:00.000Z"
)

func newWanted(text string) *wanted {
	plain := strings.ReplaceAll(text, timeOfLog, someTime)
	return &wanted{text: text, parts: strings.Split(plain, anything), log: plain != text}
}

func (w *wanted) String() string { return fmt.Sprintf("%q", w.text) }

// matches takes for each text between dots the first place that fits: where later ones fit
// then, if anywhere.
func (w *wanted) matches(line string) bool {
	at, ok := fits(line, w.parts[0])
	if !ok {
		return false
	}
	line = line[at:]
	for i, part := range w.parts[1:] {
		last := i == len(w.parts)-2
		if last && part == "" {
			return true
		}
		found := false
		for skip := 0; skip <= len(line); skip++ {
			n, ok := fits(line[skip:], part)
			if ok && (!last || skip+n == len(line)) {
				line, found = line[skip+n:], true
				break
			}
		}
		if !found {
			return false
		}
	}
	return line == ""
}

// fits tells whether the line begins with the part, and how long that is in the line.
func fits(line, part string) (length int, ok bool) {
	whole := len(line)
	for part != "" {
		if rest, is := strings.CutPrefix(part, someTime); is {
			if len(line) < len(timeForm) || !isTime(line[:len(timeForm)]) {
				return 0, false
			}
			line, part = line[len(timeForm):], rest
			continue
		}
		literal := part
		if end := strings.Index(part, someTime); end >= 0 {
			literal = part[:end]
		}
		if !strings.HasPrefix(line, literal) {
			return 0, false
		}
		line, part = line[len(literal):], part[len(literal):]
	}
	return whole - len(line), true
}

func isTime(text string) bool {
	if len(text) != len(timeForm) {
		return false
	}
	for i := range len(text) {
		digit := text[i] >= '0' && text[i] <= '9'
		if digit != (timeForm[i] == '0') || !digit && text[i] != timeForm[i] {
			return false
		}
	}
	return true
}
