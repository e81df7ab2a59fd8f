// Package forkjoin tests every model of the service against its protocol.
package forkjoin

import (
	"testing"

	"interleave/internal/probe/probetest"
)

func TestForkJoin(t *testing.T) { probetest.Service(t) }
