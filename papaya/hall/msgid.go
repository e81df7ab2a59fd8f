package hall

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base32"
	"encoding/binary"
	"strconv"
)

// The servers know a message by its place: its offset in the text. Two places tell how much
// everybody has said in between, also in rooms that a client does not see. So the msgid of a
// message is its place in one block of AES, under a secret of the installation, as base32. The
// other half of the block is always the same, so a msgid that a client has made up is refused.
// docs/decisions/0019-msgids.md says why.
//
// Before format 7 of a batch a msgid was the place itself, in base 36. A message keeps the msgid
// that it was given: clients have kept it, and answers and reactions in the text name it.
//
// The text, the log and the state name messages by their places in base 36. They are the same on
// all servers, whatever the secret is, and no client sees them.

// A Secret makes msgids. All servers of a log have the same one, for ever.
type Secret [16]byte

// msgidLen is in bytes: a block of AES (16 bytes) in base32.
const msgidLen = 26

// msgidDigits are in lower case only, and none is escaped in a tag, a URL or a word of a shell.
const msgidDigits = "0123456789abcdefghijklmnopqrstuv"

var msgidCode = base32.NewEncoding(msgidDigits).WithPadding(base32.NoPadding)

// ofMessage is the half of a block that says that the other half is the place of a message. In the
// msgid of a TAGMSG that is not kept, a server's run stands there: a time, which is never this.
const ofMessage = ^uint64(0)

// msgids makes and reads the msgids of messages. One goroutine uses it, and others copies of it.
type msgids struct {
	block cipher.Block
	from  *uint64 // the place from which on msgids are encrypted; nil: there is none yet
	p     [aes.BlockSize]byte
}

func newMsgids(secret Secret) msgids {
	block, _ := aes.NewCipher(secret[:]) // an error is about the length
	return msgids{block: block}
}

// begin notes that msgids are encrypted from a place on. It returns false if they are already.
func (m *msgids) begin(at uint64) bool {
	if m.from != nil {
		return false
	}
	m.from = &at
	return true
}

// sealed says whether the message at a place has an encrypted msgid.
func (m *msgids) sealed(at uint64) bool { return m.from != nil && at >= *m.from }

// append appends the msgid of the message at a place.
func (m *msgids) append(b []byte, at uint64) []byte {
	if !m.sealed(at) {
		return appendPlace(b, at)
	}
	return m.seal(b, ofMessage, at)
}

// of returns the msgid of the message at a place.
func (m *msgids) of(at uint64) string { return string(m.append(nil, at)) }

// parse returns the place of a message. There may be none any more.
func (m *msgids) parse(id string) (at uint64, ok bool) {
	if len(id) != msgidLen { // no place has so many digits
		at, ok = parsePlace(id)
		return at, ok && !m.sealed(at)
	}
	kind, at, ok := m.open(id)
	return at, ok && kind == ofMessage && m.sealed(at)
}

// seal appends two numbers, encrypted.
func (m *msgids) seal(b []byte, kind, number uint64) []byte {
	binary.BigEndian.PutUint64(m.p[:], kind)
	binary.BigEndian.PutUint64(m.p[8:], number)
	m.block.Encrypt(m.p[:], m.p[:])
	return msgidCode.AppendEncode(b, m.p[:])
}

// open returns the numbers of seal. Each pair has one form.
func (m *msgids) open(id string) (kind, number uint64, ok bool) {
	var text [msgidLen]byte
	if len(id) != len(text) {
		return 0, 0, false
	}
	copy(text[:], id)
	if n, err := msgidCode.Decode(m.p[:], text[:]); err != nil || n != len(m.p) {
		return 0, 0, false
	}
	// The last character has two bits that mean nothing.
	if string(msgidCode.AppendEncode(text[:0], m.p[:])) != id {
		return 0, 0, false
	}
	m.block.Decrypt(m.p[:], m.p[:])
	return binary.BigEndian.Uint64(m.p[:]), binary.BigEndian.Uint64(m.p[8:]), true
}

// appendPlace appends the place of a message as the text, the log and the state have it.
func appendPlace(b []byte, at uint64) []byte { return strconv.AppendUint(b, at, 36) }

// parsePlace parses the form of appendPlace only.
func parsePlace(s string) (at uint64, ok bool) {
	at, err := strconv.ParseUint(s, 36, 64)
	return at, err == nil && string(appendPlace(nil, at)) == s
}

// msgid returns the msgid of a message whose place the text, the log or the state has.
func (m *msgids) msgid(place string) string {
	at, ok := parsePlace(place)
	if !ok {
		return place // another program has written it
	}
	return m.of(at)
}

// Msgids are the msgids of a text for programs that read it without a server. One goroutine at a
// time uses them.
type Msgids struct{ ids msgids }

// NewMsgids returns the msgids that servers with a secret give. from is what Config.MsgidsFrom was
// told. If it is nil, nothing was, as all batches are of older versions.
func NewMsgids(secret Secret, from *uint64) *Msgids {
	m := &Msgids{newMsgids(secret)}
	m.ids.from = from
	return m
}

// Of returns the msgid of the message at an offset.
func (m *Msgids) Of(at uint64) string { return m.ids.of(at) }

// Shown returns the tags of a line of the text as clients see them, and, if the line is a REDACT,
// the msgid of the message that it has removed. line has no LF. ok is false if it is no message.
func (m *Msgids) Shown(line []byte, at uint64) (tags, removed string, ok bool) {
	s, ok := parseSaid(line, at)
	if !ok {
		return "", "", false
	}
	if of, is := s.removes(); is {
		removed = m.ids.of(of)
	}
	return m.ids.wireTags(s), removed, true
}
