package slirp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"interleave/gonet"
	"interleave/gonet/link"
)

// call executes a request, and returns the response.
func (w *world) call(request string) string {
	return string(w.slirp.answer(strings.NewReader(request)))
}

// expectCall executes a request, and expects a response.
func (w *world) expectCall(request, want string) {
	w.t.Helper()
	if got := w.call(request); got != want {
		w.t.Errorf("%s:\ngot  %s\nwant %s", request, got, want)
	}
}

func add(arguments string) string {
	return `{"execute": "add_hostfwd", "arguments": {` + arguments + `}}`
}

func remove(id int) string {
	return fmt.Sprintf(`{"execute": "remove_hostfwd", "arguments": {"id": %d}}`, id)
}

const list = `{"execute": "list_hostfwd"}`

// TestForwards adds forwards of both protocols and families, uses them from the outside, lists and
// removes them.
func TestForwards(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		serveEcho(t, w.guest, ":80")
		none := `{"entries":[],"return":{"entries":[]}}`
		w.expectCall(list, none)
		for i, proto := range []string{"tcp", "udp"} {
			w.expectCall(add(`"proto": "`+proto+`", "host_addr": "0.0.0.0", "host_port": 8080, `+
				`"guest_port": 80`), fmt.Sprintf(`{"return":{"id":%d}}`, i+1))
			for _, to := range []string{hostAddr + ":8080", "[" + hostAddr6 + "]:8080"} {
				c := dial(t, w.server, proto, to)
				for range 3 {
					expectEcho(t, c, "to the guest")
				}
				_ = c.Close() // the echo was compared
			}
		}
		w.expectCall(add(`"proto":"tcp", "host_addr":"`+hostAddr+`", "host_port":81, `+
			`"guest_addr":"10.0.2.100", "guest_port":80`), `{"return":{"id":3}}`)
		expectEcho(t, dial(t, w.server, "tcp", hostAddr+":81"), "one address")
		w.expectCall(remove(1), `{"return":{}}`)
		w.expectCall(remove(1),
			`{"error":{"desc":"bad request: remove_hostfwd: bad arguments.id"}}`)
		expectError(t, w.server, hostAddr+":8080", syscall.ECONNREFUSED)
		entries := `{"entries":[` +
			`{"id":2,"proto":"udp","host_addr":"0.0.0.0","host_addr6":"::","host_port":8080,` +
			`"guest_addr":"10.0.2.100","guest_addr6":"fd00::100","guest_port":80},` +
			`{"id":3,"proto":"tcp","host_addr":"198.51.100.1","host_port":81,` +
			`"guest_addr":"10.0.2.100","guest_port":80}]`
		w.expectCall(list, entries+`,"return":`+entries+"}}")
		w.expectCall(add(`"proto":"tcp6", "host_port":82, "guest_port":80`), `{"return":{"id":4}}`)
		expectEcho(t, dial(t, w.server, "tcp", "["+hostAddr6+"]:82"), "IPv6 alone")
		expectError(t, w.server, hostAddr+":82", syscall.ECONNREFUSED)
		// A port of the guest at which nobody listens resets the connection.
		w.expectCall(add(`"proto":"tcp4", "host_port":83, "guest_port":9`), `{"return":{"id":5}}`)
		expectReset(t, w.server, hostAddr+":83")
		// An open connection ends with its forward.
		w.expectCall(add(`"proto":"tcp4", "host_port":84, "guest_port":80`), `{"return":{"id":6}}`)
		c := dial(t, w.server, "tcp", hostAddr+":84")
		expectEcho(t, c, "before")
		w.expectCall(remove(6), `{"return":{}}`)
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%v, want a reset", err)
		}
	})
}

// TestGuestSeesTheGateway holds that a forwarded connection comes from the gateway's address.
func TestGuestSeesTheGateway(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		l, err := w.guest.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		w.expectCall(add(`"proto":"tcp", "host_port":80, "guest_port":80`), `{"return":{"id":1}}`)
		for to, want := range map[string]string{hostAddr + ":80": "10.0.2.2",
			"[" + hostAddr6 + "]:80": "fd00::2"} {
			_ = dial(t, w.server, "tcp", to)
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if got := c.RemoteAddr().(*net.TCPAddr).IP.String(); got != want {
				t.Errorf("from %s, want %s", got, want)
			}
		}
	})
}

