// Package keep looks after what was said: it writes it out, removes what is old, copies
// everything while the server runs and brings it back, and finds words. What was said is the
// text DATA/log, one line each, where a place (the number of bytes since the first line ever)
// names a line for good.
package keep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"interleave/papaya/log"
)

// A Text is what was said: papaya/log's while a server runs, or a File.
type Text interface {
	// ReadAt reads whole or half lines at a place: io.EOF at the end, another error
	// below the beginning.
	ReadAt(p []byte, at uint64) (int, error)
	Begin() uint64 // of the first line that is kept
	End() uint64   // behind the last
}

// A Line is one line of the text. Its fields are parts of the buffer it was read from: who
// keeps one clones it.
type Line struct {
	At      uint64 // its place
	Time    time.Time
	Source  string // ann!ann@127.0.0.1
	Command string // PRIVMSG, NOTICE, TOPIC, ...
	To      string // a room or a nick
	Body    string
	Raw     []byte // with its LF
}

// From is the nick of who said it.
func (l Line) From() string {
	nick, _, _ := strings.Cut(l.Source, "!")
	return nick
}

// stamp is how the text says a time, always with three digits behind the point and in UTC.
const stamp = "2006-01-02T15:04:05.000Z"

var errLine = errors.New("expected TIME :SOURCE COMMAND TO :WORDS")

// parseLine reads what the server writes, with its LF.
func parseLine(raw []byte, at uint64) (Line, error) {
	l := Line{At: at, Raw: raw}
	text, ok := strings.CutSuffix(string(raw), "\n")
	word, rest, found := strings.Cut(text, " ")
	if !ok || !found || !strings.HasPrefix(rest, ":") {
		return l, errLine
	}
	var err error
	if l.Time, err = time.Parse(stamp, word); err != nil {
		return l, errLine
	}
	var head string
	head, l.Body, _ = strings.Cut(rest[1:], " :")
	part := strings.Split(head, " ")
	if len(part) < 3 || part[0] == "" || part[1] == "" || part[2] == "" {
		return l, errLine
	}
	l.Source, l.Command, l.To = part[0], part[1], part[2]
	return l, nil
}

// maxLine is in bytes. A line of IRC has 512, and the time before it.
const maxLine = 16 << 10

// read hands over the lines between two places that want, if there is one, wants by their bytes: to
// look at a line costs a tenth of reading it. What is no line of ours (somebody has written into
// the file) is handed to bad and skipped.
func read(ctx context.Context, t Text, from, to uint64, want func(raw []byte) bool,
	each func(Line) error, bad func(at uint64, err error)) error {
	buffer, have := make([]byte, 256<<10), 0
	for at := max(from, t.Begin()); at < to; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := t.ReadAt(buffer[have:min(uint64(len(buffer)), uint64(have)+to-at)], at)
		if errors.Is(err, io.EOF) || err == nil && n == 0 {
			break
		}
		if err != nil {
			return fmt.Errorf("reading the log: %w", err)
		}
		at += uint64(n)
		have += n
		rest := buffer[:have]
		start := at - uint64(have)
		for {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				break
			}
			if err := one(rest[:i+1], start, want, each, bad); err != nil {
				return err
			}
			start += uint64(i + 1)
			rest = rest[i+1:]
		}
		if len(rest) > maxLine {
			bad(start, fmt.Errorf("a line of more than %d bytes", maxLine))
			rest = rest[:0] // its end will be no line either
		}
		have = copy(buffer, rest)
	}
	return nil
}

func one(raw []byte, at uint64, want func([]byte) bool, each func(Line) error,
	bad func(uint64, error)) error {
	if want != nil && !want(raw) || log.IsBlank(raw) {
		return nil
	}
	l, err := parseLine(raw, at)
	if err != nil {
		bad(at, err)
		return nil
	}
	return each(l)
}
