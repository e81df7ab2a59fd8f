package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// control serves the statistics of the stack to `gonet stat` and Prometheus: at a Unix socket named
// after tap and process, and at the address of --metrics.
func (h *host) control() error {
	handler := http.NewServeMux()
	handler.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		h.report(w, h.text)
	})
	handler.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		h.report(w, h.metrics)
	})
	serve := func(l net.Listener) {
		server := &http.Server{Handler: handler, ReadHeaderTimeout: headTime, IdleTimeout: idleTime}
		h.undo = append(h.undo, server.Close)
		go func() { _ = server.Serve(l) }() // ends with server.Close
	}
	if h.capture != nil {
		go h.capture.keepFlushing(h.Stack.Done())
	}
	dir, err := socketDir()
	if err == nil {
		// Remove the sockets of killed processes: one may have had our process number.
		_, _ = find("")
		var l net.Listener
		if l, err = net.Listen("unix", filepath.Join(dir, fmt.Sprintf("%s-%d.sock", h.tap.Name(),
			os.Getpid()))); err == nil {
			serve(l)
		}
	}
	if err != nil {
		fmt.Fprintf(h.log, "gonet: `gonet stat` will not find this one: %v\n", err)
	}
	if h.flags.metrics == "" {
		return nil
	}
	l, err := net.Listen("tcp", h.flags.metrics)
	if err != nil {
		return fmt.Errorf("--metrics: %w", err)
	}
	serve(l)
	return nil
}

func (h *host) report(w http.ResponseWriter, write func(io.Writer) error) {
	if err := write(w); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

func (h *host) text(w io.Writer) error {
	s, err := h.Stack.Snapshot()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s %s, process %d, for %v\n", h.tap.Kind(), h.tap.Name(), os.Getpid(),
		time.Since(h.started).Round(time.Second))
	for _, a := range h.Stack.Addresses() {
		fmt.Fprintf(w, "%-20s %v%s\n", "address", a, h.station())
	}
	if n := h.tap.Dropped(); n > 0 {
		fmt.Fprintf(w, "%-20s %d\n", "dropped_tap", n)
	}
	return s.WriteText(w)
}

func (h *host) metrics(w io.Writer) error {
	s, err := h.Stack.Snapshot()
	if err != nil {
		return err
	}
	fmt.Fprintf(w,
		"# HELP gonet_dropped_tap_total Frames that the kernel had no room for.\n# TYPE "+
			"gonet_dropped_tap_total counter\ngonet_dropped_tap_total %d\n", h.tap.Dropped())
	return s.WriteMetrics(w)
}

// socketDir returns the folder of this user's sockets, to which no other user may write.
func socketDir() (string, error) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		dir = filepath.Join(dir, "gonet")
		return dir, os.MkdirAll(dir, 0o700)
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("gonet-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return dir, err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return dir, err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(s.Uid) != os.Getuid() ||
		info.Mode().Perm()&0o022 != 0 {
		return dir, fmt.Errorf("%s is not this user's alone", dir)
	}
	return dir, nil
}

// running is a process whose socket answers.
type running struct {
	tap, path string
	pid       int
}

func (r running) String() string { return fmt.Sprintf("%s (process %d)", r.tap, r.pid) }

// find lists this user's running stacks, or those with a tap or process number of the given name.
// It removes sockets at which nobody answers.
func find(name string) (list []running, err error) {
	dir, err := socketDir()
	if err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.sock"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		base := strings.TrimSuffix(filepath.Base(path), ".sock")
		at := strings.LastIndexByte(base, '-')
		pid, err := strconv.Atoi(base[at+1:])
		if at < 0 || err != nil || name != "" && name != base[:at] && name != base[at+1:] {
			continue
		}
		c, err := net.Dial("unix", path)
		if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(path) // its process was killed
		}
		if err == nil {
			_ = c.Close() // nothing was sent
			list = append(list, running{base[:at], path, pid})
		}
	}
	return list, nil
}

// statTime bounds how long a running stack may take to answer.
const statTime = 10 * time.Second

func statCommand() *cobra.Command {
	prometheus := false
	c := &cobra.Command{
		Use:   "stat [TAP | PROCESS]",
		Short: "show the counters, drops and connections (as ss -ti) of a running gonet",
		Args:  cobra.MaximumNArgs(1),
		Example: `  gonet stat                     the only one that runs
  gonet stat gonet1
  gonet stat --prometheus        as http://ADDRESS/metrics of --metrics ADDRESS has it`,
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "/"
			if prometheus {
				path = "/metrics"
			}
			return stat(cmd.Context(), strings.Join(args, ""), path, cmd.OutOrStdout())
		},
	}
	c.Flags().BoolVar(&prometheus, "prometheus", false, "in the format of Prometheus")
	return c
}

func stat(ctx context.Context, name, path string, out io.Writer) error {
	list, err := find(name)
	switch {
	case err != nil:
		return err
	case len(list) == 0 && name == "":
		return errors.New("stat: no gonet of this user runs")
	case len(list) == 0:
		return fmt.Errorf("stat: no gonet of this user runs on %s", name)
	case len(list) > 1:
		return fmt.Errorf("stat: several run, name one: %s", strings.Trim(fmt.Sprint(list), "[]"))
	}
	ctx, cancel := context.WithTimeout(ctx, statTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://gonet"+path, nil)
	if err != nil {
		return err
	}
	var d net.Dialer
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		return d.DialContext(ctx, "unix", list[0].path)
	}}
	defer transport.CloseIdleConnections()
	r, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return fmt.Errorf("stat: %v: %w", list[0], err)
	}
	defer func() { _ = r.Body.Close() }() // the body was read to its end
	_, err = io.Copy(out, r.Body)
	return err
}
