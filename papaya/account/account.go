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
	"strings"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/irc"
)

// A Role is what an account may do, as the chat has it.
type Role = hall.Role

// The roles.
const (
	Admin    = hall.Admin
	Operator = hall.Operator
	Member   = hall.Member
	Guest    = hall.Guest
)

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

// CheckName applies the rule for nicks, because an account owns the nick of its name.
func CheckName(name string) error {
	if name == "" || len(name) > irc.MaxNick {
		return mistakef("a name has 1 to %d bytes, %.40q has %d", irc.MaxNick, name, len(name))
	}
	for i := range len(name) {
		if !irc.IsNick(name[:i+1]) {
			return mistakef("name %q: %q is not allowed there", name, name[i])
		}
	}
	return nil
}

// key returns a part of a key for a name. A byte that a Store does not allow is written as =5b.
func key(kind, name string) string {
	var b strings.Builder
	b.WriteString(kind + ".")
	for _, c := range []byte(irc.Lower(name)) {
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
