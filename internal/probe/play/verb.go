package play

import (
	"context"

	"interleave/internal/probe/transcript"
)

// An Action is what a step does. The verb that has read the step has made it.
type Action interface {
	// Play does it. Who is the client or group with which the step's line begins, or "".
	Play(ctx context.Context, p *Play, who string) error
}

// The types of package transcript, for transcripts that are played.
type (
	Transcript = transcript.Transcript[Action]
	Vocabulary = transcript.Vocabulary[Action]
	Subject    = transcript.Subject[Action]
	Verbs      = transcript.Verbs[Action]
	Verb       = transcript.Verb[Action]
	Line       = transcript.Line
)

// Core are the verbs that any service may use. Each part is a file of its own.
var Core = transcript.Join(connectVerbs, byteVerbs, serverVerbs, stdoutVerbs, folderVerbs,
	counterVerbs, sinkVerbs)

// ByEach returns a verb that each client of the line's name plays, all of them at once. Read reads
// the words after the verb, and act does for one client what they say.
func ByEach[W any](usage string, read func(*Line) (W, error),
	act func(context.Context, *Play, *Client, W) error) Verb {
	return Verb{Usage: usage, Read: func(l *Line) (Action, error) {
		words, err := read(l)
		return byEach[W]{words, act}, err
	}}
}

// byEach is the action of such a verb.
type byEach[W any] struct {
	words W
	act   func(context.Context, *Play, *Client, W) error
}

// Play lets all clients act.
func (b byEach[W]) Play(ctx context.Context, p *Play, who string) error {
	return p.Each(ctx, who, func(c *Client) error { return b.act(ctx, p, c, b.words) })
}

// Once returns a verb that is played once, not by each client. Read reads the words after the verb,
// and act does what they say.
func Once[W any](usage string, read func(*Line) (W, error),
	act func(ctx context.Context, p *Play, who string, words W) error) Verb {
	return Verb{Usage: usage, Read: func(l *Line) (Action, error) {
		words, err := read(l)
		return once[W]{words, act}, err
	}}
}

// once is the action of such a verb.
type once[W any] struct {
	words W
	act   func(context.Context, *Play, string, W) error
}

// Play does it.
func (o once[W]) Play(ctx context.Context, p *Play, who string) error {
	return o.act(ctx, p, who, o.words)
}

// None are the words of a verb after which none come.
type None struct{}

// NoWords reads nothing.
func NoWords(*Line) (None, error) { return None{}, nil }

// shared returns the verb as one after which the server may play other transcripts.
func shared(v Verb) Verb {
	v.Shares = true
	return v
}

// whole returns the verb as one whose word is the first of the words that it reads.
func whole(v Verb) Verb {
	v.Whole = true
	return v
}
