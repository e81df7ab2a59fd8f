package play

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"interleave/internal/probe/faulty"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/toolchain"
	"interleave/internal/probe/transcript"
)

func TestMain(m *testing.M) { faulty.Main(m) }

// parse reads a transcript of the verbs of this package.
func parse(t *testing.T, file, text string) *Transcript {
	t.Helper()
	got, err := transcript.Parse(file, []byte(text), Core)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// playFor plays a transcript to faulty servers until its error holds one of the wanted texts.
func playFor(ctx context.Context, t *Transcript, built func() *toolchain.Built,
	want string) error {
	return faulty.Find(want, func(patience float64) error {
		return Run(ctx, t, built(), transcript.StdoutPipe, patience)
	})
}

// TestPlay plays transcripts to servers with and without faults. Each fault is found by the step
// that looks for it, and the error says what became of the server.
func TestPlay(t *testing.T) {
	for _, test := range []struct{ name, fault, text, want string }{
		{"echo", "good", "dial a\na echo pattern 1MiB seed 1\na shut\na eof", ""},
		{"half-close", "good", "dial a\na send \"x\"\na shut\na recv \"x\"\na eof", ""},
		{"group", "good", "dial c*50\nc echo \"hello\" by 1\nc silent 10ms\nc close", ""},
		{"reset", "good", "dial a\ndial b\na reset\nb echo \"x\"\nserver idle", ""},
		{"back-pressure", "good",
			"dial a\na fill pattern 128MiB\nserver memory below 32MiB more\na shut\na recv " +
				"filled\na eof", ""},
		{"terminates", "good", "dial a\nserver terminates\na closed", ""},
		{"wrong answer", "wrong", "dial a\na send \"hello\"\na recv \"hello\"",
			`a recv "hello": after 0 right bytes got "HELLO", want "hello"`},
		{"in a group", "wrong", "dial c*3\nc echo \"X1X\"\nc echo \"x\"",
			`t.txt:3: c echo "x": c[`},
		{"too little", "good", "limit 500ms\ndial a\na send \"he\"\na recv \"hello\"",
			`got 2 of 5 bytes, then nothing more came within the transcript's limit; want "llo"`},
		{"too much", "good", "dial a\na send \"hello\"\na shut\na recv \"he\"\na eof",
			"got more bytes, want the end of the connection"},
		{"reset by the server", "closes", "dial a\na send \"hello\"\na recv \"hello\"",
			"got 0 of 5 bytes, then the server reset the connection"},
		{"reset is no orderly end", "closes", "dial a\na send \"hel\"\na eof",
			"the server reset the connection, want an orderly close"},
		{"reset is an end", "closes", "dial a\na send \"hel\"\na closed", ""},
		{"try", "closes", "dial a\na try pattern 64MiB\na closed", ""},
		{"few files", "good",
			"server opens at most 32 files\ndial a\ndial c*100\na echo \"x\"\nc close\ndial b\n" +
				"b echo \"x\"", ""},
		{"leaves", "good", "dial c*20\nc leave pattern 32KiB\ndial a\na echo \"x\"", ""},
		{"not silent", "good", "dial a\na send \"x\"\na silent 5s", `got "x", want nothing for 5s`},
		{"keeps open", "good", "limit 500ms\ndial a\na closed",
			"kept the connection open within the transcript's limit"},
		{"keeps what it reads", "greedy", "dial a\na fill pattern 64MiB",
			"took all 67108864 bytes though nobody reads its answers"},
		{"memory", "greedy", "dial a\na send pattern 64MiB\nserver memory below 8MiB more",
			"KiB more than when the transcript began, want less than 8192 KiB"},
		{"memory that is given back", "collects",
			"dial a\na send pattern 64MiB\nserver memory below 16MiB more", ""},
		{"spins", "spins", "limit 500ms\ndial a\nserver idle", "the server never rests"},
		{"dies", "dies-at-once", "dial a\na echo \"x\"",
			"\nthe server ended with exit status 4 while it should serve"},
		{"floods", "floods", "dial a\na silent 2s\na echo \"x\"", "floods its output"},
		{"prints", "prints", "dial a\na echo \"x\"",
			`at the end standard output has 16 bytes that no step expected: "served a client\n"`},
		{"no sigterm", "ignores-sigterm", "dial a\nserver terminates", "did not end within"},
		{"strays", "escapes", "dial a\na echo \"x\"",
			"at the end the server left processes behind"},
		{"stdout", "prints", "dial a\na echo \"x\"\nstdout \"served a clown\\n\"",
			`after 11 right bytes standard output has "ient\n", want "own\n"`},
		{"stdout late", "good", "limit 500ms\ndial a\nstdout \"x\"",
			`standard output has "", want "x"`},
		{"value", "wrong", "dial a\na send hex 00*8\na value 0\na send hex 00*8\na value 1",
			"got the value 0 (hex 00 00 00 00 00 00 00 00), want 1"},
		{"does not fail", "good", "limit 500ms\ndial a\nserver fails",
			"the server goes on within the transcript's limit"},
		{"fails wrongly", "dies-at-once", "dial a\nserver fails",
			"the server ended with exit status 4, want exit status 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var err error
			// On a busy machine a fault may get no time to show: it is looked for again.
			for end := time.Now().Add(5 * time.Minute); ; {
				err = playFor(t.Context(), parse(t, "t.txt", test.text),
					func() *toolchain.Built { return faulty.Server(t, test.fault) }, test.want)
				if err != nil || test.want == "" || time.Now().After(end) {
					break
				}
			}
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestInterruptedPlay(t *testing.T) {
	script := parse(t, "t.txt", "dial a\na recv \"x\"")
	ctx, interrupt := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer interrupt()
	// A play that waits for the transcript's limit has another error.
	err := Run(ctx, script, faulty.Server(t, "good"), transcript.StdoutFile, serve.Unhurried)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
}
