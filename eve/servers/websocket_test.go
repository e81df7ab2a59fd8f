package servers_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// A server of WebSockets. Its arguments are the time limits in milliseconds for a message, the
// silence of a client, output that is not taken, and the end; without them no step comes near one.
const webSocketServer = `import io.http
import io.websocket

limits: () websocket.limits:
    all: websocket.limits = websocket.limits(largest = 70_000, behind = 1mib, message_time = 600s,
        silence = 600s, write_time = 600s, close_time = 600s)
    args: vector<string> = process.args()
    if args.size() == 4:
        all.message_time = 1ms * (args[0].to_int() else 0)
        all.silence = 1ms * (args[1].to_int() else 0)
        all.write_time = 1ms * (args[2].to_int() else 0)
        all.close_time = 1ms * (args[3].to_int() else 0)
    return all

echo: (x: http.exchange) void:
    c: websocket.connection@ = websocket.connection(limits())
    on c opened [+stdout]: print("opened <%s>\n", c.protocol)
    on c received:
        if received.binary: websocket.send_binary(c, received.text.bytes())
        else if received.text == "close": websocket.close(c, 4000, "as you wish")
        else if received.text == "fail": assert received.text.empty(), "a mistake"
        else: websocket.send(c, received.text)
    say_how_it_ends(c)
    on c error [+stdout]:
        print("a handler has failed\n")
        stdout.flush()
    websocket.accept(c, x, websocket.rules(["https://friend.example"], ["v2", "v1"]))

say_how_it_ends: (c: websocket.connection@) void:
    on c closed [+stdout]:
        print("closed %d %s\n", closed.code, closed.reason)
        stdout.flush()

# Sends 64 KiB each millisecond, whether the client takes it or not.
pour: (x: http.exchange) void:
    c: websocket.connection@ = websocket.connection(limits())
    t: timer@ = timer.every(1ms)
    on t fired [+c]: websocket.send(c, "0123456789abcdef".repeat(4096))
    on c closed [-t]:
        @ [+t]: t.stop()
    say_how_it_ends(c)
    websocket.accept(c, x)

# Sends 64 MiB in messages of 64 KiB as fast as the client takes them.
wait: (x: http.exchange) void:
    bounds: websocket.limits = limits()
    bounds.patient = true
    c: websocket.connection@ = websocket.connection(bounds)
    left: int@ = 1024
    on c opened [+left]: more(c, left)
    on c drained [+left]: more(c, left)
    say_how_it_ends(c)
    websocket.accept(c, x)

more: [+c, +left] (c: websocket.connection@, left: int@) void:
    block: string = "0123456789abcdef".repeat(4096)
    while left > 0 && websocket.send(c, block): left -= 1
    if left == 0: websocket.close(c)

main: [+stderr] () void:
    table: http.routes
    table.get("/echo"):
        run = [] (x: http.exchange) void: echo(x)
    table.get("/pour"):
        run = [] (x: http.exchange) void: pour(x)
    table.get("/patient"):
        run = [] (x: http.exchange) void: wait(x)
    table.get("/page"):
        run = [] (x: http.exchange) void: x.respond(200, "a page\n")
    started <- http.listen(8080, table) [+stderr]
    match started:
        ok(s):
            on process.signals terminate [+s]: http.stop(s, 600s)
            on s stopped [+stdout]: print("stopped\n")
        error(e):
            stderr.write("%s\n", e)
            process.exit(3)
`

func serveWebSocket(t *testing.T, workers int, words ...string) (*process, int) {
	t.Helper()
	exe := compiled(t, "websocket.eve", webSocketServer)
	p := startWith(t, append([]string{exe}, words...), fmt.Sprint("EVE_WORKERS=", workers))
	return p, p.port()
}

// dialWebSocket connects by a well-tried client.
func dialWebSocket(t *testing.T, port int, path string, protocols ...string) *websocket.Conn {
	t.Helper()
	return dialWith(t, port, path, &websocket.DialOptions{Subprotocols: protocols})
}

func dialWith(t *testing.T, port int, path string, o *websocket.DialOptions) *websocket.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	c, a, err := websocket.Dial(ctx, fmt.Sprintf("ws://127.0.0.1:%d%s", port, path), o)
	if err != nil {
		t.Fatal(err)
	}
	if a.Body != nil {
		a.Body.Close()
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	c.SetReadLimit(-1)
	return c
}

func sendMessage(t *testing.T, c *websocket.Conn, kind websocket.MessageType, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Write(ctx, kind, []byte(text)); err != nil {
		t.Fatalf("sending %q: %v", head(text), err)
	}
}

