package play

import (
	"strings"
	"testing"

	"interleave/internal/probe/faulty"
	"interleave/internal/probe/serve"
)

// checkOf is a transcript as a check.
func checkOf(t *testing.T, name, text string) Check {
	t.Helper()
	transcript, err := ParseTranscript(name+".txt", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return transcript.checks()[0]
}

// TestSession plays several transcripts to one server, and looks which of them a fault is laid to.
func TestSession(t *testing.T) {
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
				err := session.Play(t.Context(), checkOf(t, "t"+string(rune('0'+i)), text))
				if (err == nil) != (test.want[i] == "") ||
					err != nil && !strings.Contains(err.Error(), test.want[i]) {
					t.Errorf("transcript %d: got %v, want %q", i, err, test.want[i])
				}
				if l := session.shared[StdoutPipe]; i == 0 && l != nil {
					first = l.server
				}
			}
			if l := session.shared[StdoutPipe]; test.shared != (l != nil && l.server == first) {
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
	check := checkOf(t, "t", "dial a\na echo \"x\"")
	check.transcript.Limit = defaultLimit
	session := NewSession(faulty.Server(t, "clings"), 0.02) // 1.2 s
	err := session.Play(t.Context(), check)
	if err != nil && strings.Contains(err.Error(), "did not say ready") {
		session = NewSession(faulty.Server(t, "clings"), 1) // a busy machine
		err = session.Play(t.Context(), check)
	}
	if err == nil || !strings.Contains(err.Error(), "still has 1 connections open") {
		t.Errorf("got %v, want that a connection is left", err)
	}
}

// TestWhoShares names transcripts that want a server of their own, and such as do not.
func TestWhoShares(t *testing.T) {
	for _, test := range []struct {
		text   string
		shares bool
	}{
		{"dial a\na echo \"x\"", true},
		{"dial a\na send \"x\\n\"\nstdout \"x\\n\"", true},
		{"dial a\na value 0", true},
		{"stdout is pipe\ndial a\na send \"x\"", false},
		{"server opens at most 99 files\ndial a", false},
		{"data is small\ndial a", false},
		{"dial a\nserver terminates", false},
		{"dial a\nserver killed\nserver starts", false},
		{"dial a\nserver fails", false},
		{"dial ann\nann registers", false},
		{"dial a\na gets \"/test/7\"", false},
	} {
		if got := checkOf(t, "t", test.text).transcript.shares(); got != test.shares {
			t.Errorf("%q shares a server: %v, want %v", test.text, got, test.shares)
		}
	}
}
