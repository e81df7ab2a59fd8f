package load

// Loads of image services that are right, and of wrong ones of each kind.

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"interleave/internal/manifest"
)

const anImage = 17_000 // bytes

func TestImages(t *testing.T) {
	tests := []struct {
		name    string
		load    manifest.Load
		cpus    []int
		chunked bool
	}{
		{"one client", manifest.Load{Shape: manifest.Closed, Connections: 1,
			Ask: manifest.AskImage}, nil, false},
		{"eight, two threads, chunked", manifest.Load{Shape: manifest.Closed, Connections: 8,
			Ask: manifest.AskImage}, []int{0, 0}, true},
		{"a number", manifest.Load{Shape: manifest.Closed, Connections: 3, Requests: 7,
			Ask: manifest.AskImage, Reads: 3}, nil, false},
		{"at a rate", manifest.Load{Shape: manifest.Open, Connections: 4, Rate: 200,
			Ask: manifest.AskImage}, nil, false},
		{"thumbnails", manifest.Load{Shape: manifest.Closed, Connections: 2,
			Ask: manifest.AskThumbnail}, nil, false},
		{"unchanged", manifest.Load{Shape: manifest.Closed, Connections: 2, Requests: 3,
			Ask: manifest.AskUnchanged, Reads: 10}, nil, false},
		{"cold", manifest.Load{Shape: manifest.Cold, Connections: 1, Requests: 25,
			Ask: manifest.AskImage}, nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.load.SizeBytes = anImage
			p := plan(manifest.Images, netip.AddrPort{}, test.load)
			p.CPUs = test.cpus
			if test.load.Requests > 0 {
				p.Window = 0
			}
			if test.load.Shape == manifest.Cold {
				p.WarmUp = 0
			}
			var server *imageServer
			r := runSteady(t, p, func(t testing.TB, p Plan) *Result {
				server = newImageServer()
				server.chunked = test.chunked
				p.Addr = listen(t, server.serve)
				return runPlan(t, p)
			})
			noErrors(t, r)
			checkImages(t, &test.load, r, server)
		})
	}
}

