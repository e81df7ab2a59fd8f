package hall

import (
	"encoding/base64"

	"interleave/papaya/irc"
)

// scramSHA256 is the mechanism of RFC 7677. Client and server send two messages each, and the
// client then confirms the server's proof by an empty one.
const scramSHA256 = "SCRAM-SHA-256"

// A scramStage is the message that is due from the client.
type scramStage byte

const (
	scramFirst scramStage = iota
	scramFinal
	scramConfirmation
)

// proved is an account whose password the client has proved to know.
type proved struct {
	account string
	role    Role
}

// mechanisms are those of SASL, as clients are told.
func (h *Hall) mechanisms() string {
	if h.config.Scram != nil {
		return "PLAIN,EXTERNAL," + scramSHA256
	}
	return "PLAIN,EXTERNAL"
}

// endSASL forgets what the client has sent of a login.
func (c *Client) endSASL() {
	c.mechanism, c.sasl, c.scram, c.proved = "", "", scramFirst, proved{}
}

// scram takes a whole message of SCRAM, in base64.
func (h *Hall) scram(c *Client, encoded string) Entry {
	data, err := base64.StdEncoding.Strict().DecodeString(encoded)
	stage, who := c.scram, c.proved
	switch {
	case err != nil, (len(data) == 0) != (stage == scramConfirmation):
		c.endSASL()
		h.num(c, irc.ERR_SASLFAIL, ":SASL authentication failed")
	case stage == scramFirst:
		c.signing = true
		h.config.Scram.First(c, string(data))
	case stage == scramFinal:
		c.signing = true
		h.config.Scram.Final(c, string(data))
	default:
		c.endSASL()
		c.Token = ""
		e, _ := h.Signed(c, who.account, who.role, "", false)
		return e
	}
	return Entry{}
}

// Challenged takes the server's answer to a message of SCRAM, and with the second one the account.
// why is empty unless the login has failed.
func (h *Hall) Challenged(c *Client, answer, account string, role Role, why string) {
	c.signing = false
	if c.closed {
		return
	}
	if why != "" {
		c.endSASL()
		h.num(c, irc.ERR_SASLFAIL, ":"+why)
		return
	}
	c.mechanism, c.scram, c.proved = scramSHA256, c.scram+1, proved{account, role}
	text := base64.StdEncoding.EncodeToString([]byte(answer))
	for len(text) >= maxPiece {
		c.write([]byte("AUTHENTICATE " + text[:maxPiece] + "\r\n"))
		text = text[maxPiece:]
	}
	if text == "" {
		text = "+"
	}
	c.write([]byte("AUTHENTICATE " + text + "\r\n"))
}
