package hall

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"interleave/papaya/irc"
)

// A bufferSink is a sink that keeps its lines, and parts of runs as such.
type bufferSink struct {
	Client
	parts []part
}

type part struct {
	run      *Run
	from, to int
}

func (l *bufferSink) Write([]byte)      {}
func (l *bufferSink) WriteLater([]byte) {}
func (l *bufferSink) Waiting() int      { return 0 }
func (l *bufferSink) End()              {}

func (l *bufferSink) Share(run *Run, from, to int) {
	if n := len(l.parts) - 1; n >= 0 && l.parts[n].run == run && l.parts[n].to == from {
		l.parts[n].to = to
		return
	}
	l.parts = append(l.parts, part{run, from, to})
}

// crowd makes a hall with n clients in #tea, whose capabilities give four forms of lines.
func crowd(t testing.TB, n int) (*Hall, []*bufferSink) {
	h := New(Config{Server: "a", Name: "chat", Text: &memory{},
		Password: func() (string, bool) { return "", false }}, 0)
	var all []*bufferSink
	h.Begin(Batch{Server: "a", Run: 1, Number: 1})
	for i := range n {
		l := &bufferSink{Client: Client{ID: uint64(i + 1), Host: "host"}}
		h.Connect(&l.Client, l)
		l.caps = []caps{0, serverTime, messageTags | serverTime, messageTags}[i%4]
		h.Apply(Entry{Client: l.ID, Kind: Enter,
			Data: fmt.Appendf(nil, "m%d\nuser\nhost\nreal\n\n-", i)}, nil, "")
		h.Apply(Entry{Client: l.ID, Kind: Said, Data: []byte("JOIN #tea")}, nil, "")
		if !l.Registered() {
			t.Fatalf("client %d has not registered", i)
		}
		all = append(all, l)
	}
	h.Lines()
	return h, all
}

// TestWhatAllAreSentIsThereOnce sends messages in two batches, and checks what each client gets and
// in how many copies.
func TestWhatAllAreSentIsThereOnce(t *testing.T) {
	h, all := crowd(t, 12)
	for _, l := range all {
		l.parts = nil
	}
	for batch := range 2 {
		h.Begin(Batch{Server: "a", Run: 1, Number: uint64(batch + 2), Time: 1000})
		for i := range 10 {
			h.Apply(Entry{Client: uint64(i%3 + 1), Kind: Said,
				Data: fmt.Appendf(nil, "PRIVMSG #tea :%d.%d", batch, i)}, nil, "")
		}
	}
	runs := map[*Run]bool{}
	for n, l := range all {
		var want, got []string
		for batch := range 2 {
			for i := range 10 {
				if i%3 != n {
					want = append(want, fmt.Sprintf("PRIVMSG #tea :%d.%d\r\n", batch, i))
				}
			}
		}
		for _, p := range l.parts {
			for line := range strings.Lines(string(p.run.Part(p.from, p.to))) {
				if tagged, form := line[0] == '@', l.caps&looks != 0; tagged != form {
					t.Errorf("client %d with %b is sent %q", n, l.caps, line)
				}
				got = append(got, line[strings.Index(line, "PRIVMSG"):])
			}
			runs[p.run] = true
		}
		if !slices.Equal(got, want) {
			t.Errorf("client %d heard %q, want %q", n, got, want)
		}
	}
	if len(runs) != 2*4 {
		t.Errorf("%d runs for two batches in four forms", len(runs))
	}
}

// BenchmarkRoom sends one message to a room of 64 clients with the same form.
func BenchmarkRoom(b *testing.B) {
	h, all := crowd(b, 64)
	for _, l := range all {
		l.caps = 0
	}
	m, err := irc.Parse("PRIVMSG #tea :" + strings.Repeat("x", 64))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n%128 == 0 {
			h.Lines()
			h.Begin(Batch{Server: "a", Run: 1, Number: uint64(n + 2)})
			for _, l := range all {
				l.parts = l.parts[:0]
			}
		}
		h.Apply(Entry{Client: uint64(n%64 + 1), Kind: Said}, &m, "")
	}
}
