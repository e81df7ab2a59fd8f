package dhcp

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// Client is a machine on a link, and itself the link for the stack that uses the address: it takes
// the messages of DHCP out of what arrives, and lets all else pass. It has no goroutine of its own:
// the machine runs under mu, in who reads the link and in a timer's.
type Client struct {
	link.Link
	cfg Config

	mu      sync.Mutex
	machine *Machine
	timer   *time.Timer
	// the station that the server's messages come from: itself, or a router on the way
	via  wire.MAC
	id   uint16 // of packets of IPv4
	over bool   // nothing more is sent
	lost chan struct{}
}

// Acquire gets a lease, for as long as the context allows, and returns the client as the link for a
// stack. It reads the link; the stack does so from then on. The link stays open if Acquire fails.
func Acquire(ctx context.Context, l link.Link, cfg Config) (*Client, error) {
	c := &Client{Link: l, cfg: cfg, via: wire.Broadcast, lost: make(chan struct{})}
	c.mu.Lock()
	c.machine = NewMachine(cfg, time.Now())
	c.timer = time.AfterFunc(0, c.expire)
	c.mu.Unlock()
	stop := context.AfterFunc(ctx, l.Interrupt)
	defer stop()
	batch := make([]link.Frame, acquireBatch)
	for {
		if _, ok := c.current(); ok {
			return c, nil
		}
		if err := ctx.Err(); err != nil {
			state := c.end()
			return nil, fmt.Errorf("dhcp: no lease, the client is %v: %w", state, err)
		}
		if _, err := c.Read(batch); err != nil {
			c.end()
			return nil, fmt.Errorf("dhcp: %w", err)
		}
	}
}

// acquireBatch is in frames.
const acquireBatch = 8

// Lease is what the stack may use; what was used last, after it is lost.
func (c *Client) Lease() Lease {
	l, _ := c.current()
	return l
}

func (c *Client) current() (Lease, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machine.Lease()
}

// Lost is closed when the lease has ended and the address may not be used any more: the stack must
// be closed, and another lease acquired.
func (c *Client) Lost() <-chan struct{} { return c.lost }

// Release gives the address back to the server. The stack is to be closed then.
func (c *Client) Release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil
	}
	c.machine.Release(time.Now())
	err := c.transmit()
	c.over = true
	c.timer.Stop()
	return err
}

// Close is Link's. It does not release the address: it may be had again.
func (c *Client) Close() error {
	c.end()
	return c.Link.Close()
}

// end stops the machine, and tells where it was.
func (c *Client) end() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.timer.Stop()
	return c.machine.State()
}

// expire is the timer's goroutine.
func (c *Client) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.machine.Expire(time.Now())
		c.settle()
	}
}

// settle sends what is due, arms the timer, and tells who waits. The caller has mu.
func (c *Client) settle() {
	if c.machine.Lost() {
		c.over = true
		close(c.lost)
		return
	}
	_ = c.transmit() // a link that fails ends the stack, or Acquire
	if due := c.machine.Deadline(); !due.IsZero() {
		c.timer.Reset(max(time.Until(due), 0))
	}
	if c.machine.State() == Bound {
		c.Interrupt() // of Acquire
	}
}

// Read is Link's.
func (c *Client) Read(batch []link.Frame) (int, error) {
	n, err := c.Link.Read(batch)
	kept := 0
	for i := range batch[:n] {
		if c.take(&batch[i]) {
			continue
		}
		// Frames change places, none is lost: links may know their buffers by the frames
		// they have lent.
		batch[kept], batch[i] = batch[i], batch[kept]
		kept++
	}
	return kept, err
}

// take looks at a frame, and tells whether it was for the client alone.
func (c *Client) take(f *link.Frame) bool {
	e, b, err := wire.ParseEthernet(f.Data)
	if err != nil || e.Dst != c.cfg.MAC && !e.Dst.IsGroup() {
		return false
	}
	switch e.Type {
	case wire.EtherARP:
		c.hearARP(b)
	case wire.EtherIPv4:
		if m, ok := unwrap(b, f.GSO.Valid || f.GSO.Partial); ok {
			c.hear(m, e.Src)
			return true
		}
	}
	return false
}

