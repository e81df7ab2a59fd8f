package format_test

import (
	"testing"

	"interleave/eve/trial"
)

func TestMain(m *testing.M) { trial.Main(m) }
