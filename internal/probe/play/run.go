package play

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/toolchain"
)

// A Check is one thing that a server must do: a transcript, or a part of the contract that all
// services share.
type Check struct {
	Name  string // "half-close", "lines (pipe)", "contract: port in use"
	Title string // what it shows
	Play  func(ctx context.Context, built *toolchain.Built, patience float64) error

	transcript *Transcript // nil: of the contract, or of a program
	kind       StdoutKind
}

// Checks lists all that a model's server must do: the transcripts of its service's conform folder
// in the order of their names, or those that the model names, then the contract.
func Checks(service *manifest.Service, model *manifest.Model) ([]Check, error) {
	pattern := "*.txt"
	if service.Protocol == manifest.Program {
		pattern = "*.results"
	}
	files, err := filepath.Glob(filepath.Join(service.Dir, "conform", pattern))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("services/%s/conform: expected at least one %s", service.Name,
			pattern)
	}
	if service.Protocol == manifest.Program {
		return programChecks(files)
	}
	slices.Sort(files)
	var checks []Check
	for _, name := range model.Conform {
		if !slices.Contains(files, filepath.Join(service.Dir, "conform", name+".txt")) {
			return nil,
				fmt.Errorf("services/%s/%s/model.toml: conform: no transcript %q in "+
					"services/%s/conform", service.Name, model.Name, name, service.Name)
		}
	}
	for _, file := range files {
		if len(model.Conform) > 0 &&
			!slices.Contains(model.Conform, strings.TrimSuffix(filepath.Base(file), ".txt")) {
			continue
		}
		t, err := LoadTranscript(file, filepath.Join("services", service.Name, "conform",
			filepath.Base(file)))
		if err != nil {
			return nil, err
		}
		checks = append(checks, t.checks()...)
	}
	return append(checks, contract(service)...), nil
}

// checks is the transcript with each kind of standard output.
func (t *Transcript) checks() []Check {
	var checks []Check
	for _, kind := range t.Stdout {
		name := t.Name
		if len(t.Stdout) > 1 {
			name = fmt.Sprintf("%s (%s)", t.Name, kind)
		}
		play := func(ctx context.Context, b *toolchain.Built,
			patience float64) error {
			return t.Play(ctx, b, kind, patience)
		}
		checks = append(checks, Check{Name: name, Title: t.Title, Play: play, transcript: t,
			kind: kind})
	}
	return checks
}

// Play plays the transcript to a fresh server and stops that. Patience lengthens every limit: 1 for
// an ordinary build, more for one with a sanitizer.
func (t *Transcript) Play(ctx context.Context, built *toolchain.Built, kind StdoutKind,
	patience float64) error {
	folder, err := t.prepare(built)
	if err != nil {
		return err
	}
	failed := t.playIn(ctx, built, kind, patience, folder)
	return errors.Join(failed, folder.Close())
}

// playIn plays the transcript to a server that has its folder.
func (t *Transcript) playIn(ctx context.Context, built *toolchain.Built, kind StdoutKind,
	patience float64, folder *serve.Folder) error {
	out, err := newCollector(kind, built.Out)
	if err != nil {
		return err
	}
	options := serve.StartOptions{Stdout: out.theirs, OpenFiles: t.OpenFiles,
		Data: folder}.WithPatience(built.Model, patience)
	s, err := serve.Start(ctx, built, options)
	if err != nil {
		return errors.Join(err, out.finish())
	}
	out.started()
	p := newPlay(t, s, options, out, patience)
	failed := p.run(ctx)
	s = p.server // the transcript may have started another
	if failed != nil {
		s.Kill()
		_ = out.finish() // the play's error says it better
		return failed
	}
	var stopped error
	if !p.terminated {
		stopped = s.Stop()
	}
	left := out.finish()
	if found := s.SanitizerReport(); found != nil {
		return fmt.Errorf("%s: %w", t.File, found)
	}
	if stopped != nil {
		return fmt.Errorf("%s: at the end %w", t.File, stopped)
	}
	if left != nil && (built.Model.Ready != manifest.ReadyConnect || t.looksAtStdout()) {
		return fmt.Errorf("%s: at the end %w", t.File, left)
	}
	return nil
}

// newPlay begins a play of a transcript to a server that is ready.
func newPlay(t *Transcript, s *serve.Server, options serve.StartOptions, out *collector,
	patience float64) *play {
	return &play{t: t, server: s, options: options, stdout: out,
		deadline: time.Now().Add(serve.Lengthen(t.Limit, patience)),
		clients:  map[string][]*client{}, sent: newLedger(), memory: s.Memory(), talk: newTalk()}
}

// An Outcome is what became of one check.
type Outcome struct {
	Check string
	Err   error              // nil: passed, or skipped
	Skip  *toolchain.Missing // what this machine lacks for the check; nil: it was made
	Took  time.Duration
}

// ConformOptions say how a server is held against its service.
type ConformOptions struct {
	Patience float64       // lengthens every limit; that of the build unless told
	Done     func(Outcome) // told of each as it comes; may be nil
}

// Conform holds a built server against all checks of its service, one after the other. A check that
// fails is an Outcome; the error says that no judgement was possible.
func Conform(ctx context.Context, service *manifest.Service, built *toolchain.Built,
	opts ConformOptions) ([]Outcome, error) {
	checks, err := Checks(service, built.Model)
	if err != nil {
		return nil, err
	}
	if opts.Patience == 0 {
		opts.Patience = built.Patience()
	}
	session := NewSession(built, opts.Patience)
	defer func() { _ = session.Close() }() // again, or of no interest
	var outcomes []Outcome
	tell := func(name string, begin time.Time, err error) {
		o := Outcome{Check: name, Err: err, Took: time.Since(begin)}
		if missing, ok := errors.AsType[*toolchain.Missing](err); ok {
			o.Err, o.Skip = nil, missing
		}
		outcomes = append(outcomes, o)
		if opts.Done != nil {
			opts.Done(o)
		}
	}
	for _, check := range checks {
		begin := time.Now()
		err := session.Play(ctx, check)
		if ctx.Err() != nil {
			return outcomes, context.Cause(ctx)
		}
		tell(check.Name, begin, err)
	}
	begin := time.Now()
	if err := session.Close(); err != nil {
		tell("contract: ends", begin, err)
	}
	return outcomes, nil
}
