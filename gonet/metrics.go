package gonet

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"interleave/gonet/neighbour"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// ConnInfo describes a connection at an instant.
type ConnInfo struct {
	tcp.Info
	Local, Remote netip.AddrPort
}

// FlowInfo describes a flow of ForwardUDP.
type FlowInfo struct{ Source, Destination netip.AddrPort }

// Snapshot describes a stack at an instant.
type Snapshot struct {
	Stats
	Conns     []ConnInfo       // sorted by their addresses
	Listeners []netip.AddrPort // of TCP
	Sockets   []netip.AddrPort // of UDP
	Flows     []FlowInfo       // of UDP, to foreign addresses; sorted
	Groups    []netip.Addr     // that sockets have joined, sorted
	// The versions of the protocols for groups: 3 and 2, or older while an older querier is there.
	IGMP, MLD int
	Requests  int // TCP connections to foreign addresses that wait for a decision
	// Neighbours are those on the link, sorted by their addresses. A link without Ethernet has
	// none.
	Neighbours []neighbour.Info
}

// Snapshot returns a description of all that the stack holds. The dealer collects it, and processes
// no packets for about 0.1 us for each connection.
func (s *Stack) Snapshot() (Snapshot, error) {
	out := Snapshot{Stats: s.Stats()}
	var conns []*Conn
	err := s.claim(func() {
		for _, c := range s.tcp.conns {
			conns = append(conns, c)
		}
		for f := range s.tcp.remnants.Flows() {
			local, remote := f.Ends()
			out.Conns = append(out.Conns, ConnInfo{tcp.Info{State: tcp.TimeWait}, local, remote})
		}
		s.tcp.listeners.Each(func(a netip.AddrPort, _ *Listener) {
			out.Listeners = append(out.Listeners, displayed(a))
		})
		s.udp.sockets.Each(func(a netip.AddrPort, _ *PacketConn) {
			out.Sockets = append(out.Sockets, displayed(a))
		})
		for key, p := range s.udp.peers {
			if p.flow != nil {
				out.Flows = append(out.Flows, FlowInfo{p.remote, p.local})
			} else {
				out.Sockets = append(out.Sockets, key.local)
			}
		}
		for p := range s.groups.sockets {
			out.Sockets = append(out.Sockets, p.local)
		}
		out.IGMP, out.MLD = s.groups.igmp.Version(), s.groups.mld.Version()
		out.Groups = slices.SortedFunc(maps.Keys(s.groups.members), netip.Addr.Compare)
		if s.forward != nil {
			out.Requests = len(s.forward.requests)
		}
	})
	s.onNeighbours(func(c *neighbour.Cache, _ time.Time) { out.Neighbours = c.List() })
	for _, c := range conns {
		out.Conns = append(out.Conns, c.Info())
	}
	slices.SortFunc(out.Conns, func(a, b ConnInfo) int {
		return cmp.Or(a.Local.Compare(b.Local), a.Remote.Compare(b.Remote))
	})
	slices.SortFunc(out.Neighbours,
		func(a, b neighbour.Info) int { return a.Addr.Compare(b.Addr) })
	slices.SortFunc(out.Listeners, netip.AddrPort.Compare)
	slices.SortFunc(out.Sockets, netip.AddrPort.Compare)
	slices.SortFunc(out.Flows, func(a, b FlowInfo) int {
		return cmp.Or(a.Source.Compare(b.Source), a.Destination.Compare(b.Destination))
	})
	return out, err
}

// Info describes the connection now.
func (c *Conn) Info() ConnInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	local, remote := c.flow.Ends()
	if c.machine == nil { // that of an AsyncConn that was not dialed yet, or has ended
		return ConnInfo{Local: local, Remote: remote}
	}
	return ConnInfo{c.machine.Info(), local, remote}
}

