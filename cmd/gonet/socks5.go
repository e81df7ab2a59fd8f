package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"interleave/internal/command"
)

func socksCommand() *cobra.Command {
	var w hostFlags
	listen, most, verbose := "127.0.0.1:1080", 256, false
	c := &cobra.Command{
		Use:   "socks5",
		Short: "a SOCKS5 proxy on the kernel's loopback whose connections go through the stack",
		Args:  cobra.NoArgs,
		Example: `  sudo gonet socks5 --dns 9.9.9.9
  curl --socks5-hostname 127.0.0.1:1080 http://10.9.0.1:8000/    in another terminal`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if most < 1 {
				return command.Usagef("--most %d: at least 1", most)
			}
			return w.with(cmd.Context(), cmd.ErrOrStderr(), func(h *host) error {
				l, err := net.Listen("tcp", listen)
				if err != nil {
					return err
				}
				h.describe(cmd.OutOrStdout())
				fmt.Fprintf(cmd.OutOrStdout(), "%-9s %v\n", "socks5", l.Addr())
				p := &proxy{dial: h.DialContext}
				if verbose {
					p.log = cmd.ErrOrStderr()
				}
				ctx, cancel := context.WithCancel(cmd.Context())
				defer cancel()
				go func() { // ends with ctx
					select {
					case <-h.Stack.Done():
						cancel()
					case <-ctx.Done():
					}
				}()
				if err := p.serve(ctx, l, most); err != nil || cmd.Context().Err() != nil {
					return err
				}
				return h.wait(cmd.Context())
			})
		},
	}
	c.Flags().StringVar(&listen, "listen", listen, "the kernel's address to listen at")
	c.Flags().IntVar(&most, "most", most, "connections at once; further ones wait")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "print each connection to standard error")
	w.flags(c.Flags())
	return c
}

// proxy serves SOCKS5 (RFC 1928): the command CONNECT, without authentication. dial resolves names.
type proxy struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	log  io.Writer // nil: no log
}

// The time that a client has to send its request, and that its connection may take. Guesses.
const (
	negotiateTime = 10 * time.Second
	dialTime      = 30 * time.Second
)

// serve accepts connections until the context ends, at most so many at once. It returns when all
// have ended.
func (p *proxy) serve(ctx context.Context, l net.Listener, most int) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })() // Accept then returns an error
	slots := make(chan struct{}, most)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		c, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return errors.Join(err, l.Close())
		}
		running.Go(func() {
			defer func() { <-slots }()
			if err := p.client(ctx, c); err != nil && p.log != nil {
				fmt.Fprintf(p.log, "%v: %v\n", c.RemoteAddr(), err)
			}
		})
	}
}

// client serves one connection to its end.
func (p *proxy) client(ctx context.Context, c net.Conn) error {
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if err := c.SetDeadline(time.Now().Add(negotiateTime)); err != nil {
		return err
	}
	to, code, err := negotiate(c)
	if err != nil {
		if code != succeeded {
			_, _ = c.Write(answer(code, netip.AddrPort{})) // the error says more
		}
		return err
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		return err
	}
	trying, cancel := context.WithTimeout(ctx, dialTime)
	far, err := p.dial(trying, "tcp", to)
	cancel()
	if err != nil {
		_, _ = c.Write(answer(codeOf(err), netip.AddrPort{})) // the error says more
		return err
	}
	defer func() { _ = far.Close() }()
	defer context.AfterFunc(ctx, func() { _ = far.Close() })()
	local := far.LocalAddr().(*net.TCPAddr).AddrPort()
	if _, err := c.Write(answer(succeeded, netip.AddrPortFrom(local.Addr().Unmap(),
		local.Port()))); err != nil {
		return err
	}
	if p.log != nil {
		fmt.Fprintf(p.log, "%v to %s\n", c.RemoteAddr(), to)
	}
	return relay(c, far)
}

// relay copies in both directions, and passes on the end of each separately. An error closes both
// connections.
func relay(a, b net.Conn) error {
	copied := make(chan error, 2)
	one := func(to, from net.Conn) {
		_, err := io.Copy(to, from)
		if err == nil {
			err = to.(interface{ CloseWrite() error }).CloseWrite()
		}
		if err != nil {
			_, _ = a.Close(), b.Close()
		}
		copied <- err
	}
	go one(a, b)
	go one(b, a)
	first := <-copied
	return errors.Join(first, <-copied)
}

