// The start and the end of the server, which are the same with and without Gin.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"
)

const (
	endLimit  = time.Second // for requests under way after SIGTERM
	headBytes = 16 << 10    // of a request's head
	idleLimit = 2 * time.Minute
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) < 4 || len(args) > 6 {
		return errors.New("expected PORT HOST DATA FILES [NEXT] [DATABASE]")
	}
	behind, database, err := others(args[4:])
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(args[1], args[0]))
	if err != nil {
		return err
	}
	defer listener.Close()
	shared, err := readFiles(args[3])
	if err != nil {
		return err
	}
	store, err := openStore(ctx, args[2], args[3], database)
	if err != nil {
		return err
	}
	defer store.close()
	defer profile()()
	return serve(ctx, listener, routes(&service{store: store, next: behind, files: shared,
		making: make(chan struct{}, makers)}))
}

// others reads the words after the four required ones: `-` for nothing, the next service, a
// database.
func others(words []string) (behind *next, database []string, err error) {
	for _, word := range words {
		switch {
		case word == "-":
		case behind == nil && strings.HasPrefix(word, "http"):
			if behind, err = newNext(word); err != nil {
				return nil, nil, err
			}
		default:
			database = append(database, word)
		}
	}
	switch {
	case len(database) > 1:
		return nil, nil, errors.New("expected PORT HOST DATA FILES [NEXT] [DATABASE]")
	case len(database) == 1 && behind != nil:
		return nil, nil,
			errors.New("a service with a next one keeps its images in SQLite: expected no DATABASE")
	}
	return behind, database, nil
}

// serve answers until ctx ends, and then gives requests under way endLimit.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: stallLimit, IdleTimeout: idleLimit,
		MaxHeaderBytes: headBytes,
		ErrorLog:       log.New(io.Discard, "", 0)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	fmt.Fprintln(os.Stderr, "ready")
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	if server.Shutdown(last) != nil {
		_ = server.Close() // unfinished requests are cut off
	}
	return nil
}

// profile writes a CPU profile to the file that CPUPROFILE names, until the function that it
// returns is called.
func profile() (end func()) {
	file, err := os.Create(os.Getenv("CPUPROFILE"))
	if err != nil || pprof.StartCPUProfile(file) != nil {
		return func() {}
	}
	return func() { pprof.StopCPUProfile(); _ = file.Close() }
}
