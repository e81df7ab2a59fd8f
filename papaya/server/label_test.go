package server

import (
	"strings"
	"testing"
)

// TestTooLongLinesAreLabelled: the answer to a line that is too long has its label.
func TestTooLongLinesAreLabelled(t *testing.T) {
	srv := open(t, t.TempDir(), nil)
	ann := srv.connect().Register("ann", "#tea")
	ann.Send("CAP REQ :labeled-response batch")
	ann.Expect(" ACK ")
	ann.Send("@label=7 PRIVMSG #tea :%s", strings.Repeat("x", 600))
	ann.Expect("@label=7 :chat 417 ann ")
}
