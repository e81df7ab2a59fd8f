package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"interleave/internal/command"
)

// benchOptions are the flags of `papaya bench`.
type benchOptions struct {
	clients, pipeline, size int
	window                  time.Duration
}

func benchCommand() *cobra.Command {
	var o benchOptions
	c := &cobra.Command{
		Use:   "bench ADDRESS",
		Short: "Load a chat server of yours, and print what it delivers",
		Long: `Fill one room of the server at ADDRESS with clients that all talk, and count what each of them receives. It loads any IRC
server, and its users will notice: use only a server of your own. The load takes cores from a server on the same machine. The
laboratory (interleave bench chat) measures with more care.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.clients < 2 || o.pipeline < 1 || o.size < 1 || o.size > 400 || o.window <= 0 {
				return command.Usagef("bench: at least 2 clients, 1 message in flight, 1 to 400 " +
					"bytes, and some time")
			}
			r, err := bench(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(),
				"%d clients: %.0f messages/s said and acknowledged, %.0f/s delivered; slowest "+
					"acknowledgement %v\n",
				o.clients, float64(r.said.Load())/o.window.Seconds(),
				float64(r.heard.Load())/o.window.Seconds(),
				time.Duration(r.slowest.Load()).Round(10*time.Microsecond))
			return err
		},
	}
	f := c.Flags()
	f.IntVar(&o.clients, "clients", 64, "clients in the room")
	f.IntVar(&o.pipeline, "pipeline", 16,
		"messages of one client before it waits for the acknowledgement")
	f.IntVar(&o.size, "size", 64, "bytes of a message")
	f.DurationVar(&o.window, "window", 5*time.Second, "how long to count")
	return c
}

// benched are the counts of all clients within the window.
type benched struct {
	counting             atomic.Bool
	said, heard, slowest atomic.Int64
}

// joinTimeout bounds the time until all clients have joined.
const joinTimeout = time.Minute

func bench(ctx context.Context, address string, o benchOptions) (*benched, error) {
	r := &benched{}
	group, inside := errgroup.WithContext(ctx)
	talk, end := make(chan struct{}), make(chan struct{})
	var in sync.WaitGroup
	in.Add(o.clients)
	for n := range o.clients {
		group.Go(func() error { return benchClient(inside, address, n, o, r, &in, talk, end) })
	}
	go func() {
		in.Wait()
		close(talk)
		time.Sleep(time.Second) // until the load is steady
		r.counting.Store(true)
		time.Sleep(o.window)
		r.counting.Store(false)
		close(end)
	}()
	return r, group.Wait()
}

// benchClient joins, and sends messages as fast as they are acknowledged.
func benchClient(ctx context.Context, address string, n int, o benchOptions, r *benched,
	in *sync.WaitGroup, talk, end <-chan struct{}) error {
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(joinTimeout + o.window))
	if _, err := fmt.Fprintf(c, "NICK b%d\r\nUSER bench 0 * :bench\r\nJOIN #bench\r\nPING :in\r\n",
		n); err != nil {
		return err
	}
	pongs, failed := make(chan struct{}, 1), make(chan error, 1)
	go func() { failed <- benchHear(c, r, pongs) }()
	wait := func() error {
		select {
		case <-pongs:
			return nil
		case err := <-failed:
			return fmt.Errorf("client %d: %w", n, err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := wait(); err != nil {
		return err
	}
	in.Done()
	<-talk
	words := strings.Repeat("PRIVMSG #bench :"+strings.Repeat("x", o.size)+"\r\n", o.pipeline) +
		"PING :ack\r\n"
	for {
		select {
		case <-end:
			return nil
		default:
		}
		begin := time.Now()
		if _, err := c.Write([]byte(words)); err != nil {
			return err
		}
		if err := wait(); err != nil {
			return err
		}
		if r.counting.Load() {
			r.said.Add(int64(o.pipeline))
			for took := int64(time.Since(begin)); ; {
				if was := r.slowest.Load(); took <= was || r.slowest.CompareAndSwap(was, took) {
					break
				}
			}
		}
	}
}

// benchHear counts messages, answers PING, and reports acknowledgements.
func benchHear(c net.Conn, r *benched, pongs chan<- struct{}) error {
	buf, have := make([]byte, 64<<10), 0
	for {
		n, err := c.Read(buf[have:])
		if err != nil {
			return err
		}
		have += n
		whole := bytes.LastIndexByte(buf[:have], '\n') + 1
		lines := buf[:whole]
		if r.counting.Load() {
			r.heard.Add(int64(bytes.Count(lines, []byte(" PRIVMSG "))))
		}
		for l := range bytes.Lines(lines) {
			switch token, asked := bytes.CutPrefix(l, []byte("PING ")); {
			case asked:
				if _, err := c.Write(append([]byte("PONG "), token...)); err != nil {
					return err
				}
			case bytes.Contains(l[:min(len(l), 32)], []byte(" PONG ")):
				pongs <- struct{}{}
			case bytes.HasPrefix(l, []byte("ERROR")):
				return errors.New(string(bytes.TrimSpace(l)))
			}
		}
		have = copy(buf, buf[whole:have])
		if have == len(buf) {
			return errors.New("a line without an end")
		}
	}
}
