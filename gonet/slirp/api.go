package slirp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"interleave/gonet/relay"
)

// The API is slirp4netns's: a client connects to a Unix socket, sends one request in JSON, and gets
// one response. A response has "return", or "error" with a "desc" that begins with slirp4netns's
// text.

// The bounds of the API: the length of a request in bytes and the clients at once, and how long one
// may take. slirp4netns has the first, the others are guesses.
const (
	maxRequestLen = 4096
	maxAPIClients = 16
	apiTime       = 10 * time.Second
)

// ServeAPI answers the requests of a listener until the context ends.
func (s *Slirp) ServeAPI(ctx context.Context, l net.Listener) error {
	return relay.Serve(ctx, relay.Limit(l, maxAPIClients), func(_ context.Context, c net.Conn) {
		if c.SetDeadline(time.Now().Add(apiTime)) != nil {
			return
		}
		_, _ = c.Write(s.answer(c)) // the client may have gone
	})
}

// answer reads a request, which ends with its JSON value or with the input, and returns the
// response.
func (s *Slirp) answer(r io.Reader) []byte {
	limited := io.LimitedReader{R: r, N: maxRequestLen}
	var request any
	err := json.NewDecoder(&limited).Decode(&request)
	var result any
	switch {
	case err != nil && limited.N == 0:
		err = errors.New("too large message")
	case err != nil:
		err = errors.New("cannot parse JSON")
	default:
		result, err = s.execute(request)
	}
	response := map[string]any{"return": result}
	if err != nil {
		response = map[string]any{"error": map[string]string{"desc": "bad request: " + err.Error()}}
	} else if list, ok := result.(entries); ok {
		// slirp4netns documents "return", and sends the list without it. Clients of either find it.
		response["entries"] = list.Entries
	}
	b, err := json.Marshal(response)
	if err != nil {
		panic(err) // all values have types that JSON has
	}
	return b
}

// execute runs a request.
func (s *Slirp) execute(request any) (any, error) {
	object, ok := request.(map[string]any)
	if !ok {
		return nil, errors.New("json_object() failed")
	}
	name, ok := object["execute"].(string)
	if !ok {
		return nil, errors.New("no execute found")
	}
	given, _ := object["arguments"].(map[string]any) // a command misses those that it needs
	args := arguments{name, given}
	switch name {
	case "add_hostfwd":
		return s.executeAdd(args)
	case "list_hostfwd":
		return s.executeList(), nil
	case "remove_hostfwd":
		id, _ := given["id"].(float64) // 0 is no identifier
		if s.removeForward(int(id)) != nil {
			return nil, args.bad("id")
		}
		return struct{}{}, nil
	case "get_info":
		return s.info(), nil
	}
	return nil, errors.New("unknown execute")
}

// arguments are those of a command.
type arguments struct {
	command string
	values  map[string]any
}

// bad returns the error of an argument.
func (a arguments) bad(name string) error {
	return errors.New(a.command + ": bad arguments." + name)
}

// port returns an argument that is a port.
func (a arguments) port(name string) (uint16, error) {
	n, _ := a.values[name].(float64) // what is missing is 0
	if n < 1 || n > 65535 || n != float64(uint16(n)) {
		return 0, a.bad(name)
	}
	return uint16(n), nil
}

// address returns an argument that is an address, or an invalid one if it is missing.
func (a arguments) address(name string) (netip.Addr, error) {
	text, ok := a.values[name].(string)
	if text == "" {
		if _, given := a.values[name]; given && !ok {
			return netip.Addr{}, a.bad(name)
		}
		return netip.Addr{}, nil
	}
	address, err := netip.ParseAddr(text)
	if err != nil || address.Zone() != "" || address.Is4In6() {
		return netip.Addr{}, a.bad(name)
	}
	return address, nil
}

// executeAdd adds a forward.
func (s *Slirp) executeAdd(a arguments) (any, error) {
	proto, pairs, err := a.forward(&s.cfg.Network)
	if err != nil {
		return nil, err
	}
	id, err := s.addForward(proto, pairs)
	if err != nil {
		return nil, errors.New("add_hostfwd: slirp_add_hostfwd failed: " + err.Error())
	}
	return map[string]int{"id": id}, nil
}

// family is what differs between the forwards of the two families.
type family struct {
	suffix string     // of the protocol's name
	all    netip.Addr // stands for all addresses of the host
	guest  netip.Addr
}

