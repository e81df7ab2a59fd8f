package play

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Transcript is one file of conform/: what clients do with a server, and what they must see.
// docs/adding-a-protocol.md tells its words.
type Transcript struct {
	File  string        // as errors name it
	Name  string        // the file's name without .txt
	Title string        // its first comment: what it shows
	Limit time.Duration // for the whole of it
	steps []step

	// Stdout is what the server's standard output is, each in a play of its own: a pipe, or, where
	// the transcript looks at it, a file and a pipe, unless the transcript says itself.
	Stdout []StdoutKind

	ownStdout bool // the transcript says which

	// Folder is what the server finds as {data}, with these files in it.
	Folder folderKind
	files  []*dataFile

	// OpenFiles is how many files the server may open; 0 = as many as any program.
	OpenFiles int
}

// defaultLimit is for a transcript that names none, and only for the server that fails: most
// take milliseconds, and on a machine that ten others use as well, what takes two seconds
// takes half a minute.
const defaultLimit = time.Minute

// The bounds of a transcript: far above what a test needs, below what harms the machine.
const (
	maxClients = 10_000
	maxData    = 1 << 30 // bytes of one step
	maxLimit   = 10 * time.Minute
	maxFile    = 1 << 20 // bytes of a transcript
)

// A folderKind is what a server's folder is at its start.
type folderKind string

const (
	folderEmpty  folderKind = ""       // there, with nothing but the transcript's files in it
	folderAbsent folderKind = "absent" // not there: the server makes it
	folderSmall  folderKind = "small"  // a disk of a few megabytes
	// a disk that can lose its power: of transcripts in which that happens
	folderMortal folderKind = "mortal"
)

// A step is one line of a transcript.
type step struct {
	line int
	text string // as written
	who  string // the client or group; empty for limit, dial, server, stdout
	do   action
}

// An action is what a step does. Its kinds are in action.go and verbs.go, each beside the
// way it is played.
type action interface{ usage() string }

// LoadTranscript reads a transcript file; errors name it as shown.
func LoadTranscript(path, shown string) (*Transcript, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ParseTranscript(shown, text)
}

// ParseTranscript reads a transcript. Errors say file, line and what was expected.
func ParseTranscript(file string, text []byte) (*Transcript, error) {
	t := &Transcript{File: file, Name: strings.TrimSuffix(filepath.Base(file), ".txt"),
		Limit: defaultLimit}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: expected at most %d bytes", file, maxFile)
	}
	dialled := map[string]bool{} // false: its connection is over, and the name free for another
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxFile+1)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if comment, ok := strings.CutPrefix(line, "#"); ok && t.Title == "" {
			t.Title = strings.TrimSpace(comment)
		}
		tokens, err := split(line)
		if err == nil && len(tokens) > 0 {
			err = t.parse(n, line, tokens, dialled)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(t.steps) == 0 {
		return nil, fmt.Errorf("%s: expected at least one step", file)
	}
	if t.Stdout == nil {
		t.Stdout = []StdoutKind{StdoutPipe}
		if t.looksAtStdout() {
			t.Stdout = []StdoutKind{StdoutFile, StdoutPipe}
		}
	}
	return t, nil
}

// parse reads one line that is not empty.
func (t *Transcript) parse(n int, line string, tokens []token, dialled map[string]bool) error {
	s := step{line: n, text: line}
	w := &words{tokens: tokens}
	first, err := w.word("a name or a verb")
	if err != nil {
		return err
	}
	var do action
	switch first {
	case "limit":
		return t.parseLimit(w)
	case "dial":
		do, err = parseDial(w, dialled)
	case "ping":
		do, err = parsePing(w)
	case "visit":
		do, err = parseVisits(w)
	case "data":
		if len(t.steps) == 0 {
			return t.parseFolder(w)
		}
		do, err = w.verb("data", dataVerbs)
	case "log":
		do, err = w.verb("log", logVerbs)
	case "power":
		do, err = w.verb("power", powerVerbs)
	case "server":
		if w.take("opens") {
			return t.parseOpenFiles(w)
		}
		do, err = w.verb("server", serverVerbs)
	case "stdout":
		if w.take("is") {
			return t.parseStdoutIs(w)
		}
		do, err = w.verb("stdout", stdoutVerbs)
		if f, ok := do.(*stdoutFilled); ok && err == nil && !t.fills(f.who) {
			err = fmt.Errorf("expected a line \"%s fill DATA\" before this one", f.who)
		}
	default:
		if _, known := dialled[first]; !known {
			return fmt.Errorf("expected limit, dial, ping, visit, server, stdout, data, log, "+
				"power or a name that was dialled, got %s", first)
		}
		s.who = first
		do, err = w.verb(first, clientVerbs)
		if _, ok := do.(*receive); ok && err == nil && do.(*receive).filled && !t.fills(first) {
			err = fmt.Errorf("expected a line \"%s fill DATA\" before this one", first)
		}
	}
	if err == nil {
		err = w.end()
	}
	if err != nil {
		if do != nil {
			return fmt.Errorf("%w; it is written %s", err, do.usage())
		}
		return err
	}
	switch do := do.(type) {
	case *end:
		if do.verb != "shut" {
			leave(dialled, first)
		}
	case *drains, *serverKilled, *serverEnds:
		leave(dialled, first)
	case *hearsStatus:
		if do.endsOnly {
			leave(dialled, first)
		}
	case *powerLost:
		leave(dialled, "server")
		err = t.needsPower()
	case *chats:
		if do.end != "" {
			leave(dialled, "server")
		}
		if do.end == endPower || do.end == endHalfway {
			err = t.needsPower()
		}
	}
	s.do = do
	t.steps = append(t.steps, s)
	return err
}

