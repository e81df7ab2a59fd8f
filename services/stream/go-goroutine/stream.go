// Stream, net/http and a goroutine for each client: the program of the source, with a timer channel
// that the goroutine waits for. The price is the comfort of net/http: two buffers, a request and a
// second goroutine that watches the connection, for each client.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

// stall is how long a client may take nothing; a head has as long to come.
const stall = 10 * time.Second

// gonet.go replaces these with the functions of a stack in the program.
var (
	listen = net.Listen
	leave  = func() error { return nil }
)

var path = regexp.MustCompile(`^/test/[A-Za-z0-9_-]{1,64}$`)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: stream PORT [HOST]")
	}
	stop, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	host := append(os.Args, "127.0.0.1")[2]
	listener, err := listen("tcp4", net.JoinHostPort(host, os.Args[1]))
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{
		Handler: http.HandlerFunc(feed), MaxHeaderBytes: 8 << 10, ReadHeaderTimeout: stall,
		IdleTimeout: stall,
		ErrorLog:    log.New(discard{}, "", 0), // a client's mistake is its own
	}
	go server.Serve(listener) //nolint:errcheck // it waits out what Accept says of missing descriptors
	fmt.Fprintln(os.Stderr, "ready")
	<-stop.Done()
	_ = leave()
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func feed(w http.ResponseWriter, r *http.Request) {
	id := r.URL.EscapedPath()
	switch {
	case !path.MatchString(id):
		http.NotFound(w, r)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if r.Method == http.MethodHead {
		return
	}
	out := http.NewResponseController(w)
	begin, tick := time.Now(), time.NewTicker(time.Second)
	defer tick.Stop()
	fmt.Fprintf(w, "Goconntest welcomes you! Your Id: %s\n", id)
	for n := time.Duration(1); out.Flush() == nil; {
		select {
		case <-tick.C:
		case <-r.Context().Done(): // it has gone
			return
		}
		_ = out.SetWriteDeadline(time.Now().Add(stall))
		// more than one, where ticks were lost to a busy machine
		for ; time.Since(begin) >= n*time.Second; n++ {
			fmt.Fprintf(w, "Chunk %d for id %s\n", n, id)
			_ = out.Flush()
		}
	}
}
