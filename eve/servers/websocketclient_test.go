package servers_test

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"interleave/internal/freeport"
)

// A client that sends its further arguments as messages, one behind the echo of the other, then
// closes, and prints what happens. The first argument is the URL.
const webSocketClient = `import io.message
import io.websocket

main: () void:
    args: vector<string> = process.args()
    c: websocket.connection@ = websocket.connection(websocket.limits(largest = 100_000,
        open_time = 600s, message_time = 600s, silence = 600s, write_time = 600s,
        close_time = 600s))
    next: int@ = 1
    on c opened [+next, +stdout]:
        print("opened <%s>\n", c.protocol)
        go_on(c, next)
    on c received [+next, +stdout]:
        print("%v %d %s\n", received.binary, received.text.size(), short(received.text))
        go_on(c, next)
    on c closed [+stdout]: print("closed %d %s\n", closed.code, closed.reason)
    how: websocket.wishes = websocket.wishes("http://there.example", ["v1", "v2"])
    how.headers.add("X-Test", "a value")
    websocket.connect(c, args[0], how)

go_on: [+c, +next] (c: websocket.connection@, next: int@) void:
    args: vector<string> = process.args()
    if next == args.size():
        websocket.close(c, 1000, "bye")
        return
    words: vector<string> = args[next].split("*")
    next += 1
    text: string = words[0]
    if words.size() > 1: text = text.repeat(words[1].to_int() else 1)
    if text.starts_with("binary"): websocket.send_binary(c, text.bytes())
    else: websocket.send(c, text)

short: (text: string) string: return text[0..min(10, text.size())]
`

// visited is what the client prints.
func visited(t *testing.T, words ...string) string {
	t.Helper()
	exe := compiled(t, "websocket-client.eve", webSocketClient)
	p := startWith(t, append([]string{exe}, words...), "EVE_WORKERS=2")
	p.mustExit(0)
	return p.out.String()
}

