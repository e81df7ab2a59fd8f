package main

import (
	"bytes"
	"strings"
	"testing"
)

// runRush runs `papaya torture sessions`. Its folder for temporary files must be empty afterwards.
func runRush(t *testing.T, words ...string) (out string, err error) {
	t.Helper()
	return runTorture(t, "papaya", append([]string{"sessions"}, words...)...)
}

// TestRush: some sessions log in at once, by password, SCRAM and tokens, talk, and log in again
// when the server was killed. Nothing is lost, and nothing is left.
func TestRush(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers and many clients")
	}
	for name, words := range map[string][]string{
		"plain":  {"--sessions=48", "--accounts=12", "--for=1s"},
		"scram":  {"--sessions=6", "--accounts=2", "--for=1s", "--scram", "--everyone=false"},
		"tokens": {"--sessions=6", "--accounts=2", "--for=1s", "--tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := runRush(t, words...)
			if err != nil {
				t.Error(err)
			}
			sessions := strings.TrimPrefix(words[0], "--sessions=")
			for _, want := range []string{sessions + " sessions log in: ",
				sessions + " sessions log in again after the kill: ", "all have left: 0 conn",
				"each is in the text once"} {
				if !strings.Contains(out, want) {
					t.Errorf("there is no %q", want)
				}
			}
		})
	}
}

// TestRushIsTooSlow: a server that does not serve again in time is an error.
func TestRushIsTooSlow(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server and clients")
	}
	out, err := runRush(t, "--sessions=2", "--accounts=1", "--for=200ms", "--within=1ns")
	if err == nil || !strings.Contains(out, "not within 1ns") {
		t.Errorf("got %v", err)
	}
}

func TestRushWords(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, words := range [][]string{{"--sessions=0"}, {"--accounts=0"}, {"--for=0s"},
		{"--sessions=2", "--accounts=3"}, {"now"}, {"--within=-1s"}, {"--scram", "--tokens"}} {
		var out bytes.Buffer
		got := realMain(append([]string{"torture", "sessions"}, words...), strings.NewReader(""),
			&out, &out)
		if got != exitUsage {
			t.Errorf("%q: got %d, %q", words, got, out.String())
		}
	}
}
