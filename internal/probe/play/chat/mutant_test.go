package chat

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/probe/faulty"
	"interleave/internal/probe/play"
	"interleave/internal/probe/toolchain"
	"interleave/internal/probe/transcript"
)

func TestMain(m *testing.M) { faulty.Main(m) }

// Transcripts for faults of which nothing ever comes. Their limits are short.
const (
	silence = "limit 1s\ndial ann\nann joins \"#tea\"\nann hears nothing"
	// A client whose membership is not on the disk misses what was said while it was away.
	nameLost = `dial ann
ann joins "#tea"
ann hears nothing
dial bob
bob joins "#tea"
bob hears nothing
power lost
server starts
dial ann
ann joins "#tea"
ann says "PRIVMSG #tea :missed"
ann hears nothing
dial bob
bob registers
bob says "JOIN #tea"
bob skips to ":chat 366 bob #tea :…"
ann says "PRIVMSG #tea :new"
bob hears ":ann!ann@{host} PRIVMSG #tea :missed"`
	cutOff = `limit 2s
dial bob
bob joins "#tea"
bob ignores pings
dial ann
ann joins "#tea"
ann chats 20 seed 1 pipeline 5
bob reset
ann hears ":bob!bob@127.0.0.1 QUIT :…"
dial bob
bob joins "#tea"
bob catches up`
)

// TestChatFaults plays the chat's own transcripts. The server without a fault passes them, and each
// fault is found. "in 3s" sets a short limit for a fault of which nothing ever comes.
func TestChatFaults(t *testing.T) {
	for _, test := range []struct{ fault, transcript, want string }{
		{"none", "order", ""},
		{"none", "order-echo", ""},
		{"none", "missed-many", ""},
		{"none", "killed", ""},
		{"none", "restart-busy", ""},
		{"none", "power", ""},
		{"none", "folder", ""},
		{"none", "half-lines", ""},
		{"none", "terminate", ""},
		{"none", "disk-full", ""},
		{"loses", "order in 3s", "is missing"},
		{"doubles", "order", "twice"},
		{"mixes", "order", "it is torn or mixed with another|want at most 512"},
		{"cuts", "order", "it is torn or mixed with another|want at most 512"},
		{"exchanges", "order", "order"},
		{"no-pong", silence, "within the transcript's limit"},
		{"log-loses", "order", "is not in the log"},
		{"log-doubles", "order", "again"},
		{"log-tears", "order", "it is torn or mixed with another"},
		{"log-breaks", "order", `line 20 of the log is "broken"`},
		// If all lines that were heard came into the log in time, a client has heard more than the
		// log has, and misses what is said next.
		{"acknowledges-early", "killed in 3s", "not in the log|missed lines have not come"},
		{"skips-sync", "power", "was acknowledged and is not in the log"},
		{"state-skips-sync", "power", "unexpected end of JSON input"},
		{"none", nameLost, ""},
		{"name-skips-sync", nameLost,
			"PRIVMSG #tea :new\", want \":ann!ann@127.0.0.1 PRIVMSG #tea :missed\""},
		{"misses-one", "missed-many in 3s", "c"},
		{"repeats", "missed-many", "c"},
		{"forgets", cutOff, "20 missed lines have not come; ann.0 of ann is missing"},
		{"keeps-torn", "torn", "the log ends in half a line"},
		{"shares", "folder", "a second server started on the same folder"},
		{"fills-torn", "disk-full", "of the log is"},
	} {
		name, _, _ := strings.Cut(test.transcript, "\n")
		t.Run(test.fault+" "+name, func(t *testing.T) {
			t.Parallel()
			err := playChat(t, test.fault, test.transcript, test.want)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !faulty.Holds(err, test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func playChat(t *testing.T, fault, name, want string) error {
	program := faulty.Program(t, "testdata/chat")
	text, err := []byte(name), error(nil)
	name, limit, short := strings.Cut(name, " in ")
	if !strings.Contains(name, "\n") {
		if text, err = os.ReadFile(filepath.Join("../../../../services/chat/conform", name+
			".txt")); err != nil {
			t.Fatal(err)
		}
	}
	script, err := transcript.Parse("t.txt", text, verbs)
	if err != nil {
		t.Fatal(err)
	}
	if short {
		if script.Limit, err = time.ParseDuration(limit); err != nil {
			t.Fatal(err)
		}
	}
	built := faulty.Built(t, &manifest.Model{Name: fault, Service: "chat",
		Run: []string{program, fault, "{port}", "{host}", "{data}"}})
	err = faulty.Find(want, func(patience float64) error {
		return play.Run(t.Context(), script, built, transcript.StdoutPipe, patience)
	})
	if missing, ok := errors.AsType[*toolchain.Missing](err); ok {
		t.Skip("SKIP:", missing)
	}
	if left, _ := os.ReadDir(built.Out); len(left) != 0 {
		t.Errorf("%v is left behind", left)
	}
	return err
}
