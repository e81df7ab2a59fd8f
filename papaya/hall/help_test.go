package hall

import (
	"strings"
	"testing"

	"interleave/papaya/irc"
)

// TestHelp: there is help on every command, on nothing else, and each line of it is sent whole.
func TestHelp(t *testing.T) {
	for word := range commands {
		if helps[word] == nil && helps[otherHelps[word]] == nil {
			t.Errorf("no help on %s", word)
		}
	}
	longest := irc.MaxLine - len(":"+strings.Repeat("s", 63)+" 705 "+
		strings.Repeat("n", irc.MaxNick)+" CHATHISTORY :\r\n")
	for word, lines := range helps {
		if commands[word] == nil || len(lines) == 0 {
			t.Errorf("%s: help on no command, or no line of it", word)
		}
		for _, l := range lines {
			if !strings.Contains(l, word) || len(l) > longest {
				t.Errorf("%s: %q", word, l)
			}
		}
	}
}
