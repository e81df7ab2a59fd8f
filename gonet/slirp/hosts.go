package slirp

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
)

// Hosts has the names of a file in the format of hosts(5). The file is read again when it has
// changed.
type Hosts struct {
	watchedFile
	names map[string][]netip.Addr
}

// NewHosts returns the names of a file, which is usually /etc/hosts.
func NewHosts(path string) *Hosts { return &Hosts{watchedFile: watchedFile{path: path}} }

// Lookup returns the addresses of a name in lower case, without a dot at its end; nil if the file
// does not have it.
func (h *Hosts) Lookup(name string) []netip.Addr {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refresh(func(text []byte) { h.names = parseHosts(text) })
	return h.names[name]
}

// maxHostAddrs bounds the addresses of a name, so that an answer fits into 512 bytes (RFC 1035
// section 2.3.4).
const maxHostAddrs = 8

// parseHosts returns the addresses of the names in a file. Those of groups are none of hosts.
func parseHosts(text []byte) map[string][]netip.Addr {
	names := map[string][]netip.Addr{}
	for line := range bytes.Lines(text) {
		line, _, _ = bytes.Cut(line, []byte{'#'})
		words := bytes.Fields(line)
		if len(words) < 2 {
			continue
		}
		a, err := netip.ParseAddr(string(words[0]))
		if err != nil || a.IsMulticast() {
			continue
		}
		a = a.Unmap().WithZone("") // the guest does not have the host's links
		for _, word := range words[1:] {
			name := strings.TrimSuffix(strings.ToLower(string(word)), ".")
			if all := names[name]; len(all) < maxHostAddrs && !slices.Contains(all, a) {
				names[name] = append(all, a)
			}
		}
	}
	return names
}

// isLocal tells whether a name is that of whoever asks (RFC 6761 section 6.3), so that its address
// for the host says nothing to the guest. The last ones are those of Debian's file.
func isLocal(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost") ||
		name == "localhost.localdomain" || name == "ip6-localhost" || name == "ip6-loopback"
}

// hostName answers a query by the host's names, if they have what is asked for. The host's own
// loopback addresses are behind the gateway's for the guest, if it may go there.
func (s *Slirp) hostName(q query) []byte {
	if s.cfg.Hosts == nil {
		return nil
	}
	name, kind := q.asked()
	if kind != typeA && kind != typeAAAA || isLocal(name) {
		return nil
	}
	var all []netip.Addr
	for _, a := range s.cfg.Hosts(name) {
		if a.IsLoopback() {
			if s.cfg.NoHostLoopback {
				continue
			}
			if n := &s.cfg.Network; a.Is4() {
				a = n.Gateway
			} else if a = n.Gateway6; !n.has6() {
				continue
			}
		}
		if !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	if all == nil {
		return nil
	}
	return q.answer(all)
}
