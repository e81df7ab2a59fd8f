package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"interleave/gonet"
)

func ncCommand() *cobra.Command {
	var w hostFlags
	listen := false
	c := &cobra.Command{
		Use: "nc [-l] [HOST] PORT",
		Short: "connect standard input and output with a port, or with the first client " +
			"of one",
		Args: cobra.RangeArgs(1, 2),
		Example: `  echo hello | sudo gonet nc 10.9.0.1 7
  sudo gonet nc -l 9000 > received          and on this machine: nc 10.9.0.2 9000 < file`,
		RunE: func(cmd *cobra.Command, args []string) error {
			address := args[len(args)-1]
			if n, err := strconv.ParseUint(address, 10, 16); err != nil || n == 0 && !listen {
				return usagef("nc: port %s: not a number from 1 to 65535", address)
			}
			switch {
			case len(args) == 2:
				address = net.JoinHostPort(args[0], address)
			case listen:
				address = ":" + address
			default:
				return usagef("nc: a HOST and a PORT; only -l needs no HOST")
			}
			ctx := cmd.Context()
			return w.with(ctx, cmd.ErrOrStderr(), func(h *host) error {
				c, err := h.connectOrAccept(ctx, address, listen, cmd.ErrOrStderr())
				if err != nil {
					return err
				}
				return join(ctx, c, cmd.InOrStdin(), cmd.OutOrStdout())
			})
		},
	}
	c.Flags().BoolVarP(&listen, "listen", "l", false, "wait for a connection")
	w.flags(c.Flags())
	return c
}

// connectOrAccept connects to address, or with listen waits for the first connection to it.
func (h *host) connectOrAccept(ctx context.Context, address string, listen bool,
	log io.Writer) (net.Conn, error) {
	if !listen {
		return h.DialContext(ctx, "tcp", address)
	}
	l, err := h.Stack.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })() // the listener may be closed already
	fmt.Fprintf(log, "listening at %v\n", l.Addr())
	c, err := l.Accept()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return c, l.Close()
}

// join copies in both directions until both have ended. The end of the input closes our sending
// direction only, and the peer's end closes its own.
func join(ctx context.Context, c net.Conn, in io.Reader, out io.Writer) error {
	// the connection may have ended
	stop := context.AfterFunc(ctx, func() { _ = c.(*gonet.Conn).Abort() })
	defer stop()
	sent := make(chan error, 1)
	go func() { // ends with the input, or when a write fails
		_, err := io.Copy(c, in)
		if err == nil {
			err = c.(*gonet.Conn).CloseWrite()
		}
		sent <- err
	}()
	_, err := io.Copy(out, c)
	if err != nil {
		_ = c.Close() // the error of the read is reported
	} else {
		select {
		case err = <-sent:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(err, finish(c))
}

// finishTime bounds how long the peer may take to acknowledge the last written bytes. A minute is a
// guess.
const finishTime = time.Minute

// finish closes a connection, and waits until the peer has acknowledged all written bytes, because
// the tap ends with this process.
func finish(c net.Conn) error {
	if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	g, ok := c.(*gonet.Conn)
	if !ok {
		return nil
	}
	for end := time.Now().Add(finishTime); g.Info().Busy(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%v has not acknowledged the end after %v", c.RemoteAddr(),
				finishTime)
		}
	}
	return nil
}
