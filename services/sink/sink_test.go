// Package sink tests every model of the service against its protocol.
package sink

import (
	"testing"

	"interleave/internal/probe/probetest"
)

func TestSink(t *testing.T) { probetest.Service(t, probetest.Hurry) }
