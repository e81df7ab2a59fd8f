package push

import (
	"interleave/papaya/hall"
)

// A Content is what a push says. All are encrypted for the device, and each is one line of IRC, as
// draft/webpush asks for.
type Content string

// The contents.
const (
	Everything Content = "everything" // the message
	Who        Content = "who"        // from whom it is and where
	Nothing    Content = "nothing"    // that there is one
)

// Contents are the values of the setting push.content.
var Contents = []string{string(Everything), string(Who), string(Nothing)}

// line returns what a device gets. server is the source of a line that tells nothing.
func line(n hall.Notice, c Content, server string) []byte {
	switch c {
	case Nothing:
		return []byte(":" + server + " NOTICE " + n.Nick + " :You were written to")
	case Who:
		if n.Room {
			return []byte(n.Head + "(mentioned you)")
		}
		return []byte(n.Head + "(wrote to you)")
	}
	return []byte(n.Head + n.Text)
}
