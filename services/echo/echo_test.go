// Package echo tests every model of the service against its protocol.
package echo

import (
	"testing"

	"interleave/internal/probe/probetest"
)

func TestEcho(t *testing.T) { probetest.Service(t, probetest.Hurry) }