func (f family) has(a netip.Addr) bool { return a.Is4() == f.all.Is4() }

func (n *Network) families() []family {
	both := []family{{"4", netip.IPv4Unspecified(), n.Guest},
		{"6", netip.IPv6Unspecified(), n.Guest6}}
	if !n.has6() {
		return both[:1]
	}
	return both
}

// forward returns the forward that the arguments describe. One for all addresses of the host is of
// both families, unless its protocol or its guest address says which.
func (a arguments) forward(n *Network) (proto string, pairs []pair, err error) {
	proto, _ = a.values["proto"].(string) // what is missing is wrong
	suffix := strings.TrimLeft(proto, "tcpud")
	proto = strings.TrimSuffix(proto, suffix)
	if proto != "tcp" && proto != "udp" || suffix != "" && suffix != "4" && suffix != "6" ||
		suffix == "6" && !n.has6() {
		return "", nil, a.bad("proto")
	}
	host, err := a.address("host_addr")
	if err != nil {
		return "", nil, err
	}
	hostPort, err := a.port("host_port")
	if err != nil {
		return "", nil, err
	}
	guestPort, err := a.port("guest_port")
	if err != nil {
		return "", nil, err
	}
	guest, err := a.address("guest_addr")
	if err != nil {
		return "", nil, err
	}
	toAll := !host.IsValid() || host.IsUnspecified()
	for _, f := range n.families() {
		if suffix != "" && suffix != f.suffix || !toAll && !f.has(host) ||
			toAll && suffix == "" && guest.IsValid() && !f.has(guest) {
			continue
		}
		from, to := host, guest
		if toAll {
			from = f.all
		}
		if !to.IsValid() {
			to = f.guest
		}
		if !f.has(to) || !n.isGuest(to) {
			return "", nil, a.bad("guest_addr")
		}
		pairs = append(pairs, pair{netip.AddrPortFrom(from, hostPort),
			netip.AddrPortFrom(to, guestPort)})
	}
	if len(pairs) == 0 {
		return "", nil, a.bad("host_addr")
	}
	return proto, pairs, nil
}

// entries is the response of list_hostfwd.
type entries struct {
	Entries []entry `json:"entries"`
}

// entry is a forward. The addresses of a family that it does not have are left out.
type entry struct {
	ID         int    `json:"id"`
	Proto      string `json:"proto"`
	HostAddr   string `json:"host_addr,omitempty"`
	HostAddr6  string `json:"host_addr6,omitempty"`
	HostPort   uint16 `json:"host_port"`
	GuestAddr  string `json:"guest_addr,omitempty"`
	GuestAddr6 string `json:"guest_addr6,omitempty"`
	GuestPort  uint16 `json:"guest_port"`
}

func (s *Slirp) executeList() entries {
	list := entries{[]entry{}}
	for _, f := range s.forwards.list() {
		e := entry{ID: f.id, Proto: f.proto, HostPort: f.pairs[0].host.Port(),
			GuestPort: f.pairs[0].guest.Port()}
		for _, p := range f.pairs {
			if host, guest := p.host.Addr().String(), p.guest.Addr().String(); p.host.Addr().Is4() {
				e.HostAddr, e.GuestAddr = host, guest
			} else {
				e.HostAddr6, e.GuestAddr6 = host, guest
			}
		}
		list.Entries = append(list.Entries, e)
	}
	return list
}

// info is the response of get_info, which slirp4netns does not have.
type info struct {
	PID          int    `json:"pid"`
	Network      string `json:"network"`
	Network6     string `json:"network6,omitempty"`
	Gateway      string `json:"gateway"`
	DNS          string `json:"dns,omitempty"`
	HostLoopback bool   `json:"host_loopback"`
	MTU          int    `json:"mtu"`
	Forwards     int    `json:"forwards"`
	Stats        Stats  `json:"stats"`
}

func (s *Slirp) info() info {
	n := &s.cfg.Network
	i := info{PID: os.Getpid(), Network: n.Prefix.String(), Gateway: n.Gateway.String(),
		HostLoopback: !s.cfg.NoHostLoopback, MTU: s.cfg.Link.Features().MTU,
		Forwards: len(s.forwards.list()), Stats: s.Stats()}
	if n.has6() {
		i.Network6 = n.Prefix6.String()
	}
	if s.cfg.Resolvers != nil {
		i.DNS = n.DNS.String()
	}
	return i
}
