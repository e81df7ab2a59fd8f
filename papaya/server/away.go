package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/log"
)

// A server of a cluster that was away lacks lines of the text, which may be in no batch any more.
// It asks the other servers for them before it takes clients. Another server may not be there at
// that moment, or may answer too late. The text then goes on without the lines, and fill asks for
// them until another server has sent them, also after restarts.

// An answer may take askAtStart at the start, while clients wait, and askLater later: the others
// read the lines from their disks. After a question without an answer the next one comes askAgain
// later, or when another server starts. Each further pause is twice as long, up to askSeldom. All
// are guesses.
const (
	askAtStart = 2 * time.Second
	askLater   = 20 * time.Second
	askAgain   = 500 * time.Millisecond
	askSeldom  = time.Minute
)

// fetch asks the other servers for the lines between the end of this server's text and the saved
// state. It leaves to fill what none of them sends.
func (s *server) fetch(ctx context.Context) {
	s.eraseLast()
	text := s.config.Text
	have, want := text.End(), s.hall.At()
	for have < want {
		at, lines, err := s.config.Log.AskText(ctx, log.Range{From: have, To: want}, askAtStart)
		if err != nil {
			at = want
		}
		switch {
		case at == have:
		case err == nil && have == text.Begin():
			s.config.Logger.Info("the text begins where that of another server does", "at", at)
		default:
			s.lack(have, at, cmp.Or(err, log.ErrNoText))
		}
		if err := text.Write(at, lines); err != nil {
			s.config.Logger.Error("lines of another server cannot be written to the text", "from",
				at, "to", want, "reason", err)
			return
		}
		s.eraseFetched(lines)
		have = at + uint64(len(lines))
	}
}

// lack lets the text go on without some lines.
func (s *server) lack(from, to uint64, reason error) {
	if err := s.config.Text.Lack(to); err != nil {
		s.config.Logger.Error("the text lacks lines from a time when this server was away; the "+
			"older part is kept in a file of its own", "from", from, "to", to, "reason",
			errors.Join(reason, err))
		return
	}
	s.config.Logger.Warn("the text lacks lines from a time when this server was away; other "+
		"servers are asked until one has them", "from", from, "to", to, "reason", reason)
}

// fill asks the other servers for the lines that the text lacks, until it has them or ctx ends. It
// does not log questions without an answer.
func (s *server) fill(ctx context.Context) {
	for pause := askAgain; ; pause = min(2*pause, askSeldom) {
		for _, r := range s.config.Text.Lacks() {
			if err := s.fillPart(ctx, r); err != nil && ctx.Err() == nil {
				s.config.Logger.Warn("lines of another server cannot be written to the text",
					"reason", err)
			}
		}
		if len(s.config.Text.Lacks()) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-s.others:
			pause = askAgain
		case <-time.After(pause):
		}
	}
}

// fillPart asks for the lines of a part of the text until it has them, or nobody sends the next.
func (s *server) fillPart(ctx context.Context, r log.Range) error {
	text, begin := s.config.Text, r.From
	fresh := log.Range{From: r.From, To: r.From} // written, and not noted yet
	for fresh.To < r.To {
		at, lines, err := s.ask(ctx, log.Range{From: fresh.To, To: r.To})
		if err != nil {
			return s.filled(fresh)
		}
		if at > fresh.To { // those before it may come from another server
			if err := s.filled(fresh); err != nil {
				return err
			}
			begin, fresh = at, log.Range{From: at, To: at}
		}
		if err := text.Fill(at, lines); errors.Is(err, log.ErrBusy) {
			return s.filled(fresh)
		} else if err != nil {
			return errors.Join(err, s.filled(fresh))
		}
		if err := s.eraseBy(ctx, lines); err != nil {
			return err
		}
		fresh.To = at + uint64(len(lines))
		if fresh.To-fresh.From >= log.FillEvery && fresh.To < r.To {
			if err := s.filled(fresh); err != nil {
				return err
			}
			fresh.From = fresh.To
		}
	}
	if err := s.eraseSince(ctx, r.To); err != nil {
		return err
	}
	err := s.filled(fresh)
	if err == nil {
		s.config.Logger.Info("the text has lines that it lacked", "from", begin, "to", r.To)
	}
	return err
}

