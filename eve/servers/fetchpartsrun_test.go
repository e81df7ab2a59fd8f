package servers_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// Bodies of all forms go and come in parts. One that is read to its end leaves its connection for
// further requests.
func TestFetchParts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, pattern(0, 300_000), 0o600); err != nil {
		t.Fatal(err)
	}
	eachVersion(t, func(t *testing.T, version int) {
		eachWorkers(t, func(t *testing.T, workers int) {
			s := startPartsServer(t, version)
			of := func(text string) string { return fmt.Sprint(version, "/", text) }
			all := []command{
				{"read U/bytes/0", of("200 0 bytes")},
				{"read U/bytes/1", of("200 1 bytes")},
				{"read U/bytes/5000000", of("200 5000000 bytes")},
				{"read U/chunks/0", of("200 0 bytes")},
				{"read U/chunks/300000", of("200 300000 bytes")},
				{"read U/none", of("204 0 bytes")},
				{"read U/to/302/bytes/7", of("200 7 bytes")},
				{"send U/none", of("204 ")},
				{"send U/bytes/100001", "error: H: the body is too large"},
				{"put 10,1000,-1 . U/size", of("200 10000 -1 <nil>")},
				{"put 100,50000,5000000 . U/size", of("200 5000000 5000000 <nil>")},
				{"put 0,0,-1 . U/size", of("200 0 -1 <nil>")},
				{"put 0,0,0 . U/size", of("200 0 0 <nil>")},
				{"put-file " + file + " U/size", of("200 300000 -1 <nil>")},
				{"put 3,10,31 . U/size", "error: H: the body of the request has 30 bytes, not 31"},
				{"put 3,10,29 . U/size", "error: H: the body of the request has 30 bytes, not 29"},
				{"put 2,10,-1 fails U/size", "error: H: the source is dry"},
				{"put 2,10,-1 forgets U/size", "error: H: no answer"},
				{"put 1,10,10 . U/to/303/none", of("204 ")},
				{"put 1,10,10 . U/to/307/size", "error: " + s.URL +
					"/to/307/size: a redirect, and the body cannot be sent again"},
				{"put 1000,65536,-1 . U/deaf", of("403 ")},
			}
			if version == 1 {
				all = append(all, command{"read U/until/300000", of("200 300000 bytes")})
			}
			mustObey(t, workers, version, patience, s.URL, all)
			if n := s.made.Load(); version == 2 && n != 1 {
				t.Errorf("%d connections were made, want 1", n)
			}
		})
	})
}

// A body that was read to its end leaves its connection for the next request.
func TestFetchPartsKept(t *testing.T) {
	t.Parallel()
	s := startPartsServer(t, 1)
	const reads = 40
	mustObey(t, 2, 1, patience, s.URL,
		slices.Repeat([]command{{"read U/bytes/100000", "1/200 100000 bytes"}}, reads))
	// a reader that asks for its next request at once may come a moment before the connection
	if n := s.made.Load(); n > reads/2 {
		t.Errorf("%d connections were made for %d requests", n, reads)
	}
}

// Servers of HTTP/1.1 that break off or lie. What has come before is read.
func TestFetchPartsBroken(t *testing.T) {
	t.Parallel()
	const ok, chunked = "HTTP/1.1 200 OK\r\n", "Transfer-Encoding: chunked\r\n\r\n"
	var replies []string
	var all []command
	for _, c := range []struct{ reply, want string }{
		{"", "error: H: the connection was closed without a reply"},
		{ok + "Content-Le", "error: H: the message is cut off"},
		{ok + "Content-Length: 5\r\n\r\n\x00\x01\x02",
			"1/200 3 bytes, error: H: the message is cut off"},
		{ok + chunked + "5\r\n\x00\x01", "1/200 2 bytes, error: H: the message is cut off"},
		{ok + chunked + "1\r\n\x00\r\n", "1/200 1 bytes, error: H: the message is cut off"},
		{ok + chunked + "1\r\n\x00\r\nzz\r\n",
			"1/200 1 bytes, error: H: the size of a chunk is no number"},
		{ok + chunked + "2\r\n\x00\x01\x02\r\n0\r\n\r\n",
			"1/200 2 bytes, error: H: a line is too long"},
		{ok + chunked + "2\r\n\x00\x01\r\n0\r\nA: b\r\n\r\n", "1/200 2 bytes"},
		{ok + "\r\n\x00\x01", "1/200 2 bytes"},
		{ok + "Content-Length: 1\r\n\r\n\x00\x01\x02", "1/200 1 bytes"},
		{ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "error: H: two lengths"},
		{ok + "Content-Length: x\r\n\r\n", "error: H: a length is no number"},
		{"HTTP/1.1 103 Early Hints\r\n\r\n" + ok + "Content-Length: 1\r\n\r\n\x00",
			"1/200 1 bytes"},
		{"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 100001\r\n\r\n",
			"error: H: the body is too large"},
		{"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n" + strings.Repeat("x", 100_001),
			"error: H: the body is too large"},
	} {
		replies = append(replies, c.reply)
		all = append(all, command{"read U/", c.want})
	}
	mustObey(t, 1, 1, patience, "http://"+broken(t, replies...), all)
}

