package load

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"interleave/internal/manifest"
)

// TestWrongServers holds the engine to the kind of each fault.
func TestWrongServers(t *testing.T) {
	closed := manifest.Load{Shape: manifest.Closed, Connections: 2, SizeBytes: 16, Requests: 1000}
	open := manifest.Load{Shape: manifest.Open, Connections: 2, SizeBytes: 16, Rate: 1000}
	ever := manifest.Load{Shape: manifest.Closed, Connections: 2, SizeBytes: 16}
	big := manifest.Load{Shape: manifest.Closed, Connections: 1, SizeBytes: 32 << 20, Requests: 1}
	count := manifest.Load{Shape: manifest.Closed, Connections: 2, Requests: 500, ReadShare: .3}
	pace := manifest.Load{Shape: manifest.Paced, Connections: 2, SizeBytes: 1000, Bits: 800_000}
	flood := manifest.Load{Shape: manifest.Paced, Connections: 1, SizeBytes: 1 << 20, Bits: 8 << 30}
	burst := manifest.Load{Shape: manifest.Open, Connections: 1, SizeBytes: 16, Rate: 1e6}
	turns := manifest.Load{Shape: manifest.Connect, Connections: 2, SizeBytes: 16, Requests: 100}
	hello := func(c *net.TCPConn) { c.Write([]byte("hello")); serveEcho(c) }
	// sayHello reads a little first, so that the load has begun.
	sayHello := func(c *net.TCPConn) { c.Read(make([]byte, 1)); hello(c) }
	tests := []struct {
		name     string
		protocol string
		load     manifest.Load
		serve    func(*net.TCPConn)
		kind     string
	}{
		{"a wrong byte", "echo", closed, afterBytes(800, sayHello), WrongReply},
		{"a reply twice", "echo", closed, twice, Extra},
		{"unasked bytes", "echo", open, hello, Extra},
		{"a short reply", "echo", closed, afterBytes(16*20, short), Short},
		{"closes early", "echo", closed, finish, Ended},
		{"closes later", "echo", closed, afterBytes(160, finish), Ended},
		{"a reset", "echo", closed, afterBytes(160, reset), Reset},
		{"a reset, open", "echo", open, afterBytes(160, reset), Reset},
		{"a reset, connect", "echo", turns, reset, Reset},
		{"never answers", "echo", open, hold, Timeout},
		{"never answers, closed", "echo", ever, hold, Timeout},
		{"never reads", "echo", big, hold, PastLimit},
		{"never answers, a million a second", "echo", burst, hold, Backlog},
		{"never reads, sink", "sink", flood, hold, Timeout},
		{"never ends, sink", "sink", pace, readAndHold, Undrained},
		{"talks, sink", "sink", pace, sayHello, Extra},
		{"closes early, sink", "sink", pace, finish, Ended},
		{"a lost increment", "counter", count, countHundredth(0), WrongReply},
		{"a doubled increment", "counter", count, countHundredth(2), WrongCount},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := wrongPlan(test.protocol, netip.AddrPort{}, test.load)
			p.WarmUp = 0
			if test.load.Requests > 0 {
				p.Window = 0
			}
			p.Limit = time.Second
			var r *Result
			// the limit is short and the machine may be busy
			for end := time.Now().Add(patience); time.Now().Before(end); {
				p.Addr = listen(t, test.serve)
				var err error
				if r, err = tryPlan(t, p); r == nil {
					t.Fatal(err)
				}
				// a server may fail all connections before the load begins
				t.Log(r.Errors, r.FirstFail, err)
				if r.Errors[test.kind] > 0 {
					return
				}
				if test.kind == WrongReply && r.Errors[WrongCount] > 0 {
					// an increment on the other connection may hide the lost one until the end
					return
				}
			}
			t.Errorf("got %v, want %s", r.Errors, test.kind)
		})
	}
}
