package account

import (
	"encoding/base64"
	"errors"
	"strings"
)

// Errors of SASL.
var errPlain = errors.New("SASL PLAIN is base64 of [name] NUL name NUL password")

// ParsePlain reads the answer of SASL PLAIN (RFC 4616) as AUTHENTICATE carries it, its pieces joined. Nobody may act for another, so a
// name to act for must be the name itself.
func ParsePlain(encoded string) (name string, password Secret, err error) {
	data, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return "", Secret{}, errPlain // the cause would hold a piece of the password
	}
	part := strings.Split(string(data), "\x00")
	if len(part) != 3 || part[1] == "" || part[2] == "" || len(part[2]) > maxPassword {
		return "", Secret{}, errPlain
	}
	if part[0] != "" && !strings.EqualFold(part[0], part[1]) {
		return "", Secret{}, errors.New("SASL PLAIN: nobody may act for another")
	}
	return part[1], Secret{part[2]}, nil
}
