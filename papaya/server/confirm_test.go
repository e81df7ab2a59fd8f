package server

import (
	"strings"
	"testing"
	"time"
)

// TestConfirm: a client is asked whether a message has arrived when it is Limits.Confirm old, and
// not again before the next message.
func TestConfirm(t *testing.T) {
	for _, test := range []struct{ confirm, least, most time.Duration }{
		{0, 0, tick + tick/10}, {10 * time.Second, 9 * time.Second, 11 * time.Second},
	} {
		inBubble(t, 0, Limits{Silent: time.Hour, Confirm: test.confirm}, Metrics{},
			func(dial func(nick, room string) visitor) {
				hears, says := dial("hears", "#tea"), dial("says", "#tea")
				if err := hears.until("says!u@"); err != nil {
					t.Fatal(err)
				}
				hears.Silent = true
				for range 2 {
					start := time.Now()
					if err := says.say("PRIVMSG #tea :one\r\nPRIVMSG #tea :two"); err != nil {
						t.Fatal(err)
					}
					lines, err := hears.Await(func(l string) bool {
						return strings.HasPrefix(l, "PING ")
					})
					if took := time.Since(start); err != nil || len(lines) != 3 ||
						took < test.least || took > test.most {
						t.Errorf("confirm %v: asked after %v, by %q, %v", test.confirm, took,
							lines, err)
					}
					if err := hears.say("PONG " + lines[len(lines)-1][len("PING "):]); err != nil {
						t.Fatal(err)
					}
				}
			})
	}
}
