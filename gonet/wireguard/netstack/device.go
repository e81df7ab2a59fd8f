// Package netstack gives wireguard-go a network stack inside the program: no device of the kernel,
// and no privilege. It has the surface of wireguard-go's own package netstack, with GoNet in place
// of gVisor's stack, so a program that uses that one changes an import.
package netstack

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"

	"golang.zx2c4.com/wireguard/tun"

	"interleave/gonet"
	"interleave/gonet/ip"
	"interleave/gonet/link"
)

// batchSize is the largest number of packets in one call of Read or Write: wireguard-go's own for
// devices with offloads (conn.IdealBatchSize).
const batchSize = 128

// The least MTU of a stack in bytes: what each host must take (RFC 1122 section 3.3.2, RFC 8200
// section 5).
const (
	leastMTU  = 576
	leastMTU6 = 1280
)

// A tunDevice is the tunnel's side of a link in memory, whose other side is the stack's. The stack
// hands over super-frames of TCP, which are cut here to packets of the MTU; packets of the tunnel
// are put together to super-frames. So the stack works on up to 64 KiB at once.
type tunDevice struct {
	end    *link.End
	stack  *gonet.Stack
	mtu    int
	events chan tun.Event
	close  sync.Once

	// Read uses these fields; one goroutine reads.
	frames  [32]link.Frame
	waiting []link.Frame // the frames that have not been read yet: the last of frames
	cutter  link.Cutter  // of the super-frame before them

	mu   sync.Mutex
	join joiner // Write uses it, under mu
}

var _ tun.Device = (*tunDevice)(nil)

// CreateNetTUN makes a device for wireguard-go and the stack behind it. The stack has the addresses
// of both families; all packets go into the tunnel. Names are asked of the DNS servers, by way of
// the tunnel. mtu is in bytes.
func CreateNetTUN(localAddresses, dnsServers []netip.Addr, mtu int) (tun.Device, *Net, error) {
	prefixes, six, err := hosts(localAddresses)
	if err != nil {
		return nil, nil, err
	}
	least := leastMTU
	if six {
		least = leastMTU6
	}
	if mtu < least || mtu > 65535 {
		return nil, nil, fmt.Errorf("netstack: an MTU of %d: expected %d to 65535 bytes", mtu,
			least)
	}
	near, far := link.Pair(link.L3(), link.Offload(), link.MTU(mtu))
	all := []ip.Route{{Network: netip.PrefixFrom(netip.IPv4Unspecified(), 0)},
		{Network: netip.PrefixFrom(netip.IPv6Unspecified(), 0)}}
	stack, err := gonet.New(gonet.Config{Link: near, Addresses: prefixes, Routes: all, NoIPv6: !six,
		NoAutoconf: true})
	if err != nil {
		return nil, nil, err
	}
	d := &tunDevice{end: far, stack: stack, mtu: mtu, events: make(chan tun.Event, 1)}
	d.events <- tun.EventUp
	var servers []netip.AddrPort
	for _, a := range dnsServers {
		servers = append(servers, netip.AddrPortFrom(a, 0))
	}
	return d, &Net{stack: stack, resolver: stack.Resolver(servers...)}, nil
}

// hosts makes a network of one host of each address.
func hosts(addresses []netip.Addr) (all []netip.Prefix, six bool, err error) {
	for _, a := range addresses {
		if a = a.Unmap().WithZone(""); !a.IsValid() || a.IsUnspecified() || a.IsMulticast() {
			return nil, false, fmt.Errorf("netstack: %v cannot be an address of this host", a)
		}
		six = six || a.Is6()
		all = append(all, netip.PrefixFrom(a, a.BitLen()))
	}
	return all, six, nil
}

// Name implements tun.Device.
func (d *tunDevice) Name() (string, error) { return "gonet", nil }

// File implements tun.Device: there is none.
func (d *tunDevice) File() *os.File { return nil }

// Events implements tun.Device.
func (d *tunDevice) Events() <-chan tun.Event { return d.events }

// MTU implements tun.Device.
func (d *tunDevice) MTU() (int, error) { return d.mtu, nil }

// BatchSize implements tun.Device.
func (d *tunDevice) BatchSize() int { return batchSize }

// Close implements tun.Device. It ends the stack: its connections are reset.
func (d *tunDevice) Close() error {
	err := error(nil)
	d.close.Do(func() {
		close(d.events)
		err = errors.Join(d.stack.Abort(), d.end.Close())
	})
	return err
}

// Read implements tun.Device: it returns packets that the stack sends. Super-frames are cut right
// into bufs.
func (d *tunDevice) Read(bufs [][]byte, sizes []int, offset int) (int, error) {
	n := 0
	for n < len(bufs) {
		room := bufs[n][min(offset, len(bufs[n])):]
		switch {
		case d.cutter.Len() > 0:
			sizes[n] = fitting(d.cutter.Next(room), room)
			n++
		case len(d.waiting) > 0:
			f := d.waiting[0]
			d.waiting = d.waiting[1:]
			if f.GSO.Kind != link.Plain {
				// The stack makes frames that can be cut; of another there is nothing to cut.
				d.cutter, _ = link.NewCutterL3(f.GSO, f.Data)
				continue
			}
			link.Complete(f.GSO, f.Data)
			copy(room, f.Data)
			sizes[n] = fitting(len(f.Data), room)
			n++
		case n > 0:
			return n, nil
		default:
			// All frames of the last read were cut or copied, and may be overwritten.
			read, err := d.end.Read(d.frames[:])
			if err != nil {
				return 0, os.ErrClosed
			}
			d.waiting = d.frames[:read]
		}
	}
	return n, nil
}

// fitting returns the size of a packet, or 0 if there is no room for it: then it is lost, as one
// that is too long for a wire.
func fitting(size int, room []byte) int {
	if size > len(room) {
		return 0
	}
	return size
}

// Write implements tun.Device: the stack receives packets that came out of the tunnel.
func (d *tunDevice) Write(bufs [][]byte, offset int) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, b := range bufs {
		if offset > len(b) {
			continue
		}
		if err := d.join.add(b[offset:], d.end.Write); err != nil {
			return i, os.ErrClosed
		}
	}
	if err := d.join.flush(d.end.Write); err != nil {
		return 0, os.ErrClosed
	}
	return len(bufs), nil
}