func mustReceive(t *testing.T, c *websocket.Conn, kind websocket.MessageType, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got, text, err := c.Read(ctx)
	if err != nil || got != kind || string(text) != want {
		t.Fatalf("received %v %q, %v, want %v %q", got, head(string(text)), err, kind, head(want))
	}
}

// mustBeClosed checks the Close frame of the server.
func mustBeClosed(t *testing.T, c *websocket.Conn, code websocket.StatusCode, reason string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, text, err := c.Read(ctx)
	var end websocket.CloseError
	if !errors.As(err, &end) || end.Code != code || end.Reason != reason {
		t.Fatalf("received %q, %v, want status %d %s", head(string(text)), err, code, reason)
	}
}

// Messages of all sizes and kinds come back in their order; pings are answered; the subprotocol is
// the server's favourite; either side may close.
func TestWebSocketEcho(t *testing.T) {
	t.Parallel()
	eachWorkers(t, func(t *testing.T, workers int) {
		p, port := serveWebSocket(t, workers)
		c := dialWebSocket(t, port, "/echo", "v0", "v1", "v2")
		if got := c.Subprotocol(); got != "v2" {
			t.Errorf("the subprotocol is %q", got)
		}
		for _, size := range []int{0, 1, 125, 126, 127, 65535, 65536} {
			text := strings.Repeat("x", size)
			sendMessage(t, c, websocket.MessageText, text)
			mustReceive(t, c, websocket.MessageText, text)
			raw := strings.Repeat("\xff", size)
			sendMessage(t, c, websocket.MessageBinary, raw)
			mustReceive(t, c, websocket.MessageBinary, raw)
		}
		const many = 500
		sent := make(chan error, 1)
		go func() {
			for i := range many {
				if err := c.Write(t.Context(), websocket.MessageText,
					fmt.Append(nil, "message ", i)); err != nil {
					sent <- err
					return
				}
			}
			sent <- c.Ping(t.Context())
		}()
		for i := range many {
			mustReceive(t, c, websocket.MessageText, fmt.Sprint("message ", i))
		}
		ended := make(chan error, 1)
		go func() {
			_, _, err := c.Read(t.Context())
			ended <- err
		}()
		if err := <-sent; err != nil {
			t.Errorf("the messages or the ping: %v", err)
		}
		_ = c.Close(websocket.StatusNormalClosure, "bye") // what the server saw is checked
		<-ended
		p.eventually("the server knows", func() bool {
			return p.out.String() == "opened <v2>\nclosed 1000 bye\n"
		})
		c = dialWebSocket(t, port, "/echo", "v0")
		if got := c.Subprotocol(); got != "" {
			t.Errorf("the subprotocol is %q", got)
		}
		sendMessage(t, c, websocket.MessageText, "close")
		mustBeClosed(t, c, 4000, "as you wish")
		p.eventually("the server knows", func() bool {
			return strings.HasSuffix(p.out.String(), "opened <>\nclosed 4000 as you wish\n") ||
				strings.HasSuffix(p.out.String(), "opened <>\nclosed 4000 \n")
		})
	})
}

// A server that ends says so to its clients, and waits for them.
func TestWebSocketServerEnds(t *testing.T) {
	t.Parallel()
	eachWorkers(t, func(t *testing.T, workers int) {
		p, port := serveWebSocket(t, workers)
		c := dialWebSocket(t, port, "/echo")
		sendMessage(t, c, websocket.MessageText, "x")
		mustReceive(t, c, websocket.MessageText, "x")
		p.signal(syscall.SIGTERM)
		mustBeClosed(t, c, websocket.StatusGoingAway, "the server ends")
		p.mustExit(0)
		if got := p.out.String(); !strings.Contains(got, "stopped\n") ||
			!strings.Contains(got, "closed 1001 ") {
			t.Errorf("printed %q", got)
		}
	})
}

// A handler that fails ends its own connection: the client hears of it, and others go on.
func TestWebSocketHandlerFails(t *testing.T) {
	t.Parallel()
	p, port := serveWebSocket(t, 2)
	other := dialWebSocket(t, port, "/echo")
	c := dialWebSocket(t, port, "/echo")
	sendMessage(t, c, websocket.MessageText, "fail")
	mustBeClosed(t, c, websocket.StatusInternalError, "a handler has failed")
	sendMessage(t, other, websocket.MessageText, "x")
	mustReceive(t, other, websocket.MessageText, "x")
	p.eventually("the failure is reported", func() bool {
		return strings.Contains(p.err.String(), "a mistake") &&
			strings.Contains(p.out.String(), "a handler has failed\n")
	})
}

const webSocketKey = "dGhlIHNhbXBsZSBub25jZQ==" // of RFC 6455, section 1.3

