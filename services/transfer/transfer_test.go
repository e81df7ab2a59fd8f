// Package transfer tests every model of the service against its protocol.
package transfer

import (
	"testing"

	"interleave/internal/probe/probetest"
)

func TestTransfer(t *testing.T) { probetest.Service(t) }
