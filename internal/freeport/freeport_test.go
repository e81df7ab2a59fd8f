package freeport

import (
	"fmt"
	"net"
	"testing"
)

func TestPortsAreFreeAndDiffer(t *testing.T) {
	seen := map[int]bool{}
	for range 50 {
		port := Find(t)
		if seen[port] {
			t.Errorf("port %d was returned twice", port)
		}
		seen[port] = true
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
}
