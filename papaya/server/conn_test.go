package server

import (
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
)

// TestStacks: a client's goroutine reads and parses within the 2 KiB of stack that every goroutine
// begins with. With ten thousand idle clients, a larger stack would be most of their memory.
func TestStacks(t *testing.T) {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-race" && s.Value == "true" {
				t.Skip("SKIP: frames are larger under the race detector")
			}
		}
	}
	// A collection may change the stack size of new goroutines.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const clients = 300
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s := &server{events: make(chan event)}
	var all []net.Conn
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range clients {
		mine, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer mine.Close()
		theirs, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer theirs.Close()
		raw, err := theirs.(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		c := &conn{server: s, net: theirs, raw: raw, resume: make(chan struct{}, 1)}
		go c.read()
		all = append(all, mine)
		const words = "NICK ann\r\nUSER ann 0 * :Ann of Tea\r\nJOIN #tea\r\nPRIVMSG #tea " +
			":hello, all of you\r\n"
		if _, err := io.WriteString(mine, words); err != nil {
			t.Fatal(err)
		}
		for lines := 0; lines < 4; {
			e := <-s.events
			lines += len(e.lines)
			e.conn.resume <- struct{}{}
		}
	}
	runtime.ReadMemStats(&after)
	for _, mine := range all {
		mine.Close()
	}
	for range all {
		if e := <-s.events; !e.end {
			t.Error("a client says something after its end")
		}
	}
	// The stacks of a few grow when the allocator takes a longer path.
	if got := (after.StackInuse - before.StackInuse) / clients; got > 3<<10 {
		t.Errorf("a client's stack has %d bytes in the mean, want 2048 and a little", got)
	} else {
		t.Logf("%d bytes of stack for each client", got)
	}
}
