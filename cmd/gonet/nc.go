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
	"interleave/internal/command"
)

func ncCommand() *cobra.Command {
	var w where
	listen := false
	c := &cobra.Command{
		Use: "nc [-l] [HOST] PORT",
		Short: "connect standard input and output with a port, or with the first who connects " +
			"to one",
		Args: cobra.RangeArgs(1, 2),
		Example: `  echo hello | sudo gonet nc 10.9.0.1 7
  sudo gonet nc -l 9000 > received          and on this machine: nc 10.9.0.2 9000 < file`,
		RunE: func(cmd *cobra.Command, args []string) error {
			address := args[len(args)-1]
			if n, err := strconv.ParseUint(address, 10, 16); err != nil || n == 0 && !listen {
				return command.Usagef("nc: port %s: not a number from 1 to 65535", address)
			}
			switch {
			case len(args) == 2:
				address = net.JoinHostPort(args[0], address)
			case listen:
				address = ":" + address
			default:
				return command.Usagef("nc: a HOST and a PORT; only -l needs no HOST")
			}
			ctx := cmd.Context()
			return w.with(ctx, cmd.ErrOrStderr(), func(h *host) error {
				c, err := h.meet(ctx, address, listen, cmd.ErrOrStderr())
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

// meet connects, or waits for one who does.
func (h *host) meet(ctx context.Context, address string, listen bool,
	log io.Writer) (net.Conn, error) {
	if !listen {
		return h.DialContext(ctx, "tcp", address)
	}
	l, err := h.Stack.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })() // it may be closed already
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

// join copies both ways until both have ended. The end of the input ends our direction alone, as
// the peer's end does its own.
func join(ctx context.Context, c net.Conn, in io.Reader, out io.Writer) error {
	stop := context.AfterFunc(ctx, func() { _ = c.(*gonet.Conn).Abort() }) // it may have ended
	defer stop()
	sent := make(chan error, 1)
	go func() { // ends with the input, or when the peer takes no more
		_, err := io.Copy(c, in)
		if err == nil {
			err = c.(*gonet.Conn).CloseWrite()
		}
		sent <- err
	}()
	_, err := io.Copy(out, c)
	if err != nil {
		_ = c.Close() // the error is that of the reading
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

// lingerTime is how long the end of what was written may take to arrive. A minute is a guess.
const lingerTime = time.Minute

// finish closes a connection, and waits until the peer has all that was written: the tap goes away
// with this process.
func finish(c net.Conn) error {
	if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	g, ok := c.(*gonet.Conn)
	if !ok {
		return nil
	}
	for end := time.Now().Add(lingerTime); g.Info().Busy(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%v has not acknowledged the end after %v", c.RemoteAddr(),
				lingerTime)
		}
	}
	return nil
}
