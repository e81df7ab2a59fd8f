//go:build gonet

package main

import "interleave/gonet/host"

// GoNet is the stack if GONET_TAP names a tap. The kernel closes the connections of a program that
// ends; a stack inside the program has to be told to.
func init() { listen, leave = host.Listen, host.Close }
