package play

import (
	"context"
	"os"
	"testing"

	"interleave/internal/probe/faulty"
	"interleave/internal/probe/toolchain"
)

func TestMain(m *testing.M) { faulty.Main(m) }

// playFor plays a transcript to faulty servers until its error holds one of the wanted texts.
func playFor(ctx context.Context, t *Transcript, built func() *toolchain.Built,
	want string) error {
	return faulty.Find(want, func(patience float64) error {
		return t.Play(ctx, built(), StdoutPipe, patience)
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