// String writes the connection as `ss -ti` does: a line with the addresses, and one with the
// figures that are known.
func (i ConnInfo) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s %6d %6d  %v  %v\n", i.State, i.Unread, i.Unacked, i.Local, i.Remote)
	fmt.Fprintf(&b, "\tmss:%d cwnd:%d", i.MSS, i.Window)
	if i.Threshold > 0 {
		fmt.Fprintf(&b, " ssthresh:%d", i.Threshold)
	}
	if i.RTT > 0 {
		fmt.Fprintf(&b, " rtt:%s/%s minrtt:%s", ms(i.RTT), ms(i.Deviation), ms(i.MinRTT))
	}
	fmt.Fprintf(&b, " rto:%s", ms(i.RTO))
	if i.Backoff > 0 {
		fmt.Fprintf(&b, " backoff:%d", i.Backoff)
	}
	fmt.Fprintf(&b, " snd_wnd:%d inflight:%d bytes_sent:%d bytes_received:%d segs_out:%d",
		i.PeerWindow, i.InFlight, i.BytesOut, i.BytesIn, i.Segments)
	if i.Resent > 0 {
		fmt.Fprintf(&b, " retrans:%d bytes_retrans:%d", i.Resent, i.BytesResent)
	}
	if i.Lost > 0 {
		fmt.Fprintf(&b, " lost:%d", i.Lost)
	}
	if i.Recovering {
		b.WriteString(" recovering")
	}
	return b.String()
}

// ms writes a time in milliseconds, as ss does.
func ms(d time.Duration) string { return fmt.Sprintf("%.4g", float64(d)/float64(time.Millisecond)) }

// metric describes a counter of Stats: its name in Prometheus, and its help text.
type metric struct{ field, name, help string }

// metrics describes the counters, in the order of Stats.
var metrics = []metric{
	{"Received", "frames_received", "Frames read from the link, those to ourselves included."},
	{"Sent", "frames_sent", "Frames written to the link."},
	{"Malformed", "malformed",
		"Packets whose header could not be read, or whose checksum is wrong."},
	{"Foreign", "foreign", "Packets for others, or of a protocol or port that nobody takes."},
	{"Conflicts", "address_conflicts", "Messages of others that claim an address of ours."},
	{"DroppedUnresolved", "dropped_unresolved",
		"Packets whose neighbour did not answer, or that were too many to wait for it."},
	{"DroppedSockets", "dropped_sockets", "Datagrams for a socket that was full."},
	{"DroppedBacklog", "dropped_backlog", "Connections that nobody accepted in time."},
	{"DroppedHalfOpen", "dropped_half_open",
		"Half-open connections that made room for others in a full backlog."},
	{"DroppedFragments", "dropped_fragments", "Fragments of packets that did not become whole."},
	{"DroppedLoop", "dropped_loop", "Packets to ourselves that found the queue full."},
	{"DroppedForwards", "dropped_forwards",
		"SYNs, datagrams and echo requests to foreign addresses that exceeded a bound."},
	{"Resets", "resets_sent", "Segments that were answered by a reset."},
	{"Cookies", "cookies_sent", "SYNs that were answered by a cookie."},
}

// each calls f for every counter of Stats. A counter without an entry in metrics is shown by the
// name of its field.
func (s Stats) each(f func(m metric, value uint64)) {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		if v.Field(i).Kind() != reflect.Uint64 {
			continue
		}
		field := v.Type().Field(i).Name
		m := metric{field, strings.ToLower(field), field + "."}
		if at := slices.IndexFunc(metrics,
			func(m metric) bool { return m.field == field }); at >= 0 {
			m = metrics[at]
		}
		f(m, v.Field(i).Uint())
	}
}

