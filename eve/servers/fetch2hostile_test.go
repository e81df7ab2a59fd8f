package servers_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"interleave/internal/freeport"
)

// A rough is the server's end of a connection, which sends the frames that it is told to, good or
// bad. The client may have hung up, so nobody looks whether they have gone.
type rough struct {
	*http2.Framer
	c       net.Conn
	at      int // of the server's connections, from 0
	packer  packer
	settled bool
}

// serveRough starts a server of such connections, and returns its URL.
func serveRough(t testing.TB, serve func(r *rough)) string {
	t.Helper()
	l, err := freeport.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		wait.Wait()
	})
	wait.Go(func() {
		for at := 0; ; at++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wait.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(patience))
				serveRoughly(c, at, serve)
			})
		}
	})
	return "http://" + l.Addr().String()
}

func serveRoughly(c net.Conn, at int, serve func(r *rough)) {
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	r := &rough{Framer: http2.NewFramer(c, c), c: c, at: at}
	r.AllowIllegalWrites = true
	r.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	serve(r)
	c.(*net.TCPConn).CloseWrite()
	io.Copy(io.Discard, c) // else the kernel would reset the connection
}

// asked waits for the next request and returns its stream; 0: the client has gone.
func (r *rough) asked() uint32 {
	if !r.settled {
		r.settled = true
		r.WriteSettings()
	}
	for {
		got, err := r.ReadFrame()
		var one http2.StreamError
		switch {
		case errors.As(err, &one):
		case err != nil:
			return 0
		default:
			if h, is := got.(*http2.MetaHeadersFrame); is {
				return h.StreamID
			}
			if s, is := got.(*http2.SettingsFrame); is && !s.IsAck() {
				r.WriteSettingsAck()
			}
		}
	}
}

// head sends these fields, in as many frames as they need. ends says that nothing follows.
func (r *rough) head(id uint32, ends bool, all ...string) {
	block := bytes.Clone(r.packer.pack(all...))
	const most = 16_384 // RFC 9113 section 4.2
	first := block[:min(len(block), most)]
	rest := block[len(first):]
	r.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: first, EndStream: ends,
		EndHeaders: len(rest) == 0})
	for len(rest) > 0 {
		part := rest[:min(len(rest), most)]
		rest = rest[len(part):]
		r.WriteContinuation(id, len(rest) == 0, part)
	}
}

// answer sends a good reply.
func (r *rough) answer(id uint32, text string) {
	r.head(id, false, ":status", "200")
	r.WriteData(id, true, []byte(text))
}

// each does this for each request.
func each(do func(r *rough, id uint32)) func(*rough) {
	return func(r *rough) {
		for id := r.asked(); id != 0; id = r.asked() {
			do(r, id)
		}
	}
}

// heads answers each request with these fields, and then, if there is one, with this body.
func heads(body string, all ...string) func(*rough) {
	return each(func(r *rough, id uint32) {
		r.head(id, body == "", all...)
		if body != "" {
			r.WriteData(id, true, []byte(body))
		}
	})
}

// flood does this behind the first request until the client has had enough.
func flood(do func(r *rough, id uint32) error) func(*rough) {
	return func(r *rough) {
		id := r.asked()
		for i := 0; i < 20_000 && do(r, id) == nil; i++ {
		}
	}
}

