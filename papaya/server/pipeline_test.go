package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"interleave/papaya/log"
)

// TestPipelinedLines: a client sends all of its lines at once, and they take effect in their order.
// A message of several lines has an entry only when its batch ends.
func TestPipelinedLines(t *testing.T) {
	srv := open(t, t.TempDir(), nil)
	ann, bob := srv.connect().Register("ann", "#tea"), srv.connect().Register("bob", "#tea")
	ann.Send("CAP REQ :draft/multiline batch message-tags labeled-response echo-message")
	ann.Expect(" ACK ")
	var lines []string
	var want []string
	for n := range 20 {
		lines = append(lines, fmt.Sprintf("PRIVMSG #tea :%da", n),
			fmt.Sprintf("BATCH +%d draft/multiline #tea", n),
			fmt.Sprintf("@batch=%d PRIVMSG #tea :%db", n, n), fmt.Sprintf("BATCH -%d", n),
			fmt.Sprintf("PRIVMSG #tea :%dc", n))
		want = append(want, fmt.Sprintf("%da", n), fmt.Sprintf("%db", n), fmt.Sprintf("%dc", n))
	}
	ann.Send("%s", strings.Join(lines, "\r\n")+"\r\nPRIVMSG #tea :end\r\nPING end")
	for _, l := range []struct {
		heard []string
		who   string
	}{{bob.Expect("PRIVMSG #tea :end"), "bob"}, {ann.Expect("PONG chat :end"), "ann"}} {
		var got []string
		for _, one := range l.heard {
			if _, text, ok := strings.Cut(one, "PRIVMSG #tea :"); ok && text != "end" {
				got = append(got, text)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s got %q, want %q", l.who, got, want)
		}
	}
}

// A losingLog does not answer, and then refuses, before it takes a batch.
type losingLog struct {
	log.Log
	answers []error
}

func (l *losingLog) Append(context.Context, []byte) (uint64, error) {
	err := l.answers[0]
	l.answers = l.answers[1:]
	return 7, err
}

// TestLostAnswer: a refusal counts only if the batch cannot be in the log from an earlier try.
func TestLostAnswer(t *testing.T) {
	lost, refused := errors.New("no answer"), fmt.Errorf("%w: no leader", log.ErrRefused)
	for _, test := range []struct {
		answers []error
		want    error
	}{
		{[]error{nil}, nil},
		{[]error{refused}, log.ErrRefused},
		{[]error{lost, refused, refused, nil}, nil},
		{[]error{lost, nil}, nil},
	} {
		text, err := log.OpenText(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		l := &losingLog{answers: test.answers}
		s := &server{config: Config{Log: l, Text: text,
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}}
		_, err = s.store(t.Context(), []byte("batch"))
		if !errors.Is(err, test.want) || len(l.answers) > 0 {
			t.Errorf("%v: %v, want %v; %d answers are left", test.answers, err, test.want,
				len(l.answers))
		}
		text.Close()
	}
}
