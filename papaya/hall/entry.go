package hall

import (
	"cmp"
	"encoding/binary"
	"errors"
)

// The kinds of entries. Said is a line of the client itself; its server writes the others.
const (
	Said = 'S' // a line of a registered client
	// Enter registers a client: nick, user, host, real name, account, secure, its role if it has
	// one, + if the account stays in sight without a session and i if it is invisible, and its
	// metadata, each in a line.
	Enter = 'E'
	// a connection has ended: + in order or - not, what the client has not received, the reason
	End     = 'X'
	Marks   = 'M' // the client has confirmed messages
	Account = 'A' // the client has logged in: its account, role and + as in Enter
	Oper    = 'P' // the client has the role of an account: the account and the role
	Lines   = 'L' // the client has said several lines as one message: see multiline.go
	Redact  = 'D' // the client has removed a message: see redact.go
	Edit    = 'T' // the client has changed a message: see edit.go
	Founder = 'C' // the client has changed whose a room is: see founder.go
	// another session of the account has ended some: server, run and number, each in a line
	Logout    = 'U'
	ServerBan = 'B' // the client, an operator, has banned somebody: see ban.go
	Report    = 'R' // the client has reported something, or closed a report: see report.go
	Gone      = 'G' // a server is lost: it was silent for too long
	// Order is an administrator's: a verb and its words, each in a line. Its Client is the number
	// of the order.
	Order = 'O'
)

// A Batch is what one server writes at once. Number tells whether a batch was applied before. A
// server that starts again counts from 1, so it has a new Run.
type Batch struct {
	Server string
	Run    int64
	Number uint64
	Time   int64 // milliseconds since 1970
	Format byte  // 0 is the current one
}

// An Entry is one change of state.
type Entry struct {
	Client uint64
	Kind   byte
	Data   []byte
	Label  string // the label of the line that has caused it; it is not in the log
}

// format is the first byte of a batch. A server also reads those of the formats before, which an
// older version may have left, and refuses all others.
const (
	apartFormat = 1 // each connection is a user: see apart.go
	bareFormat  = 2 // the text has no tags of messages
	fewFormat   = 3 // fewer modes, and messages are for whole rooms: see style.go
	// 4 has no RENAME, 5 no bans, reports and previews, and 6 no edits: else they are read as 7 is.
	// Up to passingFormat, reactions were not kept, and up to placeFormat msgids were places in the
	// text: see msgid.go.
	passingFormat = 5
	placeFormat   = 6
	format        = 7
)

// The errors of ReadBatch.
var (
	ErrBatch = errors.New("not a batch of this program")
	ErrNewer = errors.New("a batch of a newer version: start that version")
)

// AppendBatch writes the head of a batch. Its entries follow.
func AppendBatch(b []byte, batch Batch) []byte {
	b = append(b, cmp.Or(batch.Format, format))
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

// ReadBatch parses the head of a batch, and returns the bytes of its entries.
func ReadBatch(data []byte) (b Batch, rest []byte, err error) {
	switch {
	case len(data) == 0 || data[0] < apartFormat:
		return b, nil, ErrBatch
	case data[0] > format:
		return b, nil, ErrNewer
	}
	r := reader{data[1:], true}
	b = Batch{Server: string(r.bytes()), Run: r.varint(), Number: r.uvarint(), Time: r.varint()}
	if data[0] != format {
		b.Format = data[0]
	}
	if !r.ok {
		return b, nil, ErrBatch
	}
	return b, r.data, nil
}

// ReadEntry parses the next entry. Its Data is a part of data.
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

// A reader parses numbers at the front of data. ok becomes false when one is missing.
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