// ask asks for the lines of a part. When another server starts meanwhile it asks again, since that
// one has not heard the question.
func (s *server) ask(ctx context.Context, r log.Range) (at uint64, lines []byte, err error) {
	for {
		within, cancel := context.WithCancel(ctx)
		started := make(chan bool, 1)
		go func() {
			select {
			case <-s.others:
				started <- true
				cancel()
			case <-within.Done():
				started <- false
			}
		}()
		at, lines, err = s.config.Log.AskText(within, r, askLater)
		cancel()
		if again := <-started; err == nil || !again || ctx.Err() != nil {
			return at, lines, err
		}
	}
}

// noteStart has fill ask again if a batch is the first one of another server since its start.
func (s *server) noteStart(b hall.Batch) {
	if b.Server == s.config.Unique || s.hall.Run(b.Server) == b.Run {
		return
	}
	select {
	case s.others <- struct{}{}:
	default:
	}
}

// filled notes lines that were lacking before. The index must not have what it had of them, which
// is nothing, when they are noted.
func (s *server) filled(r log.Range) error {
	if r.From == r.To {
		return nil
	}
	if err := s.config.Index.Refilled(r.From, r.To); err != nil {
		return err
	}
	return s.config.Text.Filled()
}

// eraseSince removes what lines from an offset on say is removed. The server that has sent older
// lines may not have read these yet.
func (s *server) eraseSince(ctx context.Context, from uint64) error {
	for end := s.config.Text.End(); from < end; {
		at, lines, err := s.config.Text.Lines(from)
		if err != nil || len(lines) == 0 {
			return err
		}
		if err := s.eraseBy(ctx, lines); err != nil {
			return err
		}
		from = at + uint64(len(lines))
	}
	return nil
}

// eraseBy calls eraseFetched in the goroutine that owns the hall, which waits only for lines that
// may remove something.
func (s *server) eraseBy(ctx context.Context, lines []byte) error {
	var some []byte
	for line := range bytes.Lines(lines) {
		if bytes.Contains(line, []byte(" REDACT ")) {
			some = append(some, line...)
		}
	}
	if some == nil {
		return nil
	}
	done := make(chan struct{})
	e := event{do: func() (hall.Entry, bool) {
		s.eraseFetched(some)
		close(done)
		return hall.Entry{}, false
	}}
	select {
	case s.events <- e:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lastText is in bytes: more than the lines of one batch take in the text.
const lastText = 2 << 20

// eraseLast removes messages that users have removed by the last lines of the text. This server may
// have been killed after it had written such a line, and before it had removed the message. If
// another server has saved a later state meanwhile, the line is in no batch that is read again.
func (s *server) eraseLast() {
	text := s.config.Text
	end := text.End()
	from := max(text.Begin(), end-min(end, lastText))
	lines := make([]byte, end-from)
	for n := 0; n < len(lines); {
		more, err := text.ReadAt(lines[n:], from+uint64(n))
		if err != nil {
			s.config.Logger.Error("the end of the text cannot be read", "reason", err)
			return
		}
		n += more
	}
	if from > text.Begin() {
		_, lines, _ = bytes.Cut(lines, []byte("\n"))
	}
	s.eraseFetched(lines)
}

// eraseFetched removes messages from the text of this server that users have removed while it was
// away.
func (s *server) eraseFetched(lines []byte) {
	for line := range bytes.Lines(lines) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if at, ok := hall.Redacted(line); ok {
			for _, at := range append(hall.RemovedVersions(line), at) {
				if span, there := s.hall.SpanAt(at); there {
					s.erase([]hall.Span{span})
				}
			}
		}
	}
}
