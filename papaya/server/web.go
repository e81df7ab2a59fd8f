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

// The subprotocols: each frame is one line without its end (IRCv3, WebSocket). Text frames are
// UTF-8, and binary ones may have any bytes.
const (
	textProtocol   = "text.ircv3.net"
	binaryProtocol = "binary.ircv3.net"
)

// maxHeader bounds the header of an HTTP request in bytes.
const maxHeader = 16 << 10

// serveWeb serves browsers on one listener: a WebSocket at /socket and /, sign-ins that stay at
// /stay, and WebHandler at all other paths.
func (s *server) serveWeb(l net.Listener) {
	web := s.webServer(s.pages())
	if s.config.EnterWeb != nil {
		conns := webConns{enter: s.config.EnterWeb, leave: map[net.Conn]func(){}}
		web.ConnState = conns.observe
	}
	s.serveHTTP(l, web)
}

// pages is the handler of all requests, below Config.Base.
func (s *server) pages() http.Handler {
	mux := http.NewServeMux()
	if s.config.Stay != nil {
		mux.HandleFunc("/stay", s.stay)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case isSocket(r):
			s.socket(w, r) // clients that are given a host only
		case s.config.WebHandler != nil:
			s.config.WebHandler.ServeHTTP(w, r)
		default:
			http.NotFound(w, r)
		}
	})
	guarded := s.guard(mux)
	if s.config.Base == "" {
		return guarded
	}
	based := http.NewServeMux() // it leads from the base itself to the page
	based.Handle(s.config.Base+"/", http.StripPrefix(s.config.Base, guarded))
	return based
}

// upgrades says whether a request asks for a WebSocket.
func upgrades(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

func (s *server) webServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: s.config.Limits.Register,
		IdleTimeout: s.config.Limits.Silent, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelDebug),
	}
}

func (s *server) serveHTTP(l net.Listener, web *http.Server) {
	if err := web.Serve(l); err != nil && !errors.Is(err, net.ErrClosed) &&
		!errors.Is(err, http.ErrServerClosed) {
		s.config.Logger.Error("browsers are not served any more", "reason", err)
	}
}

func (s *server) socket(w http.ResponseWriter, r *http.Request) {
	token := ""
	if s.config.Stay != nil {
		token = BrowserToken(r, s.config.Base)
	}
	if token != "" { // the browser keeps it from now on
		http.SetCookie(w, s.cookie(token))
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: wanted(r),
		OriginPatterns: s.config.Origins})
	if err != nil {
		return // Accept has answered with the reason
	}
	ws.SetReadLimit(maxWhole)
	print := ""
	if r.TLS != nil {
		print = fingerprint(*r.TLS)
	}
	s.take(&wsConn{ws: ws, remote: remoteOf(r), token: token}, Encrypted(r), print)
}

// wanted returns the subprotocols in the order of the client, whose first choice counts.
func wanted(r *http.Request) []string {
	var out []string
	for _, header := range r.Header.Values("Sec-WebSocket-Protocol") {
		for word := range strings.SplitSeq(header, ",") {
			switch word = strings.TrimSpace(word); word {
			case textProtocol, binaryProtocol:
				out = append(out, word)
			}
		}
	}
	return out
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
	token    string // of its cookie; empty: none
	rest     io.Reader
}

// kind is that of the subprotocol's frames.
func (w *wsConn) kind() websocket.MessageType {
	if w.ws.Subprotocol() == binaryProtocol {
		return websocket.MessageBinary
	}
	return websocket.MessageText
}

// errFrame ends a connection whose frames are not of the subprotocol.
var errFrame = errors.New("a frame that is not of the subprotocol")

func (w *wsConn) Read(p []byte) (int, error) {
	for {
		if w.rest == nil {
			kind, frame, err := w.ws.Reader(context.Background())
			if err == nil && kind != w.kind() {
				_ = w.ws.Close(websocket.StatusUnsupportedData, "not the subprotocol's frames")
				err = errFrame
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
		l, kind := strings.TrimRight(l, "\r\n"), w.kind()
		if kind == websocket.MessageText {
			l = strings.ToValidUTF8(l, "\uFFFD")
		}
		err := w.ws.Write(ctx, kind, []byte(l))
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
