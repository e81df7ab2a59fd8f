package slirp

import (
	"bytes"
	"net/netip"
)

// ResolvConf has the servers of a file in the format of resolver(5). The file is read again when it
// has changed, so a host that moves to another network takes the guest along.
type ResolvConf struct {
	watchedFile
	servers []netip.AddrPort
}

// NewResolvConf returns the servers of a file, which is usually /etc/resolv.conf.
func NewResolvConf(path string) *ResolvConf {
	return &ResolvConf{watchedFile: watchedFile{path: path}}
}

// Servers returns the servers, at most three, as resolver(5) has them: the one of this machine if
// the file lists none or cannot be read.
func (r *ResolvConf) Servers() []netip.AddrPort {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh(func(text []byte) { r.servers = parseResolvConf(text) })
	return r.servers
}

// maxServers is how many servers count (resolver(5)).
const maxServers = 3

// parseResolvConf returns the servers of a file.
func parseResolvConf(text []byte) (servers []netip.AddrPort) {
	for line := range bytes.Lines(text) {
		words := bytes.Fields(line)
		if len(words) < 2 || string(words[0]) != "nameserver" || len(servers) == maxServers {
			continue
		}
		if a, err := netip.ParseAddr(string(words[1])); err == nil {
			servers = append(servers, netip.AddrPortFrom(a, portDNS))
		}
	}
	if servers == nil {
		servers = []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}),
			portDNS)}
	}
	return servers
}
