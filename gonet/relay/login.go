package relay

import "crypto/subtle"

// Login is a user's name and password. The zero value lets everybody in.
type Login struct{ User, Password string }

// Required tells whether clients have to give a name and a password.
func (l Login) Required() bool { return l != Login{} }

// Matches compares a client's name and password, in a time that does not depend on where they
// differ.
func (l Login) Matches(user, password string) bool {
	same := func(a, b string) int { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) }
	return same(user, l.User)&same(password, l.Password) == 1
}
