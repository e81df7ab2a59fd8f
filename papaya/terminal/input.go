package terminal

import (
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// remembered is how many typed lines are kept for the arrow keys.
const remembered = 100

// maxInput bounds a typed or pasted text, in characters. It is about what Say sends at once.
const maxInput = 8192

// breakSign stands for the end of a line in the one line of the input.
const breakSign = '⏎'

// An input is the line that the user is typing.
type input struct {
	text    []rune
	cursor  int // before this rune
	written []string
	back    int // which of the remembered lines is shown, from the newest; 0: none
	offers  []string
	offer   int
	start   int // the start of the completed word
}

func (in *input) String() string { return string(in.text) }

func (in *input) set(text string) {
	in.text = []rune(text)
	in.cursor = len(in.text)
}

// insert inserts a text before the cursor. It returns false, and inserts nothing, if the input
// would be too long.
func (in *input) insert(text string) bool {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	var runes []rune
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			runes = append(runes, '\n')
		}
		runes = append(runes, []rune(clean(line))...)
	}
	if len(in.text)+len(runes) > maxInput {
		return false
	}
	in.text = append(in.text[:in.cursor:in.cursor], append(runes, in.text[in.cursor:]...)...)
	in.cursor += len(runes)
	return true
}

// take returns the line, remembers it and empties it.
func (in *input) take() string {
	text := in.String()
	if strings.TrimSpace(text) != "" && (len(in.written) == 0 ||
		in.written[len(in.written)-1] != text) {
		in.written = append(in.written, text)
		in.written = in.written[max(0, len(in.written)-remembered):]
	}
	in.set("")
	in.back = 0
	return text
}

// key handles a key. It returns false if the key has no meaning in the line.
func (in *input) key(key string) bool {
	switch key {
	case "left", "ctrl+b":
		in.cursor = max(0, in.cursor-1)
	case "right", "ctrl+f":
		in.cursor = min(len(in.text), in.cursor+1)
	case "home", "ctrl+a":
		in.cursor = 0
	case "end", "ctrl+e":
		in.cursor = len(in.text)
	case "backspace", "ctrl+h":
		in.drop(in.cursor-1, in.cursor)
	case "delete", "ctrl+d":
		in.drop(in.cursor, in.cursor+1)
	case "ctrl+w", "alt+backspace":
		in.drop(in.word(), in.cursor)
	case "ctrl+u":
		in.drop(0, in.cursor)
	case "ctrl+k":
		in.drop(in.cursor, len(in.text))
	case "up":
		in.recall(1)
	case "down":
		in.recall(-1)
	default:
		return false
	}
	return true
}

func (in *input) drop(from, to int) {
	from, to = max(0, from), min(len(in.text), to)
	if from >= to {
		return
	}
	in.text = append(in.text[:from:from], in.text[to:]...)
	in.cursor = from
}

// word returns where the word before the cursor begins.
func (in *input) word() int {
	at := in.cursor
	for at > 0 && unicode.IsSpace(in.text[at-1]) {
		at--
	}
	for at > 0 && !unicode.IsSpace(in.text[at-1]) {
		at--
	}
	return at
}

func (in *input) recall(step int) {
	back := in.back + step
	if back < 0 || back > len(in.written) {
		return
	}
	in.back = back
	if back == 0 {
		in.set("")
		return
	}
	in.set(in.written[len(in.written)-back])
}

// complete replaces the word before the cursor by the next completion. The first call asks offered
// for them.
func (in *input) complete(step int, offered func(word string, first bool) []string) {
	if len(in.offers) == 0 {
		in.start = in.cursor
		for in.start > 0 && !unicode.IsSpace(in.text[in.start-1]) {
			in.start--
		}
		word := string(in.text[in.start:in.cursor])
		if word == "" {
			return
		}
		in.offers, in.offer = offered(word, in.start == 0), -1
		if len(in.offers) == 0 {
			return
		}
		if step < 0 {
			in.offer = 0
		}
	}
	in.offer = (in.offer + step + len(in.offers)) % len(in.offers)
	word := []rune(in.offers[in.offer])
	in.text = append(in.text[:in.start:in.start], append(word, in.text[in.cursor:]...)...)
	in.cursor = in.start + len(word)
}

// forgetOffers ends a completion.
func (in *input) forgetOffers() { in.offers = nil }

// view returns the part of the text that fits in one line, and the column of the cursor in it.
func (in *input) view(width int) (string, int) {
	shown := slices.Clone(in.text)
	for i, c := range shown {
		if c == '\n' {
			shown[i] = breakSign
		}
	}
	from := sort.Search(in.cursor,
		func(i int) bool { return ansi.StringWidth(string(shown[i:in.cursor])) < width })
	return ansi.Truncate(string(shown[from:]), width, ""),
		ansi.StringWidth(string(shown[from:in.cursor]))
}
