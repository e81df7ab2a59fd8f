package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"interleave/internal/irctest"
)

// browseTLS opens a WebSocket over TLS, whose listener is the third one.
func (srv *instance) browseTLS(ctx context.Context) (*websocket.Conn, error) {
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	ws, _, err := websocket.Dial(ctx, "wss://"+srv.at[2]+"/socket", //nolint:bodyclose // see Dial
		&websocket.DialOptions{Subprotocols: []string{textProtocol}, HTTPClient: client})
	return ws, err
}

// connectWeb connects by a WebSocket, each frame of which is a line without its end. The client
// sees a stream of lines.
func (srv *instance) connectWeb(secure bool) *irctest.Client {
	srv.t.Helper()
	ctx, cancel := context.WithTimeout(srv.t.Context(), patience)
	var ws *websocket.Conn
	var err error
	if secure {
		ws, err = srv.browseTLS(ctx)
	} else {
		ws, _, err = srv.browse(ctx, "")
	}
	if err != nil {
		cancel()
		srv.t.Fatal(err)
	}
	mine, client := net.Pipe()
	end := func() {
		_ = ws.CloseNow()
		_ = mine.Close()
		cancel()
	}
	go func() { // the client's lines
		defer end()
		lines := bufio.NewScanner(mine)
		for lines.Scan() {
			line := []byte(strings.TrimSuffix(lines.Text(), "\r"))
			if err := ws.Write(ctx, websocket.MessageText, line); err != nil {
				return
			}
		}
	}()
	go func() { // the server's lines
		defer end()
		for {
			_, line, err := ws.Read(ctx)
			if err != nil {
				return
			}
			if _, err := mine.Write(append(line, "\r\n"...)); err != nil {
				return
			}
		}
	}()
	srv.t.Cleanup(end)
	return irctest.New(srv.t, client)
}
