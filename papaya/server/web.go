package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// subprotocol is IRC as text: each frame is one line without its end (IRCv3, WebSocket).
const subprotocol = "text.ircv3.net"

// maxHeader bounds the header of an HTTP request in bytes.
const maxHeader = 16 << 10

// serveWeb serves browsers on one listener: a WebSocket at /socket, and WebHandler at all other
// paths.
func (s *server) serveWeb(l net.Listener) {
	mux := http.NewServeMux()
	mux.HandleFunc("/socket", s.socket)
	if s.config.WebHandler != nil {
		mux.Handle("/", s.config.WebHandler)
	}
	web := &http.Server{
		Handler: mux, ReadHeaderTimeout: s.config.Limits.Register,
		IdleTimeout: s.config.Limits.Silent, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelDebug),
	}
	if err := web.Serve(l); err != nil && !errors.Is(err, net.ErrClosed) &&
		!errors.Is(err, http.ErrServerClosed) {
		s.config.Logger.Error("browsers are not served any more", "reason", err)
	}
}

func (s *server) socket(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{subprotocol},
		OriginPatterns: s.config.Origins})
	if err != nil {
		return // Accept has answered with the reason
	}
	ws.SetReadLimit(maxWhole)
	print := ""
	if r.TLS != nil {
		print = fingerprint(*r.TLS)
	}
	s.take(&wsConn{ws: ws, remote: remoteOf(r)}, r.TLS != nil, print)
}

func remoteOf(r *http.Request) net.Addr {
	if a, err := net.ResolveTCPAddr("tcp", r.RemoteAddr); err == nil {
		return a
	}
	return &net.TCPAddr{}
}

// wsConn makes a stream of lines out of a WebSocket: each frame is a line, and each line a frame.
type wsConn struct {
	net.Conn // nil: methods that are not below are not called
	ws       *websocket.Conn
	remote   net.Addr
	rest     io.Reader
}

// errBinary ends a connection whose frames are not of the subprotocol.
var errBinary = errors.New("a frame that is not text")

func (w *wsConn) Read(p []byte) (int, error) {
	for {
		if w.rest == nil {
			kind, frame, err := w.ws.Reader(context.Background())
			if err == nil && kind != websocket.MessageText {
				_ = w.ws.Close(websocket.StatusUnsupportedData, "text frames only")
				err = errBinary
			}
			if err != nil {
				switch websocket.CloseStatus(err) {
				case websocket.StatusNormalClosure, websocket.StatusGoingAway,
					websocket.StatusNoStatusRcvd:
					return 0, io.EOF
				default: // a stream without a closing frame has not ended in order
					return 0, fmt.Errorf("the end of a WebSocket: %s", err.Error())
				}
			}
			w.rest = io.MultiReader(frame, strings.NewReader("\n"))
		}
		n, err := w.rest.Read(p)
		if err != nil {
			w.rest = nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if n > 0 {
			return n, nil
		}
	}
}

// frameTimeout bounds the write of one line to a browser that does not read.
const frameTimeout = time.Minute

func (w *wsConn) Write(p []byte) (int, error) {
	for l := range strings.Lines(string(p)) {
		ctx, cancel := context.WithTimeout(context.Background(), frameTimeout)
		err := w.ws.Write(ctx, websocket.MessageText,
			[]byte(strings.ToValidUTF8(strings.TrimRight(l, "\r\n"), "\uFFFD")))
		cancel()
		if err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Close sends the closing frame in another goroutine: the caller holds a lock, and a browser may
// take seconds to answer.
func (w *wsConn) Close() error {
	go func() { _ = w.ws.Close(websocket.StatusNormalClosure, "") }()
	return nil
}

func (w *wsConn) RemoteAddr() net.Addr             { return w.remote }
func (w *wsConn) SetReadDeadline(time.Time) error  { return nil }
func (w *wsConn) SetWriteDeadline(time.Time) error { return nil }
