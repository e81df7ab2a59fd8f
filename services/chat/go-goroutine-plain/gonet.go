//go:build gonet

package main

import "interleave/gonet/host"

// GoNet replaces the kernel's stack if GONET_TAP names a tap. When a program ends, the kernel
// closes its connections, but a stack in the program must be told.
func init() { listen, leave = host.Listen, host.Close }
