package interp

import (
	"net/netip"
	"syscall"
)

// Module io.udp between the sockets of one program. No datagram is lost here, but for those that a
// full socket has no room for.

// Values of the natives of module io.udp.
type (
	// A datagramSocket is the value of a udp_socket.
	datagramSocket struct {
		object    *object
		at        netip.AddrPort
		peer      netip.AddrPort // not valid: it has none
		reuse     bool
		broadcast bool
		silent    bool // its datagrams to groups do not reach members here
		closed    bool
		groups    map[netip.Addr]bool
		room      int // bytes that may wait
		waiting   []letter
		size      int     // of those that wait
		told      bool    // nobody has the peer's port, and no operation has said so
		takers    []taker // in the order of their calls
	}
	// A letter is a datagram. Cut says that it was longer.
	letter struct {
		text string
		from netip.AddrPort
		cut  bool
	}
	// A taker waits for a datagram.
	taker struct {
		most   int
		given  func() bool // its caller has given up
		answer func(value)
	}
)

// The limits of Linux, in bytes.
const (
	mostLetter = 65507  // of the data of a datagram over IPv4
	usualRoom  = 212992 // net.core.rmem_default
)

// readAddress reads a host and a port.
func readAddress(host string, port int64) (netip.AddrPort, syscall.Errno) {
	switch host {
	case "":
		host = "0.0.0.0"
	case "localhost":
		host = "127.0.0.1"
	}
	a, err := netip.ParseAddr(host)
	if err != nil || port < 0 || port > 65535 {
		return netip.AddrPort{}, syscall.EADDRNOTAVAIL
	}
	return netip.AddrPortFrom(a, uint16(port)), 0
}

func (s *datagramSocket) named() string {
	if s.peer.IsValid() {
		return s.peer.String()
	}
	return s.at.String()
}

// overlaps says whether two addresses of sockets cannot both be taken.
func overlaps(a, b netip.AddrPort) bool {
	return a.Port() == b.Port() && (a.Addr() == b.Addr() || a.Addr().IsUnspecified() ||
		b.Addr().IsUnspecified())
}

func (c *called) bindDatagrams() value {
	c.in.refuse("a socket for datagrams")
	n := &c.in.network
	at, errno := readAddress(c.str(1), c.int(0))
	s := &datagramSocket{at: at, reuse: c.args[2].(bool), broadcast: c.args[3].(bool),
		room: usualRoom, groups: map[netip.Addr]bool{}}
	for free := at.Port() != 0; errno == 0 && !free; {
		n.ports++
		s.at = netip.AddrPortFrom(at.Addr(), uint16(firstPort+n.ports))
		free = true
		for _, o := range n.datagrams {
			free = free && !overlaps(o.at, s.at)
		}
	}
	for _, o := range n.datagrams {
		if errno == 0 && overlaps(o.at, s.at) && !(o.reuse && s.reuse) {
			errno = syscall.EADDRINUSE
		}
	}
	if errno != 0 {
		return failed(systemError("bind", address(c.str(1), c.int(0)), errno))
	}
	s.object = c.in.object(s, c.t.Elem.Elem)
	n.datagrams = append(n.datagrams, s)
	return ok(s.object)
}

// accepts says whether a datagram to an address is for the socket.
func (s *datagramSocket) accepts(from, to netip.AddrPort) bool {
	switch {
	case s.at.Port() != to.Port() || s.peer.IsValid() && s.peer != from:
		return false
	case to.Addr().IsMulticast():
		return s.groups[to.Addr()]
	case isBroadcast(to.Addr()):
		return s.at.Addr().IsUnspecified()
	}
	return s.at.Addr() == to.Addr() || s.at.Addr().IsUnspecified() &&
		(s.at.Addr().Is6() || to.Addr().Is4())
}

// isBroadcast knows the address of all, and that of all on the machine's own network.
func isBroadcast(a netip.Addr) bool {
	return a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) ||
		a == netip.AddrFrom4([4]byte{127, 255, 255, 255})
}

