package run

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/record"
)

// The bounds of a command that builds: of its time, the rows that it prints, and what a row holds.
const (
	quickBuilds   = 5 * time.Minute
	wholeBuilds   = 45 * time.Minute
	maxRows       = 100
	maxTargetName = 60  // characters
	maxNote       = 300 // characters: the first lines of what a compiler says
)

// tryBuilds carries out the experiments that build in place of measuring, but for those that an
// interrupted run has done. A command that fails is reported as a model that was skipped; the rows
// before it count.
func (s *Session) tryBuilds(ctx context.Context, done []record.Build) error {
	s.builds = slices.Clone(done)
	for _, e := range s.Experiments {
		if len(e.Builds) == 0 ||
			slices.ContainsFunc(done, func(b record.Build) bool { return b.Experiment == e.Name }) {
			continue
		}
		if len(s.Choice.Models) > 0 && !slices.Contains(s.Choice.Models, e.Models[0]) {
			continue
		}
		s.say("%s: building for each system that a compiler here reaches, and playing transcripts",
			e.Name)
		began := time.Now()
		rows, err := builds(ctx, s.Tree.Root, e, s.Choice.Depth)
		if ctx.Err() != nil {
			return ErrStopped
		}
		if err != nil {
			s.say("%s: %v", e.Name, err)
			s.skipped = append(s.skipped, record.Skip{Service: e.Service, Model: e.Models[0],
				Reason: "not all of its builds could be tried: " + clean(err.Error(), maxNote)})
		}
		s.say("%s: %s tried in %s", e.Name, quantity.Many(len(rows), "system"),
			quantity.Setting(time.Since(began).Round(time.Second)))
		s.builds = append(s.builds, rows...)
	}
	return nil
}

// builds runs an experiment's command in the checkout and reads its rows.
func builds(ctx context.Context, root string, e *manifest.Experiment,
	depth string) ([]record.Build, error) {
	limit := wholeBuilds
	if depth == "quick" {
		limit = quickBuilds
	}
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	args := manifest.Expand(e.Builds, map[string]string{"depth": depth})
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = root
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var said, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &wrong
	ran := cmd.Run()
	rows, err := readRows(&said, e.Name)
	switch {
	case ctx.Err() != nil:
		return rows, fmt.Errorf("%s: not done within %v", strings.Join(args, " "), limit)
	case ran != nil:
		return rows, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), ran,
			clean(wrong.String(), maxNote))
	case err == nil && len(rows) == 0:
		err = errors.New("printed no row")
	}
	if err != nil {
		return rows, fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return rows, nil
}

// readRows reads lines TARGET, BUILT, PASSED, PLAYED and a note, with tabs between.
func readRows(r io.Reader, experiment string) ([]record.Build, error) {
	var rows []record.Build
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		row, err := readRow(lines.Text())
		switch {
		case err != nil:
			return rows, fmt.Errorf("line %q: %w", clean(lines.Text(), maxNote), err)
		case slices.ContainsFunc(rows, func(b record.Build) bool { return b.Target == row.Target }):
			return rows, fmt.Errorf("two rows for %s", row.Target)
		case len(rows) == maxRows:
			return rows, fmt.Errorf("more than %d rows", maxRows)
		}
		row.Experiment = experiment
		rows = append(rows, row)
	}
	return rows, lines.Err()
}

func readRow(line string) (record.Build, error) {
	f := strings.Split(line, "\t")
	if len(f) != 5 {
		return record.Build{},
			fmt.Errorf("expected TARGET, BUILT, PASSED, PLAYED and a note with tabs between, "+
				"got %d fields", len(f))
	}
	b := record.Build{Target: clean(f[0], maxTargetName), Built: record.Built(f[1]),
		Note: clean(f[4], maxNote)}
	passed, err1 := strconv.ParseUint(f[2], 10, 16)
	played, err2 := strconv.ParseUint(f[3], 10, 16)
	b.Passed, b.Played = int(passed), int(played)
	switch {
	case b.Target == "":
		return b, errors.New("expected the name of a target")
	case !slices.Contains([]record.Built{record.BuiltYes, record.BuiltNo, record.NotTried},
		b.Built):
		return b, fmt.Errorf("expected yes, no or skip after the target, got %q", f[1])
	case errors.Join(err1, err2) != nil || passed > played:
		return b, fmt.Errorf("expected how many transcripts passed, and of how many, got %q and %q",
			f[2], f[3])
	case b.Built != record.BuiltYes && played > 0:
		return b, errors.New("transcripts were played to what was not built")
	}
	return b, nil
}

// clean makes what a program has said fit for a line of a report: no controls, and no
// end without end.
func clean(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}