func checkImages(t *testing.T, l *manifest.Load, r *Result, server *imageServer) {
	t.Helper()
	n := of(r)
	if n.Images == nil || n.Images.Response.Count() == 0 {
		t.Fatalf("no responses: %+v", r)
	}
	if want := int64(l.Connections) * l.Requests; want > 0 && n.Requests != want {
		t.Errorf("%d operations, want %d", n.Requests, want)
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	left := 0
	if l.Shape == manifest.Cold {
		left = int(l.Requests)
	}
	if len(server.images) != left || left == 0 && server.most > l.Connections {
		t.Errorf("%d images are left and there were %d at most; want %d and %d", len(server.images),
			server.most, left, l.Connections)
	}
	if int64(server.last) != n.Total ||
		server.kinds["image/jpeg"]+server.kinds["image/png"] != server.last ||
		server.last > 1 && min(server.kinds["image/jpeg"], server.kinds["image/png"]) == 0 {
		t.Errorf("%d operations, the server has %d images: %v", n.Total, server.last, server.kinds)
	}
	for name, s := range map[string]*Split{"post": &n.Images.Post, "get": &n.Images.Get} {
		parts := s.ToServer.Mean() + s.InServer.Mean() + s.FromServer.Mean()
		if whole := s.Total.Mean(); parts < .97*whole || parts > 1.03*whole {
			t.Errorf("%s: the parts' means are %.0f ns together, the whole's is %.0f", name, parts,
				whole)
		}
	}
	if got := n.Images.Post.Database.Quantile(.5); got < 245_000 || got > 255_000 {
		t.Errorf("the server says .25 ms of its database, the load has read %d ns", got)
	}
	if got := n.Images.Post.Next.Quantile(.5); got < 490_000 || got > 510_000 {
		t.Errorf("the server says .5 ms of the next service, the load has read %d ns", got)
	}
	if n := n.Images.Get.Next.Count(); n != 0 {
		t.Errorf("the server says nothing of the next service at a fetch, the load has %d times", n)
	}
	if l.Shape == manifest.Open && n.Latency.Count() != uint64(n.Offered) {
		t.Errorf("%d latencies of %d operations that were due", n.Latency.Count(), n.Offered)
	}
	if want := min(int(l.Requests), left); len(n.Images.FirstPost) != want ||
		len(n.Images.FirstGet) != want {
		t.Errorf("%d and %d first requests, want %d", len(n.Images.FirstPost),
			len(n.Images.FirstGet), want)
	}
}

// Images are made once for all tests: under the race detector that takes half a second.
func init() {
	type key struct {
		size int
		seed uint64
	}
	var mu sync.Mutex
	made := map[key][]picture{}
	picturesFor = func(size int, seed uint64) ([]picture, error) {
		mu.Lock()
		defer mu.Unlock()
		k := key{size, seed}
		if made[k] != nil {
			return made[k], nil
		}
		pictures, err := makePictures(size, seed)
		made[k] = pictures
		return pictures, err
	}
}

// TestTimeInServer: what a server takes for an upload is time in it, and neither before nor behind.
func TestTimeInServer(t *testing.T) {
	const slow = 100 * time.Millisecond
	server := newImageServer()
	server.slow = slow
	p := plan(manifest.Images, listen(t, server.serve), manifest.Load{Shape: manifest.Cold,
		Connections: 1, Requests: 4, SizeBytes: 128_000, Ask: manifest.AskImage})
	p.WarmUp, p.Window = 0, 0
	// A load that waits for a core sees late that all is written, and counts the wait as the way
	// there: then the time in the server looks shorter by that.
	quietly(t, "uploads were in the server for the time that it takes, and fetches not",
		func() bool {
			r := runPlan(t, p)
			noErrors(t, r)
			for i, ns := range of(r).Images.FirstPost {
				if time.Duration(ns) < slow {
					t.Errorf("upload %d took %v, the server takes %v", i, time.Duration(ns), slow)
				}
			}
			post, get := &of(r).Images.Post, &of(r).Images.Get
			in, back, fetch := time.Duration(post.InServer.Min()),
				time.Duration(post.FromServer.Min()),
				time.Duration(get.InServer.Min())
			t.Logf("an upload was in the server for %v, its answer took %v; a fetch was in it "+
				"for %v",
				in, back, fetch)
			return in > slow*9/10 && back < slow/2 && fetch < slow/2
		})
}

// TestWrongImageServers holds the engine to the kind of each fault.
func TestWrongImageServers(t *testing.T) {
	closed := manifest.Load{Shape: manifest.Closed, Connections: 2, SizeBytes: anImage,
		Ask: manifest.AskImage}
	open := manifest.Load{Shape: manifest.Open, Connections: 2, SizeBytes: anImage, Rate: 50,
		Ask: manifest.AskImage}
	unchanged := manifest.Load{Shape: manifest.Closed, Connections: 2, SizeBytes: anImage,
		Ask: manifest.AskUnchanged, Reads: 4}
	thumbnail := manifest.Load{Shape: manifest.Closed, Connections: 1, SizeBytes: anImage,
		Ask: manifest.AskThumbnail}
	onPost := func(change func([]byte) []byte) func(*imageServer) {
		return func(s *imageServer) {
			s.change = func(r *http.Request, answer []byte) []byte {
				if r.Method == http.MethodPost && s.asked.Load() > 6 {
					return change(answer)
				}
				return answer
			}
		}
	}
	onGet := func(change func([]byte) []byte) func(*imageServer) {
		return func(s *imageServer) { s.onGet(6, change) }
	}
	tests := []struct {
		name  string
		load  manifest.Load
		wrong func(*imageServer)
		kind  string
	}{
		{"a wrong byte", closed, onGet(func(a []byte) []byte { a[len(a)-1]++; return a }),
			WrongReply},
		{"a wrong byte, open", open, onGet(func(a []byte) []byte { a[len(a)/2]++; return a }),
			WrongReply},
		{"another image's length", closed,
			onGet(replaced("Content-Length: 17000", "Content-Length: 16999")), WrongReply},
		{"cut, and the end", closed, func(s *imageServer) { s.change = cutAfter(s, 1000) }, Short},
		{"a cut head", closed, func(s *imageServer) { s.change = cutAfter(s, 20) }, Short},
		{"no answer", closed, func(s *imageServer) { s.change = cutAfter(s, 0) }, Ended},
		{"more than asked for", closed,
			onGet(func(a []byte) []byte { return append(a, "HTTP/1.1 200"...) }), Extra},
		{"200 for 201", closed, onPost(replaced("201 Created", "200 OK")), WrongReply},
		{"no Location", closed, onPost(replaced("Location: /", "Location: ")), WrongReply},
		{"refused", closed, onPost(replaced("201 Created", "503 Service Unavailable")), Refused},
		{"about to close", closed, onPost(replaced("Location", "Connection: close\r\nLocation")),
			Ended},
		{"no length", closed, onGet(replaced("Content-Length: 17000\r\n", "")), WrongReply},
		{"no HTTP", closed, onGet(func([]byte) []byte {
			return []byte("hello, this is another protocol\r\n\r\n")
		}), WrongReply},
		{"no tag", unchanged, onGet(replaced("ETag", "Tag")), WrongReply},
		{"changed", unchanged, onGet(replaced("304 Not Modified", "200 OK")), WrongReply},
		{"an empty thumbnail", thumbnail, onGet(func([]byte) []byte {
			return []byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}), WrongReply},
		{"is gone", closed, func(s *imageServer) { s.change = loseAll(s) }, Refused},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := wrongPlan(manifest.Images, netip.AddrPort{}, test.load)
			p.WarmUp, p.Window = 0, patience // it ends when no connection is left
			server := newImageServer()
			test.wrong(server)
			p.Addr = listen(t, server.serve)
			p.Limit = 2 * patience
			r, err := tryPlan(t, p)
			if r == nil {
				t.Fatal(err)
			}
			if r.Errors[test.kind] == 0 {
				t.Errorf("got %v (%s), want %s", r.Errors, r.FirstFail, test.kind)
			}
		})
	}
	t.Run("never answers", func(t *testing.T) {
		t.Parallel()
		p := wrongPlan(manifest.Images, listen(t, hold), closed)
		p.Limit = 300 * time.Millisecond
		if r, err := tryPlan(t, p); r == nil || r.Errors[Timeout]+r.Errors[PastLimit] == 0 {
			t.Errorf("got %+v, %v; want %s", r, err, Timeout)
		}
	})
}

