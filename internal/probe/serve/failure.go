package serve

import "interleave/internal/probe/tail"

// A Cause is why a server failed, in one word, for the records.
type Cause string

// The causes.
const (
	CannotStart Cause = "cannot-start"    // its program is not there or does not run
	NeverReady  Cause = "never-ready"     // it was not ready in time
	Died        Cause = "died"            // it ended before it was asked to
	PortInUse   Cause = "port-in-use"     // another process has the port
	PortOwner   Cause = "port-owner"      // another process listens there as well
	TapOwner    Cause = "tap-owner"       // it is not behind its tap
	IgnoresTerm Cause = "ignores-sigterm" // it had to be killed
	ExitStatus  Cause = "exit-status"     // it ended when asked, but not with status 0
	Strays      Cause = "stray-processes" // it left processes behind
	Floods      Cause = "floods"          // it writes without end to an output that should be quiet
)

// A Failure is a server's own fault.
type Failure struct {
	Cause Cause
	Text  string // one sentence; its subject is the server
	Tail  string // the end of its output
}

// Error says what the server did wrong and shows the end of its output.
func (f *Failure) Error() string { return "the server " + f.Text + tail.Lines(f.Tail, 20) }
