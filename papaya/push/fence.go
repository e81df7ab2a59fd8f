package push

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"interleave/papaya/proxy"
)

// A fence keeps requests out of the server's own networks: users choose the endpoints, and must not
// reach by them what they cannot reach themselves (RFC 8030 section 8, draft/webpush). Open are
// networks that it lets requests into, such as that of an ntfy at home.
type fence struct {
	open proxy.Networks
}

// closed are networks that are not of the Internet, or lead into others. Those that package netip
// knows are missing.
var closed = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // RFC 6598
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), // RFC 2544
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"),        // an IPv4 address within
	netip.MustParsePrefix("64:ff9b::/96"), // likewise: RFC 6052
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2001::/32"), // likewise: Teredo
	netip.MustParsePrefix("2002::/16"), // likewise: 6to4
	netip.MustParsePrefix("fec0::/10"),
}

// errFenced is the error of a request into a network that is closed.
var errFenced = errors.New("the address is of a network that notifications are kept out of " +
	"(push.networks)")

// admits says whether requests may go to an address.
func (f fence) admits(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if f.open.Contains(a) {
		return true
	}
	return a.IsGlobalUnicast() && !a.IsPrivate() && !proxy.Networks(closed).Contains(a) &&
		!isNear(a)
}

// isNear says whether an address is of a network of this machine. If that is not known, it is.
func isNear(a netip.Addr) bool {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, one := range list {
		if n, ok := one.(*net.IPNet); ok && n.Contains(a.AsSlice()) {
			return true
		}
	}
	return false
}

// control is for net.Dialer: it sees each address that a name leads to, at the moment of the
// connection.
func (f fence) control(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !f.admits(a.Addr()) {
		return errFenced
	}
	return nil
}

// maxEndpoint is in bytes.
const maxEndpoint = 1000

// check returns what is wrong with an endpoint. Its text is not shown, since it is a secret.
func (f fence) check(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" ||
		len(endpoint) > maxEndpoint {
		return Mistake{fmt.Sprintf("expected the URL of a push service, of at most %d bytes",
			maxEndpoint)}
	}
	a, err := netip.ParseAddr(u.Hostname())
	if err == nil && !f.admits(a) {
		return Mistake{errFenced.Error()}
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

// client makes a client for push services. It follows no redirects and uses no proxy.
func (f fence) client() *http.Client {
	dialer := &net.Dialer{Timeout: dialTime, Control: f.control}
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
