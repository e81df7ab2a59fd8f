// Package chat tests every model of the service against its protocol.
package chat

import (
	"testing"

	"interleave/internal/probe/probetest"
)

func TestChat(t *testing.T) { probetest.Service(t) }

// TestChatOnGoNet runs the transcripts that depend on the stack most. `interleave check chat
// --stack=gonet` runs all.
func TestChatOnGoNet(t *testing.T) {
	probetest.GoNet(t, []string{"go-goroutine", "go-goroutine-plain"}, "cut-off", "long-lines",
		"terminate")
}