// needsPower gives the server a disk that can lose it.
func (t *Transcript) needsPower() error {
	if t.Folder != folderEmpty && t.Folder != folderMortal {
		return fmt.Errorf("expected no \"data is %s\" where power is lost: the folder is a disk "+
			"of its own kind then", t.Folder)
	}
	t.Folder = folderMortal
	return nil
}

// leave frees the name of a client whose connection is over, or, with the server's, all names.
func leave(dialled map[string]bool, who string) {
	for name := range dialled {
		if who == name || who == "server" {
			dialled[name] = false
		}
	}
}

// parseFolder reads what the server's folder is before the first step.
func (t *Transcript) parseFolder(w *words) error {
	switch {
	case w.take("is"):
		kind, err := w.word("absent or small")
		if err != nil {
			return err
		}
		t.Folder = folderKind(kind)
		if t.Folder != folderAbsent && t.Folder != folderSmall {
			return fmt.Errorf("expected absent or small, got %s", kind)
		}
	case w.take("file"):
		f := &dataFile{}
		if _, err := parseDataFile(w, f); err != nil {
			return fmt.Errorf("%w; it is written %s", err, f.usage())
		}
		t.files = append(t.files, f)
	default:
		return fmt.Errorf("expected data is absent, data is small or data file before the first " +
			"step")
	}
	return w.end()
}

func (t *Transcript) fills(who string) bool {
	for _, s := range t.steps {
		if _, ok := s.do.(*fill); ok && s.who == who {
			return true
		}
	}
	return false
}

func (t *Transcript) looksAtStdout() bool {
	for _, s := range t.steps {
		if strings.HasPrefix(s.text, "stdout") {
			return true
		}
	}
	return false
}

func (t *Transcript) parseStdoutIs(w *words) error {
	kind, err := w.word("file, pipe or full")
	if err != nil {
		return err
	}
	if len(t.steps) > 0 {
		return fmt.Errorf("expected \"stdout is\" before the first step")
	}
	if k := StdoutKind(kind); k != StdoutFile && k != StdoutPipe && k != StdoutFull {
		return fmt.Errorf("expected file, pipe or full, got %s", kind)
	}
	t.Stdout, t.ownStdout = []StdoutKind{StdoutKind(kind)}, true
	return w.end()
}

func (t *Transcript) parseOpenFiles(w *words) error {
	if !w.take("at") || !w.take("most") {
		return fmt.Errorf("expected at most NUMBER files after server opens")
	}
	n, err := w.number("a number of files", 16, maxClients)
	if err != nil {
		return err
	}
	if !w.take("files") {
		return fmt.Errorf("expected files after the number")
	}
	if len(t.steps) > 0 {
		return fmt.Errorf("expected \"server opens\" before the first step")
	}
	t.OpenFiles = int(n)
	return w.end()
}

func (t *Transcript) parseLimit(w *words) error {
	limit, err := w.duration()
	if err != nil {
		return err
	}
	if len(t.steps) > 0 {
		return fmt.Errorf("expected limit before the first step")
	}
	if limit <= 0 || limit > maxLimit {
		return fmt.Errorf("expected a limit between 1ms and %v, got %v", maxLimit, limit)
	}
	t.Limit = limit
	return w.end()
}
