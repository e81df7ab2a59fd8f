package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"
)

// browse opens a WebSocket as a page of an origin does, and returns the status of the HTTP answer.
func (srv *instance) browse(ctx context.Context,
	origin string) (ws *websocket.Conn, status int, err error) {
	o := &websocket.DialOptions{Subprotocols: []string{textProtocol}, HTTPHeader: http.Header{}}
	if origin != "" {
		o.HTTPHeader.Set("Origin", origin)
	}
	ws, response, err := websocket.Dial(ctx, "ws://"+srv.at[1]+"/socket", o)
	if response != nil {
		status = response.StatusCode
		if err != nil {
			_ = response.Body.Close()
		}
	}
	return ws, status, err
}

// frames is an IRC client over a WebSocket.
type frames struct {
	t   *testing.T
	ctx context.Context
	ws  *websocket.Conn
}

func (f *frames) say(lines ...string) {
	f.t.Helper()
	for _, l := range lines {
		if err := f.ws.Write(f.ctx, websocket.MessageText, []byte(l)); err != nil {
			f.t.Fatal(err)
		}
	}
}

// hear reads up to a frame with a text. Each frame must be one line without its end.
func (f *frames) hear(text string) string {
	f.t.Helper()
	for {
		kind, data, err := f.ws.Read(f.ctx)
		switch {
		case err != nil:
			f.t.Fatalf("waiting for %q: %v", text, err)
		case kind != websocket.MessageText || strings.ContainsAny(string(data), "\r\n"):
			f.t.Fatalf("a frame of kind %v: %q", kind, data)
		case strings.Contains(string(data), text):
			return string(data)
		}
	}
}

// closed reads to the end, and returns the status with which the server has closed.
func (f *frames) closed() websocket.StatusCode {
	f.t.Helper()
	for {
		if _, _, err := f.ws.Read(f.ctx); err != nil {
			if f.ctx.Err() != nil {
				f.t.Fatal("the server does not close")
			}
			return websocket.CloseStatus(err)
		}
	}
}

