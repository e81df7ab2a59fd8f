package dns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// The constants of DNS (RFC 1035 sections 3 and 4, RFC 6891).
const (
	headerLen     = 12 // bytes
	maxNameLen    = 255
	maxLabelLen   = 63
	pointer       = 0xc0
	typeA         = 1
	typeCNAME     = 5
	typeAAAA      = 28 // RFC 3596
	typeOPT       = 41
	classIN       = 1
	flagResponse  = 1 << 15
	flagTruncated = 1 << 9
	flagRecursion = 1 << 8
	codeSuccess   = 0
	codeNameError = 3
	// maxUDP is the longest answer over UDP that is asked for, in bytes (dnsflagday.net/2020).
	maxUDP = 1232
	// maxLinks bounds the aliases from a name to its addresses. A guess.
	maxLinks = 16
)

var (
	errNoName    = errors.New("no such host")
	errTruncated = errors.New("the answer is not whole")
	errMessage   = errors.New("a response that cannot be read")
	errLoop      = errors.New("a chain of aliases that does not end")
)

// question is what a query asks for: records of a type, of a name in lower case with a dot at its
// end.
type question struct {
	name string
	kind uint16
}

// isName tells whether a name can be asked for.
func isName(name string) bool {
	name = strings.TrimSuffix(name, ".")
	if name == "" || len(name)+2 > maxNameLen { // a byte for the first label's length, and the root
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxLabelLen {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// query returns the message that asks a question, with the option that allows answers of maxUDP.
func (q question) query(id uint16) []byte {
	be := binary.BigEndian
	b := be.AppendUint16(nil, id)
	b = be.AppendUint16(b, flagRecursion)
	for _, count := range []uint16{1, 0, 0, 1} { // a question, and an additional record
		b = be.AppendUint16(b, count)
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(q.name, "."), ".") {
		b = append(b, byte(len(label)))
		b = append(b, label...)
	}
	b = append(b, 0)
	b = be.AppendUint16(b, q.kind)
	b = be.AppendUint16(b, classIN)
	b = append(b, 0) // the root
	b = be.AppendUint16(b, typeOPT)
	b = be.AppendUint16(b, maxUDP)
	return append(b, 0, 0, 0, 0, 0, 0) // no flags and no options
}

// isAnsweredBy tells whether a message is the response to the question with an identifier: all else
// may be forged (RFC 5452 section 9.1). It returns where the answers begin.
func (q question) isAnsweredBy(b []byte, id uint16) (answers int, yes bool) {
	be := binary.BigEndian
	if len(b) < headerLen || be.Uint16(b) != id || be.Uint16(b[2:])&flagResponse == 0 ||
		be.Uint16(b[4:]) != 1 {
		return 0, false
	}
	name, at, ok := readName(b, headerLen)
	if !ok || at+4 > len(b) || name != q.name || be.Uint16(b[at:]) != q.kind ||
		be.Uint16(b[at+2:]) != classIN {
		return 0, false
	}
	return at + 4, true
}

// addresses reads the addresses of a response whose answers begin at a place. It follows the
// aliases that are among them.
func (q question) addresses(b []byte, at int) ([]netip.Addr, error) {
	be := binary.BigEndian
	switch code := be.Uint16(b[2:]) & 0xf; {
	case code == codeNameError:
		return nil, errNoName
	case code != codeSuccess:
		return nil, fmt.Errorf("the server has answered with the code %d", code)
	case be.Uint16(b[2:])&flagTruncated != 0:
		return nil, errTruncated
	}
	aliases, found := map[string]string{}, map[string][]netip.Addr{}
	for range be.Uint16(b[6:]) {
		r, next, ok := readRecord(b, at)
		if !ok {
			return nil, errMessage
		}
		at = next
		switch {
		case r.class != classIN:
		case r.kind == typeCNAME:
			alias, _, ok := readName(b, r.data)
			if !ok {
				return nil, errMessage
			}
			aliases[r.name] = alias
		case r.kind == q.kind:
			a, ok := netip.AddrFromSlice(b[r.data:next])
			if !ok || a.Is4() != (q.kind == typeA) {
				return nil, errMessage
			}
			found[r.name] = append(found[r.name], a)
		}
	}
	name := q.name
	for links := 0; aliases[name] != ""; links++ {
		if links == maxLinks {
			return nil, errLoop
		}
		name = aliases[name]
	}
	if found[name] == nil {
		return nil, errNoName
	}
	return found[name], nil
}

// record is a resource record. Its data begins at a place of the message, since names in it may
// point to others.
type record struct {
	name        string
	kind, class uint16
	data        int
}

// readRecord reads the record at a place, and returns where the next one begins.
func readRecord(b []byte, at int) (r record, next int, ok bool) {
	be := binary.BigEndian
	r.name, at, ok = readName(b, at)
	const fixedLen = 10 // type, class, TTL and length
	if !ok || at+fixedLen > len(b) {
		return r, 0, false
	}
	r.kind, r.class, r.data = be.Uint16(b[at:]), be.Uint16(b[at+2:]), at+fixedLen
	next = r.data + int(be.Uint16(b[at+8:]))
	return r, next, next <= len(b)
}

// readName reads the name at a place, which may point to earlier ones (RFC 1035 section 4.1.4), and
// returns it in lower case with a dot at its end, and where it ends. A label with a dot in it is
// refused, since it reads as two.
func readName(b []byte, at int) (name string, end int, ok bool) {
	var text []byte
	for at < len(b) {
		n := int(b[at])
		switch at++; {
		case n == 0:
			if end == 0 {
				end = at
			}
			return strings.ToLower(string(text)) + rootOf(text), end, true
		case n&pointer == pointer:
			if at == len(b) {
				return "", 0, false
			}
			to := (n&^pointer)<<8 | int(b[at])
			if to >= at-1 { // each pointer leads back, and a name is bounded: there is an end
				return "", 0, false
			}
			if end == 0 {
				end = at + 1
			}
			at = to
		case n > maxLabelLen || at+n > len(b) || len(text)+n+2 > maxNameLen ||
			strings.Contains(string(b[at:at+n]), "."):
			return "", 0, false
		default:
			text = append(append(text, b[at:at+n]...), '.')
			at += n
		}
	}
	return "", 0, false
}

// rootOf returns what a name without labels needs to be written.
func rootOf(text []byte) string {
	if len(text) == 0 {
		return "."
	}
	return ""
}
