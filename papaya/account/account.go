// Package account has the accounts: names with a role, a password as a hash of argon2id,
// certificates, and invitations.
//
// A login learns only yes or no. An unknown name costs the same hash as a known one, so the time of
// the answer does not tell whether an account exists. Failures are limited by address and by name.
package account

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Role is what an account may do.
type Role string

// The roles. Each may also do what the next may.
const (
	Admin    Role = "admin"    // may end sessions
	Operator Role = "operator" // may join every room, as an operator
	Member   Role = "member"   // may make rooms
	Guest    Role = "guest"    // may talk in rooms that exist
)

var roles = []Role{Admin, Operator, Member, Guest}

// ParseRole parses a role as people type it.
func ParseRole(s string) (Role, error) {
	if r := Role(s); slices.Contains(roles, r) {
		return r, nil
	}
	return "", fmt.Errorf("role %q: expected admin, operator, member or guest", s)
}

// Letter returns the role as the chat's log has it: empty for a member.
func (r Role) Letter() string {
	if r == Member || r == "" {
		return ""
	}
	return string(r[:1])
}

// An Account is the part of an account that may be shown.
type Account struct {
	// Name is as it was first written. Names are compared without case in ASCII.
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Certificates are SHA-256 of the DER form, in hex.
	Certificates []string  `json:"certificates,omitempty"`
	Invited      string    `json:"invited,omitempty"` // the inviter
	Created      time.Time `json:"created"`
	HasPassword  bool      `json:"has_password"`
}

// The errors of this package. ErrWrong stands for every reason for which a login fails, so an
// attacker learns no more.
var (
	ErrWrong      = errors.New("the name, the password or the certificate is wrong")
	ErrExists     = errors.New("the account exists already")
	ErrNone       = errors.New("there is no such account")
	ErrInvitation = errors.New("the invitation was used, has expired or does not exist")
)

// A Mistake is an error of whoever asks, such as a name that is not allowed. Its text may be shown.
type Mistake struct{ text string }

func (m Mistake) Error() string { return m.text }

func mistakef(format string, args ...any) error { return Mistake{fmt.Sprintf(format, args...)} }

// A LimitError reports too many failures.
type LimitError struct{ Wait time.Duration }

func (e *LimitError) Error() string {
	return fmt.Sprintf("too many logins have failed, try again in %v",
		max(e.Wait.Round(time.Second), time.Second))
}

// maxName is in bytes, as NICKLEN.
const maxName = 30

// fold returns the form in which names are compared.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// CheckName applies the rule for nicks (services/chat/README.md), because an account owns the nick
// of its name.
func CheckName(name string) error {
	if name == "" || len(name) > maxName {
		return mistakef("a name has 1 to %d bytes, %.40q has %d", maxName, name, len(name))
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', strings.IndexByte("[]\\^_{|}`", c) >= 0:
		case i > 0 && (c == '-' || '0' <= c && c <= '9'):
		default:
			return mistakef("name %q: %q is not allowed there", name, c)
		}
	}
	return nil
}

// key returns a part of a key for a name. A byte that a Store does not allow is written as =5b.
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

// ParseFingerprint parses a SHA-256 in hex, with colons (as openssl prints it) or without.
func ParseFingerprint(s string) (string, error) {
	f := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), ":", ""))
	if data, err := hex.DecodeString(f); err != nil || len(data) != 32 {
		return "",
			mistakef(
				"fingerprint %.100q: expected the SHA-256 of a certificate, 64 digits of hex", s)
	}
	return f, nil
}
