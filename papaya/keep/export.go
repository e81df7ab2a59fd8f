package keep

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"interleave/papaya/hall"
	"interleave/papaya/irc"
)

// A Filter selects lines. An empty field selects all.
type Filter struct {
	Rooms  []string  // to one of these rooms, under any name that it had
	People []string  // by one of these nicks, or to it
	Words  []string  // with all of these words, in upper or lower case
	Since  time.Time // at this time or later
	Until  time.Time // before this time
}

func (f Filter) match(l Line, others renames) bool {
	has := func(list []string, name string) bool {
		return slices.ContainsFunc(list,
			func(s string) bool { return irc.Lower(s) == irc.Lower(name) })
	}
	switch {
	case !f.Since.IsZero() && l.Time.Before(f.Since), !f.Until.IsZero() && !l.Time.Before(f.Until):
		return false
	case len(f.Rooms) > 0 &&
		!others.names(l, func(name string) bool { return has(f.Rooms, name) }):
		return false
	case len(f.People) > 0 && !has(f.People, l.From()) && !has(f.People, l.To):
		return false
	}
	if len(f.Words) == 0 {
		return true
	}
	body := strings.ToLower(l.Body)
	return !slices.ContainsFunc(f.Words,
		func(w string) bool { return !strings.Contains(body, strings.ToLower(w)) })
}

// prefilter returns a cheap first test of a line: whether it may contain the words. Words beyond
// ASCII are left to match.
func (f Filter) prefilter() func([]byte) bool {
	var words [][]byte
	for _, w := range f.Words {
		if strings.IndexFunc(w, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
			words = append(words, bytes.ToLower([]byte(w)))
		}
	}
	if len(words) == 0 {
		return nil
	}
	var low []byte // used again for each line
	return func(raw []byte) bool {
		low = append(low[:0], raw...)
		for i, c := range low {
			if 'A' <= c && c <= 'Z' {
				low[i] = c + 'a' - 'A'
			} else if c >= utf8.RuneSelf {
				return true // lower case of some other characters is ASCII: match decides
			}
		}
		return !slices.ContainsFunc(words, func(w []byte) bool { return !bytes.Contains(low, w) })
	}
}

// A Format is the form of exported lines.
type Format string

// The formats: the lines of the log, or an object of JSON for each line.
const (
	AsText Format = "text"
	AsJSON Format = "json"
)

// jsonLine is a line in JSON, with the msgids and the tags that clients see. If its text is not
// UTF-8, Raw has the line as the log has it, in base64.
type jsonLine struct {
	ID      string    `json:"id"`
	Time    time.Time `json:"time"`
	Tags    string    `json:"tags,omitempty"`
	From    string    `json:"from"`
	Source  string    `json:"source"`
	Command string    `json:"command"`
	To      string    `json:"to"`
	Of      string    `json:"of,omitempty"` // the ID of what REDACT removes, or the name of RENAME
	Text    string    `json:"text"`
	Raw     []byte    `json:"raw,omitempty"`
}

// asJSON returns a line in JSON.
func (l Line) asJSON(ids *hall.Msgids) jsonLine {
	j := jsonLine{ID: ids.Of(l.At), Time: l.Time, Tags: l.Tags, From: l.From(), Source: l.Source,
		Command: l.Command, To: l.To, Of: l.Of, Text: l.Body}
	if tags, removed, ok := ids.Shown(bytes.TrimSuffix(l.Raw, []byte("\n")), l.At); ok {
		j.Tags = tags
		if removed != "" {
			j.Of = removed
		}
	}
	if !utf8.Valid(l.Raw) {
		j.Raw = l.Raw
	}
	return j
}

// Export writes the lines that are there now and that the filter selects. ids are for AsJSON only.
// Export calls bad for everything in the log that is not a line of ours.
func Export(ctx context.Context, t Text, f Filter, format Format, ids *hall.Msgids, w io.Writer,
	bad func(at uint64, err error)) (lines int, err error) {
	out := bufio.NewWriterSize(w, 64<<10)
	encode := json.NewEncoder(out)
	encode.SetEscapeHTML(false)
	var others renames
	if len(f.Rooms) > 0 {
		if others, err = readRenames(ctx, t); err != nil {
			return 0, fmt.Errorf("export: %w", err)
		}
	}
	err = read(ctx, t, t.Begin(), t.End(), f.prefilter(), func(l Line) error {
		if !f.match(l, others) {
			return nil
		}
		lines++
		if format == AsText {
			_, err := out.Write(l.Raw)
			return err
		}
		return encode.Encode(l.asJSON(ids))
	}, bad)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return lines, fmt.Errorf("export: %w", err)
	}
	return lines, nil
}