// source is the address of a sender as its receiver sees it.
func (s *datagramSocket) source(to netip.Addr) netip.AddrPort {
	if !s.at.Addr().IsUnspecified() {
		return s.at
	}
	if to.Is4() {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), s.at.Port())
	}
	return netip.AddrPortFrom(netip.IPv6Loopback(), s.at.Port())
}

// send gives a datagram to the sockets that it is for: the last one that fits, and of groups all.
func (s *datagramSocket) send(in *interp, to netip.AddrPort, text string) syscall.Errno {
	many := to.Addr().IsMulticast() || isBroadcast(to.Addr())
	switch {
	case s.closed:
		return syscall.EBADF
	case s.told:
		s.told = false
		return syscall.ECONNREFUSED
	case len(text) > mostLetter:
		return syscall.EMSGSIZE
	case isBroadcast(to.Addr()) && !s.broadcast:
		return syscall.EACCES
	}
	from := s.source(to.Addr())
	var heard []*datagramSocket
	for _, o := range in.network.datagrams {
		if o.accepts(from, to) {
			heard = append(heard, o)
		}
	}
	if !many && len(heard) > 0 {
		heard = heard[len(heard)-1:]
	}
	s.told = len(heard) == 0 && !many && s.peer.IsValid()
	for _, o := range heard {
		if many && s.silent {
			continue
		}
		if o.size+len(text) <= o.room {
			o.size += len(text)
			o.waiting = append(o.waiting, letter{text: text, from: from})
		}
		o.serve()
	}
	s.serve() // which may hear now that nobody has the port
	return 0
}

// serve gives takers what there is.
func (s *datagramSocket) serve() {
	for len(s.takers) > 0 {
		t := s.takers[0]
		switch {
		case t.given():
		case s.told:
			s.told = false
			t.answer(failed(systemError("receive on", s.named(), syscall.ECONNREFUSED)))
		case len(s.waiting) > 0:
			m := s.waiting[0]
			s.waiting = s.waiting[1:]
			s.size -= len(m.text)
			if m.cut = len(m.text) > t.most; m.cut {
				m.text = m.text[:t.most]
			}
			t.answer(ok(m))
		default:
			return
		}
		s.takers = s.takers[1:]
	}
}

func (s *datagramSocket) close(in *interp) {
	if s.closed {
		return
	}
	s.closed = true
	n := &in.network
	for i, o := range n.datagrams {
		if o == s {
			n.datagrams = append(n.datagrams[:i:i], n.datagrams[i+1:]...)
			break
		}
	}
	takers := s.takers
	s.takers = nil
	for _, t := range takers {
		t.answer(failed(systemError("receive on", s.named(), syscall.EBADF)))
	}
}

// waits says whether an operation waits for a datagram.
func (s *datagramSocket) waits() bool {
	for _, t := range s.takers {
		if !t.given() {
			return true
		}
	}
	return false
}

func (c *called) datagrams() *datagramSocket { return (*c.self()).(*datagramSocket) }

// receive is udp_socket.receive.
func (c *called) receive(answer func(value)) {
	s, most := c.datagrams(), c.int(1)
	errno := syscall.Errno(0)
	switch {
	case most < 1:
		errno = syscall.EINVAL
	case s.closed:
		errno = syscall.EBADF
	}
	if errno != 0 {
		c.in.soon(func() { answer(failed(systemError("receive on", s.named(), errno))) })
		return
	}
	s.takers = append(s.takers, taker{most: int(min(most, 65535)),
		given:  func() bool { return c.waiting.answered },
		answer: answer})
	c.in.soon(func() {
		s.serve()
		if c.in.ending && s.waits() {
			s.close(c.in)
		}
	})
}

// sendTo sends to an address, which name is the text of.
func (c *called) sendTo(name string, to netip.AddrPort, errno syscall.Errno, data value,
	answer func(value)) {
	s := c.datagrams()
	c.in.soon(func() {
		if errno == 0 {
			errno = s.send(c.in, to, string(raw(data)))
		}
		answer(outcome("send to", name, nil, errno))
	})
}

