package play

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"interleave/internal/freeport"
	"interleave/internal/manifest"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/toolchain"
	"interleave/internal/probe/transcript"
)

// Run starts a fresh server, plays the transcript to it and stops it. Patience lengthens every
// limit: it is 1 for an ordinary build and more for one with a sanitizer.
func Run(ctx context.Context, t *Transcript, built *toolchain.Built, kind transcript.StdoutKind,
	patience float64) error {
	folder, err := prepare(t, built)
	if err != nil {
		return err
	}
	failed := runIn(ctx, t, built, kind, patience, folder)
	return errors.Join(failed, folder.Close())
}

// runIn is Run with a folder for the server.
func runIn(ctx context.Context, t *Transcript, built *toolchain.Built, kind transcript.StdoutKind,
	patience float64, folder *serve.Folder) error {
	out, err := newCollector(kind, built.Out)
	if err != nil {
		return err
	}
	options := serve.StartOptions{Stdout: out.theirs, OpenFiles: t.OpenFiles,
		Data: folder}.WithPatience(built.Model, patience)
	if cmp.Or(built.Model.Hosts, manifest.Local) == manifest.Local {
		// A step may start the server again. Nobody else may take the port meanwhile.
		held, err := freeport.Hold()
		if err != nil {
			return errors.Join(err, out.finish())
		}
		defer func() { _ = held.Close() }() // at the latest, the end of this process does it
		options.Port = held.Port
	}
	s, err := serve.Start(ctx, built, options)
	if err != nil {
		return errors.Join(err, out.finish())
	}
	out.started()
	p := newPlay(t, s, options, out, patience)
	failed := p.run(ctx)
	s = p.Server // a step may have started another
	if failed != nil {
		s.Kill()
		_ = out.finish() // the error of the play says it better
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
	if left != nil && (built.Model.Ready != manifest.ReadyConnect || t.LooksAtStdout()) {
		return fmt.Errorf("%s: at the end %w", t.File, left)
	}
	return nil
}
