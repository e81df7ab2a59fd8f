package probe

import (
	"context"
	"flag"
	"strings"
	"time"
)

// unhurried is for servers of tests that are not about limits.
var unhurried = StartOptions{Limit: unhurriedLimit, Grace: unhurriedLimit}

// waitAtOnce lets tests run beside each other that wait more than they compute, unless the
// command says how many.
func waitAtOnce() {
	flag.Parse()
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "test.parallel" })
	if !told {
		_ = flag.Set("test.parallel", "16") // the flag is there, and takes a number
	}
}

// rungs are patiences. A fault that shows in that something never comes is looked for with little
// first. A busy machine may show something else then, and is asked again with more.
var rungs = []float64{1, 5, 30}

// playFor plays a transcript until its error holds one of the texts that are wanted, or, where none
// is, without hurry. Another error is only believed at the last rung; that there is none, at once.
func playFor(ctx context.Context, t *Transcript, built func() *Built, want string) (err error) {
	if want == "" {
		return t.Play(ctx, built(), StdoutPipe, Unhurried)
	}
	for _, patience := range rungs {
		if err = t.Play(ctx, built(), StdoutPipe, patience); err == nil || holdsOne(err, want) {
			return err
		}
	}
	return err
}

func holdsOne(err error, want string) bool {
	for text := range strings.SplitSeq(want, "|") {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// startFor starts a server that is expected to fail, with limits that grow until it fails in the
// way that is wanted.
func startFor(ctx context.Context, built *Built, opts StartOptions, limit time.Duration,
	want string) (s *Server, err error) {
	for ; limit < unhurriedLimit; limit *= 10 {
		opts.Limit = limit
		if s, err = Start(ctx, built, opts); err == nil || holdsOne(err, want) {
			return s, err
		}
	}
	return s, err
}
