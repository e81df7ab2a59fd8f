package slirp

import (
	"bytes"
	"encoding/binary"
	"errors"
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
)

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

// failure returns the answer that no server has answered.
func (q query) failure() []byte {
	b := bytes.Clone(q.message[:q.question])
	be := binary.BigEndian
	be.PutUint16(b[2:], be.Uint16(b[2:])&(maskOpcode|flagRecursion)|flagAnswer|flagAvailable|
		codeServerFail)
	clear(b[6:dnsHeaderLen]) // no records
	return b
}
