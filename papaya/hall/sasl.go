package hall

import (
	"encoding/base64"
	"errors"
	"strings"

	"interleave/papaya/irc"
)

// maxPassword is in bytes. Package account allows no longer passwords.
const maxPassword = 256

// maxSASL is in bytes of base64, more than the longest name and password need. A piece of 400 bytes
// is followed by another.
const (
	maxSASL  = 2000
	maxPiece = 400
)

// saslError returns the numeric for a piece that is too long (905), or for too many pieces (904).
func saslError(c *Client, piece string) string {
	switch {
	case len(piece) > maxPiece:
		return irc.ERR_SASLTOOLONG
	case len(c.sasl) > maxSASL:
		return irc.ERR_SASLFAIL
	}
	return ""
}

var errExternal = errors.New("SASL EXTERNAL is base64 of a name, or nothing")

// parseExternal parses the message of SASL EXTERNAL (RFC 4422, appendix A): the authorization
// identity, which may be empty.
func parseExternal(encoded string) (name string, err error) {
	data, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || strings.ContainsRune(string(data), 0) {
		return "", errExternal
	}
	return string(data), nil
}

var errPlain = errors.New("SASL PLAIN is base64 of [name] NUL name NUL password")

// parsePlain parses the message of SASL PLAIN (RFC 4616), after its pieces were joined. An
// authorization identity must equal the name, since nobody may act for another account.
func parsePlain(encoded string) (name, password string, err error) {
	data, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return "", "", errPlain // the cause would contain a part of the password
	}
	part := strings.Split(string(data), "\x00")
	if len(part) != 3 || part[1] == "" || part[2] == "" || len(part[2]) > maxPassword {
		return "", "", errPlain
	}
	if part[0] != "" && irc.Lower(part[0]) != irc.Lower(part[1]) {
		return "", "", errors.New("SASL PLAIN: nobody may act for another")
	}
	return part[1], part[2], nil
}
