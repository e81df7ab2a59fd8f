package chat

import (
	"fmt"
	"strings"
)

// A wanted line is what a transcript says must come. In it "…" is any text or none, {time} is a
// time such as 2026-11-22T07:20:11.123Z, and {log} is the time that stands before the same line in
// the log. All other text stands for itself.
type wanted struct {
	text  string
	parts []string // the text between the dots; {log} is {time} in them
	log   bool     // the line has {log}
}

const (
	anything  = "…"
	someTime  = "{time}"
	timeOfLog = "{log}"
	// timeForm is the form of a time, with 0 for each digit.
	timeForm = "0000-00-00T00:00:00.000Z"
)

// newWanted reads a wanted line.
func newWanted(text string) *wanted {
	plain := strings.ReplaceAll(text, timeOfLog, someTime)
	return &wanted{text: text, parts: strings.Split(plain, anything), log: plain != text}
}

// String shows the line in messages.
func (w *wanted) String() string { return fmt.Sprintf("%q", w.text) }

// matches reports whether the line is a wanted one. For each text between dots it takes the first
// place that fits; if the texts after it fit anywhere, they fit behind that place.
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

// fits reports whether the line begins with the part, and how many bytes of the line that takes.
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

// isTime reports whether a text has the form of a time.
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
