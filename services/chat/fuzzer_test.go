package chat

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// A fuzzer makes random input: wrong lines of IRC, lines with wrong bytes, and bytes without lines.
type fuzzer struct{ *rand.Rand }

func (n fuzzer) pick(words ...string) string { return words[n.IntN(len(words))] }

// odd is true once in many times.
func (n fuzzer) odd(many int) bool { return n.IntN(many) == 0 }

func (n fuzzer) bytes(most int) []byte {
	out := make([]byte, n.IntN(most+1))
	for i := range out {
		out[i] = byte(n.Uint32())
	}
	return out
}

// word returns a parameter: a right one, a wrong one, or one of another command.
func (n fuzzer) word() string {
	switch n.IntN(8) {
	case 0:
		return n.pick("#tea", "#TEA", "#", "##", "#a:b", "#a\x07b", "&tea", "#"+
			strings.Repeat("r", n.IntN(60)))
	case 1:
		return n.pick("ann", "bob", "ANN", "x", "chat", "*", "0", "-1", "[]\\^_{|}`",
			"ann!u@127.0.0.1", strings.Repeat("n", n.IntN(40)))
	case 2:
		return n.pick("", ":", "::", ",", ",,,", "+", "-o", "302", "%s%n", "99999999999999999999",
			":"+strings.Repeat(" ", n.IntN(80)))
	case 3:
		return n.pick("é", "\xff\xfe", "\xf0\x9f\x8d\x8a", "\xc3", "\u202e", "\x01ACTION waves\x01",
			"\x03\x034,5")
	case 4:
		return strings.Repeat(n.word()+",", n.IntN(6)) + n.pick("#tea", "ann", "")
	case 5:
		return fmt.Sprintf("#room%d", n.IntN(40))
	case 6:
		return string(n.bytes(24))
	}
	return strings.Repeat(n.pick("w", "é", " "), n.IntN(500))
}

// line returns a line, usually with an end.
func (n fuzzer) line() []byte {
	var b []byte
	switch n.IntN(24) {
	case 0:
		b = n.bytes(700)
	case 1:
		b = bytes.Repeat([]byte{byte(n.Uint32())}, 1<<n.IntN(21)) // up to a megabyte
	case 2:
		b = []byte("@" + strings.Repeat(n.pick("a=b;", "+x/y=\\:", ";", "time=0;"), n.IntN(1500)) +
			" PING " + n.word())
	default:
		b = n.command()
	}
	if n.odd(3) {
		b = n.mutated(b)
	}
	return append(b, n.pick("\r\n", "\r\n", "\r\n", "\n", "\n\n", "\r\r\n", " \r\n", "")...)
}

func (n fuzzer) command() []byte {
	b := n.pick("", "", "", ":ann ", "@a=b ", ":", "@", "  ")
	b += n.pick("NICK", "USER", "PASS", "CAP", "JOIN", "JOIN", "PART", "PRIVMSG", "PRIVMSG",
		"PRIVMSG", "NOTICE", "NAMES", "TOPIC", "WHO", "PING", "PONG",
		"privmsg", "MODE", "KICK", "INVITE", "WHOIS", "LIST", "AWAY", "OPER", "AUTHENTICATE",
		"TAGMSG", "CHATHISTORY", "MARKREAD", "SEARCH", "001", "ERROR", "X")
	if n.odd(2) { // a correct command, to reach other states
		switch b {
		case "JOIN", "NAMES", "WHO":
			return fmt.Appendf(nil, "%s %s", b, n.pick("#tea", "#room1", "#room2,#room3"))
		case "PRIVMSG", "NOTICE", "TOPIC":
			return fmt.Appendf(nil, "%s %s :%s", b, n.pick("#tea", "#room1", "#room2", "ann"),
				n.word())
		case "CAP":
			return fmt.Appendf(nil, "CAP %s",
				n.pick("LS 302", "LIST", "REQ :echo-message server-time", "REQ :-echo-message",
					"END", "REQ :x"))
		case "NICK":
			return fmt.Appendf(nil, "NICK n%d", n.IntN(1000))
		}
	}
	for range n.IntN(5) {
		b += " " + n.word()
	}
	if n.odd(2) {
		b += " :" + n.word()
	}
	return []byte(b)
}

// mutated changes, removes or repeats some bytes.
func (n fuzzer) mutated(b []byte) []byte {
	for range 1 + n.IntN(4) {
		if len(b) == 0 {
			return b
		}
		at := n.IntN(len(b))
		switch n.IntN(4) {
		case 0:
			b[at] ^= 1 << n.IntN(8)
		case 1:
			b[at] = n.pick("\x00", "\r", "\n", " ", ":", "@", ",", "\xff", "%")[0]
		case 2:
			b = append(b[:at:at], b[at+n.IntN(len(b)-at):]...)
		case 3:
			b = append(b[:at:at], b[n.IntN(at+1):]...)
		}
	}
	return b
}

// tame removes what may end a connection.
func tame(b []byte) []byte {
	b = bytes.ReplaceAll(b, []byte{0}, []byte("0"))
	for at := 0; at+4 <= len(b); at++ {
		if bytes.EqualFold(b[at:at+4], []byte("QUIT")) {
			b[at] = 'S'
		}
	}
	return b
}
