package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"interleave/gonet/link"
)

func upCommand() *cobra.Command {
	var w hostFlags
	c := &cobra.Command{
		Use:   "up",
		Short: "run a stack behind a tap until Ctrl-C",
		Args:  cobra.NoArgs,
		Example: `  sudo gonet up                                     the stack is 10.9.0.2: ping it
  sudo gonet up --address 192.168.50.2/24 --route 172.20.0.0/16
  sudo gonet up --tun tun0                          on a tun: IP packets without Ethernet
  sudo gonet up --tap br0tap --dhcp                 a tap in a bridge, an address from the network's server
  unshare -rn sh -c 'gonet up & sleep 1; ping -c 3 10.9.0.2; kill $!'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return up(cmd.Context(), &w, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	w.flags(c.Flags())
	return c
}

// up runs a stack until the user stops it. When the lease ends, it starts again.
func up(ctx context.Context, w *hostFlags, stdout, stderr io.Writer) error {
	for {
		again := false
		err := w.with(ctx, stderr, func(h *host) error {
			h.describe(stdout)
			err := h.wait(ctx)
			if again = h.leaseLost(); again {
				return nil
			}
			return err
		})
		if err != nil || !again {
			return err
		}
	}
}

// describe prints the tap, the addresses and the routes.
func (h *host) describe(w io.Writer) {
	made := "was there"
	if h.made {
		made = "made, is removed at the end"
	}
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	line(h.tap.Kind(), "%s (%s)", h.tap.Name(), made)
	for _, a := range h.plan.addresses {
		line("stack", "%v%s", a, h.station())
	}
	for _, a := range h.plan.gateways {
		line("gateway", "%v", a)
	}
	for _, a := range h.plan.kernel {
		line("kernel", "%v", a)
	}
	for _, r := range h.plan.routes {
		via, _ := h.plan.via(r) // plan has checked that there is one
		line("route", "%v via %v", r.Masked(), via)
	}
	for _, a := range h.plan.dns {
		line("names", "%v", a)
	}
	if h.client != nil {
		l, until := h.client.Lease(), "for ever"
		if !l.Expires.IsZero() {
			until = "until " + l.Expires.Format(time.DateTime)
		}
		line("lease", "%s, of %v", until, l.Server)
		for _, r := range l.Routes {
			if r.Via.IsValid() {
				line("route", "%v via %v", r.Network, r.Via)
			} else {
				line("route", "%v on the link", r.Network)
			}
		}
	}
	if h.flags.metrics != "" {
		line("metrics", "http://%s/metrics", h.flags.metrics)
	}
	line("ready", "gonet stat %s shows what it does; Ctrl-C ends it", h.tap.Name())
}

// capture is the file of a capture, with a buffer.
type capture struct {
	*link.Capture
	mu     sync.Mutex
	buffer *bufio.Writer
	file   io.WriteCloser
	frames int
	failed chan struct{} // closed after the first write error
	broken sync.Once
}

// Write is called by link.Capture: once for the file's header, and then for each frame.
func (c *capture) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.buffer.Write(b)
	c.note(err)
	if err == nil {
		c.frames++
	}
	return n, err
}

// note closes failed after the first error.
func (c *capture) note(err error) {
	if err != nil {
		c.broken.Do(func() { close(c.failed) })
	}
}

func (c *capture) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.frames
}

// finish writes the rest of the buffer and closes the file.
func (c *capture) finish() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.buffer.Flush(), c.file.Close())
}

// captureTo starts a capture to a file; "-" means standard output.
func (h *host) captureTo(l link.Link, name string) (link.Link, error) {
	file := os.Stdout
	if name != "-" {
		var err error
		if file, err = os.Create(name); err != nil {
			return nil, fmt.Errorf("capture: %w", err)
		}
	} else if term.IsTerminal(int(file.Fd())) {
		return nil,
			usagef("a capture is binary: write it to a file or a pipe: gonet dump " +
				"| tshark -r -")
	}
	c := &capture{buffer: bufio.NewWriter(file), file: file, frames: -1,
		failed: make(chan struct{})}
	var err error
	if c.Capture, err = link.NewCapture(l, h.tap.Name(), c); err != nil {
		return nil, err
	}
	h.capture = c
	// the file is closed last, except for the tap
	h.undo = append([]func() error{h.undo[0], c.finish}, h.undo[1:]...)
	return c.Capture, nil
}

// flushEvery is how long a frame may wait in the buffer.
const flushEvery = 200 * time.Millisecond

// keepFlushing is the goroutine that flushes the buffer regularly, until the stack ends.
func (c *capture) keepFlushing(done <-chan struct{}) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.mu.Lock()
			c.note(c.buffer.Flush()) // the buffer keeps the error, and finish returns it
			c.mu.Unlock()
		case <-done:
			return
		}
	}
}

func dumpCommand() *cobra.Command {
	var w hostFlags
	c := &cobra.Command{
		Use:   "dump [FILE]",
		Short: "capture the tap of a stack, as pcapng, to a file or standard output",
		Args:  cobra.MaximumNArgs(1),
		Example: `  sudo gonet dump trace.pcapng          until Ctrl-C; then: wireshark trace.pcapng
  sudo gonet dump | tshark -r -         as it happens
  sudo gonet get --capture get.pcapng http://10.9.0.1:8000/   the same for any other command`,
		RunE: func(cmd *cobra.Command, args []string) error {
			w.capture = "-"
			if len(args) == 1 {
				w.capture = args[0]
			}
			log := cmd.ErrOrStderr()
			return w.with(cmd.Context(), log, func(h *host) error {
				h.describe(log)
				ctx, cancel := context.WithCancel(cmd.Context())
				defer cancel()
				go func() { // ends with ctx
					select {
					case <-h.capture.failed:
						cancel()
					case <-ctx.Done():
					}
				}()
				err := h.wait(ctx)
				fmt.Fprintf(log, "%d frames\n", h.capture.count())
				return err // finish returns an error of the file
			})
		},
	}
	w.flags(c.Flags())
	if err := c.Flags().MarkHidden("capture"); err != nil {
		panic(err) // the flag exists
	}
	c.Long = strings.ToUpper(c.Short[:1]) + c.Short[1:] +
		".\n\nMeanwhile the stack answers, as that of `gonet up` does."
	return c
}
