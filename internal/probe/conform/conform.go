// Package conform holds a server against its service.
//
// Checks lists what a model's server must do: the transcripts of the service's conform folder, and
// the contract that all services share. For a service of programs it is what they must print.
// Conform makes all checks of a server.
package conform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/probe/play"
	"interleave/internal/probe/play/chat"
	"interleave/internal/probe/play/http"
	"interleave/internal/probe/toolchain"
	"interleave/internal/probe/transcript"
)

// Vocabulary has all verbs of transcripts. The verbs of a new protocol are joined to it here.
var Vocabulary = transcript.Join(play.Core, chat.Verbs, http.Verbs)

// Load reads the transcript at path; errors name it as shown.
func Load(path, shown string) (*play.Transcript, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return transcript.Parse(shown, text, Vocabulary)
}

// A Check is one thing that a server must do: play a transcript, or keep a part of the contract.
type Check struct {
	Name  string // "half-close", "lines (pipe)", "contract: port in use"
	Title string // what it shows
	// Play makes the check with a fresh server. Patience lengthens every limit.
	Play func(ctx context.Context, built *toolchain.Built, patience float64) error

	transcript *play.Transcript // nil: the check plays none
	kind       transcript.StdoutKind
}

// Checks lists all that a model's server must do: the transcripts of its service in the order of
// their names, or only those that the model names, and then the contract.
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
		t, err := Load(file, filepath.Join("services", service.Name, "conform",
			filepath.Base(file)))
		if err != nil {
			return nil, err
		}
		checks = append(checks, checksOf(t)...)
	}
	return append(checks, contract(service)...), nil
}

// checksOf returns a check for each kind of standard output that a transcript is played with.
func checksOf(t *play.Transcript) []Check {
	var checks []Check
	for _, kind := range t.Stdout {
		name := t.Name
		if len(t.Stdout) > 1 {
			name = fmt.Sprintf("%s (%s)", t.Name, kind)
		}
		run := func(ctx context.Context, b *toolchain.Built, patience float64) error {
			return play.Run(ctx, t, b, kind, patience)
		}
		checks = append(checks, Check{Name: name, Title: t.Title, Play: run, transcript: t,
			kind: kind})
	}
	return checks
}

// A Session makes checks of one build one after the other. Transcripts that leave a server as they
// found it are played to the same server.
type Session struct {
	built       *toolchain.Built
	patience    float64
	transcripts *play.Session
}

// NewSession begins a session. The caller must Close it.
func NewSession(built *toolchain.Built, patience float64) *Session {
	return &Session{built, patience, play.NewSession(built, patience)}
}

// Play makes one check.
func (s *Session) Play(ctx context.Context, c Check) error {
	if c.transcript == nil {
		return c.Play(ctx, s.built, s.patience)
	}
	return s.transcripts.Play(ctx, c.transcript, c.kind)
}

// Close stops the servers of the session, which must end as the contract says.
func (s *Session) Close() error { return s.transcripts.Close() }

// An Outcome is what came of one check.
type Outcome struct {
	Check string
	Err   error              // nil: the server passed, or the check was skipped
	Skip  *toolchain.Missing // what this machine lacks for the check; nil: the check was made
	Took  time.Duration
}

// Options say how Conform makes the checks.
type Options struct {
	Patience float64       // lengthens every limit; 0: that of the build
	Done     func(Outcome) // is called after each check; may be nil
}

// Conform makes all checks of a built server, one after the other. If a check fails, its Outcome
// says so. The error says that no judgement was possible.
func Conform(ctx context.Context, service *manifest.Service, built *toolchain.Built,
	opts Options) ([]Outcome, error) {
	checks, err := Checks(service, built.Model)
	if err != nil {
		return nil, err
	}
	if opts.Patience == 0 {
		opts.Patience = built.Patience()
	}
	session := NewSession(built, opts.Patience)
	defer func() { _ = session.Close() }() // it is closed already, or its end does not matter
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