// Eve's client talks to a well-tried server.
func TestWebSocketClient(t *testing.T) {
	t.Parallel()
	var running sync.WaitGroup
	var mu sync.Mutex
	var seen []string
	note := func(what ...any) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprint(what...))
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page" {
			http.NotFound(w, r)
			return
		}
		running.Add(1)
		defer running.Done()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		note(r.Header.Get("Origin"), " ", r.Header.Get("X-Test"), " ", r.URL.RawQuery)
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{
			Subprotocols: []string{"v2"}, InsecureSkipVerify: true})
		if err != nil {
			t.Error(err)
			return
		}
		c.SetReadLimit(-1)
		for {
			kind, text, err := c.Read(ctx)
			var end websocket.CloseError
			if errors.As(err, &end) {
				note("closed ", int(end.Code), " ", end.Reason)
			}
			if err != nil {
				return
			}
			switch string(text) {
			case "end":
				_ = c.Close(4321, "no more") // the client checks it
				return
			case "break off":
				_ = c.CloseNow() // likewise
				return
			case "ping":
				go c.Read(ctx) //nolint:errcheck // only so that the pong is read
				if err := c.Ping(ctx); err != nil {
					t.Error(err)
				}
				_ = c.Close(4322, "a pong came")
				return
			}
			if err := c.Write(ctx, kind, text); err != nil {
				t.Error(err)
			}
		}
	}))
	t.Cleanup(s.Close)
	base := strings.Replace(s.URL, "http:", "ws:", 1)
	origin := strings.TrimPrefix(s.URL, "http://")
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{base + "/a?b=c", "hello", "x*125", "x*126", "x*65536", "binary\xff*2"},
			"opened <v2>\nfalse 5 hello\nfalse 125 xxxxxxxxxx\nfalse 126 xxxxxxxxxx\n" +
				"false 65536 xxxxxxxxxx\ntrue 14 binary\xffbin\nclosed 1000 bye\n"},
		{[]string{base, "end"}, "opened <v2>\nclosed 4321 no more\n"},
		{[]string{base, "ping"}, "opened <v2>\nclosed 4322 a pong came\n"},
		{[]string{base, "break off"},
			"opened <v2>\nclosed 1006 the connection has ended without a Close frame\n"},
		{[]string{base, "x*100001"}, "opened <v2>\nclosed 1009 the message is too large\n"},
		{[]string{base + "/page"},
			"closed 1006 " + origin + ": the server answers 404 Not Found\n"},
		{[]string{"http://a/"}, "closed 1006 no URL of a WebSocket: http://a/\n"},
		{[]string{"wss://a/"},
			"closed 1006 a:443: for wss the wishes need a protection of io.tls\n"},
		{[]string{"ws:///x"}, "closed 1006 no URL of a WebSocket: ws:///x\n"},
	} {
		if got := visited(t, c.words...); got != c.want {
			t.Errorf("%q: got %q, want %q", c.words, got, c.want)
		}
	}
	running.Wait()
	for _, want := range []string{"http://there.example a value b=c", "closed 1000 bye",
		"closed 1009 the message is too large"} {
		if !slices.Contains(seen, want) {
			t.Errorf("the server saw %q, want %q too", seen, want)
		}
	}
	nobody := fmt.Sprint("127.0.0.1:", freeport.For(t))
	if got, want := visited(t, "ws://"+nobody), "closed 1006 "+nobody+": "; !strings.HasPrefix(got,
		want) || !strings.HasSuffix(got, "Connection refused\n") {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Servers that answer otherwise than they must are not talked to.
func TestWebSocketClientRefuses(t *testing.T) {
	t.Parallel()
	const begin = "HTTP/1.1 101 Switching Protocols\r\n"
	const upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\n"
	const good = begin + upgrade + "Sec-WebSocket-Accept: PROOF\r\n"
	for _, c := range []struct{ name, reply, want string }{
		{"nothing", "", "closed 1006 H: the connection was closed without a reply\n"},
		{"another protocol", "SSH-2.0-x\r\n",
			"closed 1006 H: the first line is no status line\n"},
		{"a page", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
			"closed 1006 H: the server answers 200 OK\n"},
		{"no upgrade", begin + "Sec-WebSocket-Accept: PROOF\r\n\r\n",
			"closed 1006 H: the server changes to another protocol\n"},
		{"no proof", begin + upgrade + "\r\n", "closed 1006 H: the server has not read the key\n"},
		{"a wrong proof", begin + upgrade + "Sec-WebSocket-Accept: xOo=\r\n\r\n",
			"closed 1006 H: the server has not read the key\n"},
		{"an extension", good + "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
			"closed 1006 H: the server wants an extension\n"},
		{"a subprotocol", good + "Sec-WebSocket-Protocol: v3\r\n\r\n",
			"closed 1006 H: the server wants a subprotocol that was not offered\n"},
		{"no frame", good + "\r\n",
			"opened <>\nclosed 1006 the connection has ended without a Close frame\n"},
		{"a masked frame", good + "\r\n" + masked(last|opText, "x"),
			"opened <>\nclosed 1002 a frame of a server is masked\n"},
		{"frames at once", good + "Sec-WebSocket-Protocol: v1\r\n\r\n" + plain(opText, "a") +
			plain(last|opPing, "p") + plain(last|opRest, "b") + plain(last|opText, "c") +
			plain(last|opClose, closing(4000, "d")),
			"opened <v1>\nfalse 2 ab\nclosed 4000 d\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l, err := freeport.Listen(freeport.For(t))
			if err != nil {
				t.Fatal(err)
			}
			over := make(chan struct{})
			t.Cleanup(func() {
				l.Close()
				<-over
			})
			go func() {
				defer close(over)
				answerHandshake(t, l, c.reply)
			}()
			got := visited(t, "ws://"+l.Addr().String(), "hello")
			want := strings.Replace(c.want, "H", l.Addr().String(), 1)
			// the program closes behind the first message, maybe before the second one
			if strings.Replace(got, "false 1 c\n", "", 1) != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// answerHandshake sends the reply to the next client, with the proof that it wants, and an end.
func answerHandshake(t *testing.T, l net.Listener, reply string) {
	c, err := l.Accept()
	if err != nil {
		return
	}
	defer c.Close()
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		t.Error(err)
		return
	}
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") +
		"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	proof := base64.StdEncoding.EncodeToString(sum[:])
	io.WriteString(c, strings.Replace(reply, "PROOF", proof, 1))
	c.(*net.TCPConn).CloseWrite()
	io.Copy(io.Discard, c) // else the kernel would reset the connection
}
