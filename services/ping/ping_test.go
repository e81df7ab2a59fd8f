// Package ping tests every model of the service against its protocol.
package ping

import (
	"testing"

	"interleave/internal/probe/probetest"
)

func TestPing(t *testing.T) { probetest.Service(t) }