// cutAfter sends n bytes of an answer that is longer, from the sixth request on, and ends
// the connection.
func cutAfter(s *imageServer, n int) func(*http.Request, []byte) []byte {
	return func(_ *http.Request, answer []byte) []byte {
		if s.asked.Load() < 6 || len(answer) <= n {
			return answer
		}
		return answer[:n]
	}
}

// loseAll forgets what was uploaded.
func loseAll(s *imageServer) func(*http.Request, []byte) []byte {
	return func(_ *http.Request, answer []byte) []byte {
		s.mu.Lock()
		clear(s.images)
		s.mu.Unlock()
		return answer
	}
}

// TestImagesAllocateNothing: a window of a thousand operations allocates no more than one of none.
// The server is a thread that replays answers, and allocates nothing either.
func TestImagesAllocateNothing(t *testing.T) {
	pictures, err := picturesFor(anImage, 7)
	if err != nil {
		t.Fatal(err)
	}
	post := []byte("HTTP/1.1 201 Created\r\nLocation: /images/1\r\nServer-Timing: " +
		"db;dur=0.25\r\nContent-Length: 2\r\n\r\n{}")
	get := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", anImage)
	gone := []byte("HTTP/1.1 204 No Content\r\n\r\n")
	serve := func(c *net.TCPConn) {
		request := make([]byte, 64<<10)
		answers := make([][]byte, len(pictures))
		for i, p := range pictures {
			answers[i] = append(append([]byte(nil), get...), p.bytes...)
		}
		have, posts := 0, 0
		for {
			n, err := c.Read(request[have:])
			if err != nil {
				return
			}
			have += n
			var out []byte
			switch request[0] {
			case 'P':
				if have < anImage+80 ||
					request[have-1] != pictures[posts%len(pictures)].bytes[anImage-1] ||
					have < headLength(request[:have])+anImage {
					continue
				}
				out = post
				posts++
			case 'G':
				out = answers[(posts-1)%len(pictures)]
			default:
				out = gone
			}
			have = 0
			if _, err := c.Write(out); err != nil {
				return
			}
		}
	}
	addr := listen(t, serve)
	run := func(n int64) uint64 {
		p := plan(manifest.Images, addr, manifest.Load{Shape: manifest.Cold, Connections: 1,
			Requests: n, SizeBytes: anImage, Ask: manifest.AskImage})
		p.WarmUp, p.Window = 0, 0
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := runPlan(t, p)
		runtime.ReadMemStats(&after)
		noErrors(t, r)
		return after.Mallocs - before.Mallocs
	}
	few, many := run(1), run(1000)
	t.Logf("%d allocations for one operation, %d for a thousand", few, many)
	const slack = 500 // of the runtime and of making images, which is not the same each time
	if many > few+slack {
		t.Errorf("%d allocations for one operation, %d for a thousand", few, many)
	}
}

// headLength is that of a request.
func headLength(p []byte) int {
	for i := 3; i < len(p); i++ {
		if p[i] == '\n' && p[i-1] == '\r' && p[i-2] == '\n' {
			return i + 1
		}
	}
	return len(p)
}
