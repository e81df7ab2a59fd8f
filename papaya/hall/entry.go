package hall

import (
	"encoding/binary"
	"errors"
)

// Kinds of entries. A client's own lines are Said; the rest its server says of it.
const (
	Said = 'S' // a line of a client that has registered
	// a client registers: nick, user, host, real name, account, secure, role if it has
	// one, one a line
	Enter   = 'E'
	End     = 'X' // a client has ended: + or - for in order or not, what it has not had, the reason
	Marks   = 'M' // a client has said what it has had
	Account = 'A' // a client has logged in: the account, its role if it has one
	Gone    = 'G' // a server has been silent for too long
	// an administrator's: a verb and its words, one a line. Its client is a number of its own
	Order = 'O'
)

// A Batch is what one server says at once. Its number tells whether it has been seen, its run who
// forgot the number.
type Batch struct {
	Server string
	Run    int64
	Number uint64
	Time   int64 // milliseconds since 1970
}

// An Entry is one step of one client.
type Entry struct {
	Client uint64
	Kind   byte
	Data   []byte
}

// format is the first byte of a batch. A server does not read what a newer one has written in
// another format.
const format = 1

// ErrBatch is a batch that cannot be read: of another program, or of a newer version of this.
var ErrBatch = errors.New("not a batch of this version")

// AppendBatch writes the head of a batch, AppendEntry an entry behind it.
func AppendBatch(b []byte, batch Batch) []byte {
	b = append(b, format)
	b = appendBytes(b, batch.Server)
	b = binary.AppendVarint(b, batch.Run)
	b = binary.AppendUvarint(b, batch.Number)
	return binary.AppendVarint(b, batch.Time)
}

// AppendEntry writes an entry.
func AppendEntry(b []byte, e Entry) []byte {
	b = binary.AppendUvarint(b, e.Client)
	b = append(b, e.Kind)
	return appendBytes(b, e.Data)
}

func appendBytes[Bytes string | []byte](b []byte, s Bytes) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// ReadBatch reads the head of a batch; rest is its entries.
func ReadBatch(data []byte) (b Batch, rest []byte, err error) {
	if len(data) == 0 || data[0] != format {
		return b, nil, ErrBatch
	}
	r := reader{data[1:], true}
	b = Batch{Server: string(r.bytes()), Run: r.varint(), Number: r.uvarint(), Time: r.varint()}
	if !r.ok {
		return b, nil, ErrBatch
	}
	return b, r.data, nil
}

// ReadEntry reads the next entry; its data is part of rest.
func ReadEntry(data []byte) (e Entry, rest []byte, err error) {
	r := reader{data, true}
	e.Client = r.uvarint()
	if len(r.data) > 0 {
		e.Kind, r.data = r.data[0], r.data[1:]
	}
	e.Data = r.bytes()
	if !r.ok {
		return e, nil, ErrBatch
	}
	return e, r.data, nil
}

// A reader takes numbers off the front; ok is false once one was not there.
type reader struct {
	data []byte
	ok   bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	r.skip(n)
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.data)
	r.skip(n)
	return v
}

func (r *reader) skip(n int) {
	if n <= 0 {
		r.data, r.ok = nil, false
		return
	}
	r.data = r.data[n:]
}

func (r *reader) bytes() []byte {
	n := r.uvarint()
	if n > uint64(len(r.data)) {
		r.data, r.ok = nil, false
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}
