package push

import (
	"interleave/papaya/hall"
)

// A Content is what a push says. By Web Push, all are encrypted for the device, and each is one
// line of IRC, as draft/webpush asks for. A topic of ntfy gets plain text.
type Content string

// The contents.
const (
	Everything Content = "everything" // the message
	Who        Content = "who"        // from whom it is and where
	Nothing    Content = "nothing"    // that there is one
)

// Contents are the values of the setting push.content.
var Contents = []string{string(Everything), string(Who), string(Nothing)}

// writtenTo says that there is a message, and nothing of it.
const writtenTo = "You were written to"

// about says what a message is without its text.
func about(n hall.Notice) string {
	if n.Room {
		return "(mentioned you)"
	}
	return "(wrote to you)"
}

// line returns what a device gets. server is the source of a line that tells nothing.
func line(n hall.Notice, c Content, server string) []byte {
	switch c {
	case Nothing:
		return []byte(":" + server + " NOTICE " + n.Nick + " :" + writtenTo)
	case Who:
		return []byte(n.Head + about(n))
	}
	return []byte(n.Head + n.Text)
}
