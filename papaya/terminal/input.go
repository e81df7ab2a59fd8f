package terminal

import (
	"sort"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// remembered is how many typed lines are kept for the arrow keys.
const remembered = 100

// maxInput bounds a typed or pasted text. A line of IRC has 512 bytes; a longer text is sent in
// pieces.
const maxInput = 8192

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

func (in *input) insert(text string) {
	text = clean(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(text))
	runes := []rune(text)
	runes = runes[:min(len(runes), max(0, maxInput-len(in.text)))]
	in.text = append(in.text[:in.cursor:in.cursor], append(runes, in.text[in.cursor:]...)...)
	in.cursor += len(runes)
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
	for at > 0 && in.text[at-1] == ' ' {
		at--
	}
	for at > 0 && in.text[at-1] != ' ' {
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
		for in.start > 0 && in.text[in.start-1] != ' ' {
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

// view returns the part of the line that fits, and the column of the cursor in it.
func (in *input) view(width int) (string, int) {
	from := sort.Search(in.cursor,
		func(i int) bool { return ansi.StringWidth(string(in.text[i:in.cursor])) < width })
	return ansi.Truncate(string(in.text[from:]), width, ""),
		ansi.StringWidth(string(in.text[from:in.cursor]))
}