// WriteText writes the snapshot for people: the counters that are not zero, the listeners, sockets,
// groups and neighbours, and each connection as `ss -ti` does.
func (s Snapshot) WriteText(w io.Writer) error {
	var b strings.Builder
	s.each(func(m metric, value uint64) {
		if value > 0 {
			fmt.Fprintf(&b, "%-20s %d\n", m.name, value)
		}
	})
	for _, a := range s.Listeners {
		fmt.Fprintf(&b, "listen tcp           %v\n", a)
	}
	for _, a := range s.Sockets {
		fmt.Fprintf(&b, "socket udp           %v\n", a)
	}
	if len(s.Groups) > 0 {
		fmt.Fprintf(&b, "%-20s IGMPv%d, MLDv%d\n", "groups by", s.IGMP, s.MLD)
	}
	for _, g := range s.Groups {
		fmt.Fprintf(&b, "group                %v\n", g)
	}
	for _, f := range s.Flows {
		fmt.Fprintf(&b, "flow udp             %v to %v\n", f.Source, f.Destination)
	}
	for _, n := range s.Neighbours {
		mac := ""
		if n.MAC != (wire.MAC{}) {
			mac = " " + n.MAC.String()
		}
		fmt.Fprintf(&b, "neighbour            %v%s %v\n", n.Addr, mac, n.State)
	}
	if len(s.Conns) > 0 {
		fmt.Fprintf(&b, "%-12s %6s %6s  %s  %s\n", "state", "recv-q", "send-q", "local", "peer")
	}
	for _, c := range s.Conns {
		fmt.Fprintln(&b, c)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMetrics writes the snapshot in the exposition format of Prometheus. Figures of connections
// are sums over those that exist. A connection that ends takes its figures out of the sums, so
// these are gauges, not counters.
func (s Snapshot) WriteMetrics(w io.Writer) error {
	var b strings.Builder
	head := func(name, kind, help string) {
		fmt.Fprintf(&b, "# HELP gonet_%s %s\n# TYPE gonet_%s %s\n", name, help, name, kind)
	}
	s.each(func(m metric, value uint64) {
		head(m.name+"_total", "counter", m.help)
		fmt.Fprintf(&b, "gonet_%s_total %d\n", m.name, value)
	})
	states := map[tcp.State]int{}
	var resent, segments, in, out, flight uint64
	for _, c := range s.Conns {
		states[c.State]++
		resent, segments, in, out = resent+c.Resent, segments+c.Segments, in+c.BytesIn,
			out+c.BytesOut
		flight += uint64(c.InFlight)
	}
	head("connections", "gauge", "Connections of TCP, by state.")
	for state := tcp.Closed; state <= tcp.TimeWait; state++ {
		fmt.Fprintf(&b, "gonet_connections{state=%q} %d\n", state, states[state])
	}
	neighbours := map[neighbour.State]int{}
	for _, n := range s.Neighbours {
		neighbours[n.State]++
	}
	head("neighbours", "gauge", "Neighbours on the link, by state.")
	for state := neighbour.Incomplete; state <= neighbour.Failed; state++ {
		fmt.Fprintf(&b, "gonet_neighbours{state=%q} %d\n", state, neighbours[state])
	}
	for _, g := range []struct {
		name, help string
		value      uint64
	}{
		{"listeners", "Listeners of TCP.", uint64(len(s.Listeners))},
		{"sockets", "Sockets of UDP.", uint64(len(s.Sockets))},
		{"groups", "Multicast groups that sockets have joined.", uint64(len(s.Groups))},
		{"flows", "Flows of UDP to foreign addresses.", uint64(len(s.Flows))},
		{"requests", "TCP connections to foreign addresses that wait for a decision.",
			uint64(s.Requests)},
		{"connections_segments_sent", "Segments sent by the connections that there are.", segments},
		{"connections_segments_resent", "Segments sent again by the connections that there are.",
			resent},
		{"connections_bytes_sent",
			"Payload in bytes sent by the connections that there are, what was sent again " +
				"included.",
			out},
		{"connections_bytes_received",
			"Payload in bytes received by the connections that there are.", in},
		{"connections_bytes_in_flight", "Payload in bytes that is on its way.", flight},
	} {
		head(g.name, "gauge", g.help)
		fmt.Fprintf(&b, "gonet_%s %d\n", g.name, g.value)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Err returns why the stack has ended, nil while it runs.
func (s *Stack) Err() error {
	select {
	case <-s.dealer.done:
		return s.dealer.fail
	default:
		return nil
	}
}
