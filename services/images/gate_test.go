package images

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"interleave/internal/freeport"
)

// A gate is between a service and the next one of its chain, at a fixed address.
type gate struct {
	t    *testing.T
	port int
	mute atomic.Bool
	mu   sync.Mutex
	open map[io.Closer]bool // the listener and the connections
}

// newGate makes a closed one.
func newGate(t *testing.T) *gate {
	g := &gate{t: t, port: freeport.For(t), open: map[io.Closer]bool{}}
	t.Cleanup(g.close)
	return g
}

func (g *gate) url() string { return fmt.Sprintf("http://127.0.0.1:%d", g.port) }

// close ends all connections, and accepts no more.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.open {
		_ = c.Close() // some have ended
	}
	clear(g.open)
}

// set closes the gate and opens it again with this function for its connections.
func (g *gate) set(serve func(net.Conn)) {
	g.t.Helper()
	g.close()
	g.mute.Store(false)
	listener, err := freeport.Listen(g.port)
	if err != nil {
		g.t.Fatal(err)
	}
	g.keep(listener)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			g.keep(conn)
			go func() {
				defer g.drop(conn)
				serve(conn)
			}()
		}
	}()
}

func (g *gate) keep(c io.Closer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open[c] = true
}

func (g *gate) drop(c io.Closer) {
	_ = c.Close() // it may have been closed already
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, c)
}

// to lets connections through to a server.
func (g *gate) to(port int) func(net.Conn) {
	return func(in net.Conn) {
		out, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return // it is not there, and the connection ends
		}
		g.keep(out)
		defer g.drop(out)
		go func() {
			_, _ = io.Copy(valve{g, out}, in) // until either end goes
			_ = out.(*net.TCPConn).CloseWrite()
		}()
		_, _ = io.Copy(valve{g, in}, out)
	}
}

// A valve passes nothing on while the gate is mute: clients stay connected, and get nothing.
type valve struct {
	gate *gate
	to   io.Writer
}

func (v valve) Write(p []byte) (int, error) {
	if v.gate.mute.Load() {
		return len(p), nil
	}
	return v.to.Write(p)
}

// A liar answers every request with its text, and ends the connection after it if the
// text is not whole.
type liar struct {
	mu    sync.Mutex
	text  string
	whole bool
}

func (l *liar) say(text string, whole bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text, l.whole = text, whole
}

func (l *liar) serve(in net.Conn) {
	for from := bufio.NewReader(in); ; {
		r, err := http.ReadRequest(from)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // a request that is cut is answered, too
		l.mu.Lock()
		text, whole := l.text, l.whole
		l.mu.Unlock()
		if _, err := io.WriteString(in, text); err != nil || !whole {
			return
		}
	}
}
