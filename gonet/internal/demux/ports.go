package demux

import (
	"net/netip"

	"interleave/gonet/internal/random"
)

// The ephemeral ports. The range begins where Linux's does, and is longer: more ports make them
// harder to guess (RFC 6056 section 3.2), and each stays in use until its connection has left
// TIME-WAIT.
const (
	FirstPort = 32768
	LastPort  = 65535
)

// ChoosePort returns local with its port, if free allows it, or with a free ephemeral port for port
// 0. It returns false if there is none.
func ChoosePort(r *random.Source, local netip.AddrPort,
	free func(netip.AddrPort) bool) (netip.AddrPort, bool) {
	if local.Port() != 0 {
		return local, free(local)
	}
	const ports = LastPort - FirstPort + 1
	// Each port is drawn anew, so that one says nothing of the next (RFC 6056 section 3.3.2).
	for range portDraws {
		a := netip.AddrPortFrom(local.Addr(), FirstPort+uint16(r.Uint64()%ports))
		if free(a) {
			return a, true
		}
	}
	start := r.Uint64()
	for i := range uint64(ports) {
		a := netip.AddrPortFrom(local.Addr(), FirstPort+uint16((start+i)%ports))
		if free(a) {
			return a, true
		}
	}
	return local, false
}

// portDraws is how many ports are drawn before all are tried in order. If half of them are in use,
// one draw of a thousand ends in the search.
const portDraws = 10
