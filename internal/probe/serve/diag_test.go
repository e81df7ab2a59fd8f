package serve

import (
	"testing"
	"time"

	"interleave/internal/probe/faulty"
)

// TestSockets compares the kernel's answer to sock_diag with its table in /proc.
func TestSockets(t *testing.T) {
	s, err := Start(t.Context(), faulty.Server(t, "good"), StartOptions{Limit: UnhurriedLimit,
		Grace: UnhurriedLimit})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	asked, err := socketsAt("thread-self", s.Port, stateListen)
	if err != nil {
		t.Skip("SKIP: this kernel answers no sock_diag:", err)
	}
	printed, err := listed("thread-self", s.Port)
	if err != nil || len(asked) != 1 || len(printed) != 1 || !printed[asked[0]] {
		t.Errorf("port %d: asked %v, printed %v (%v), want one socket, the same", s.Port, asked,
			printed, err)
	}
	client, err := s.Dial(t.Context(), s.Port, time.Now().Add(UnhurriedLimit))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if n, err := s.Connections(); n != 1 || err != nil {
		t.Errorf("got %d connections (%v), want 1", n, err)
	}
}