// A server of HTTP/1.1 that replies to the head of a request, and takes nothing of its body. The
// reply is read at once, although the rest of the body waits, and the connection is not used again.
// It is read, too, when the server closes the connection behind it, which resets it.
func TestFetchEarlyReply(t *testing.T) {
	t.Parallel()
	for _, closes := range []bool{false, true} {
		t.Run(fmt.Sprint("closes=", closes), func(t *testing.T) {
			t.Parallel()
			url, made := hasty(t, closes)
			all := []command{
				{"put 1000,65536,-1 . U/", "1/403 no"},
				{"put 1000,65536,65536000 . U/", "1/403 no"},
				{"post 20000000 U/", "1/403 no"},
			}
			all = slices.Concat(all, all)
			mustObey(t, 2, 1, patience, url, all)
			if n := made.Load(); int(n) != len(all) {
				t.Errorf("%d connections were made for %d requests", n, len(all))
			}
		})
	}
}

// hasty starts a server that replies to the head of a request, and reads no body. It returns its
// URL and the number of its connections.
func hasty(t *testing.T, closes bool) (string, *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	made := &atomic.Int32{}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			made.Add(1)
			t.Cleanup(func() { c.Close() })
			go func() {
				c.Read(make([]byte, 10))
				io.WriteString(c, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
				if closes {
					c.Close()
				}
			}()
		}
	}()
	return "http://" + l.Addr().String(), made
}

// A connection that is reset in the middle of a body, or an upload.
func TestFetchPartsReset(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "PUT" {
			io.ReadFull(r.Body, make([]byte, 100_000))
		}
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		if r.Method == "GET" {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n")
			c.Write(pattern(0, 1_000_000))
		}
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}))
	t.Cleanup(s.Close)
	p := startParts(t, 2, 1, patience, "read "+s.URL, "put 10000,65536,-1 . "+s.URL)
	p.mustExit(0)
	lines := strings.Split(p.out.String(), "\n")
	host := s.Listener.Addr().String()
	if len(lines) != 3 || !strings.Contains(lines[0], "error: "+host) ||
		!strings.Contains(lines[1], "error: "+host) {
		t.Errorf("got %q, want two errors", lines)
	}
}

// Servers of HTTP/2 that break off or lie.
func TestFetchPartsRough(t *testing.T) {
	t.Parallel()
	three := func(r *rough, id uint32, more ...string) {
		r.head(id, false, append([]string{":status", "200"}, more...)...)
		r.WriteData(id, false, pattern(0, 3))
	}
	for _, c := range []struct {
		name  string
		serve func(r *rough)
		want  string
	}{
		{"reset", each(func(r *rough, id uint32) {
			three(r, id)
			r.WriteRSTStream(id, http2.ErrCodeInternal)
		}), "2/200 3 bytes, error: H: the server has reset the stream (INTERNAL_ERROR)"},
		{"too long", each(func(r *rough, id uint32) {
			three(r, id, "content-length", "2")
		}), "2/200 0 bytes, error: H: the reply breaks the rules of HTTP/2 (PROTOCOL_ERROR)"},
		{"too short", each(func(r *rough, id uint32) {
			three(r, id, "content-length", "4")
			r.WriteData(id, true, nil)
		}), "2/200 3 bytes, error: H: the reply breaks the rules of HTTP/2 (PROTOCOL_ERROR)"},
		{"gone", func(r *rough) { three(r, r.asked()) },
			"2/200 3 bytes, error: H: the connection was closed without a reply"},
		{"gone behind the end", func(r *rough) {
			id := r.asked()
			three(r, id)
			r.WriteData(id, true, pattern(3, 10_000))
			r.WriteGoAway(id, http2.ErrCodeNo, nil)
		}, "2/200 10003 bytes"},
		{"bad frame", each(func(r *rough, id uint32) {
			three(r, id)
			r.WriteData(99, true, nil)
		}), "2/200 3 bytes, error: H: the server breaks the rules of HTTP/2 (PROTOCOL_ERROR)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mustObey(t, 1, 2, patience, serveRough(t, c.serve), []command{{"read U/", c.want}})
		})
	}
}

