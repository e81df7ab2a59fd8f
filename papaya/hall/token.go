package hall

import (
	"slices"
	"strings"
)

// Tokens log in to an account in the place of its password: see package account. A session that has
// logged in by one may do less, and ends with it. Which token that was is known to the server of
// the connection only, so it is in neither the log nor the state.

// EndTokens ACCOUNT ID,... WHY is an order: each server ends its connections that have logged in by
// one of these tokens.
const EndTokens = "tokens"

// tokenID is how many characters of a token's hash are its ID, as for account.TokenID.
const tokenID = 12

// TakeToken notes by which token a client has logged in; empty for none. It returns why it must
// not: the role of an operator needs the password.
func (c *Client) TakeToken(token string) (why string) {
	switch {
	case !c.opering:
		c.Token = token
	case token != "":
		return "OPER needs the password, not a token"
	}
	return ""
}

// TokenID is the ID of the token with a hash; empty if there is none.
func TokenID(hash string) string { return hash[:min(len(hash), tokenID)] }

// endTokens obeys EndTokens. A connection ends as if it had been lost, so its End goes through the
// log. Config.End is called for it.
func (h *Hall) endTokens(list, why string) {
	ids := strings.Split(list, ",")
	for _, n := range sorted(h.clients) {
		c := h.clients[n]
		if c.Token != "" && slices.Contains(ids, TokenID(c.Token)) && h.config.End != nil {
			h.config.End(c, why)
		}
	}
}

// tokenWords is how NS TOKEN is written.
const tokenWords = "LIST|ADD NAME PASSWORD|STAY NAME PASSWORD|DEL ID|HERE|OTHERS|ALL"

// ownToken lists the tokens of an account, makes one, or ends some. STAY is ADD for the device that
// says it: its session then is one of the token.
func (h *Hall) ownToken(c *Client, words []string) Entry {
	verb, password := strings.ToUpper(words[0]), append(words, "", "")[2]
	switch {
	case verb == "LIST":
		return h.ask(c, func(o Own) { o.Tokens(c) })
	case (verb == "ADD" || verb == "STAY") && len(words) > 1:
		return h.ask(c, func(o Own) { o.AddToken(c, words[1], password, verb == "STAY") })
	case verb == "DEL" && len(words) > 1:
		return h.ask(c, func(o Own) { o.EndTokens(c, words[1]) })
	}
	h.served(c, "It is NS TOKEN "+tokenWords)
	return Entry{}
}
