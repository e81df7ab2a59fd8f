// Package counter tests every model of the service against its protocol.
package counter

import (
	"testing"

	"interleave/internal/probe/probetest"
)

func TestCounter(t *testing.T) { probetest.Service(t, probetest.Hurry) }