// The constants of RFC 1928.
const (
	socksVersion = 5
	methodNone   = 0
	methodRefuse = 0xff
	connect      = 1
	kindIPv4     = 1
	kindName     = 3
	kindIPv6     = 4
)

// The reply codes (RFC 1928 section 6).
const (
	succeeded          = 0
	generalFailure     = 1
	networkUnreachable = 3
	hostUnreachable    = 4
	refused            = 5
	ttlExpired         = 6
	notSupported       = 7
	kindNotSupported   = 8
)

// negotiate reads a client's greeting and request, and returns the destination as "host:port". With
// an error it returns the reply code for the client, or 0 for none.
func negotiate(c io.ReadWriter) (to string, code byte, err error) {
	var b [2 + 255]byte
	if _, err := io.ReadFull(c, b[:2]); err != nil {
		return "", 0, err
	}
	if b[0] != socksVersion {
		return "", 0, fmt.Errorf("version %d of SOCKS, not 5", b[0])
	}
	methods := b[2 : 2+int(b[1])]
	if _, err := io.ReadFull(c, methods); err != nil {
		return "", 0, err
	}
	if !bytes.Contains(methods, []byte{methodNone}) {
		_, err := c.Write([]byte{socksVersion, methodRefuse})
		return "", 0, errors.Join(errors.New("the client insists on authentication"), err)
	}
	if _, err := c.Write([]byte{socksVersion, methodNone}); err != nil {
		return "", 0, err
	}
	return request(c)
}

// request reads the request that follows the greeting.
func request(r io.Reader) (to string, code byte, err error) {
	var b [256]byte
	if _, err := io.ReadFull(r, b[:4]); err != nil {
		return "", 0, err
	}
	command, kind := b[1], b[3]
	if b[0] != socksVersion {
		return "", generalFailure, fmt.Errorf("a request of version %d", b[0])
	}
	host := ""
	switch kind {
	case kindIPv4, kindIPv6:
		raw := b[:4]
		if kind == kindIPv6 {
			raw = b[:16]
		}
		if _, err := io.ReadFull(r, raw); err != nil {
			return "", 0, err
		}
		a, _ := netip.AddrFromSlice(raw)
		host = a.Unmap().String()
	case kindName:
		if _, err := io.ReadFull(r, b[:1]); err != nil {
			return "", 0, err
		}
		name := b[1 : 1+int(b[0])]
		if _, err := io.ReadFull(r, name); err != nil {
			return "", 0, err
		}
		for _, x := range name {
			if x <= ' ' || x >= 0x7f {
				return "", generalFailure, fmt.Errorf("an invalid name: %q", name)
			}
		}
		if host = string(name); host == "" {
			return "", generalFailure, errors.New("an empty name")
		}
	default:
		return "", kindNotSupported, fmt.Errorf("an address of type %d", kind)
	}
	if _, err := io.ReadFull(r, b[:2]); err != nil {
		return "", 0, err
	}
	if command != connect {
		return "", notSupported, fmt.Errorf("command %d: only CONNECT is served", command)
	}
	return net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(b[:])))), succeeded, nil
}

// answer returns the reply to a client.
func answer(code byte, bound netip.AddrPort) []byte {
	a := bound.Addr()
	if !a.IsValid() {
		a = netip.IPv4Unspecified()
	}
	kind := byte(kindIPv4)
	if a.Is6() {
		kind = kindIPv6
	}
	b := append([]byte{socksVersion, code, 0, kind}, a.AsSlice()...)
	return binary.BigEndian.AppendUint16(b, bound.Port())
}

// codeOf returns the reply code of RFC 1928 for a failed connection.
func codeOf(err error) byte {
	var name *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return refused
	case errors.Is(err, syscall.ENETUNREACH):
		return networkUnreachable
	case errors.Is(err, syscall.EHOSTUNREACH), errors.As(err, &name):
		return hostUnreachable
	case errors.As(err, &timeout) && timeout.Timeout():
		return ttlExpired
	}
	return generalFailure
}

func hostPort(a netip.Addr, port int) string { return netip.AddrPortFrom(a, uint16(port)).String() }
