// Package wintun is a link over Wintun, the driver of Windows for network devices without Ethernet
// whose other end is a program: what a tun is elsewhere. It is a module of its own, so that GoNet
// itself needs no library.
//
// The program needs the driver's wintun.dll beside it, of its own architecture, from
// https://www.wintun.net, and an administrator's rights.
package wintun

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf16"

	"interleave/gonet/link"
)

// Adapter is a network adapter of Wintun: a link that carries IP packets, without offloads.
type Adapter struct {
	*link.Funcs
	name string
	port *port
}

var _ link.Link = (*Adapter)(nil)

// Kind returns "tun".
func (a *Adapter) Kind() string { return "tun" }

// Name returns the name of the adapter.
func (a *Adapter) Name() string { return a.name }

// Dropped returns the number of packets that found a queue full, or were longer than the MTU.
func (a *Adapter) Dropped() uint64 { return a.Funcs.Dropped() + a.port.dropped.Load() }

// newAdapter makes an adapter over a session of the driver, which it ends.
func newAdapter(name string, mtu int, s session) *Adapter {
	p := &port{name: name, session: s}
	f := link.NewFuncs(link.Features{MTU: mtu, L3: true}, p.read, p.write, p.close)
	return &Adapter{Funcs: f, name: name, port: p}
}

// session is a session of the driver: two rings of packets that it shares with the program. Its
// methods may be called by several goroutines, but none after end.
type session interface {
	// receive copies the next packet to b, if it fits, and returns its length. It does not block:
	// without a packet it returns errEmpty.
	receive(b []byte) (int, error)
	// wait blocks until there may be a packet, or for good after wake.
	wait() error
	wake() error
	// send returns errFull if the ring has no room.
	send(packet []byte) error
	end() error
}

var (
	errEmpty = errors.New("no packet")
	errFull  = errors.New("the ring is full")
)

// port joins a session to a link. The memory of the rings has gone when the session ends, so this
// must not happen during a call.
type port struct {
	name    string
	closing atomic.Bool
	dropped atomic.Uint64

	calls   sync.RWMutex // held for reading by each call that uses the session
	session session
}

// read is a link.ReadFunc.
func (p *port) read(b []byte) (int, link.GSO, error) {
	p.calls.RLock()
	defer p.calls.RUnlock()
	for !p.closing.Load() {
		n, err := p.session.receive(b)
		switch {
		case errors.Is(err, errEmpty):
			if err := p.session.wait(); err != nil {
				return 0, link.GSO{}, p.failed("wait", err)
			}
		case err != nil:
			return 0, link.GSO{}, p.failed("read", err)
		case n > len(b):
			p.dropped.Add(1)
		default:
			return n, link.GSO{}, nil
		}
	}
	return 0, link.GSO{}, link.ErrClosed
}

// write is a link.WriteFunc.
func (p *port) write(_ link.GSO, packet []byte) error {
	p.calls.RLock()
	defer p.calls.RUnlock()
	if p.closing.Load() {
		return link.ErrClosed
	}
	err := p.session.send(packet)
	switch {
	case errors.Is(err, errFull):
		p.dropped.Add(1)
		return nil
	case err != nil:
		return p.failed("write", err)
	}
	return nil
}

// close ends the session when no call uses it any more.
func (p *port) close() error {
	p.closing.Store(true)
	err := p.session.wake()
	p.calls.Lock()
	defer p.calls.Unlock()
	return errors.Join(err, p.session.end())
}

func (p *port) failed(doing string, err error) error {
	return fmt.Errorf("wintun %s: %s: %w", p.name, doing, err)
}

// maxName is the length of the longest name of an adapter, in units of UTF-16
// (WINTUN_MAX_NAME is 128 with the zero at its end, wintun.h).
const maxName = 127

// The bounds of the MTU: that of IPv4 (RFC 791), and the longest packet of the driver
// (WINTUN_MAX_IP_PACKET_SIZE).
const (
	leastMTU = 68
	maxMTU   = 0xffff
)

// check returns an error for a name or an MTU that cannot be.
func check(name string, mtu int) error {
	if n := len(utf16.Encode([]rune(name))); n == 0 || n > maxName ||
		strings.ContainsRune(name, 0) {
		return fmt.Errorf("wintun %q: a name has 1 to %d characters", name, maxName)
	}
	if mtu < leastMTU || mtu > maxMTU {
		return fmt.Errorf("wintun %s: an MTU of %d: expected %d to %d bytes", name, mtu, leastMTU,
			maxMTU)
	}
	return nil
}

// explain adds to an error of the driver what the user can do about it. noModule is the system's
// error for a library that was not found.
func explain(err, noModule error) error {
	switch {
	case errors.Is(err, noModule):
		return fmt.Errorf("%w: put the wintun.dll of this architecture beside the program: "+
			"https://www.wintun.net", err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: it needs the rights of an administrator", err)
	}
	return err
}
