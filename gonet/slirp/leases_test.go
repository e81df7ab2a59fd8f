package slirp

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet"
	"interleave/gonet/dhcp"
	"interleave/gonet/wire"
)

// TestDHCP has a guest get its address by DHCP, use it, renew it for two days, and give it back.
func TestDHCP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, false, func(c *Config) {
			c.Resolvers = func() []netip.AddrPort { return nil }
		})
		serveEcho(t, w.server, ":80")
		mac := wire.MAC{2, 5: 7}
		c, err := dhcp.Acquire(t.Context(), w.wire, dhcp.Config{MAC: mac})
		if err != nil {
			t.Fatal(err)
		}
		l := c.Lease()
		if l.Address.String() != "10.0.2.15/24" || l.Router.String() != "10.0.2.2" ||
			len(l.DNS) != 1 || l.DNS[0].String() != "10.0.2.3" ||
			time.Until(l.Expires) < 23*time.Hour {
			t.Errorf("%+v", l)
		}
		w.guest = newStack(t, c, func(g *gonet.Config) {
			g.MAC, g.Gateways = mac, []netip.Addr{l.Router}
		}, l.Address.String())
		for range 2 {
			expectEcho(t, dial(t, w.guest, "tcp", serverAddr+":80"), "leased")
			time.Sleep(25 * time.Hour)
		}
		if again := c.Lease(); again.Address != l.Address || !again.Expires.After(time.Now()) {
			t.Errorf("after two days: %+v", again)
		}
		if err := c.Release(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.end()
		if x := w.slirp.station.leases.all[0]; x.state != leaseFree {
			t.Errorf("%+v is left", x)
		}
	})
}

// client is a client of DHCP that sends single messages.
type client struct {
	t      *testing.T
	leases *leases
	now    time.Time
}

func newClient(t *testing.T) *client {
	l := newLeases(defaultNetwork(t, false), false)
	return &client{t, &l, time.Unix(1e9, 0)}
}

// says sends a message, and returns the type of the answer, 0 if there is none, and the address in
// it.
func (c *client) says(kind dhcp.Type, station byte, change ...func(*dhcp.Message)) (dhcp.Type,
	string) {
	c.t.Helper()
	m := dhcp.Message{XID: 7, MAC: wire.MAC{2, 5: station}}
	m.Set(dhcp.OptionType, byte(kind))
	for _, f := range change {
		f(&m)
	}
	sent, err := dhcp.Parse(m.Append(nil))
	if err != nil {
		c.t.Fatal(err)
	}
	reply, ok := c.leases.answer(&sent, c.now)
	if !ok {
		return 0, ""
	}
	got, err := dhcp.Parse(reply.Append(nil))
	if err != nil || !got.Reply || got.XID != 7 || got.MAC != m.MAC ||
		got.Addr(dhcp.OptionServer) != c.leases.network.Gateway {
		c.t.Errorf("%+v, %v", got, err)
	}
	if got.Yours.IsUnspecified() {
		return got.Type(), ""
	}
	return got.Type(), got.Yours.String()
}

// expect sends a message, and expects an answer.
func (c *client) expect(wantKind dhcp.Type, wantAddr string, kind dhcp.Type, station byte,
	change ...func(*dhcp.Message)) {
	c.t.Helper()
	if got, a := c.says(kind, station, change...); got != wantKind || a != wantAddr {
		c.t.Errorf("%v of %d: %v %s, want %v %s", kind, station, got, a, wantKind, wantAddr)
	}
}

func wants(address string) func(*dhcp.Message) {
	return func(m *dhcp.Message) {
		m.SetAddr(dhcp.OptionRequested, netip.MustParseAddr(address))
	}
}

func chooses(server string) func(*dhcp.Message) {
	return func(m *dhcp.Message) { m.SetAddr(dhcp.OptionServer, netip.MustParseAddr(server)) }
}

