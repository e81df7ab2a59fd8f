package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"time"

	"interleave/papaya/proxy"
)

// acceptProxied accepts the connections of reverse proxies, which name their client by the PROXY
// protocol.
func (s *server) acceptProxied(l net.Listener) { s.acceptEach(l, s.introduce) }

// introduce reads whose connection a proxy passes on, and serves that client.
func (s *server) introduce(c net.Conn) {
	if !s.trusts(c.RemoteAddr().String()) {
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Now().Add(s.config.Limits.Register))
	client, err := proxy.Unwrap(c)
	if err != nil {
		s.config.Logger.Debug("a reverse proxy was not understood", "from", c.RemoteAddr(),
			"reason", err)
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	if client.TLS() && s.secure != nil {
		s.handshake(tls.Server(s.turns.Wrap(client), s.secure))
		return
	}
	s.take(client, client.Secure(), "")
}

// complainEvery bounds how often a connection from an unknown address is logged.
const complainEvery = time.Minute

// trusts says whether an address is that of a reverse proxy that is believed.
func (s *server) trusts(address string) bool {
	peer, err := netip.ParseAddrPort(address)
	if err == nil && s.config.Proxies.Contains(peer.Addr()) {
		return true
	}
	now, last := time.Since(s.start)+complainEvery, s.complained.Load()
	if now-time.Duration(last) >= complainEvery && s.complained.CompareAndSwap(last, int64(now)) {
		s.config.Logger.Warn("an address that is not in listen.trusted came as a reverse proxy",
			"address", address)
	}
	return false
}

// A forwardedKey keeps the proxy.Client of a request in its context.
type forwardedKey struct{}

// serveProxiedWeb serves browsers behind a reverse proxy.
func (s *server) serveProxiedWeb(l net.Listener) {
	inner := s.pages()
	s.serveHTTP(l, s.webServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.trusts(r.RemoteAddr) {
			http.Error(w, "this address is for reverse proxies in listen.trusted",
				http.StatusForbidden)
			return
		}
		client, err := s.config.Proxies.Client(r.Header, s.config.ProxyHeader)
		switch {
		case err == nil:
			r = r.WithContext(context.WithValue(r.Context(), forwardedKey{}, client))
			r.RemoteAddr = client.Address.String()
		case !errors.Is(err, proxy.ErrUnnamed) || !isCheck(r):
			// Without a name the client would count as the proxy, which is not limited as it is.
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		inner.ServeHTTP(w, r)
	})))
}

// isCheck says whether a request may be one of the proxy itself, such as a health check: it asks
// for a page, and nothing that is limited or allowed by address.
func isCheck(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && !upgrades(r) &&
		r.Header.Get("Authorization") == ""
}

// Encrypted says whether the browser's connection is encrypted, here or by a reverse proxy.
func Encrypted(r *http.Request) bool {
	client, ok := r.Context().Value(forwardedKey{}).(proxy.Client)
	return r.TLS != nil || ok && client.Secure
}
