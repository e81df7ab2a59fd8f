package play

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"interleave/internal/probe/transcript"
)

// stdoutVerbs say what the server's standard output must show.
var stdoutVerbs = Vocabulary{{Word: "stdout", Verbs: Verbs{
	`"`:       shared(Once("stdout DATA", (*Line).Data, stdoutText)),
	"hex":     whole(shared(Once("stdout DATA", (*Line).Data, stdoutText))),
	"pattern": whole(shared(Once("stdout DATA", (*Line).Data, stdoutText))),
	"filled":  Once("stdout filled NAME", readFilled, stdoutFilled),
	"hold":    Once(holdUsage, NoWords, stdoutHold(true)),
	"release": Once(holdUsage, NoWords, stdoutHold(false)),
}}}

const holdUsage = "stdout hold, stdout release"

// stdoutText waits for exactly these bytes, from where the last look ended.
func stdoutText(ctx context.Context, p *Play, _ string, data transcript.Data) error {
	want, err := io.ReadAll(data.Reader())
	if err != nil {
		return err
	}
	return p.stdoutBytes(ctx, want)
}

func readFilled(l *Line) (name string, err error) {
	if name, err = l.Word("a name"); err != nil {
		return name, err
	}
	return name, l.HasFilled(name)
}

// stdoutFilled waits for what fill has sent. The server may end its last line by a line feed.
func stdoutFilled(ctx context.Context, p *Play, _, name string) error {
	want, err := io.ReadAll(p.clients[name][0].filling().reader())
	if err != nil {
		return err
	}
	if !bytes.HasSuffix(want, []byte("\n")) {
		want = append(want, '\n')
	}
	return p.stdoutBytes(ctx, want)
}

// stdoutBytes waits for these bytes.
func (p *Play) stdoutBytes(ctx context.Context, want []byte) error {
	got, err := p.stdout.await(ctx, p.Deadline, func(b []byte) bool {
		return len(b) >= len(want) || !bytes.HasPrefix(want, b)
	})
	if err != nil && !errors.Is(err, errLate) {
		return err
	}
	p.stdout.consume(min(len(got), len(want)))
	if bytes.HasPrefix(got, want) {
		return nil
	}
	right := 0
	for right < min(len(got), len(want)) && got[right] == want[right] {
		right++
	}
	return fmt.Errorf("after %d right bytes standard output has %s, want %s", right,
		transcript.Short(got[right:]), transcript.Short(want[right:]))
}

// stdoutHold returns a function that stops or resumes the reading of standard output.
func stdoutHold(on bool) func(context.Context, *Play, string, None) error {
	return func(_ context.Context, p *Play, _ string, _ None) error {
		p.stdout.hold(on)
		return nil
	}
}
