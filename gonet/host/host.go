// Package host lets a server run on the kernel's TCP/IP stack or on GoNet, as the environment says.
// The program and its command line are the same for both.
//
//	defer host.Close()
//	l, err := host.Listen("tcp", ":80")
//
// Unless GONET_TAP is set, Listen is net.Listen. GONET_TAP="tap0 10.0.0.2/24 10.0.0.1" runs a stack
// on the tap tap0 with this address and this gateway. The gateway may be left out.
package host

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"

	"interleave/gonet"
)

// Variable is the name of the environment variable.
const Variable = "GONET_TAP"

// Listen listens on the kernel's stack, as net.Listen does, or on the stack behind the tap that the
// environment names. The first call makes that stack.
func Listen(network, address string) (net.Listener, error) {
	s, err := stack()
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s=%q: %w", Variable, os.Getenv(Variable), err)
	case s == nil:
		return net.Listen(network, address)
	}
	return s.Listen(network, address)
}

// Close ends the stack, as the kernel ends sockets when a program ends: what was written is still
// delivered (gonet.Stack.Close). A program must call it last. On the kernel's stack it does
// nothing.
func Close() error {
	if s, err := stack(); s != nil && err == nil {
		return s.Close()
	}
	return nil
}

// stack returns the program's stack, nil if the variable is not set.
var stack = sync.OnceValues(func() (*gonet.Stack, error) {
	text, ok := os.LookupEnv(Variable)
	if !ok {
		return nil, nil
	}
	device, c, err := parse(text)
	if err != nil {
		return nil, err
	}
	if c.Link, err = open(device); err != nil {
		return nil, err
	}
	s, err := gonet.New(c)
	if err != nil {
		_ = c.Link.Close() // the first error matters
		return nil, err
	}
	return s, nil
})

// parse reads DEVICE ADDRESS/LEN [GATEWAY].
func parse(text string) (device string, c gonet.Config, err error) {
	words := strings.Fields(text)
	if len(words) < 2 || len(words) > 3 {
		return "", c,
			fmt.Errorf("%d words: expected a tap, an address with a prefix length, "+
				"and optionally a gateway", len(words))
	}
	address, err := netip.ParsePrefix(words[1])
	if err != nil {
		return "", c,
			fmt.Errorf("expected an address with a prefix length, as 10.0.0.2/24, got %q",
				words[1])
	}
	c.Addresses = []netip.Prefix{address}
	if len(words) == 3 {
		gateway, err := netip.ParseAddr(words[2])
		if err != nil {
			return "", c, fmt.Errorf("expected the address of a gateway, as 10.0.0.1, got %q",
				words[2])
		}
		c.Gateways = []netip.Addr{gateway}
	}
	return words[0], c, nil
}
