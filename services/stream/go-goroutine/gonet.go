//go:build gonet

package main

import "interleave/gonet/host"

// GoNet is the stack, where GONET_TAP names a tap. The kernel closes what a program that ends
// leaves open; a stack inside the program has to be told.
func init() { listen, leave = host.Listen, host.Close }
