package gonet

import (
	"errors"
	"net"
	"net/netip"

	"interleave/gonet/internal/demux"
	"interleave/gonet/tcp"
)

// ListenConfig has options for a listener or a socket of UDP that are there before the first packet
// comes, as those of net.ListenConfig are. Only Stack must be given; with nothing else its methods
// are those of the stack.
type ListenConfig struct {
	Stack *Stack
	// SharePort lets others have the same address, if each has SharePort: SO_REUSEPORT. Each
	// connection goes to one of the listeners, and each flow of datagrams to one of the sockets:
	// always to the same as long as that one is open. Datagrams to a group go to all that have
	// joined it. When a listener closes, the connections that wait for its Accept are reset.
	SharePort bool
	// TCP has the options of a listener's connections, from the SYN on; nil: Config.TCP of the
	// stack. It is copied. The stack sets MSS, PeerMSS and Clock. A KeepAlive of 0 means 15 s, and
	// a negative one switches it off.
	TCP     *tcp.Config
	Backlog int // of a listener; 0: Config.Backlog
	// TTL, or the hop limit of IPv6, and TOS, or its traffic class, are those of all packets that
	// are sent to hosts; 0: the stack's. As in SetTOS, the bits of ECN are ignored for TCP.
	TTL, TOS uint8
	// ReadBuffer bounds the datagrams that wait in a socket, in bytes, as SetReadBuffer does; 0:
	// Config.SocketBuffer. That of connections is among the options of TCP.
	ReadBuffer int
}

// Listen is Stack.Listen with the options.
func (c ListenConfig) Listen(network, address string) (*Listener, error) {
	l := c.newListener(nil)
	l.acceptQueue = make(chan *Conn, l.synQueue.Limit())
	if err := l.listen(network, address); err != nil {
		return nil, err
	}
	return l, nil
}

// ListenAsync is Stack.ListenAsync with the options.
func (c ListenConfig) ListenAsync(network, address string,
	accept func(*AsyncConn) AsyncHandler) (*AsyncListener, error) {
	if accept == nil {
		return nil, errors.New("gonet: ListenAsync without a function")
	}
	l := c.newListener(accept)
	if err := l.listen(network, address); err != nil {
		return nil, err
	}
	return &AsyncListener{l}, nil
}

func (c ListenConfig) newListener(accept func(*AsyncConn) AsyncHandler) *Listener {
	l := c.Stack.newListener(accept)
	if c.Backlog > 0 {
		l.synQueue.SetLimit(c.Backlog)
	}
	l.sharing = c.sharing()
	l.options = c.Stack.connOptions(c.TCP, c.TTL, c.TOS)
	return l
}

// ListenPacket is Stack.ListenPacket with the options.
func (c ListenConfig) ListenPacket(network, address string) (*PacketConn, error) {
	local, err := c.Stack.parseOurs(network, "udp", address)
	if err == nil {
		p := c.Stack.newPacketConn(local, netip.AddrPort{})
		p.setOptions(c.TTL, c.TOS, c.ReadBuffer)
		if err = c.Stack.bindSocket(p, c.sharing()); err == nil {
			return p, nil
		}
	}
	return nil, &net.OpError{Op: "listen", Net: network, Addr: udpAddr(local), Err: err}
}

// sharing returns how a listener or a socket shares its address.
func (c ListenConfig) sharing() demux.Sharing {
	if !c.SharePort {
		return demux.Sharing{}
	}
	return demux.Sharing{On: true, Number: c.Stack.random.Uint64()}
}
