package keep

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A Filter chooses lines. What is left out chooses all.
type Filter struct {
	Rooms  []string  // said in one of these
	People []string  // said by one of these nicks, or to it alone
	Since  time.Time // not before
	Until  time.Time // before
}

// fold compares names as the server does, without case in ASCII.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func (f Filter) match(l Line) bool {
	has := func(list []string, name string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return fold(s) == fold(name) })
	}
	switch {
	case !f.Since.IsZero() && l.Time.Before(f.Since), !f.Until.IsZero() && !l.Time.Before(f.Until):
		return false
	case len(f.Rooms) > 0 && !has(f.Rooms, l.To):
		return false
	case len(f.People) > 0 && !has(f.People, l.From()) && !has(f.People, l.To):
		return false
	}
	return true
}

// A Format is how lines are written out.
type Format string

// The formats: as the log has them, or an object of JSON on each line.
const (
	AsText Format = "text"
	AsJSON Format = "json"
)

// jsonLine is a line in JSON. Words that are not UTF-8 are in raw, in base64, too.
type jsonLine struct {
	ID      string    `json:"id"` // the place in base 36: the msgid that clients see
	Time    time.Time `json:"time"`
	From    string    `json:"from"`
	Source  string    `json:"source"`
	Command string    `json:"command"`
	To      string    `json:"to"`
	Text    string    `json:"text"`
	Raw     []byte    `json:"raw,omitempty"`
}

// Export writes the lines that are there now and that the filter chooses; bad hears of what is in the log and is no line.
func Export(ctx context.Context, t Text, f Filter, format Format, w io.Writer, bad func(at uint64, err error)) (lines int, err error) {
	out := bufio.NewWriterSize(w, 64<<10)
	encode := json.NewEncoder(out)
	encode.SetEscapeHTML(false)
	err = read(ctx, t, t.Begin(), t.End(), func(l Line) error {
		if !f.match(l) {
			return nil
		}
		lines++
		if format == AsText {
			_, err := out.Write(l.Raw)
			return err
		}
		j := jsonLine{ID: ID(l.At), Time: l.Time, From: l.From(), Source: l.Source, Command: l.Command, To: l.To, Text: l.Body}
		if !utf8.Valid(l.Raw) {
			j.Raw = l.Raw
		}
		return encode.Encode(j)
	}, bad)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return lines, fmt.Errorf("export: %w", err)
	}
	return lines, nil
}
