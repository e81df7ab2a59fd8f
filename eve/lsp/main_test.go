package lsp

import (
	"testing"

	"interleave/eve/trial"
)

func TestMain(m *testing.M) { trial.Main(m) }
