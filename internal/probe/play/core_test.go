package play

import (
	"io"
	"testing"
	"time"

	"interleave/internal/probe/transcript"
)

func TestCore(t *testing.T) {
	text := `# Two clients say hello.
# A second comment is no title.

limit 5s
stdout is pipe
dial a
dial c*100   # a group
a send "hello\n" "x"*3 hex 00 ff*2 by 4 every 10ms
c recv pattern 8MiB seed 7 by 64KiB
server idle
`
	got, err := transcript.Parse("conform/hello.txt", []byte(text), Core)
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "hello" || got.Title != "Two clients say hello." || got.Limit != 5*time.Second {
		t.Errorf("got %q, %q, %v", got.Name, got.Title, got.Limit)
	}
	if len(got.Stdout) != 1 || got.Stdout[0] != transcript.StdoutPipe || len(got.Steps) != 5 {
		t.Errorf("got %v and %d steps, want a pipe and 5", got.Stdout, len(got.Steps))
	}
	sent := got.Steps[2].Do.(byEach[send]).words
	bytes, _ := io.ReadAll(sent.data.Reader())
	if want := "hello\nxxx\x00\xff\xff"; string(bytes) != want ||
		sent.pace != (transcript.Pace{By: 4, Every: 10 * time.Millisecond}) {
		t.Errorf("got %q at %v, want %q", bytes, sent.pace, want)
	}
	received := got.Steps[3].Do.(byEach[receive]).words
	if received.data.Size() != 8<<20 || received.pace.By != 64<<10 {
		t.Errorf("got %d bytes by %d", received.data.Size(), received.pace.By)
	}
}
