package gateway

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"

	"interleave/gonet/relay"
)

// The bounds of a client's request. Guesses; those of the handshake are as of SOCKS.
const (
	headerTime     = 10 * time.Second
	idleTime       = time.Minute
	maxHeaderBytes = 64 << 10
	// The connections to servers that are kept for the next request.
	maxIdle     = 64
	maxIdleTime = 30 * time.Second
)

// HTTP opens an HTTP proxy at an address of the network near, for servers of the network far:
// CONNECT, and requests with an absolute URL of http.
func HTTP(near, far Network, address string, o Options) (*Service, error) {
	l, err := near.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	limited := o.limit(l)
	return &Service{Name: "http", Addr: l.Addr(), Closer: limited.Close,
		Serve: func(ctx context.Context) error { return serveHTTP(ctx, limited, far, o) }}, nil
}

func serveHTTP(ctx context.Context, l *relay.Limited, far Network, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	transport := &http.Transport{DialContext: far.dial, MaxIdleConns: maxIdle,
		IdleConnTimeout: maxIdleTime, ExpectContinueTimeout: time.Second,
		DisableCompression: true} // the body is the client's, as the server has encoded it
	defer transport.CloseIdleConnections()
	lines := log.New(logWriter(o.Verbose), "", 0)
	p := &proxy{far: far, o: o, full: l.NearlyFull}
	p.absolute = &httputil.ReverseProxy{Transport: transport, Rewrite: restore, FlushInterval: -1,
		ErrorHandler: p.fail, ErrorLog: lines}
	server := &http.Server{Handler: p, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: lines,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // the listener may be closed
	err := server.Serve(l)
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(err, server.Close())
}

// logWriter writes each line to a log.
type logWriter func(format string, args ...any)

func (w logWriter) Write(line []byte) (int, error) {
	logTo(w, "http: %s", strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}

// proxy is the handler. It adds no Via and no X-Forwarded-For: servers of the tunnel learn nothing
// of the clients.
type proxy struct {
	far      Network
	o        Options
	full     func() bool // clients may be waiting for a connection to end
	absolute *httputil.ReverseProxy
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.full() {
		w.Header().Set("Connection", "close") // and not idle until idleTime has passed
	}
	switch {
	case p.o.Login.Required() && !p.admits(r):
		w.Header().Set("Proxy-Authenticate", `Basic realm="gonet wg"`)
		http.Error(w, "This proxy needs a user name and a password.",
			http.StatusProxyAuthRequired)
	case r.Method == http.MethodConnect:
		p.connect(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		logTo(p.o.Verbose, "http: %s: %s %s", r.RemoteAddr, r.Method, r.URL.Redacted())
		p.absolute.ServeHTTP(w, r)
	case r.URL.IsAbs():
		http.Error(w, "This proxy takes URLs of http, and CONNECT for all else.",
			http.StatusBadRequest)
	default:
		http.Error(w, "This is a proxy. It serves no pages of its own: set it as the HTTP proxy "+
			"of a browser, or use curl -x.", http.StatusBadRequest)
	}
}

// admits checks the name and the password of a request.
func (p *proxy) admits(r *http.Request) bool {
	as := http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
	user, password, ok := as.BasicAuth()
	return ok && p.o.Login.Matches(user, password)
}

// restore puts back what a reverse proxy takes out of a request, and a forward proxy should not:
// fields that are not of this hop, and parameters that cannot be parsed.
func restore(r *httputil.ProxyRequest) {
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host",
		"X-Forwarded-Proto"} {
		if values := r.In.Header[name]; values != nil {
			r.Out.Header[name] = values
		}
	}
}

// connect serves CONNECT (RFC 9110 section 9.3.6).
func (p *proxy) connect(w http.ResponseWriter, r *http.Request) {
	if _, port, err := net.SplitHostPort(r.Host); err != nil || port == "" {
		http.Error(w, "CONNECT needs HOST:PORT.", http.StatusBadRequest)
		return
	}
	far, err := p.far.dial(r.Context(), "tcp", r.Host)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	defer func() { _ = far.Close() }() // it may be closed already
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		p.fail(w, r, err)
		return
	}
	defer func() { _ = near.Close() }() // it may be closed already
	logTo(p.o.Verbose, "http: %s: connected to %s", r.RemoteAddr, r.Host)
	early, err := buffered.Peek(buffered.Reader.Buffered())
	if err == nil {
		_, err = near.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n"))
	}
	if err == nil {
		_, err = far.Write(early)
	}
	if err == nil {
		err = relay.Join(r.Context(), near, far)
	}
	if err != nil && r.Context().Err() == nil {
		logTo(p.o.Verbose, "http: %s: %v", r.RemoteAddr, err)
	}
}

// fail answers a request whose server cannot be reached.
func (p *proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client has gone
	}
	logTo(p.o.Verbose, "http: %s: %v", r.RemoteAddr, err)
	status := http.StatusBadGateway
	if isTimeout(err) {
		status = http.StatusGatewayTimeout
	}
	http.Error(w, fmt.Sprintf("%s cannot be reached through the tunnel: %v", r.Host, err), status)
}
