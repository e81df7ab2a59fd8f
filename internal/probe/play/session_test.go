package play

import (
	"strings"
	"testing"

	"interleave/internal/probe/faulty"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/transcript"
)

// TestSession plays several transcripts to one server, and looks which of them a fault is laid to.
func TestSession(t *testing.T) {
	const kind = transcript.StdoutPipe
	const one, two = "dial a\na echo \"x\"", "dial a\na echo \"x\"\na close\ndial b\nb echo \"y\""
	for _, test := range []struct {
		fault  string
		texts  []string
		want   []string // of each transcript; "": it passes
		atEnd  string
		shared bool // the last was played to the server of the first
	}{
		{"good", []string{one, two, one}, []string{"", "", ""}, "", true},
		{"good", []string{one, one + "\nserver terminates", one}, []string{"", "", ""}, "", true},
		{"wrong", []string{one, one}, []string{"want \"x\"", "want \"x\""}, "", false},
		{"tires", []string{one, one, one},
			[]string{"", "",
				"only on a server that had played t0, t1 before; a fresh one passes: t2.txt:2: " +
					"a echo"}, "", false},
		{"tires", []string{one, two, one},
			[]string{"", "only on a server that had played t0 before", ""}, "", false},
		{"exit-status", []string{one, one}, []string{"", ""},
			"a server that played t0, t1: at the end the server ended with exit status 7", true},
		{"prints", []string{one, one}, []string{"that no step expected: \"served",
			"that no step expected"}, "", false},
		{"dies-at-once", []string{one}, []string{"exit status 4"}, "", false},
	} {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			session := NewSession(faulty.Server(t, test.fault), serve.Unhurried)
			var first *serve.Server
			for i, text := range test.texts {
				script := parse(t, "t"+string(rune('0'+i))+".txt", text)
				err := session.Play(t.Context(), script, kind)
				if (err == nil) != (test.want[i] == "") ||
					err != nil && !strings.Contains(err.Error(), test.want[i]) {
					t.Errorf("transcript %d: got %v, want %q", i, err, test.want[i])
				}
				if l := session.shared[kind]; i == 0 && l != nil {
					first = l.server
				}
			}
			if l := session.shared[kind]; test.shared != (l != nil && l.server == first) {
				t.Errorf("the last transcript was played to the first server: %v, want %v",
					!test.shared, test.shared)
			}
			err := session.Close()
			if (err == nil) != (test.atEnd == "") ||
				err != nil && !strings.Contains(err.Error(), test.atEnd) {
				t.Errorf("at the end: got %v, want %q", err, test.atEnd)
			}
		})
	}
}

// TestSessionSeesWhatIsLeft has a server that keeps connections whose clients have gone.
func TestSessionSeesWhatIsLeft(t *testing.T) {
	script := parse(t, "t.txt", "dial a\na echo \"x\"")
	session := NewSession(faulty.Server(t, "clings"), 0.02) // 1.2 s
	err := session.Play(t.Context(), script, transcript.StdoutPipe)
	if err != nil && strings.Contains(err.Error(), "did not say ready") {
		session = NewSession(faulty.Server(t, "clings"), 1) // a busy machine
		err = session.Play(t.Context(), script, transcript.StdoutPipe)
	}
	if err == nil || !strings.Contains(err.Error(), "still has 1 connections open") {
		t.Errorf("got %v, want that a connection is left", err)
	}
}
