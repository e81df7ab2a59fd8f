//go:build gonet

package main

import "interleave/gonet/host"

// The server runs on GoNet if GONET_TAP names a tap. The kernel closes the connections of a program
// that ends; a stack inside the program must be closed by the program.
func init() { listen, leave = host.Listen, host.Close }