// unwrap takes a message for a client out of a packet. valid says that its checksum needs no look.
func unwrap(b []byte, valid bool) (Message, bool) {
	if len(b) < wire.IPv4Len || wire.Protocol(b[9]) != wire.ProtocolUDP {
		return Message{}, false // soon, for the frames of connections
	}
	ip, b, err := wire.ParseIPv4(b)
	if err != nil || ip.Protocol != wire.ProtocolUDP || ip.IsFragment() {
		return Message{}, false
	}
	udp, body, err := wire.ParseUDP(b)
	if err != nil || udp.DstPort != ClientPort {
		return Message{}, false
	}
	if udp.Checksum != 0 && !valid &&
		wire.Sum(b[:udp.Length], wire.PseudoSum(ip.Src, ip.Dst, wire.ProtocolUDP,
			int(udp.Length))) != 0xffff {
		return Message{}, false
	}
	m, err := Parse(body)
	return m, err == nil
}

func (c *Client) hear(m Message, from wire.MAC) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	before := c.machine.State()
	c.machine.Input(&m, time.Now())
	if c.machine.State() != before {
		c.via = from
	}
	c.settle()
}

// hearARP notices another station that has, or asks for itself for, the address that
// is being probed.
func (c *Client) hearARP(b []byte) {
	m, err := wire.ParseARP(b)
	if err != nil || m.SenderMAC == c.cfg.MAC {
		return
	}
	claimed := m.SenderIP
	if claimed.IsUnspecified() && m.Op == wire.ARPRequest {
		claimed = m.TargetIP // it probes, too (RFC 5227 section 2.1.1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.machine.State() != Probing {
		return
	}
	c.machine.Conflict(claimed, time.Now())
	c.settle()
}

// transmit sends what the machine has. The caller has mu.
func (c *Client) transmit() error {
	for {
		p, ok := c.machine.Output()
		if !ok {
			return nil
		}
		frame := c.frame(p)
		if err := c.Write(link.GSO{}, frame); err != nil {
			return err
		}
	}
}

// frame puts a packet into one of Ethernet. There may be no stack yet that could do it.
func (c *Client) frame(p Packet) []byte {
	if p.Message == nil {
		return c.arp(p)
	}
	to, src, dst := wire.Broadcast, netip.IPv4Unspecified(),
		netip.AddrFrom4([4]byte{255, 255, 255, 255})
	if p.Server.IsValid() {
		// where its last message came from needs no asking; if that is wrong, rebinding broadcasts
		to, dst = c.via, p.Server
	}
	if !p.Message.Client.IsUnspecified() && p.Message.Client.IsValid() {
		src = p.Message.Client
	}
	body := p.Message.Append(nil)
	length := wire.UDPLen + len(body)
	e := wire.Ethernet{Dst: to, Src: c.cfg.MAC, Type: wire.EtherIPv4}
	c.id++
	ip := wire.IPv4{Length: uint16(wire.IPv4Len + length), ID: c.id, TTL: 64,
		Protocol: wire.ProtocolUDP, Src: src, Dst: dst}
	udp := wire.UDP{SrcPort: ClientPort, DstPort: ServerPort, Length: uint16(length)}
	b := make([]byte, wire.EthernetLen+wire.IPv4Len+wire.UDPLen,
		wire.EthernetLen+wire.IPv4Len+length)
	e.Put(b)
	ip.Put(b[wire.EthernetLen:])
	head := b[wire.EthernetLen+wire.IPv4Len:]
	udp.Put(head)
	sum := wire.Sum(head, wire.PseudoSum(src, dst, wire.ProtocolUDP, length))
	if udp.Checksum = ^wire.Sum(body, sum); udp.Checksum == 0 {
		udp.Checksum = 0xffff // zero says that there is none
	}
	udp.Put(head)
	return append(b, body...)
}

// arp asks for an address that is not ours yet, or says that it is now (RFC 5227).
func (c *Client) arp(p Packet) []byte {
	m := wire.ARP{Op: wire.ARPRequest, SenderMAC: c.cfg.MAC, SenderIP: netip.IPv4Unspecified(),
		TargetIP: p.Address}
	if p.Announce {
		m.SenderIP = p.Address
	}
	e := wire.Ethernet{Dst: wire.Broadcast, Src: c.cfg.MAC, Type: wire.EtherARP}
	b := make([]byte, wire.EthernetLen+wire.ARPLen)
	m.Put(b[e.Put(b):])
	return b
}
