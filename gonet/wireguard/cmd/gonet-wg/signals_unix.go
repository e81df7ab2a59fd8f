//go:build unix

package main

import (
	"os"
	"syscall"
)

// statusSignals print the status.
var statusSignals = []os.Signal{syscall.SIGUSR1}
