package probetest

import (
	"errors"
	"strings"
	"testing"

	"interleave/internal/probe/serve"
)

// Refuses starts a server with these words after those of its manifest. The server must refuse them
// with status 1 and one line on standard error, which Refuses returns.
func (m *Subject) Refuses(t *testing.T, words ...string) string {
	t.Helper()
	s, err := serve.Start(t.Context(), m.built, serve.StartOptions{Args: words, Limit: patience,
		Grace: patience})
	if err == nil {
		s.Kill()
		t.Errorf("%q: it started, want status 1", words)
		return ""
	}
	failure, ok := errors.AsType[*serve.Failure](err)
	if !ok {
		t.Fatal(err)
	}
	line := strings.TrimSuffix(failure.Tail, "\n")
	if !strings.Contains(failure.Text, "exit status 1 ") || line == "" ||
		strings.Contains(line, "\n") {
		t.Errorf("%q: the server %s and said %q, want exit status 1 and one line", words,
			failure.Text, failure.Tail)
	}
	return line
}