// What servers do, and what their client says of it.
var roughs = []struct {
	name   string
	serve  func(r *rough)
	rounds []round
}{
	{"good", each(func(r *rough, id uint32) {
		r.answer(id, "ok")
	}), []round{ask("GET U/", "2/200 - ok"), ask("POST=a U/", "2/200 - ok")}},
	{"trailer", each(func(r *rough, id uint32) {
		r.head(id, false, ":status", "200", "x-test", "a")
		r.WriteData(id, false, []byte("abc"))
		r.head(id, true, "x-test", "b")
	}), []round{ask("GET U/", "2/200 a abc")}},
	{"interim", each(func(r *rough, id uint32) {
		r.head(id, false, ":status", "103", "x-test", "a")
		r.answer(id, "ok")
	}), []round{ask("GET U/", "2/200 - ok")}},
	{"not modified", heads("", ":status", "304", "content-length", "5"),
		[]round{ask("GET U/", "2/304 - ")}},

	{"refused once", each(func(r *rough, id uint32) {
		if id == 1 {
			r.WriteRSTStream(id, http2.ErrCodeRefusedStream)
		} else {
			r.answer(id, "ok")
		}
	}), []round{ask("POST=a U/", "2/200 - ok")}},
	{"refused", each(func(r *rough, id uint32) {
		r.WriteRSTStream(id, http2.ErrCodeRefusedStream)
	}), []round{ask("GET U/", "error: H: the server refuses the request")}},
	{"reset", each(func(r *rough, id uint32) {
		if id == 1 {
			r.head(id, false, ":status", "200")
			r.WriteRSTStream(id, http2.ErrCodeInternal)
		} else {
			r.answer(id, "ok")
		}
	}), []round{ask("GET U/", "error: H: the server has reset the stream (INTERNAL_ERROR)"),
		ask("GET U/", "2/200 - ok")}},
	{"end", each(func(r *rough, id uint32) {
		if r.at == 0 {
			r.WriteGoAway(0, http2.ErrCodeNo, nil)
		} else {
			r.answer(id, "ok")
		}
	}), []round{ask("POST=a U/", "2/200 - ok")}},
	{"end behind a request", each(func(r *rough, id uint32) {
		r.WriteGoAway(id, http2.ErrCodeNo, nil)
		r.answer(id, fmt.Sprint("ok ", r.at))
	}), []round{ask("POST=a U/", "2/200 - ok 0"), ask("POST=a U/", "2/200 - ok 1")}},
	{"end each time", each(func(r *rough, _ uint32) {
		r.WriteGoAway(0, http2.ErrCodeNo, nil)
	}), []round{ask("GET U/", "error: H: the server refuses the request")}},
	{"end with a reason", func(r *rough) {
		r.WriteGoAway(r.asked(), http2.ErrCodeInadequateSecurity, nil)
	}, []round{ask("GET U/", "error: H: the server has ended the connection "+
		"(INADEQUATE_SECURITY)")}},
	{"gone", func(r *rough) { r.asked() },
		[]round{ask("GET U/", "error: H: the connection was closed without a reply")}},
	{"gone behind a reply", func(r *rough) {
		r.answer(r.asked(), fmt.Sprint("ok ", r.at))
		r.asked()
	}, []round{ask("GET U/", "2/200 - ok 0"), ask("GET U/", "2/200 - ok 1"),
		ask("POST U/", "error: H: the connection was closed without a reply"),
		ask("POST U/", "2/200 - ok 2")}},
	{"silent", each(func(*rough, uint32) {}), []round{ask("GET U/ 50", "error: H: timeout")}},
	{"no streams", func(r *rough) {
		r.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
		r.asked()
		r.asked()
	}, []round{ask("GET U/ 50", "error: H: timeout")}},
	{"no window", func(r *rough) {
		r.settled = true
		r.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		r.asked() // its body does not come
		r.answer(r.asked(), "ok")
	}, []round{ask("PUT=x*1000 U/ 50", "error: H: timeout"), ask("GET U/", "2/200 - ok")}},

	{"HTTP/1.1", func(r *rough) {
		io.WriteString(r.c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
	}, []round{ask("GET U/", broken2("PROTOCOL_ERROR"))}},
	{"no settings", func(r *rough) {
		r.settled = true
		r.answer(r.asked(), "ok")
	}, []round{ask("GET U/", broken2("PROTOCOL_ERROR"))}},
	{"push", each(func(r *rough, id uint32) {
		r.WritePushPromise(http2.PushPromiseParam{StreamID: id, PromiseID: 2, EndHeaders: true,
			BlockFragment: r.packer.pack(":method", "GET", ":scheme", "http", ":path", "/",
				":authority", "h")})
	}), []round{ask("GET U/", broken2("PROTOCOL_ERROR"))}},
	{"own stream", each(func(r *rough, _ uint32) { r.answer(2, "ok") }),
		[]round{ask("GET U/", broken2("PROTOCOL_ERROR"))}},
	{"idle stream", each(func(r *rough, _ uint32) { r.WriteData(99, true, []byte("a")) }),
		[]round{ask("GET U/", broken2("PROTOCOL_ERROR"))}},
	{"window beyond its end", each(func(r *rough, _ uint32) { r.WriteWindowUpdate(0, 1<<31-1) }),
		[]round{ask("GET U/", broken2("FLOW_CONTROL_ERROR"))}},
	{"large frame", each(func(r *rough, id uint32) {
		r.WriteRawFrame(http2.FrameData, 0, id, make([]byte, 1<<20))
	}), []round{ask("GET U/", broken2("FRAME_SIZE_ERROR"))}},
	{"packed noise", each(func(r *rough, id uint32) {
		r.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: true, EndStream: true,
			BlockFragment: []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}})
	}), []round{ask("GET U/", broken2("COMPRESSION_ERROR"))}},
	{"pings", flood(func(r *rough, id uint32) error {
		return r.WritePing(false, [8]byte{byte(id)})
	}), []round{ask("GET U/", broken2("ENHANCE_YOUR_CALM"))}},
	{"settings", flood(func(r *rough, _ uint32) error { return r.WriteSettings() }),
		[]round{ask("GET U/", broken2("ENHANCE_YOUR_CALM"))}},
	{"small windows", func(r *rough) {
		r.settled = true
		r.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		id := r.asked()
		for i := 0; i < 20_000 && r.WriteWindowUpdate(id, 1) == nil; i++ {
		}
	}, []round{ask("PUT=x*100000 U/", broken2("ENHANCE_YOUR_CALM"))}},
	{"interims", flood(func(r *rough, id uint32) error {
		r.head(id, false, ":status", "103")
		return nil
	}), []round{ask("GET U/", broken2("ENHANCE_YOUR_CALM"))}},
	{"empty data", func(r *rough) {
		id := r.asked()
		r.head(id, false, ":status", "200")
		for i := 0; i < 20_000 && r.WriteData(id, false, nil) == nil; i++ {
		}
	}, []round{ask("GET U/", broken2("ENHANCE_YOUR_CALM"))}},
	{"resets", flood(func(r *rough, _ uint32) error {
		return r.WriteRSTStream(1, http2.ErrCodeCancel)
	}), []round{ask("GET U/", "error: H: the server has reset the stream (CANCEL)")}},
	{"continuations", func(r *rough) {
		id := r.asked()
		r.WriteHeaders(http2.HeadersFrameParam{StreamID: id,
			BlockFragment: r.packer.pack(":status", "200")})
		for range 1000 {
			r.WriteContinuation(id, false, nil)
		}
	}, []round{ask("GET U/", broken2("ENHANCE_YOUR_CALM"))}},

	{"no status", heads("", "x", "y"), wrong},
	{"two statuses", heads("", ":status", "200", ":status", "200"), wrong},
	{"status of letters", heads("", ":status", "abc"), wrong},
	{"status 101", heads("", ":status", "101"), wrong},
	{"interim at the end", heads("", ":status", "103"), wrong},
	{"upper case", heads("", ":status", "200", "Upper", "x"), wrong},
	{"field of a connection", heads("", ":status", "200", "connection", "close"), wrong},
	{"part of a request", heads("", ":status", "200", ":path", "/"), wrong},
	{"late status", heads("", "x", "y", ":status", "200"), wrong},
	{"line end", heads("", ":status", "200", "x", "a\r\nb: c"), wrong},
	{"too short", heads("abc", ":status", "200", "content-length", "4"), wrong},
	{"too long", heads("abc", ":status", "200", "content-length", "2"), wrong},
	{"length of letters", heads("abc", ":status", "200", "content-length", "x"), wrong},
	{"body of none", heads("abc", ":status", "204"), wrong},
	{"body of HEAD", heads("abc", ":status", "200"),
		[]round{ask("HEAD U/", "error: H: the reply breaks the rules of HTTP/2 (PROTOCOL_ERROR)")}},
	{"status in a trailer", each(func(r *rough, id uint32) {
		r.head(id, false, ":status", "200")
		r.head(id, true, ":status", "200")
	}), wrong},
	{"trailer without an end", each(func(r *rough, id uint32) {
		r.head(id, false, ":status", "200")
		r.head(id, false, "x", "y")
	}), wrong},

	{"many fields", heads("", append([]string{":status", "200"},
		strings.Split(strings.Repeat("x|y|", 200), "|")...)...),
		[]round{ask("GET U/", "error: H: there are too many fields")}},
	{"large fields", heads("", ":status", "200", "x", strings.Repeat("y", 33_000)),
		[]round{ask("GET U/", "error: H: there are too many fields")}},
	{"bomb", heads("", append([]string{":status", "200"},
		strings.Split(strings.Repeat("x|"+strings.Repeat("y", 4000)+"|", 500), "|")...)...),
		[]round{ask("GET U/", "error: H: there are too many fields")}},
	{"long body", each(func(r *rough, id uint32) {
		r.head(id, false, ":status", "200")
		for range 8 {
			r.WriteData(id, false, make([]byte, 16_384))
		}
	}), []round{ask("GET U/", "error: H: the body is too large")}},
	{"announced", each(func(r *rough, id uint32) {
		r.head(id, false, ":status", "200", "content-length", "100001")
	}), []round{ask("GET U/", "error: H: the body is too large")}},
}