func TestLeases(t *testing.T) {
	c := newClient(t)
	c.expect(dhcp.Offer, "10.0.2.15", dhcp.Discover, 1)
	c.expect(dhcp.Offer, "10.0.2.15", dhcp.Discover, 1) // the same again
	c.expect(dhcp.Offer, "10.0.2.16", dhcp.Discover, 2)
	c.expect(dhcp.Offer, "10.0.2.20", dhcp.Discover, 3, wants("10.0.2.20"))
	c.expect(dhcp.Ack, "10.0.2.15", dhcp.Request, 1, wants("10.0.2.15"), chooses("10.0.2.2"))
	for _, a := range []string{"10.0.2.15", "10.0.2.2", "10.0.2.100"} { // of others
		c.expect(dhcp.Nak, "", dhcp.Request, 2, wants(a))
	}
	c.expect(dhcp.Nak, "", dhcp.Request, 2) // none
	c.expect(0, "", dhcp.Request, 2, wants("10.0.2.16"), chooses("10.0.2.9"))
	// It is free, as 2 has chosen another server.
	c.expect(dhcp.Offer, "10.0.2.16", dhcp.Discover, 4)
	renews := func(m *dhcp.Message) { m.Client = netip.MustParseAddr("10.0.2.15") }
	c.expect(dhcp.Ack, "10.0.2.15", dhcp.Request, 1, renews)
	c.expect(dhcp.Ack, "", dhcp.Inform, 9, func(m *dhcp.Message) {
		m.Client = netip.MustParseAddr("10.0.2.100")
	})
	c.expect(0, "", dhcp.Inform, 9)
	c.expect(dhcp.Ack, "10.0.2.17", dhcp.Request, 5, wants("10.0.2.17")) // as after a reboot
	c.expect(0, "", dhcp.Decline, 5, wants("10.0.2.17"))
	c.expect(dhcp.Offer, "10.0.2.18", dhcp.Discover, 5)
	c.expect(0, "", dhcp.Release, 1)
	c.expect(dhcp.Offer, "10.0.2.15", dhcp.Discover, 6)
	// Relays, answers and groups are ignored.
	c.expect(0, "", dhcp.Discover, 7,
		func(m *dhcp.Message) { m.Relay = netip.MustParseAddr("10.9.9.9") })
	c.expect(0, "", dhcp.Discover, 7, func(m *dhcp.Message) { m.Reply = true })
	c.expect(0, "", dhcp.Discover, 7, func(m *dhcp.Message) { m.MAC = wire.Broadcast })
	c.expect(0, "", dhcp.Offer, 7)
	c.now = c.now.Add(leaseTime + time.Second)
	for i := range byte(leaseCount) { // all are free again
		if kind, _ := c.says(dhcp.Discover, 100+i); kind != dhcp.Offer {
			t.Errorf("%d gets no offer", i)
		}
	}
}

// TestAttackDHCP has a guest ask under thousands of addresses. The table stays as it is, and who
// has a lease keeps it.
func TestAttackDHCP(t *testing.T) {
	c := newClient(t)
	c.expect(dhcp.Ack, "10.0.2.15", dhcp.Request, 1, wants("10.0.2.15"))
	for i := range 5_000 {
		m := dhcp.Message{MAC: wire.MAC{2, 1, 1, 1, byte(i >> 8), byte(i)}}
		m.Set(dhcp.OptionType, byte(dhcp.Discover))
		if r, ok := c.leases.answer(&m, c.now); !ok || r.Yours == netip.MustParseAddr("10.0.2.15") {
			t.Fatalf("%d: %+v, %v", i, r, ok)
		}
	}
	c.expect(dhcp.Ack, "10.0.2.15", dhcp.Request, 1, wants("10.0.2.15"))
	for i := range byte(leaseCount - 1) { // and with all leased
		a := netip.AddrFrom4([4]byte{10, 0, 2, 16 + i})
		c.now = c.now.Add(offerTime)
		c.expect(dhcp.Ack, a.String(), dhcp.Request, 10+i, wants(a.String()))
	}
	c.expect(0, "", dhcp.Discover, 99)
	c.expect(dhcp.Nak, "", dhcp.Request, 99, wants("10.0.2.15"))
}

// FuzzDHCP holds that every message leaves the server in order, and that its answers are messages.
func FuzzDHCP(f *testing.F) {
	for _, kind := range []dhcp.Type{dhcp.Discover, dhcp.Request, dhcp.Decline, dhcp.Inform} {
		m := dhcp.Message{MAC: wire.MAC{2, 5: 1}, Client: netip.MustParseAddr("10.0.2.15")}
		m.Set(dhcp.OptionType, byte(kind))
		m.SetAddr(dhcp.OptionRequested, netip.MustParseAddr("10.0.2.15"))
		f.Add(m.Append(nil))
	}
	network := defaultNetwork(f, false)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := dhcp.Parse(b)
		if err != nil {
			return
		}
		l := newLeases(network, false)
		for range 3 {
			reply, ok := l.answer(&m, time.Unix(1e9, 0))
			if !ok {
				continue
			}
			got, err := dhcp.Parse(reply.Append(nil))
			if err != nil || isSet(got.Yours) && l.find(got.Yours) < 0 {
				t.Fatalf("%+v, %v", got, err)
			}
		}
	})
}
