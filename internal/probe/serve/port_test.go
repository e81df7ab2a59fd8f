package serve

import (
	"net"
	"testing"
)

// A process that has just been started holds all that its parent had open, until it executes its
// program. The second descriptor stands for it.
func TestUnlistenWhileAProcessStarts(t *testing.T) {
	listener, err := net.Listen("tcp4", loopback+":0")
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer inherited.Close()
	if err := Unlisten(listener.(*net.TCPListener)); err != nil {
		t.Fatal(err)
	}
	again, err := net.Listen("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatalf("the port is not free again: %v", err)
	}
	again.Close()
}
