package main

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"interleave/gonet/socks"
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
				return usagef("--most %d: at least 1", most)
			}
			return w.with(cmd.Context(), cmd.ErrOrStderr(), func(h *host) error {
				l, err := net.Listen("tcp", listen)
				if err != nil {
					return err
				}
				h.describe(cmd.OutOrStdout())
				fmt.Fprintf(cmd.OutOrStdout(), "%-9s %v\n", "socks5", l.Addr())
				s := &socks.Server{Dial: h.DialContext, ListenPacket: h.listenPacket,
					Lookup: h.lookup, MaxClients: most}
				if verbose {
					s.Log = func(format string, args ...any) {
						fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...)
					}
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
				if err := s.Serve(ctx, l); err != nil || cmd.Context().Err() != nil {
					return err
				}
				return h.wait(cmd.Context())
			})
		},
	}
	c.Flags().StringVar(&listen, "listen", listen, "the kernel's address to listen at")
	c.Flags().IntVar(&most, "most", most, "clients at once; further ones wait")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "print each connection to standard error")
	w.flags(c.Flags())
	return c
}

// listenPacket opens a socket of the stack for the datagrams of a client.
func (h *host) listenPacket() (net.PacketConn, error) {
	c, err := h.Stack.ListenPacket("udp", ":0")
	if err != nil {
		return nil, err // not a nil *gonet.PacketConn
	}
	return c, nil
}
