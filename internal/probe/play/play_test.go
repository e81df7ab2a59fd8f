package play

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/probe/faulty"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/toolchain"
)

// A server that does as it should passes; each fault is found by the step that looks for it, and
// the error says what became of the server.
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
		{"spins", "spins", "limit 500ms\ndial a\nserver idle", "the server never rests"},
		{"dies", "dies-at-once", "dial a\na echo \"x\"",
			"\nthe server ended with exit status 4 while it should serve"},
		{"floods", "floods", "dial a\na silent 500ms\na echo \"x\"", "floods its output"},
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
			transcript, err := ParseTranscript("t.txt", []byte(test.text))
			if err == nil {
				err = playFor(t.Context(), transcript,
					func() *toolchain.Built { return faulty.Server(t, test.fault) }, test.want)
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
	transcript, err := ParseTranscript("t.txt", []byte("dial a\na recv \"x\""))
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer interrupt()
	// One that waited for the transcript's limit would say so.
	err = transcript.Play(ctx, faulty.Server(t, "good"), StdoutFile, serve.Unhurried)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestContiguous(t *testing.T) {
	for _, test := range []struct {
		replies [][]uint64
		want    string
	}{
		{[][]uint64{{7, 9}, {8, 10}}, ""},
		{[][]uint64{{1, 2}, {2, 3}}, "two increments were answered with 2"},
		{[][]uint64{{1, 2}, {4, 5}}, "no increment was answered with 3"},
	} {
		err := contiguous(test.replies)
		if (err == nil) != (test.want == "") ||
			err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %q", test.replies, err, test.want)
		}
	}
}

func TestLedger(t *testing.T) {
	for _, test := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"in order", []string{"a.0|x\n", "b.0|y\n", "a.1|x\n", "\n", "\n"}, ""},
		{"mixed", []string{"\n", "b.0|y\n", "a.0|x\n", "\n", "a.1|x\n"}, ""},
		{"exchanged", []string{"a.1|x\n", "a.0|x\n"}, "got line 0 of a after line 1: out of order"},
		{"doubled", []string{"a.0|x\n", "a.0|x\n"}, "more often than it was sent"},
		{"torn", []string{"a.0b.0|y\n"}, `a line that nobody sent: "a.0b.0|y\n" (9 bytes)`},
		{"one empty line too many", []string{"\n", "\n", "\n"}, "more often"},
	} {
		l := newLedger()
		l.add("a.0|x\n", "a", 0)
		l.add("a.1|x\n", "a", 1)
		l.add("b.0|y\n", "b", 0)
		l.add("\n", "", 0)
		l.add("\n", "", 0)
		var err error
		for _, line := range test.lines {
			if err = l.take([]byte(line)); err != nil {
				break
			}
		}
		if (err == nil) != (test.want == "") ||
			err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if test.want == "" && l.count != 0 {
			t.Errorf("%s: %d lines left", test.name, l.count)
		}
	}
}

func TestGeneratedLinesNameTheirSender(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for length := int64(1); length < 300; length++ {
		line, named := generate("c[3]", 17, length, random)
		if int64(len(line)) != length || strings.IndexByte(string(line), '\n') != len(line)-1 {
			t.Fatalf("length %d: got %q", length, line)
		}
		if want := strings.HasPrefix(string(line[:len(line)-1]), "c[3].17|"); named != want {
			t.Errorf("length %d: %q counts as named: %v", length, line, named)
		}
	}
}

func TestContract(t *testing.T) {
	for _, check := range contract(&manifest.Service{Name: "echo"}) {
		err := check.Play(context.Background(), faulty.Server(t, "good"), serve.Unhurried)
		if err != nil {
			t.Errorf("%s: %v", check.Name, err)
		}
	}
	err := portInUse(context.Background(), faulty.Server(t, "dies-early"), serve.Unhurried)
	if err == nil || !strings.Contains(err.Error(), "want exit status 1") {
		t.Errorf("port in use: got %v, want that the status is wrong", err)
	}
	if err := portInUse(context.Background(), faulty.Server(t, "ready-without-listening"),
		serve.Unhurried); err == nil {
		t.Error("port in use: a server that does not notice passed")
	}
}

func TestConform(t *testing.T) {
	service := &manifest.Service{Name: "echo", Dir: t.TempDir()}
	if _, err := Conform(context.Background(), service, faulty.Server(t, "good"),
		ConformOptions{Patience: serve.Unhurried}); err == nil {
		t.Error("a service without transcripts passed")
	}
	conform := filepath.Join(service.Dir, "conform")
	if err := os.Mkdir(conform, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(conform, "a.txt"), "dial a\na echo \"X\"\n")
	write(t, filepath.Join(conform, "b.txt"), "dial a\na echo \"x\"\n")
	some := faulty.Server(t, "wrong")
	some.Model.Conform = []string{"a"}
	if outcomes, err := Conform(context.Background(), service, some,
		ConformOptions{Patience: serve.Unhurried}); err != nil || len(outcomes) != 3 ||
		outcomes[0].Check != "a" {
		t.Errorf("held to a only: got %v, %v; want a and the contract", outcomes, err)
	}
	some.Model.Conform = []string{"c"}
	if _, err := Conform(context.Background(), service, some,
		ConformOptions{Patience: serve.Unhurried}); err == nil ||
		!strings.Contains(err.Error(), `conform: no transcript "c"`) {
		t.Errorf("held to what is not there: got %v", err)
	}
	var told []string
	outcomes, err := Conform(context.Background(), service, faulty.Server(t, "wrong"),
		ConformOptions{Patience: serve.Unhurried,
			Done: func(o Outcome) { told = append(told, o.Check) }})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(told,
		", "), "a, b, contract: port in use, contract: killed"; got != want {
		t.Errorf("played %s, want %s", got, want)
	}
	for i, want := range []bool{true, false, true, true} {
		if passed := outcomes[i].Err == nil; passed != want {
			t.Errorf("%s: passed is %v: %v", outcomes[i].Check, passed, outcomes[i].Err)
		}
	}
}
