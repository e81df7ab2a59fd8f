package corpus

import (
	"fmt"

	"interleave/papaya/hall"
	"interleave/papaya/log"
)

// BeginTime is the time of the beginning of a history in milliseconds since 1970.
const BeginTime = int64(1.7e12)

// Between is the time from a batch to the next, in milliseconds, and PerBatch how many messages are
// in each.
const (
	Between  = 500
	PerBatch = 200
)

// NewFilling returns the corpus of what people say in a history that is filled.
func NewFilling() *Corpus { return New(7) }

// EndTime returns the time of the last message that Fill makes, in milliseconds
// since 1970.
func EndTime(messages int) int64 { return BeginTime + int64(messages)*Between/PerBatch }

// A History is a hall in which the people of a corpus talk, and its text. Its batches are applied
// as by a server, without one.
type History struct {
	*Corpus
	Hall *hall.Hall
	// Append writes a batch to the log before it is applied. nil: there is none.
	Append func(batch []byte) error

	text   *log.Text
	server string
	number uint64
	now    int64
}

// NewHistory returns a history without people.
func NewHistory(config hall.Config, text *log.Text) *History {
	config.Text = text
	return &History{Corpus: NewFilling(), Hall: hall.New(config, 0), text: text,
		server: config.Server, now: BeginTime}
}

// Enter has everybody enter, and join all rooms.
func (h *History) Enter() error {
	var all []hall.Entry
	for n := range Accounts {
		all = append(all, Enters(n))
		for r := range Rooms {
			all = append(all, entry(n, hall.Said, "JOIN "+Room(r)))
		}
	}
	return h.Batch(all)
}

// Leave ends all connections. Everybody has received everything, and stays in the rooms.
func (h *History) Leave() error {
	var all []hall.Entry
	for n := range Accounts {
		all = append(all, Leaves(n))
	}
	return h.Batch(all)
}

// Fill has people say so many messages.
func (h *History) Fill(messages int) error {
	for done := 0; done < messages; done += PerBatch {
		var said []hall.Entry
		for range min(PerBatch, messages-done) {
			said = append(said, h.Message().Entry())
		}
		if err := h.Batch(said); err != nil {
			return err
		}
	}
	return nil
}

// Enters returns the entry by which an account comes, and stays in sight when it has left. Its
// client has the number of the account, plus one.
func Enters(account int) hall.Entry {
	a := Account(account)
	return entry(account, hall.Enter, fmt.Sprintf("%s\n%s\nhost\n%s\n%s\n-\n\n+", a, a, a, a))
}

// Leaves returns the entry by which an account leaves, which has received everything.
func Leaves(account int) hall.Entry { return entry(account, hall.End, "+\nbye") }

// Entry returns the entry by which a message is said.
func (m Message) Entry() hall.Entry {
	return entry(m.From, hall.Said, "PRIVMSG "+m.Target+" :"+m.Text)
}

func entry(account int, kind byte, data string) hall.Entry {
	return hall.Entry{Client: uint64(account + 1), Kind: kind, Data: []byte(data)}
}

// Batch writes a batch of entries to the log, applies it, and writes its lines to the text.
func (h *History) Batch(entries []hall.Entry) error {
	h.number++
	h.now += Between
	head := hall.Batch{Server: h.server, Run: 1, Number: h.number, Time: h.now}
	if h.Append != nil {
		data := hall.AppendBatch(nil, head)
		for _, e := range entries {
			data = hall.AppendEntry(data, e)
		}
		if err := h.Append(data); err != nil {
			return err
		}
	}
	h.Hall.Begin(head)
	for _, e := range entries {
		h.Hall.Apply(e, nil, "")
	}
	at, lines := h.Hall.Lines()
	return h.text.Write(at, lines)
}
