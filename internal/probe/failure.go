package probe

// Cause is why a server failed, in one word, for the records.
type Cause string

// What a server can do wrong.
const (
	CannotStart Cause = "cannot-start"    // its program is not there or does not run
	NeverReady  Cause = "never-ready"     // it was not ready in time
	Died        Cause = "died"            // it ended before it was asked to
	PortInUse   Cause = "port-in-use"     // somebody else has the port
	PortOwner   Cause = "port-owner"      // somebody else listens there as well
	TapOwner    Cause = "tap-owner"       // it is not behind its tap
	IgnoresTerm Cause = "ignores-sigterm" // it had to be killed
	ExitStatus  Cause = "exit-status"     // it ended when asked, but not with status 0
	Strays      Cause = "stray-processes" // it left processes behind
	Floods      Cause = "floods"          // it writes and writes where nobody asked it to
)

// A Failure is a server's own fault.
type Failure struct {
	Cause Cause
	Text  string // one sentence; its subject is the server
	Tail  string // the end of its output
}

func (f *Failure) Error() string { return "the server " + f.Text + lastLines(f.Tail, 20) }
