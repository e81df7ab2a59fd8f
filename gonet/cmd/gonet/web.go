package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"sort"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

func getCommand() *cobra.Command {
	var w hostFlags
	var file string
	verbose := false
	c := &cobra.Command{
		Use:   "get URL",
		Short: "fetch a URL by HTTP through the stack",
		Args:  cobra.ExactArgs(1),
		Example: `  python3 -m http.server &  sudo gonet get http://10.9.0.1:8000/
  sudo gonet get -v -o page.html http://10.9.0.1:8000/page.html`,
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, args[0], nil)
			if err != nil || request.URL.Host == "" || request.URL.Scheme != "http" &&
				request.URL.Scheme != "https" {
				return usagef("get %s: not a URL of http or https", args[0])
			}
			return w.with(cmd.Context(), cmd.ErrOrStderr(), func(h *host) error {
				var log io.Writer
				if verbose {
					log = cmd.ErrOrStderr()
				}
				return h.get(request, file, cmd.OutOrStdout(), log)
			})
		},
	}
	c.Flags().StringVarP(&file, "output", "o", "", "write to this file")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false,
		"print connections and headers to standard error")
	w.flags(c.Flags())
	return c
}

// get writes the body of the response. A status of 400 or more is an error, and leaves no file.
func (h *host) get(request *http.Request, file string, out, log io.Writer) error {
	transport := &http.Transport{DialContext: h.DialContext, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport}
	if log != nil {
		request = request.WithContext(httptrace.WithClientTrace(request.Context(),
			&httptrace.ClientTrace{
				GotConn: func(i httptrace.GotConnInfo) {
					fmt.Fprintf(log, "* connected: %v to %v\n", i.Conn.LocalAddr(),
						i.Conn.RemoteAddr())
				},
				WroteHeaderField: func(key string, value []string) {
					for _, v := range value {
						fmt.Fprintf(log, "> %s: %s\n", key, v)
					}
				},
			}))
	}
	r, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = r.Body.Close() }() // the body was read, or another error is reported
	if log != nil {
		fmt.Fprintf(log, "< %s %s\n", r.Proto, r.Status)
		keys := make([]string, 0, len(r.Header))
		for k := range r.Header {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			for _, v := range r.Header[k] {
				fmt.Fprintf(log, "< %s: %s\n", k, v)
			}
		}
	}
	if r.StatusCode >= 400 {
		return fmt.Errorf("get %s: %s", request.URL, r.Status)
	}
	if file == "" {
		_, err = io.Copy(out, r.Body)
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r.Body)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(file) // a partial file is worse than none
		return fmt.Errorf("get %s: %w", request.URL, err)
	}
	return nil
}

func serveCommand() *cobra.Command {
	var w hostFlags
	port, verbose := 80, false
	c := &cobra.Command{
		Use:   "serve DIR",
		Short: "serve the files of a folder by HTTP, until Ctrl-C",
		Args:  cobra.ExactArgs(1),
		Example: `  sudo gonet serve .                    and on this machine: curl http://10.9.0.2/
  sudo gonet serve --port 8080 --metrics 127.0.0.1:9100 /var/www`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if port < 0 || port > 65535 {
				return usagef("serve: port %d: from 0, for any that is free, to 65535",
					port)
			}
			root, err := os.OpenRoot(args[0]) // symbolic links cannot lead out of it
			if err != nil {
				return err
			}
			defer func() { _ = root.Close() }() // nothing was written
			handler := http.FileServerFS(root.FS())
			if verbose {
				files := handler
				handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s %s %s\n", r.RemoteAddr, r.Method, r.URL)
					files.ServeHTTP(w, r)
				})
			}
			return w.with(cmd.Context(), cmd.ErrOrStderr(), func(h *host) error {
				return h.serve(cmd.Context(), port, handler, cmd.OutOrStdout())
			})
		},
	}
	c.Flags().IntVarP(&port, "port", "p", port, "of the stack")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "print each request to standard error")
	w.flags(c.Flags())
	return c
}

// The time that a client has to send its request header, and that a connection may be idle.
// Guesses.
const (
	headTime = 10 * time.Second
	idleTime = 2 * time.Minute
)

func (h *host) serve(ctx context.Context, port int, handler http.Handler, out io.Writer) error {
	l, err := h.Stack.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return err
	}
	server := http.Server{Handler: handler, ReadHeaderTimeout: headTime, IdleTimeout: idleTime}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve then returns an error
	defer stop()
	h.describe(out)
	for _, a := range h.plan.addresses {
		fmt.Fprintf(out, "%-9s http://%s\n", "serving",
			hostPort(a.Addr(), l.Addr().(*net.TCPAddr).Port))
	}
	if err = server.Serve(l); ctx.Err() != nil {
		return nil
	}
	return err
}