// broken2 is what the client says of a server that breaks a rule or a limit of the connection.
func broken2(code string) string {
	return fmt.Sprintf("error: H: the server breaks the rules of HTTP/2 (%s)", code)
}

// wrong replies are no end of the connection.
var wrong = []round{
	ask("GET U/", "error: H: the reply breaks the rules of HTTP/2 (PROTOCOL_ERROR)")}

// Servers that break off, lie, flood or are no servers of HTTP/2 give an error that says so, and
// what may be sent again is.
func TestFetch2Hostile(t *testing.T) {
	t.Parallel()
	for _, c := range roughs {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			course{url: serveRough(t, c.serve), rounds: c.rounds}.mustRun(t, 1)
		})
	}
}

// A server that has fallen silent loses the connection, and what waits there goes to another one.
func TestFetch2Silent(t *testing.T) {
	t.Parallel()
	url := serveRough(t, func(r *rough) {
		r.answer(r.asked(), fmt.Sprint("ok ", r.at))
		for id := r.asked(); id != 0; id = r.asked() { // pings are not answered
			if r.at > 0 {
				r.answer(id, "ok")
			}
		}
	})
	course{connect: 5 * time.Second, url: url, rounds: []round{
		ask("GET U/", "2/200 - ok 0"), ask("GET U/ 50", "error: H: timeout"),
		ask("GET U/", "2/200 - ok 1")}}.mustRun(t, 2)
}

