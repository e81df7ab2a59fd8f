package servers_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// A server whose replies have a body of as many bytes as the path says, of the type and with the
// fields that the query says.
const packingServer = `import io.http
import io.compressed
import io.message
import util.url

answer_to: (r: message.request, n: int) message.reply:
    a: message.reply = http.text(200, "0123456789abcdef".repeat(n / 16))
    match url.parse_query(r.query):
        ok(all):
            for (p in all): a.headers.set(p.0, p.1)
        error(e): return http.text(400, e.text())
    return compressed.reply(r, a)

main: () void:
    table: http.routes
    table.get("/{n:int}"):
        run = [] (x: http.exchange) void: x.send(answer_to(x.request, x.number("n")))
    started <- http.listen(8080, table) [+stderr]
    match started:
        ok(s):
            on process.signals terminate [+s]: http.stop(s, 1s)
        error(e):
            stderr.write("%s\n", e)
            process.exit(3)
`

// Replies are packed if the client takes that, and it pays.
func TestCompressedReplies(t *testing.T) {
	t.Parallel()
	p := start(t, compiled(t, "packing.eve", packingServer))
	b := newBrowser(t, p.port())
	for _, c := range []struct {
		path, accepts string
		packed, vary  bool
	}{
		{"/1600", "gzip", true, true},
		{"/1600", "br, GZIP ; Q=0.5", true, true},
		{"/1600", "x-gzip", true, true},
		{"/1600", "*", true, true},
		{"/1600", "*;q=0, gzip;q=0.001", true, true},
		{"/1600", "", false, true},
		{"/1600", "br", false, true},
		{"/1600", "gzip;q=0", false, true},
		{"/1600", "gzip;q=0.000, *", false, true},
		{"/1600", "*;q=0", false, true},
		{"/1600", "gzip;q=", false, true},
		{"/1600", "gzip;q=1;x", false, true},
		{"/1600", "gzip;level=9", false, true},
		{"/1600", ";,;;q=1,gzip", true, true},
		{"/512", "gzip", false, false},
		{"/1600?content-type=image/png", "gzip", false, false},
		{"/1600?content-type=image/svg%2Bxml", "gzip", true, true},
		{"/1600?content-type=Application/JSON;charset=utf-8", "gzip", true, true},
		{"/1600?content-encoding=br", "gzip", false, false},
		{"/1600?cache-control=max-age=1,no-transform", "gzip", false, false},
	} {
		a, text := b.ask("GET", c.path, nil, "Accept-Encoding", c.accepts)
		packed := a.Header.Get("Content-Encoding") == "gzip"
		vary := a.Header.Get("Vary") == "Accept-Encoding"
		if a.StatusCode != http.StatusOK || packed != c.packed || vary != c.vary {
			t.Errorf("%s of %q: packed %v, Vary %v; %v", c.path, c.accepts, packed, vary, a.Header)
			continue
		}
		if packed {
			plain, err := unpackedByGo([]byte(text))
			if err != nil || len(text) > 200 {
				t.Errorf("%s: %v, %d bytes", c.path, err, len(text))
			}
			text = string(plain)
		}
		if !strings.HasPrefix(text, "0123456789abcdef") || len(text)%16 != 0 {
			t.Errorf("%s: %q", c.path, head(text))
		}
	}
	a, _ := b.ask("GET", "/1600?etag=%22x%22", nil, "Accept-Encoding", "gzip")
	if got := a.Header.Get("Etag"); got != `W/"x"` {
		t.Errorf("a strong tag became %q", got)
	}
	p.signal(syscall.SIGTERM)
	p.mustExit(0)
}
