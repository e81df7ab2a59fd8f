// Package play holds a server against its service's transcripts and contract.
//
// Checks lists what every server of a service must do: the transcripts in the service's conform
// folder and the contract; Conform plays them all. Package toolchain builds the servers, and
// package serve starts and stops them.
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
// action.go, verbs.go, wanted.go) does no I/O; playing has a bound on every wait: the transcript's
// limit.
package play