// handshake is a request for a WebSocket without the fields that begin with these names, and with
// the other lines.
func handshake(path string, changes ...string) string {
	lines := []string{"Host: here.example", "Upgrade: websocket", "Connection: keep-alive, Upgrade",
		"Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + webSocketKey}
	request := "GET " + path + " HTTP/1.1\r\n"
	for _, line := range lines {
		name, _, _ := strings.Cut(line, ":")
		changed := func(change string) bool { return strings.HasPrefix(change, name) }
		if !slices.ContainsFunc(changes, changed) {
			request += line + "\r\n"
		}
	}
	for _, line := range changes {
		if strings.Contains(line, ": ") {
			request += line + "\r\n"
		}
	}
	return request + "\r\n"
}

// Handshakes that are accepted, and those that are not. A connection without a WebSocket goes on.
func TestWebSocketHandshakes(t *testing.T) {
	t.Parallel()
	p, port := serveWebSocket(t, 2)
	for _, c := range []struct {
		name    string
		changes []string
		status  int
	}{
		{"plain", nil, 101},
		{"in capitals", []string{"Upgrade: WEBSOCKET", "Connection: UPGRADE"}, 101},
		{"same origin", []string{"Origin: http://Here.example"}, 101},
		{"same origin, by TLS", []string{"Origin: https://here.example"}, 101},
		{"a friend", []string{"Origin: https://friend.example"}, 101},
		{"another scheme", []string{"Origin: http://friend.example"}, 403},
		{"another origin", []string{"Origin: https://elsewhere.example"}, 403},
		{"another port", []string{"Origin: http://here.example:81"}, 403},
		{"no origin", []string{"Origin: null"}, 403},
		{"two origins", []string{"Origin: http://here.example", "Origin: http://x.example"}, 403},
		{"no upgrade", []string{"Upgrade"}, 426},
		{"another upgrade", []string{"Upgrade: h2c"}, 426},
		{"no connection", []string{"Connection: keep-alive"}, 426},
		{"old version", []string{"Sec-WebSocket-Version: 8"}, 426},
		{"two versions", []string{"Sec-WebSocket-Version: 13, 8"}, 426},
		{"no version", []string{"Sec-WebSocket-Version"}, 426},
		{"no key", []string{"Sec-WebSocket-Key"}, 400},
		{"short key", []string{"Sec-WebSocket-Key: YWJj"}, 400},
		{"strange key", []string{"Sec-WebSocket-Key: !!!"}, 400},
	} {
		peer := p.dial(port)
		peer.say(handshake("/echo", c.changes...))
		in := bufio.NewReader(peer)
		a, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if a.StatusCode != c.status {
			t.Errorf("%s: status %d, want %d", c.name, a.StatusCode, c.status)
			continue
		}
		if c.status == 101 {
			if got := a.Header.Get("Sec-WebSocket-Accept"); got != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
				t.Errorf("%s: the proof is %q", c.name, got)
			}
			continue
		}
		if got := a.Header.Get("Sec-WebSocket-Version"); (got == "13") != (c.status == 426) {
			t.Errorf("%s: Sec-WebSocket-Version: %q", c.name, got)
		}
		if _, err := io.Copy(io.Discard, a.Body); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		peer.say("GET /page HTTP/1.1\r\nHost: h\r\n\r\n")
		if a, err = http.ReadResponse(in, nil); err != nil || a.StatusCode != 200 {
			t.Errorf("%s: the next request on the connection: %v", c.name, err)
		}
	}
	a, text := replyTo(t, p, port, strings.Replace(handshake("/echo"), "1.1", "1.0", 1), true)
	if a.StatusCode != 400 {
		t.Errorf("HTTP/1.0: status %d, %q", a.StatusCode, text)
	}
	b := newBrowser(t, port)
	if a, _ := b.ask("GET", "/echo", nil); a.StatusCode != 426 ||
		a.Header.Get("Upgrade") != "websocket" {
		t.Errorf("a browser gets %d, %v", a.StatusCode, a.Header)
	}
}

// openRaw makes a handshake by hand. more is input that comes with it.
func openRaw(t *testing.T, p *process, port int, path, more string) (peer, *bufio.Reader) {
	t.Helper()
	c := p.dial(port)
	c.say(handshake(path) + more)
	in := bufio.NewReader(c)
	a, err := http.ReadResponse(in, nil)
	if err != nil || a.StatusCode != 101 {
		t.Fatalf("the handshake: %v", err)
	}
	return c, in
}

// answersTo are the frames that the server sends for an input of the table: echoes of messages and
// pings, and a Close frame. ends says whether the input makes it close.
func answersTo(input string) (answers []string, ends bool) {
	for line := range strings.Lines(input) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch kind {
		case "failed", "close":
			return append(answers, "close "+rest[:4]), true
		case "ping":
			answers = append(answers, "pong")
		case "message":
			answers = append(answers, strings.TrimSpace(line))
		}
	}
	return answers, false
}

