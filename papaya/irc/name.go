package irc

import "strings"

// The ways in which servers compare names, as they stand in CASEMAPPING of 005.
const (
	ASCII         = "ascii"
	RFC1459       = "rfc1459"
	RFC1459Strict = "rfc1459-strict"
)

// Sizes of names in bytes.
const (
	MaxNick = 30
	MaxUser = 10
	MaxRoom = 50 // its # included
)

// Fold gives two names the same form if a server of that mapping takes them for one.
func Fold(name, mapping string) string {
	last := byte('Z')
	switch mapping {
	case RFC1459:
		last = '^' // [\]^ are the capitals of {|}~
	case RFC1459Strict:
		last = ']'
	}
	for i := range len(name) {
		if name[i] >= 'A' && name[i] <= last {
			b := []byte(name)
			for ; i < len(b); i++ {
				if b[i] >= 'A' && b[i] <= last {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return name
}

// Lower is Fold of ASCII, which is what Papaya says that it compares by.
func Lower(name string) string { return Fold(name, ASCII) }

// IsNick says whether a nick may be called so.
func IsNick(s string) bool {
	if s == "" || len(s) > MaxNick {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', strings.IndexByte(`[]\^_{|}`+"`", c) >= 0:
		case i > 0 && (c >= '0' && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return true
}

// IsRoom says whether a room may be called so: any bytes but blank, comma, colon and controls.
func IsRoom(s string) bool {
	if len(s) < 2 || len(s) > MaxRoom || s[0] != '#' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == ',' || c == ':' || c == 127 {
			return false
		}
	}
	return true
}

// SplitMask takes nick!user@host apart; what is missing is empty.
func SplitMask(mask string) (nick, user, host string) {
	nick, host, _ = strings.Cut(mask, "@")
	nick, user, _ = strings.Cut(nick, "!")
	return nick, user, host
}

// FullMask makes a whole mask of what people say for one: "ann" is ann!*@*, "*.example"
// is *!*@*.example.
func FullMask(mask string) string {
	nick, user, host := SplitMask(mask)
	if !strings.ContainsAny(mask, "!@") && strings.ContainsAny(mask, ".:") {
		nick, host = "*", mask
	}
	star := func(s string) string {
		if s == "" {
			return "*"
		}
		return s
	}
	return star(nick) + "!" + star(user) + "@" + star(host)
}

// Match says whether a name fits a mask, in which * stands for any bytes and ? for one. Case does
// not count. It takes no more steps than the product of the lengths.
func Match(mask, name string) bool {
	mask, name = Lower(mask), Lower(name)
	star, from, m, n := -1, 0, 0, 0
	for n < len(name) {
		switch {
		case m < len(mask) && mask[m] == '*':
			star, from = m, n
			m++
		case m < len(mask) && (mask[m] == '?' || mask[m] == name[n]):
			m++
			n++
		case star >= 0: // the star takes one byte more
			from++
			m, n = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(mask[m:], "*") == ""
}
