package server

import "testing"

// TestUTF8Only: with UTF8Only, a line that is not UTF-8 is answered with FAIL, and nobody gets it,
// before registration and afterwards. The answer is UTF-8 itself. Without it, lines have any bytes.
func TestUTF8Only(t *testing.T) {
	srv := open(t, t.TempDir(), func(c *Config) { c.UTF8Only = true })
	ann := srv.connect()
	ann.Send("NICK ann\r\nUSER ann 0 * :\xe8")
	ann.Expect(":chat FAIL USER INVALID_UTF8 :")
	ann.Register("ann", "#tea")
	bob := srv.connect().Register("bob", "#tea")
	ann.Send("CAP REQ :labeled-response batch")
	ann.Expect(" ACK ")
	ann.Send("@label=7 PRIVMSG #tea :hi\xaa")
	ann.Expect("@label=7 :chat FAIL PRIVMSG INVALID_UTF8 :")
	ann.Send("@label=\xaa PRIVM\xaaSG #tea :hi")
	ann.Expect(":chat FAIL * INVALID_UTF8 :")
	ann.Send("PRIVMSG #tea :hi \u2615")
	for _, l := range bob.Expect("hi \u2615") {
		if l != ":ann!ann@127.0.0.1 PRIVMSG #tea :hi \u2615" {
			t.Errorf("bob receives %q", l)
		}
	}
	lax := open(t, t.TempDir(), nil)
	eve := lax.connect().Register("eve", "#tea")
	dan := lax.connect().Register("dan", "#tea")
	dan.Send("PRIVMSG #tea :hi\xaa")
	eve.Expect("PRIVMSG #tea :hi\xaa")
}
