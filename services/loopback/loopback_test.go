// Package loopback tests every model of the service against its protocol.
package loopback

import (
	"testing"

	"interleave/internal/probe/probetest"
)

func TestLoopback(t *testing.T) { probetest.Service(t) }