// FuzzFetch2 sends any bytes behind the settings, and then the end. The client gives a reply or an
// error, and ends.
func FuzzFetch2(f *testing.F) {
	seed := func(do func(r *rough)) {
		var out bytes.Buffer
		r := &rough{Framer: http2.NewFramer(&out, nil)}
		r.AllowIllegalWrites = true
		do(r)
		f.Add(out.Bytes())
	}
	seed(func(r *rough) { r.answer(1, "ok") })
	seed(func(r *rough) {
		r.head(1, false, ":status", "103")
		r.head(1, false, ":status", "200", "content-length", "3")
		r.WriteDataPadded(1, false, []byte("abc"), make([]byte, 5))
		r.head(1, true, "x", "y")
	})
	seed(func(r *rough) {
		r.WritePing(false, [8]byte{})
		r.WriteGoAway(1, http2.ErrCodeNo, []byte("bye"))
		r.WriteRSTStream(1, http2.ErrCodeRefusedStream)
	})
	seed(func(r *rough) {
		r.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 31},
			http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
		r.WriteWindowUpdate(1, 1<<31-1)
	})
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"))
	f.Fuzz(func(t *testing.T, input []byte) {
		url := serveRough(t, func(r *rough) {
			r.asked()
			r.c.Write(input)
		})
		p := course{url: url, rounds: []round{ask("GET U/", "")}}.start(t, 1)
		p.mustExit(0)
		got, host := p.out.String(), strings.TrimPrefix(url, "http://")
		if !strings.HasPrefix(got, "0.0 2/") && !strings.HasPrefix(got, "0.0 error: "+host+": ") ||
			p.err.String() != "" {
			t.Errorf("%x: printed %q and %q", input, got, p.err.String())
		}
	})
}
