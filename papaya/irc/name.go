package irc

import "strings"

// The ways to compare names: values of CASEMAPPING in RPL_ISUPPORT (005).
const (
	ASCII         = "ascii"
	RFC1459       = "rfc1459"
	RFC1459Strict = "rfc1459-strict"
)

// Lengths of names in bytes.
const (
	MaxNick = 30
	MaxUser = 10
	MaxRoom = 50 // including the #
)

// Fold returns the same text for two names that a server with that mapping takes for the same.
func Fold(name, mapping string) string {
	last := byte('Z')
	switch mapping {
	case RFC1459:
		last = '^' // [\]^ are the upper case of {|}~
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

// Lower is Fold with ASCII, which is Papaya's mapping.
func Lower(name string) string { return Fold(name, ASCII) }

// IsNick says whether s is a valid nick.
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

// IsRoom says whether s is a valid name of a room: # and any bytes except blank, comma, colon and
// controls.
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

// SplitStatus cuts off the prefix of a message that is only for members of a room with a right: @
// for operators, and + for those with voice, too (STATUSMSG of RPL_ISUPPORT).
func SplitStatus(target string) (status, name string) {
	if len(target) > 1 && (target[0] == '@' || target[0] == '+') && target[1] == '#' {
		return target[:1], target[1:]
	}
	return "", target
}

// RoomOf returns a target without such a prefix.
func RoomOf(target string) string {
	_, name := SplitStatus(target)
	return name
}

// SplitMask splits nick!user@host. A missing part is empty.
func SplitMask(mask string) (nick, user, host string) {
	nick, host, _ = strings.Cut(mask, "@")
	nick, user, _ = strings.Cut(nick, "!")
	return nick, user, host
}

// FullMask completes a mask: "ann" becomes ann!*@*, and "*.example" becomes *!*@*.example.
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

// Match says whether a name matches a mask, in which * stands for any bytes and ? for one byte.
// Case does not count. The number of steps is at most the product of the lengths.
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
		case star >= 0: // the star takes one more byte
			from++
			m, n = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(mask[m:], "*") == ""
}
