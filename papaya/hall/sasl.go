package hall

import (
	"encoding/base64"
	"errors"
	"strings"

	"interleave/papaya/irc"
)

// maxPassword is in bytes. Package account allows no longer passwords.
const maxPassword = 256

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
