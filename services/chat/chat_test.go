// Package chat holds every model of the service against its protocol.
package chat

import (
	"testing"

	"interleave/internal/probe/probetest"
)

func TestChat(t *testing.T) { probetest.Service(t) }

// TestChatOnGoNet plays what depends on the stack most; `interleave check chat
// --stack=gonet` plays all.
func TestChatOnGoNet(t *testing.T) {
	probetest.GoNet(t, []string{"go-goroutine", "go-goroutine-plain"}, "cut-off", "long-lines",
		"terminate")
}
