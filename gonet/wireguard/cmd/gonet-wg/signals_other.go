//go:build !unix

package main

import "os"

// statusSignals is empty: this system has no signal for users. There is --status.
var statusSignals []os.Signal
