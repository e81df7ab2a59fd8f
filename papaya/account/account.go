// Package account knows who may come in: names with a role, a password as a hash of argon2id,
// certificates, and invitations.
//
// Who asks learns only yes or no. A name that is not there costs the same hash as one that is, so
// the time of an answer does not tell whether it is; failures are limited by address and by name.
package account

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Role is what somebody may do.
type Role string

// The roles, each may do what the next may.
const (
	Admin    Role = "admin"    // end sessions
	Operator Role = "operator" // run rooms: come into all, and be operator there
	Member   Role = "member"   // make rooms
	Guest    Role = "guest"    // talk in rooms that are there
)

var roles = []Role{Admin, Operator, Member, Guest}

// ParseRole reads a role as people type it.
func ParseRole(s string) (Role, error) {
	if r := Role(s); slices.Contains(roles, r) {
		return r, nil
	}
	return "", fmt.Errorf("role %q: expected admin, operator, member or guest", s)
}

// Letter is how the role is written in the log of the chat: nothing for a member.
func (r Role) Letter() string {
	if r == Member || r == "" {
		return ""
	}
	return string(r[:1])
}

// An Account is what may be shown of one.
type Account struct {
	// as it was first written; names compare without case in ASCII
	Name string `json:"name"`
	Role Role   `json:"role"`
	// SHA-256 of the certificate in DER, in hex
	Certificates []string  `json:"certificates,omitempty"`
	Invited      string    `json:"invited,omitempty"` // by whom
	Created      time.Time `json:"created"`
	HasPassword  bool      `json:"has_password"`
}

// What can be wrong. ErrWrong stands for every reason that a login fails for, so that who tries
// learns no more.
var (
	ErrWrong      = errors.New("the name, the password or the certificate is wrong")
	ErrExists     = errors.New("there is such an account")
	ErrNone       = errors.New("there is no such account")
	ErrInvitation = errors.New("the invitation was used, has expired or never was")
)

// A LimitError says that too many have failed.
type LimitError struct{ Wait time.Duration }

func (e *LimitError) Error() string {
	return fmt.Sprintf("too many logins have failed, try again in %v",
		max(e.Wait.Round(time.Second), time.Second))
}

// maxName is in bytes, as NICKLEN.
const maxName = 30

// fold is a name as it compares.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// CheckName holds a name to the rule of nicks (services/chat/README.md), since who logs in has the
// right to the nick.
func CheckName(name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("a name has 1 to %d bytes, %.40q has %d", maxName, name, len(name))
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', strings.IndexByte("[]\\^_{|}`", c) >= 0:
		case i > 0 && (c == '-' || '0' <= c && c <= '9'):
		default:
			return fmt.Errorf("name %q: %q may not stand there", name, c)
		}
	}
	return nil
}

// key is a name as a part of a key: bytes that a Store does not take are written =5b.
func key(kind, name string) string {
	var b strings.Builder
	b.WriteString(kind + ".")
	for _, c := range []byte(fold(name)) {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02x", c)
		}
	}
	return b.String()
}

// ParseFingerprint reads a SHA-256 in hex, with colons as openssl prints them or without.
func ParseFingerprint(s string) (string, error) {
	f := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), ":", ""))
	if data, err := hex.DecodeString(f); err != nil || len(data) != 32 {
		return "",
			fmt.Errorf(
				"fingerprint %.100q: expected the SHA-256 of a certificate, 64 digits of hex", s)
	}
	return f, nil
}