// TestWebSocket sends what browsers send, and wrong frames.
func TestWebSocket(t *testing.T) {
	srv := open(t, t.TempDir(), func(c *Config) {
		c.Web, c.Origins = []string{"127.0.0.1:0"}, []string{"friends.example"}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	enter := func(nick string) *frames {
		t.Helper()
		ws, _, err := srv.browse(ctx, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ws.CloseNow() })
		f := &frames{t, ctx, ws}
		if got := ws.Subprotocol(); got != textProtocol {
			t.Errorf("the subprotocol is %q", got)
		}
		f.say("NICK "+nick, "USER "+nick+" 0 * :"+nick)
		f.hear(" 422 ")
		f.say("JOIN #tea")
		f.hear(" 366 ")
		return f
	}
	ann := srv.connect().Register("ann", "#tea")

	t.Run("origins", func(t *testing.T) {
		for origin, want := range map[string]bool{
			"": true, "http://" + srv.at[1]: true, "https://friends.example": true,
			"https://evil.example": false, "https://friends.example.evil.example": false,
			"null": false, "http://127.0.0.1:1": false,
		} {
			ws, status, err := srv.browse(ctx, origin)
			switch {
			case (err == nil) != want:
				t.Errorf("origin %q: %v, want it to be let in: %v", origin, err, want)
			case err != nil && status != http.StatusForbidden:
				t.Errorf("origin %q: status %d", origin, status)
			case err == nil:
				_ = ws.CloseNow()
			}
		}
	})
	t.Run("lines", func(t *testing.T) {
		bob := enter("bob")
		bob.say("PRIVMSG #tea :grüße")
		ann.Expect("PRIVMSG #tea :grüße")
		ann.Send("PRIVMSG #tea :not \xff UTF-8")
		bob.hear("not \uFFFD UTF-8")
		bob.say("PRIVMSG #tea :" + strings.Repeat("x", 600))
		bob.hear(" 417 ")
		_ = bob.ws.Close(websocket.StatusNormalClosure, "") // it awaits the answer for 5 s only
		ann.Expect("QUIT :Connection closed")
	})
	t.Run("binary", func(t *testing.T) {
		bob := enter("bob2")
		if err := bob.ws.Write(ctx, websocket.MessageBinary,
			[]byte("PRIVMSG #tea :binary")); err != nil {
			t.Fatal(err)
		}
		if got := bob.closed(); got != websocket.StatusUnsupportedData {
			t.Errorf("closed with %v", got)
		}
		if got := strings.Join(ann.Expect("bob2!bob2@127.0.0.1 QUIT"), "\n"); strings.Contains(got,
			"binary") {
			t.Errorf("ann hears %s", got)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		ws, response, err := websocket.Dial(ctx, "ws://"+srv.at[1]+"/", &websocket.DialOptions{
			Subprotocols: []string{"unknown", binaryProtocol, textProtocol}})
		if err != nil {
			if response != nil {
				_ = response.Body.Close()
			}
			t.Fatal(err)
		}
		defer ws.CloseNow()
		if got := ws.Subprotocol(); got != binaryProtocol {
			t.Errorf("the subprotocol is %q, not the client's first", got)
		}
		for _, line := range []string{"NICK bin", "USER bin 0 * :bin", "PRIVMSG ann :b\xff"} {
			if err := ws.Write(ctx, websocket.MessageBinary, []byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		ann.Expect("PRIVMSG ann :b\xff")
		ann.Send("PRIVMSG bin :c\xff")
		for {
			kind, frame, err := ws.Read(ctx)
			if err != nil || kind != websocket.MessageBinary {
				t.Fatalf("%v, %v: %q", err, kind, frame)
			}
			if strings.Contains(string(frame), "PRIVMSG bin :c\xff") {
				break
			}
		}
	})
	t.Run("big", func(t *testing.T) {
		bob := enter("bob3")
		if err := bob.ws.Write(ctx, websocket.MessageText,
			[]byte("PRIVMSG #tea :"+strings.Repeat("big", maxWhole))); err != nil {
			t.Fatal(err)
		}
		if got := bob.closed(); got != websocket.StatusMessageTooBig {
			t.Errorf("closed with %v", got)
		}
		ann.Expect("bob3!bob3@127.0.0.1 QUIT")
	})
	t.Run("gone", func(t *testing.T) {
		bob := enter("bob4")
		_ = bob.ws.CloseNow() // no closing frame
		ann.Expect("bob4!bob4@127.0.0.1 QUIT :Connection reset")
	})
	t.Run("end", func(t *testing.T) {
		bob := enter("bob5")
		srv.end()
		bob.hear("ERROR :")
		if got := bob.closed(); got != websocket.StatusNormalClosure {
			t.Errorf("closed with %v", got)
		}
	})
	t.Run("no socket", func(t *testing.T) {
		srv := open(t, t.TempDir(), func(c *Config) { c.Web = []string{"127.0.0.1:0"} })
		client := http.Client{Timeout: patience}
		for path, want := range map[string]int{"/": http.StatusNotFound,
			"/socket": http.StatusUpgradeRequired} {
			r, err := client.Get("http://" + srv.at[1] + path)
			if err != nil {
				t.Fatal(err)
			}
			r.Body.Close()
			if r.StatusCode != want {
				t.Errorf("%s: %d, want %d", path, r.StatusCode, want)
			}
		}
	})
}

// TestWebServerLogsToTheLogger: what package http says of a connection is in the log's own format.
func TestWebServerLogsToTheLogger(t *testing.T) {
	srv, _ := secure(t, func(c *Config) { c.Web = []string{"127.0.0.1:0"} })
	at := srv.at[len(srv.at)-1]
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// The connection is closed after the line is in the log.
	if _, err := io.WriteString(c, "no record of TLS"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(c); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	if said := srv.said.String(); !strings.Contains(said, `msg="http: TLS handshake error`) {
		t.Errorf("the log is\n%s", said)
	}
}
