package report

import (
	"cmp"
	"slices"
	"strings"

	"interleave/internal/manifest"
)

// hosts tells where the servers of an experiment were; "" if all shared this host with the load.
func (s *study) hosts(e *experiment) string {
	at := map[manifest.Hosts][]string{}
	for _, c := range e.cells {
		m := s.model(c.Service, c.Model)
		if m == nil {
			continue
		}
		hosts := cmp.Or(m.Hosts, manifest.Local)
		if hosts == manifest.Local {
			hosts = cmp.Or(manifest.Hosts(s.Header.Hosts), manifest.Local)
		}
		if e.Service != c.Service || slices.Contains(at[hosts], c.Model) {
			continue
		}
		at[hosts] = append(at[hosts], c.Model)
	}
	if len(at[manifest.Tap]) == 0 && len(at[manifest.NetNS]) == 0 {
		return ""
	}
	var parts []string
	for _, where := range []struct {
		hosts manifest.Hosts
		text  string
	}{
		{manifest.Tap, "hosts of their own behind a tap: "},
		{manifest.NetNS, "in a network namespace, over a pair of virtual Ethernet devices: "},
		{manifest.Local, "on the loopback device: "},
	} {
		if names := at[where.hosts]; len(names) > 0 {
			slices.Sort(names)
			parts = append(parts, where.text+strings.Join(names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}