// A server that falls silent in the middle of a body costs its reader `reply_time`. The time of a
// program that reads slowly does not count, as TestFetchPartsPressure shows.
func TestFetchPartsSilent(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, version int) {
		s := startPartsServer(t, version)
		url := s.URL
		p := startParts(t, 2, version, 200*time.Millisecond, "read "+url+"/stuck",
			"read "+url+"/held", "put 1,10,20 forgets "+url+"/size")
		p.mustExit(0)
		lines := strings.Split(strings.TrimSpace(p.out.String()), "\n")
		host := s.Listener.Addr().String()
		for i, line := range lines {
			if i < 2 && !strings.HasSuffix(line, "error: "+host+": timeout") {
				t.Errorf("got %q, want a timeout", line)
			}
		}
		if len(lines) != 3 {
			t.Errorf("got %q, want 3 lines", lines)
		}
	})
}

// A request whose caller has given up is let go at once: of HTTP/1.1 its connection is closed, of
// HTTP/2 its stream is reset, and the connection stays. So it is when a function that waits for it
// was given up, when it is cancelled, and when nothing is left that has the body.
func TestFetchCancels(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, version int) {
		eachWorkers(t, func(t *testing.T, workers int) {
			s := startPartsServer(t, version)
			p, compare := obeying(t, workers, version, patience, s.URL, []command{
				{"send-within 50 U/held", "error: timeout"},
				{"open-within 50 U/held", "error: timeout"},
				{"load-within 50 U/held", "error: timeout"},
				{"cancel 50 U/held", "error: H: cancelled"},
				{"read-within 50 U/stuck", "timeout, then cancelled"},
				{"stop U/endless", "true error: H: cancelled"},
				{"drop U/endless", "200"},
				{"put-within 50 U/size", "error: timeout"},
				{"pause U/stuck", "paused"},
			})
			p.eventually("the last request is under way", func() bool {
				p.mustRun()
				return strings.HasSuffix(p.out.String(), "paused\n")
			})
			s.mustRest(p, version, 1)
			compare()
			if n := s.made.Load(); version == 2 && n != 1 {
				t.Errorf("%d connections were made, want 1", n)
			}
		})
	})
}

// A server that sends faster than the program reads has to wait.
func TestFetchPartsPressure(t *testing.T) {
	t.Parallel()
	const size, most = 64 << 20, 32 << 20 // the systems at both ends hold some of it
	eachVersion(t, func(t *testing.T, version int) {
		s := startPartsServer(t, version)
		p := startParts(t, 2, version, patience, fmt.Sprintf("pause %s/bytes/%d", s.URL, size))
		p.eventually("the program reads", func() bool {
			return strings.Contains(p.out.String(), "paused\n")
		})
		last, still := int64(-1), 0
		p.eventually("the server waits", func() bool {
			n := s.wrote.Load()
			if n != last {
				last, still = n, 0
			}
			still++
			return still > 20
		})
		if last > most {
			t.Errorf("the server could write %d bytes, want at most %d", last, most)
		}
		p.signal(syscall.SIGHUP)
		p.mustExit(0)
		if got, want := p.out.String(), fmt.Sprintf("paused\n%d bytes\n", size); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Packed bodies, whole and in parts. A few bytes that unpack to many are bounded.
func TestUnpacked(t *testing.T) {
	t.Parallel()
	s := startPartsServer(t, 1)
	const large = "error: the data is larger than is allowed"
	mustObey(t, 2, 1, patience, s.URL, []command{
		{"unpack 1000000000 U/packed/gzip/5000000", "5000000 bytes"},
		{"unpack 1000000000 U/packed/deflate/70000", "70000 bytes"},
		{"unpack 1000000000 U/packed/identity/70000", "70000 bytes"},
		{"unpack 1000000000 U/packed/gzip/0", "0 bytes"},
		{"unpack 1000000000 U/packed/br/10", "error: the body has an unknown coding: br"},
		{"unpack-whole 1000000000 U/packed/gzip/70000", "70000 bytes"},
		{"unpack-whole 1000000000 U/packed/deflate/70000", "70000 bytes"},
		{"unpack-whole 1000000000 U/packed/identity/70000", "70000 bytes"},
		{"unpack-whole 1000 U/packed/gzip/70000", large},
		{"unpack-whole 1000 U/packed/br/10", "error: the body has an unknown coding: br"},
		{"unpack 20000000 U/raw/60000", "true " + large},
		{"unpack 1000000000 U/raw/60000", "true error: the data ends early"},
		{"unpack 1000000000 U/raw/5", "false error: the data ends early"},
		{"read U/none", "1/204 0 bytes"},
	})
}