// TestBadRequests holds slirp4netns's texts.
func TestBadRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, false)
		expectBad := func(request, want string) {
			t.Helper()
			w.expectCall(request, `{"error":{"desc":"bad request: `+want+`"}}`)
		}
		for request, want := range map[string]string{
			"":                      "cannot parse JSON",
			"{":                     "cannot parse JSON",
			"nothing":               "cannot parse JSON",
			"[]":                    "json_object() failed",
			"null":                  "json_object() failed",
			"{}":                    "no execute found",
			`{"execute": 1}`:        "no execute found",
			`{"execute": "reboot"}`: "unknown execute",
			`{"x":"` + strings.Repeat("x", maxRequestLen):  "too large message",
			`{"execute": "add_hostfwd"}`:                   "add_hostfwd: bad arguments.proto",
			`{"execute": "add_hostfwd", "arguments": [1]}`: "add_hostfwd: bad arguments.proto",
		} {
			expectBad(request, want)
		}
		for _, id := range []string{`"1"`, "1e300", "-1e300", "0"} {
			expectBad(`{"execute": "remove_hostfwd", "arguments": {"id": `+id+`}}`,
				"remove_hostfwd: bad arguments.id")
		}
		good := `"proto":"tcp","host_addr":"0.0.0.0","host_port":1,"guest_addr":"10.0.2.100",` +
			`"guest_port":2`
		for _, c := range []struct{ part, by, want string }{
			{"tcp", "sctp", "proto"},
			{"tcp", "tcp6", "proto"}, // there is no IPv6
			{"tcp", "tcp5", "proto"},
			{"0.0.0.0", "host", "host_addr"},
			{"0.0.0.0", "::1", "host_addr"},
			{`"0.0.0.0"`, "7", "host_addr"},
			{`"host_port":1`, `"x":1`, "host_port"},
			{`_port":1`, `_port":65536`, "host_port"},
			{`_port":1`, `_port":1.5`, "host_port"},
			{`_port":2`, `_port":-2`, "guest_port"},
			{"10.0.2.100", "10.0.3.100", "guest_addr"},
			{"10.0.2.100", "10.0.2.2", "guest_addr"},
			{"10.0.2.100", "guest", "guest_addr"},
		} {
			expectBad(add(strings.Replace(good, c.part, c.by, 1)),
				"add_hostfwd: bad arguments."+c.want)
		}
		w.expectCall(add(good), `{"return":{"id":1}}`)
		if got := w.call(add(good)); !strings.HasPrefix(got, `{"error":{"desc":"bad request: `+
			`add_hostfwd: slirp_add_hostfwd failed: `) {
			t.Errorf("a port that is in use: %s", got)
		}
		var info struct {
			Return struct {
				PID              int
				Network, Gateway string
				Forwards         int
			}
		}
		text := w.call(`{"execute": "get_info"}`)
		if err := json.Unmarshal([]byte(text), &info); err != nil || info.Return.PID == 0 ||
			info.Return.Network != "10.0.2.0/24" || info.Return.Gateway != "10.0.2.2" ||
			info.Return.Forwards != 1 {
			t.Errorf("%s, %v", text, err)
		}
		w.end()
		if got := w.call(add(good)); !strings.Contains(got, "slirp_add_hostfwd failed") {
			t.Errorf("after the end: %s", got)
		}
	})
}

// TestServeAPI has clients connect that end their requests, that do not, and that say nothing.
func TestServeAPI(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		near, far := link.Pair()
		x := newStack(t, near, nil, "10.1.0.1/24")
		y := newStack(t, far, nil, "10.1.0.2/24")
		l, err := y.Listen("tcp", ":7")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.slirp.ServeAPI(ctx, l) }()
		for _, closes := range []bool{true, false} {
			c := dial(t, x, "tcp", "10.1.0.2:7").(*gonet.Conn)
			if _, err := io.WriteString(c, list); err != nil {
				t.Fatal(err)
			}
			if closes {
				if err := c.CloseWrite(); err != nil {
					t.Fatal(err)
				}
			}
			if b, err := io.ReadAll(c); err != nil || !strings.Contains(string(b), "return") {
				t.Errorf("%s, %v", b, err)
			}
		}
		for range 3 * maxAPIClients { // they are cut off, and others get their turn
			_ = dial(t, x, "tcp", "10.1.0.2:7")
		}
		c := dial(t, x, "tcp", "10.1.0.2:7")
		if _, err := io.WriteString(c, list); err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(c); err != nil || !strings.Contains(string(b), "return") {
			t.Errorf("%s, %v", b, err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// silentHost is a host that opens nothing.
type silentHost struct{ Kernel }

func (silentHost) Listen(string, string) (net.Listener, error) { return nil, errNoForward }

func (silentHost) ListenPacket(string, string) (net.PacketConn, error) {
	return nil, errNoForward
}

// FuzzAPI holds that every request gets a response in JSON.
func FuzzAPI(f *testing.F) {
	for _, request := range []string{list, remove(1), add(`"proto":"udp","host_port":1,` +
		`"guest_port":2`), `{"execute":"get_info"}`, "{", "null"} {
		f.Add([]byte(request))
	}
	end, _ := link.Pair()
	s, err := New(Config{Link: end, Network: defaultNetwork(f, true), Host: silentHost{}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.stack.Close() })
	f.Fuzz(func(t *testing.T, request []byte) {
		var response struct {
			Return json.RawMessage
			Error  struct{ Desc string }
		}
		b := s.answer(strings.NewReader(string(request)))
		if err := json.Unmarshal(b, &response); err != nil ||
			(response.Return == nil) == (response.Error.Desc == "") {
			t.Fatalf("%s: %v", b, err)
		}
	})
}