// option is the result of a call that changes the socket.
func (c *called) option(what, about string, errno syscall.Errno) value {
	if errno == 0 && c.datagrams().closed {
		errno = syscall.EBADF
	}
	return outcome(what, about, nil, errno)
}

func (c *called) connectDatagrams() value {
	s := c.datagrams()
	to, errno := readAddress(c.str(1), c.int(2))
	v := c.option("connect to", address(c.str(1), c.int(2)), errno)
	if errno == 0 && !s.closed {
		s.at, s.peer = s.source(to.Addr()), to
	}
	return v
}

// member is udp_socket.join and leave.
func (c *called) member(what string, joins bool) value {
	s := c.datagrams()
	group, errno := readAddress(c.str(1), 0)
	switch {
	case errno != 0:
	case !group.Addr().IsMulticast():
		errno = syscall.EINVAL
	case joins && s.groups[group.Addr()]:
		errno = syscall.EADDRINUSE
	case !joins && !s.groups[group.Addr()]:
		errno = syscall.EADDRNOTAVAIL
	case !s.closed:
		s.groups[group.Addr()] = joins
	}
	return c.option(what, c.str(1), errno)
}

// registerDatagrams makes the natives of module io.udp.
func registerDatagrams() {
	mail := func(c *called) letter { return (*c.self()).(letter) }
	register(map[string]func(*called) value{
		"datagram.text":      func(c *called) value { return mail(c).text },
		"datagram.bytes":     func(c *called) value { return bytesOf(mail(c).text) },
		"datagram.host":      func(c *called) value { return hostOf(mail(c).from) },
		"datagram.port":      func(c *called) value { return int64(mail(c).from.Port()) },
		"datagram.truncated": func(c *called) value { return mail(c).cut },
		"udp_socket.bind":    (*called).bindDatagrams,
		"udp_socket.host":    func(c *called) value { return hostOf(c.datagrams().at) },
		"udp_socket.port":    func(c *called) value { return int64(c.datagrams().at.Port()) },
		"udp_socket.connect": (*called).connectDatagrams,
		"udp_socket.join":    func(c *called) value { return c.member("join", true) },
		"udp_socket.leave":   func(c *called) value { return c.member("leave", false) },
		"udp_socket.multicast": func(c *called) value {
			errno := syscall.Errno(0)
			if hops := c.int(2); hops < 0 || hops > 255 {
				errno = syscall.EINVAL
			}
			c.datagrams().silent = !c.args[3].(bool)
			return c.option("multicast on", c.datagrams().at.String(), errno)
		},
		"udp_socket.room": func(c *called) value {
			if n := c.int(1); n < 1 || n > 0x3fffffff {
				return c.option("room of", c.datagrams().at.String(), syscall.EINVAL)
			}
			c.datagrams().room = int(c.int(1))
			return c.option("room of", c.datagrams().at.String(), 0)
		},
	})
	asyncs["udp_socket.receive"] = (*called).receive
	asyncs["udp_socket.send"] = func(c *called, answer func(value)) {
		s, errno := c.datagrams(), syscall.Errno(0)
		if !s.peer.IsValid() {
			errno = syscall.EDESTADDRREQ
		}
		c.sendTo(s.named(), s.peer, errno, c.args[1], answer)
	}
	asyncs["udp_socket.send_to"] = func(c *called, answer func(value)) {
		to, errno := readAddress(c.str(1), c.int(2))
		c.sendTo(address(c.str(1), c.int(2)), to, errno, c.args[3], answer)
	}
	asyncs["udp_socket.close"] = func(c *called, answer func(value)) {
		c.datagrams().close(c.in)
		c.in.soon(func() { answer(nil) })
	}
}

func hostOf(a netip.AddrPort) string {
	if !a.IsValid() {
		return ""
	}
	return a.Addr().String()
}
