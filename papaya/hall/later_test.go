package hall

import (
	"fmt"
	"strings"
	"testing"
)

// A laterSink keeps its lines, and how many of them may wait.
type laterSink struct {
	Client
	lines []string
	later int
}

func (l *laterSink) Write(line []byte)          { l.lines = append(l.lines, string(line)) }
func (l *laterSink) WriteLater(line []byte)     { l.Write(line); l.later++ }
func (l *laterSink) Share(r *Run, from, to int) { l.Write(r.Part(from, to)) }
func (l *laterSink) Waiting() int               { return 0 }
func (l *laterSink) End()                       {}

// TestPresenceMayWait: that others are away or back may wait for other lines; what they say may
// not.
func TestPresenceMayWait(t *testing.T) {
	h := New(Config{Server: "a", Name: "chat", Text: &memory{},
		Password: func() (string, bool) { return "", false }}, 0)
	h.Begin(Batch{Server: "a", Run: 1, Number: 1})
	enter := func(id uint64, nick string) *laterSink {
		l := &laterSink{Client: Client{ID: id, Host: "host"}}
		l.caps = awayNotify
		h.Connect(&l.Client, l)
		h.Apply(Entry{Client: id, Kind: Enter,
			Data: fmt.Appendf(nil, "%s\nuser\nhost\nreal\n\n-", nick)}, nil, "")
		h.Apply(Entry{Client: id, Kind: Said, Data: []byte("JOIN #tea")}, nil, "")
		return l
	}
	ann := enter(1, "ann")
	enter(2, "bob")
	for _, test := range []struct {
		line  string
		waits bool
	}{
		{"AWAY :lunch", true}, {"PRIVMSG #tea :hello", false}, {"AWAY", true},
		{"PART #tea", false},
	} {
		ann.lines, ann.later = nil, 0
		h.Apply(Entry{Client: 2, Kind: Said, Data: []byte(test.line)}, nil, "")
		all := strings.Join(ann.lines, "")
		if test.waits != (ann.later == 1) || !strings.Contains(all, " "+test.line) {
			t.Errorf("%s: %d of %q may wait", test.line, ann.later, ann.lines)
		}
	}
}
