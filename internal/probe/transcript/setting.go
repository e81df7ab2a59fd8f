package transcript

import "fmt"

// settings are the words with which lines begin that hold for the whole transcript. They stand
// before the first step.
var settings = []string{"limit", "server", "stdout", "data"}

// setting reads a line that holds for the whole transcript. It reports false for all other lines,
// which may begin with the same word.
func (p *parser[A]) setting(first string, l *Line) (isSetting bool, err error) {
	switch {
	case first == "limit":
		return true, p.limit(l)
	case first == "server" && l.Take("opens"):
		return true, p.openFiles(l)
	case first == "stdout" && l.Take("is"):
		return true, p.stdoutIs(l)
	case first == "data" && len(p.t.Steps) == 0:
		return true, p.folder(l)
	}
	return false, nil
}

// limit reads how long the transcript may take.
func (p *parser[A]) limit(l *Line) error {
	limit, err := l.Duration()
	if err != nil {
		return err
	}
	if len(p.t.Steps) > 0 {
		return fmt.Errorf("expected limit before the first step")
	}
	if limit <= 0 || limit > maxLimit {
		return fmt.Errorf("expected a limit between 1ms and %v, got %v", maxLimit, limit)
	}
	p.t.Limit = limit
	return l.end()
}

// openFiles reads how many files the server may open.
func (p *parser[A]) openFiles(l *Line) error {
	if !l.Take("at") || !l.Take("most") {
		return fmt.Errorf("expected at most NUMBER files after server opens")
	}
	n, err := l.Number("a number of files", 16, MaxClients)
	if err != nil {
		return err
	}
	if !l.Take("files") {
		return fmt.Errorf("expected files after the number")
	}
	if len(p.t.Steps) > 0 {
		return fmt.Errorf("expected \"server opens\" before the first step")
	}
	p.t.OpenFiles = int(n)
	return l.end()
}

// stdoutIs reads what the server's standard output is.
func (p *parser[A]) stdoutIs(l *Line) error {
	kind, err := l.Word("file, pipe or full")
	if err != nil {
		return err
	}
	if len(p.t.Steps) > 0 {
		return fmt.Errorf("expected \"stdout is\" before the first step")
	}
	if k := StdoutKind(kind); k != StdoutFile && k != StdoutPipe && k != StdoutFull {
		return fmt.Errorf("expected file, pipe or full, got %s", kind)
	}
	p.t.Stdout, p.t.ownStdout = []StdoutKind{StdoutKind(kind)}, true
	return l.end()
}

// folder reads what the server's folder is before the first step.
func (p *parser[A]) folder(l *Line) error {
	switch {
	case l.Take("is"):
		kind, err := l.Word("absent or small")
		if err != nil {
			return err
		}
		p.t.Folder = FolderKind(kind)
		if p.t.Folder != FolderAbsent && p.t.Folder != FolderSmall {
			return fmt.Errorf("expected absent or small, got %s", kind)
		}
	case l.Take("file"):
		f, err := l.File()
		if err != nil {
			return fmt.Errorf("%w; it is written %s", err, FileUsage)
		}
		p.t.Files = append(p.t.Files, f)
	default:
		return fmt.Errorf("expected data is absent, data is small or data file before the first " +
			"step")
	}
	return l.end()
}
