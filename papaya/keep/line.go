// Package keep works on the text DATA/log: it exports messages, removes old ones, makes backups
// while the server runs, and restores them. An offset is the number of bytes since the very first
// line, so it names a line for good.
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

// A Text is the log for people: that of papaya/log while a server runs, or a File.
type Text interface {
	// ReadAt reads at an offset, which may be within a line. It returns io.EOF at the end, and
	// another error before the beginning.
	ReadAt(p []byte, at uint64) (int, error)
	Begin() uint64 // the offset of the first line
	End() uint64   // the offset after the last line
}

// A Line is one line of the text. Its fields are parts of the buffer that was read, so a caller
// that keeps a Line must copy it.
type Line struct {
	At      uint64 // its offset
	Time    time.Time
	Tags    string // the tags of the message, as lines of IRC have them; empty for most
	Source  string // ann!ann@127.0.0.1
	Command string // PRIVMSG, NOTICE, TOPIC, REDACT, RENAME
	To      string // a room or a nick; a room may have the prefix of irc.SplitStatus
	Of      string // the place of the message that REDACT has removed, or the name of RENAME
	Body    string
	Raw     []byte // including LF
}

// From returns the sender's nick.
func (l Line) From() string {
	nick, _, _ := strings.Cut(l.Source, "!")
	return nick
}

// stamp is the form of times in the text: UTC, always with milliseconds.
const stamp = "2006-01-02T15:04:05.000Z"

var errLine = errors.New("expected TIME [@TAGS] :SOURCE COMMAND TO :WORDS")

// parseLine parses a line of the server, including LF.
func parseLine(raw []byte, at uint64) (Line, error) {
	l := Line{At: at, Raw: raw}
	text, ok := strings.CutSuffix(string(raw), "\n")
	word, rest, found := strings.Cut(text, " ")
	if strings.HasPrefix(rest, "@") {
		l.Tags, rest, _ = strings.Cut(rest[1:], " ")
	}
	if !ok || !found || !strings.HasPrefix(rest, ":") {
		return l, errLine
	}
	var err error
	if l.Time, err = time.Parse(stamp, word); err != nil || len(word) != len(stamp) ||
		word[len("2006-01-02T15:04:05")] != '.' { // time.Parse takes other forms, too
		return l, errLine
	}
	var head string
	head, l.Body, _ = strings.Cut(rest[1:], " :")
	part := strings.Split(head, " ")
	if len(part) < 3 || part[0] == "" || part[1] == "" || part[2] == "" {
		return l, errLine
	}
	l.Source, l.Command, l.To = part[0], part[1], part[2]
	if len(part) > 3 {
		l.Of = part[3]
	}
	return l, nil
}

// maxLine is in bytes, more than a line of IRC (512) with its tags (4096) and its time.
const maxLine = 16 << 10

// read calls a function with the lines between two offsets. want may skip lines by their bytes,
// which costs a tenth of parsing them. read calls bad for what is not a line of ours (somebody has
// written into the file) and skips it.
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
			rest = rest[:0] // the rest of the long line is skipped, too
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