// Every input of the table gets its answer from the server too. Then the connection ends.
func TestWebSocketHostile(t *testing.T) {
	t.Parallel()
	p, port := serveWebSocket(t, 2)
	for i, c := range framesFromClients {
		want, ends := answersTo(c.want)
		half := c.want == "begun\n"
		with, later := c.input, ""
		if i%2 == 0 {
			with, later = "", c.input
		}
		peer, in := openRaw(t, p, port, "/echo", with)
		if !ends && !half {
			later += masked(last|opClose, "")
			want = append(want, "close 1005")
		}
		peer.say(later)
		if half {
			peer.CloseWrite()
		}
		all, err := io.ReadAll(in)
		if err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v", c.name, err)
		}
		var got []string
		r := frameReader{rest: string(all)}
		for line := r.next(); line != ""; line = r.next() {
			got = append(got, strings.TrimSpace(line))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", c.name, got, want)
		}
	}
	p.eventually("every connection has ended", func() bool {
		return strings.Count(p.out.String(), "closed ") == len(framesFromClients)
	})
	c := dialWebSocket(t, port, "/echo")
	sendMessage(t, c, websocket.MessageText, "still here")
	mustReceive(t, c, websocket.MessageText, "still here")
}

// A client that does not read is cut off; if the server is patient, it is waited for, and gets all.
func TestWebSocketSlowClients(t *testing.T) {
	t.Parallel()
	const count = 1024
	p, port := serveWebSocket(t, 2)
	slow := p.dialBy(net.Dialer{Control: narrow}, port)
	slow.say(handshake("/pour"))
	p.eventually("the slow client is cut off", func() bool {
		return strings.Contains(p.out.String(),
			"closed 1006 the peer takes its messages too slowly\n")
	})
	_, _ = io.Copy(io.Discard, slow) // it ends
	c := dialWebSocket(t, port, "/patient")
	block := strings.Repeat("0123456789abcdef", 4096)
	for range count {
		mustReceive(t, c, websocket.MessageText, block)
	}
	mustBeClosed(t, c, websocket.StatusNormalClosure, "")
}

// Clients that are too slow in any way, or silent, are cut off.
func TestWebSocketTimes(t *testing.T) {
	t.Parallel()
	const never = "600000"
	for _, c := range []struct {
		name   string
		limits []string
		path   string
		input  string
		want   string
	}{
		{"half a message", []string{"100", never, never, "100"}, "/echo", masked(opText, "a"),
			"closed 1008 a message comes too slowly\n"},
		{"half a frame", []string{"100", never, never, "100"}, "/echo", "\x81\x85\x00",
			"closed 1008 a message comes too slowly\n"},
		{"silence", []string{never, "200", never, "100"}, "/echo", "",
			"closed 1006 the peer has given no sign of life\n"},
		{"takes nothing", []string{never, never, "100", "100"}, "/patient", "",
			"closed 1006 the peer takes no output\n"},
		{"no Close frame", []string{never, never, never, "100"}, "/echo",
			masked(last|opText, "close"), "closed 1006 the peer sends no Close frame\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, port := serveWebSocket(t, 2, c.limits...)
			client := p.dialBy(net.Dialer{Control: narrow}, port)
			client.say(handshake(c.path) + c.input)
			p.eventually("it is cut off",
				func() bool { return strings.HasSuffix(p.out.String(), c.want) })
			all, _ := io.ReadAll(client) // it ends
			if c.name == "silence" && !strings.HasSuffix(string(all), plain(last|opPing, "")) {
				t.Errorf("no ping came: %q", head(string(all)))
			}
		})
	}
}

// A peer is cut off for its silence only when it has been asked and had time to answer, also if the
// server itself has slept for longer than that.
func TestWebSocketAsksFirst(t *testing.T) {
	t.Parallel()
	p, port := serveWebSocket(t, 2, "600000", "200", "600000", "600000")
	client, in := openRaw(t, p, port, "/echo", "")
	p.signal(syscall.SIGSTOP)
	since := time.Now()
	p.eventually("the time of silence is over",
		func() bool { return time.Since(since) > 300*time.Millisecond })
	p.signal(syscall.SIGCONT)
	if all, err := io.ReadAll(in); err != nil || string(all) != plain(last|opPing, "") {
		t.Errorf("got %q, %v, want a ping and the end", head(string(all)), err)
	}
	client.Close()
	p.eventually("it is cut off", func() bool {
		return p.out.String() == "opened <>\nclosed 1006 the peer has given no sign of life\n"
	})
}
