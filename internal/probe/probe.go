// Package probe builds one server, starts it, watches it, stops it, and holds it against its
// service's contract.
//
// Lookup finds a tool chain, Build makes a model's program with it, Start gives a Server that is
// ready, and Stop ends it with all that it started. What the server does wrong is a *Failure with
// its Cause. Checks lists what every server of a service must do: the transcripts in the service's
// conform folder and the contract; Conform plays them all.
//
// A transcript is a text of one step a line: a client, a verb, what it sends or must see.
//
//	dial a
//	a send "hello\n"
//	a recv "hello\n"
//	a shut
//	a eof
//
// docs/adding-a-protocol.md has the table of all verbs. Parsing (transcript.go, words.go,
// action.go, verbs.go, wanted.go) does no I/O; playing (play.go, client.go, tally.go, lines.go,
// output.go, watch.go, and for a chat speech.go, talk.go, past.go, restart.go) has a bound on every
// wait: the transcript's limit.
package probe
