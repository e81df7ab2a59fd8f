package dhcp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// Client runs a Machine on a link, and is itself the link for the stack that uses the address. It
// takes the DHCP messages out of what arrives, and passes all other frames. It has no goroutine of
// its own: the machine runs under mu, in the goroutine that reads the link and in a timer's.
type Client struct {
	link.Link
	cfg Config

	mu      sync.Mutex
	machine *Machine
	timer   *time.Timer
	// the MAC from which the server's messages come: the server's, or that of a relay agent or
	// router
	via     wire.MAC
	id      uint16 // last IPv4 identification
	stopped bool   // the client sends nothing more
	lost    chan struct{}
}

// Acquire gets a lease, and returns the client, which is the link for the stack. Until then Acquire
// reads the link; afterwards the stack does. The context bounds the wait. If Acquire fails, the
// link stays open.
func Acquire(ctx context.Context, l link.Link, cfg Config) (*Client, error) {
	if l.Features().L3 {
		return nil, errors.New("dhcp: the link has no Ethernet, so its clients have no MAC")
	}
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

// acquireBatch is how many frames Acquire reads at once.
const acquireBatch = 8

// Lease returns the lease. After the lease was lost, it returns the last one.
func (c *Client) Lease() Lease {
	l, _ := c.current()
	return l
}

func (c *Client) current() (Lease, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machine.Lease()
}

// Lost returns a channel that is closed when the lease has ended. The address may not be used any
// more: close the stack and acquire another lease.
func (c *Client) Lost() <-chan struct{} { return c.lost }

// Release gives the address back to the server. The stack must then be closed.
func (c *Client) Release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	c.machine.Release(time.Now())
	err := c.transmit()
	c.stopped = true
	c.timer.Stop()
	return err
}

// Close implements Link. It does not release the address, so that the client can get it again
// later.
func (c *Client) Close() error {
	c.end()
	return c.Link.Close()
}

// end stops the machine and returns its state.
func (c *Client) end() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.timer.Stop()
	return c.machine.State()
}

// expire runs in the timer's goroutine.
func (c *Client) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped {
		c.machine.Expire(time.Now())
		c.afterInput()
	}
}

// afterInput sends the packets that are due, sets the timer, and wakes Acquire or closes lost. The
// caller holds mu.
func (c *Client) afterInput() {
	if c.machine.Lost() {
		c.stopped = true
		close(c.lost)
		return
	}
	_ = c.transmit() // the reader of the link sees a failed link
	if due := c.machine.Deadline(); !due.IsZero() {
		c.timer.Reset(max(time.Until(due), 0))
	}
	if c.machine.State() == Bound {
		c.Interrupt() // wakes Acquire
	}
}

// Read implements Link.
func (c *Client) Read(batch []link.Frame) (int, error) {
	n, err := c.Link.Read(batch)
	return link.Filter(batch[:n], c.inputFrame), err
}

// inputFrame processes a frame, and returns whether it was for the client alone.
func (c *Client) inputFrame(f *link.Frame) bool {
	e, b, err := wire.ParseEthernet(f.Data)
	if err != nil || e.Dst != c.cfg.MAC && !e.Dst.IsGroup() {
		return false
	}
	switch e.Type {
	case wire.EtherARP:
		c.inputARP(b)
	case wire.EtherIPv4:
		if m, ok := ParsePacket(b, ClientPort, f.GSO.Valid || f.GSO.Partial); ok {
			c.inputMessage(m, e.Src)
			return true
		}
	}
	return false
}

// ParsePacket parses the DHCP message in an IPv4 packet to a port: ClientPort or ServerPort. valid
// tells that the checksum was verified.
func ParsePacket(b []byte, port uint16, valid bool) (Message, bool) {
	if len(b) < wire.IPv4Len || wire.Protocol(b[9]) != wire.ProtocolUDP {
		return Message{}, false // a quick check first, as most frames are TCP
	}
	ip, b, err := wire.ParseIPv4(b)
	if err != nil || ip.Protocol != wire.ProtocolUDP || ip.IsFragment() {
		return Message{}, false
	}
	udp, body, err := wire.ParseUDP(b)
	if err != nil || udp.DstPort != port {
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

func (c *Client) inputMessage(m Message, from wire.MAC) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return
	}
	before := c.machine.State()
	c.machine.Input(&m, time.Now())
	if c.machine.State() != before {
		c.via = from
	}
	c.afterInput()
}

// inputARP detects another station that has the probed address, or probes it too.
func (c *Client) inputARP(b []byte) {
	m, err := wire.ParseARP(b)
	if err != nil || m.SenderMAC == c.cfg.MAC {
		return
	}
	claimed := m.SenderIP
	if claimed.IsUnspecified() && m.Op == wire.ARPRequest {
		claimed = m.TargetIP // the other station probes it too (RFC 5227 section 2.1.1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped || c.machine.State() != Probing {
		return
	}
	c.machine.Conflict(claimed, time.Now())
	c.afterInput()
}

// transmit sends the packets of the machine. The caller holds mu.
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

// frame returns the Ethernet frame of a packet. The client builds it itself, as there may be no
// stack yet.
func (c *Client) frame(p Packet) []byte {
	if p.Message == nil {
		return c.arpFrame(p)
	}
	to, src, dst := wire.Broadcast, netip.IPv4Unspecified(),
		netip.AddrFrom4([4]byte{255, 255, 255, 255})
	if p.Server.IsValid() {
		// The MAC of the server's last message needs no ARP. If it is wrong, rebinding broadcasts.
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
		udp.Checksum = 0xffff // 0 means no checksum (RFC 768)
	}
	udp.Put(head)
	return append(b, body...)
}

// arpFrame returns the frame of an ARP probe or announcement (RFC 5227).
func (c *Client) arpFrame(p Packet) []byte {
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
