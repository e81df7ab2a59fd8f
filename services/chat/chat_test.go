// Package chat holds every model of the service against its protocol.
package chat

import (
	"testing"

	"interleave/internal/probe/probetest"
)

func TestChat(t *testing.T) { probetest.Service(t) }
