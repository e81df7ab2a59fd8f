package slirp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
)

// The constants of DNS (RFC 1035 section 4.1.1).
const (
	dnsHeaderLen   = 12 // bytes
	maxNameLen     = 255
	maxLabelLen    = 63
	maxQueryLen    = 4096 // bytes; more than any resolver sends. A guess.
	flagAnswer     = 1 << 15
	flagRecursion  = 1 << 8 // desired
	flagAvailable  = 1 << 7 // recursion is available
	maskOpcode     = 0xf << 11
	codeServerFail = 2
	typeA          = 1
	typeAAAA       = 28 // RFC 3596
	classIN        = 1
	// nameOfQuestion is a pointer to the name in the question (RFC 1035 section 4.1.4).
	nameOfQuestion = 0xc000 | dnsHeaderLen
)

// hostsTTL is for how many seconds an answer of the host's own names holds. The file may change at
// any time. A guess.
const hostsTTL = 5

// errNoQuery is the error of a message that is not forwarded.
var errNoQuery = errors.New("not a query of DNS")

// query is a query of DNS with one question, as it is forwarded.
type query struct {
	message  []byte
	question int // the end of the question
}

// parseQuery checks a message of the guest. What follows its question, as the options of EDNS do,
// is for the server.
func parseQuery(b []byte) (query, error) {
	be := binary.BigEndian
	if len(b) < dnsHeaderLen || len(b) > maxQueryLen || be.Uint16(b[2:])&flagAnswer != 0 ||
		be.Uint16(b[4:]) != 1 {
		return query{}, errNoQuery
	}
	at := dnsHeaderLen
	for at < len(b) && b[at] != 0 {
		if b[at] > maxLabelLen || at-dnsHeaderLen > maxNameLen {
			return query{}, errNoQuery // a question has no compressed names
		}
		at += 1 + int(b[at])
	}
	if at += 1 + 4; at > len(b) { // the root, and type and class
		return query{}, errNoQuery
	}
	return query{b, at}, nil
}

// isAnsweredBy tells whether a message answers the query: it has its identifier and question (RFC
// 5452 section 9.1). An error of the server may lack the question.
func (q query) isAnsweredBy(b []byte) bool {
	be := binary.BigEndian
	if len(b) < dnsHeaderLen || be.Uint16(b) != be.Uint16(q.message) ||
		be.Uint16(b[2:])&flagAnswer == 0 {
		return false
	}
	if be.Uint16(b[4:]) == 0 {
		return be.Uint16(b[2:])&0xf != 0 && be.Uint16(b[6:]) == 0
	}
	return be.Uint16(b[4:]) == 1 && len(b) >= q.question &&
		bytes.Equal(b[dnsHeaderLen:q.question], q.message[dnsHeaderLen:q.question])
}

// withID returns the query with another identifier.
func (q query) withID(id uint16) query {
	b := bytes.Clone(q.message)
	binary.BigEndian.PutUint16(b, id)
	return query{b, q.question}
}

// asked returns the name of the question, in lower case and without the dot at its end, and the
// type of records; 0 for another class than that of the Internet.
func (q query) asked() (name string, kind uint16) {
	b, be := q.message, binary.BigEndian
	var labels []string
	for at := dnsHeaderLen; b[at] != 0; at += 1 + int(b[at]) {
		labels = append(labels, string(b[at+1:at+1+int(b[at])]))
	}
	if be.Uint16(b[q.question-2:]) == classIN {
		kind = be.Uint16(b[q.question-4:])
	}
	return strings.ToLower(strings.Join(labels, ".")), kind
}

// answer returns the answer with those addresses that are of the type that was asked for.
func (q query) answer(addresses []netip.Addr) []byte {
	b, be := q.reply(0), binary.BigEndian
	_, kind := q.asked()
	n := uint16(0)
	for _, a := range addresses {
		if a.Is4() != (kind == typeA) {
			continue
		}
		n++
		b = be.AppendUint16(b, nameOfQuestion)
		b = be.AppendUint16(b, kind)
		b = be.AppendUint16(b, classIN)
		b = be.AppendUint32(b, hostsTTL)
		b = be.AppendUint16(b, uint16(a.BitLen()/8))
		b = append(b, a.AsSlice()...)
	}
	be.PutUint16(b[6:], n)
	return b
}

// failure returns the answer that no server has answered.
func (q query) failure() []byte { return q.reply(codeServerFail) }

// reply returns an answer without records.
func (q query) reply(code uint16) []byte {
	b := bytes.Clone(q.message[:q.question])
	be := binary.BigEndian
	be.PutUint16(b[2:], be.Uint16(b[2:])&(maskOpcode|flagRecursion)|flagAnswer|flagAvailable|code)
	clear(b[6:dnsHeaderLen])
	return b
}
