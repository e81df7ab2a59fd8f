// Package layers is a TCP/IP stack divided as gonet.txt divides its own (section 3.2, figures 1 and
// 2): each layer has a goroutine of its own, a packet dealer, and passes what it has received to
// the next layer in a channel. A connection has two goroutines, one for each direction, and one
// more for each segment that has not been acknowledged. Segments that are sent go down in calls.
//
//	device -> reader -> Ethernet dealer -> ARP dealer -> a goroutine for each request
//	                                    -> IPv4 dealer -> IPv4 reader for ICMP -> ICMP dealer
//	                                                      -> ping dealer -> repliers
//	                                                   -> IPv4 reader for TCP  -> TCP dealer
//	                                                      -> receiver of a connection -> its user
//
// No goroutine changes what another one uses, so there is no lock around a table or a connection:
// each owns its state, and sends what others need. Only the table of ARP is published, as a whole
// after each change. Headers are read and written by GoNet's package wire, so the two stacks differ
// in how the work is divided and not in how it is done.
//
// As in the paper there is no congestion control: a sender is limited by its peer's window. There
// is no window scaling, no SACK, no delayed acknowledgement and no fast retransmission, which the
// paper does not mention either, and no UDP, which no service needs.
package layers

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"interleave/gonet/wire"
)

// queueLen is the length of the channels between layers, in packets. 256 is a guess: more than a
// tap hands over at once, and little enough to stay in the cache.
const queueLen = 256

// timeWait is twice the life of a segment, 30 s (RFC 9293 section 3.4.2 allows to choose; Linux has
// 60 s, too).
const timeWait = time.Minute

// Config says what a stack is made of.
type Config struct {
	Device   Device        // nil: the stack has its loopback only
	Address  netip.Prefix  // of the device: the host's address and the length of its network
	Gateway  netip.Addr    // the next hop of all addresses outside of that network
	TimeWait time.Duration // 0: a minute
}

// Stack is a host with its processes.
type Stack struct {
	config    Config
	ethernet  *ethernet
	arp       *arp
	ip        *ipv4
	tcp       *tcp
	done      chan struct{} // closed by Close
	failed    chan error    // has room for one
	once      sync.Once
	processes sync.WaitGroup
}

// New starts a stack. Each layer ends when the layer below closes the channel between them.
func New(config Config) (*Stack, error) {
	if config.TimeWait == 0 {
		config.TimeWait = timeWait
	}
	if config.Device != nil && !(config.Address.IsValid() && config.Address.Addr().Is4()) {
		return nil, fmt.Errorf("address %v: want one of IPv4, with the length of its network",
			config.Address)
	}
	s := &Stack{config: config, done: make(chan struct{}), failed: make(chan error, 1)}
	s.ethernet = newEthernet(config.Device)
	s.arp = newARP(s)
	s.ip = newIPv4(s)
	s.tcp = newTCP(s)
	icmp := newICMP(s)

	s.ethernet.bound[wire.EtherARP] = s.arp.in
	s.ethernet.bound[wire.EtherIPv4] = s.ip.in
	s.ip.bind(wire.ProtocolICMP, icmp.in)
	s.ip.bind(wire.ProtocolTCP, s.tcp.in)

	s.ethernet.start(s)
	s.processes.Go(s.arp.deal)
	s.ip.start()
	icmp.start()
	s.tcp.start()
	return s, nil
}

// Failed returns a channel with the error of a device that can no longer be read.
func (s *Stack) Failed() <-chan error { return s.failed }

// Close ends all processes and waits for them. Connections end without a word to their peers.
func (s *Stack) Close() error {
	var err error
	s.once.Do(func() {
		close(s.done)
		for _, p := range s.ethernet.ports {
			err = errors.Join(err, p.device.Close())
		}
	})
	s.processes.Wait()
	return err
}

// owns tells whether an address is one of this host.
func (s *Stack) owns(a netip.Addr) bool {
	return a.IsLoopback() || s.config.Device != nil && a == s.config.Address.Addr()
}
