package server

import (
	"net"
	"net/http"
	"sync"
)

// webConns are the connections of browsers that a limit counts. One that is not open any more does
// not count, nor does one that is a WebSocket, for which take asks Config.Enter. Any goroutine may
// use it.
type webConns struct {
	enter func(address net.Addr) (leave func(), ok bool)
	mu    sync.Mutex
	leave map[net.Conn]func()
}

// observe is for http.Server.ConnState. It closes a connection beyond the limit before anything is
// read from it.
func (w *webConns) observe(c net.Conn, now http.ConnState) {
	switch now {
	case http.StateNew:
		leave, ok := w.enter(c.RemoteAddr())
		if !ok {
			_ = c.Close() // the server sees the end of it
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.leave[c] = leave
	case http.StateHijacked, http.StateClosed:
		w.mu.Lock()
		leave := w.leave[c]
		delete(w.leave, c)
		w.mu.Unlock()
		if leave != nil {
			leave()
		}
	}
}
