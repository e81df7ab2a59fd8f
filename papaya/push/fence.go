package push

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"interleave/papaya/fence"
)

// newFence keeps requests out of the server's own networks, but for those of the settings: users
// choose the endpoints (RFC 8030 section 8, draft/webpush).
func newFence(o Options) fence.Fence {
	return fence.Fence{Open: o.Networks, Setting: "push.networks"}
}

// maxEndpoint is in bytes.
const maxEndpoint = 1000

// check returns what is wrong with an endpoint. Its text is not shown, since it is a secret.
func check(endpoint string, f fence.Fence) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" ||
		len(endpoint) > maxEndpoint {
		return Mistake{fmt.Sprintf("expected the URL of a push service, of at most %d bytes",
			maxEndpoint)}
	}
	a, err := netip.ParseAddr(u.Hostname())
	if err == nil && !f.Admits(a) {
		return Mistake{(&fence.Error{Setting: f.Setting}).Error()}
	}
	if near := err == nil && a.IsLoopback(); u.Scheme != "https" && !(u.Scheme == "http" && near) {
		return Mistake{"expected a URL that begins with https://"}
	}
	return nil
}

// Limits of a request. All are guesses.
const (
	requestTime   = 10 * time.Second
	dialTime      = 5 * time.Second
	maxHeader     = 16 << 10 // of an answer, in bytes
	maxAnswer     = 4 << 10  // of its body, in bytes
	idleEach      = 2        // connections to one host that wait for the next push
	idleAll       = 100
	idleTime      = time.Minute
	handshakeTime = dialTime
)

// newClient makes a client for push services. It follows no redirects and uses no proxy.
func newClient(f fence.Fence) *http.Client {
	dialer := &net.Dialer{Timeout: dialTime, Control: f.Control}
	return &http.Client{
		Timeout: requestTime,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
		Transport: &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: handshakeTime, MaxResponseHeaderBytes: maxHeader,
			MaxIdleConns: idleAll, MaxIdleConnsPerHost: idleEach, IdleConnTimeout: idleTime},
	}
}
