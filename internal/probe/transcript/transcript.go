// Package transcript reads transcripts: what clients do with a server, and what they must see, one
// step a line. It does no I/O.
//
//	dial a
//	a send "hello\n"
//	a recv "hello\n"
//	a shut
//	a eof
//
// The package knows the words of a line (Line), the data of a step (Data) and the lines that hold
// for a whole transcript, such as its limit. The verbs come from a Vocabulary, a table that the
// caller of Parse brings along. docs/adding-a-protocol.md lists all of them.
package transcript

import (
	"bufio"
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Transcript is what clients do with a server and what they must see. A is the type of the
// actions that the verbs of its vocabulary make.
type Transcript[A any] struct {
	File  string        // the name that errors show
	Name  string        // the file's name without .txt
	Title string        // the first comment: what the transcript shows
	Limit time.Duration // for all steps together
	Steps []Step[A]

	// Stdout are the kinds of standard output that the server gets, each in a play of its own. A
	// transcript that looks at standard output is played with a file and with a pipe, any other
	// with a pipe, unless it names a kind itself.
	Stdout []StdoutKind

	// Folder is what the server finds as {data}, and Files are the files in it.
	Folder FolderKind
	Files  []File

	// OpenFiles is how many files the server may open; 0: as many as any program.
	OpenFiles int

	ownStdout bool // the transcript names the kind of its standard output
}

// A Step is one line of a transcript that is played.
type Step[A any] struct {
	Line int    // its number, from 1
	Text string // as it is written
	Who  string // the client or group that it begins with; empty if it begins with another word
	Do   A

	subject string // the line's first word
	shares  bool   // its verb's Shares
}

// A StdoutKind is what a server's standard output is. Writes to a file and to a pipe differ in what
// is atomic and in what can be short.
type StdoutKind string

// The kinds of standard output.
const (
	StdoutFile StdoutKind = "file"
	StdoutPipe StdoutKind = "pipe"
	StdoutFull StdoutKind = "full" // /dev/full: a disk without room
)

// A FolderKind is what a server's folder is when the server starts.
type FolderKind string

// The kinds of folders.
const (
	FolderEmpty  FolderKind = ""       // a folder that holds only the transcript's files
	FolderAbsent FolderKind = "absent" // no folder: the server makes it
	FolderSmall  FolderKind = "small"  // a disk of a few megabytes
	FolderMortal FolderKind = "mortal" // a disk that can lose its power
)

// A File is a file of the server's folder.
type File struct {
	Name string
	Data Data
}

// A Pace says how data is cut into parts and how they follow each other: "by 64KiB every 20ms".
type Pace struct {
	By    int64         // bytes at a time; 0: all at once
	Every time.Duration // the pause after each part
}

// DefaultLimit is the limit of a transcript that names none. Most transcripts take milliseconds;
// the limit is for a server that fails, and for a machine that many others use: there a step of two
// seconds can take half a minute.
const DefaultLimit = time.Minute

// The bounds of a transcript: far above what a test needs, and below what harms the machine.
const (
	MaxClients = 10_000
	MaxData    = 1 << 30 // bytes of one step
	maxLimit   = 10 * time.Minute
	maxFile    = 1 << 20 // bytes of a transcript
)

// Parse reads a transcript whose verbs are those of the vocabulary. Errors name the file and the
// line and say what was expected.
func Parse[A any](file string, text []byte, v Vocabulary[A]) (*Transcript[A], error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: expected at most %d bytes", file, maxFile)
	}
	t := &Transcript[A]{File: file, Name: strings.TrimSuffix(filepath.Base(file), ".txt"),
		Limit: DefaultLimit}
	p := parser[A]{t, v, newNames(v.words())}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxFile+1)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if comment, ok := strings.CutPrefix(line, "#"); ok && t.Title == "" {
			t.Title = strings.TrimSpace(comment)
		}
		tokens, err := split(line)
		if err == nil && len(tokens) > 0 {
			err = p.line(n, line, tokens)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(t.Steps) == 0 {
		return nil, fmt.Errorf("%s: expected at least one step", file)
	}
	if t.Stdout == nil {
		t.Stdout = []StdoutKind{StdoutPipe}
		if t.LooksAtStdout() {
			t.Stdout = []StdoutKind{StdoutFile, StdoutPipe}
		}
	}
	return t, nil
}

// LooksAtStdout reports whether a step expects something of the server's standard output.
func (t *Transcript[A]) LooksAtStdout() bool {
	return slices.ContainsFunc(t.Steps, func(s Step[A]) bool { return s.subject == "stdout" })
}

// Shares reports whether the transcript may be played to a server that has played others, and
// others after it. It must not want a server, standard output or folder of its own, and all its
// verbs must leave the server as they found it.
func (t *Transcript[A]) Shares() bool {
	if t.ownStdout || t.Folder != FolderEmpty || len(t.Files) > 0 || t.OpenFiles > 0 {
		return false
	}
	return !slices.ContainsFunc(t.Steps, func(s Step[A]) bool { return !s.shares })
}

// A parser reads the lines of one transcript.
type parser[A any] struct {
	t     *Transcript[A]
	verbs Vocabulary[A]
	names *names
}

// line reads one line that is not empty.
func (p *parser[A]) line(n int, text string, tokens []token) error {
	l := &Line{tokens: tokens, names: p.names}
	first, err := l.Word("a name or a verb")
	if err != nil {
		return err
	}
	if isSetting, err := p.setting(first, l); isSetting {
		return err
	}
	s := Step[A]{Line: n, Text: text, subject: first}
	verbs, known := p.verbs.after(first)
	if !known {
		if !p.names.known(first) {
			return fmt.Errorf("expected %s or a name that was dialled, got %s",
				strings.Join(append([]string{"limit"}, p.verbs.words()...), ", "), first)
		}
		s.Who, l.Who = first, first
		verbs, _ = p.verbs.after(Client)
	}
	verb, err := verbs.next(l, first)
	if err != nil {
		return err
	}
	s.shares = verb.Shares
	s.Do, err = verb.Read(l)
	if err == nil {
		err = l.end()
	}
	if err != nil && verb.Usage != "" {
		return fmt.Errorf("%w; it is written %s", err, verb.Usage)
	}
	if err != nil {
		return err
	}
	p.t.Steps = append(p.t.Steps, s)
	if l.losesPower {
		return p.needPower()
	}
	return nil
}

// needPower gives the server a disk that can lose its power.
func (p *parser[A]) needPower() error {
	if p.t.Folder != FolderEmpty && p.t.Folder != FolderMortal {
		return fmt.Errorf("expected no \"data is %s\" where power is lost: the folder is a disk "+
			"of its own kind then", p.t.Folder)
	}
	p.t.Folder = FolderMortal
	return nil
}
