package images

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"interleave/internal/postgres"
	"interleave/internal/probe/probetest"
)

// nextLimit is the contract's, for an answer of the next service.
const nextLimit = 10 * time.Second

// nextTiming is the form of Server-Timing if there is a next service.
var nextTiming = regexp.MustCompile(`^db;dur=[0-9.]+, next;dur=[0-9.]+, all;dur=[0-9.]+$`)

// A link is a service of a chain, and the gate before it.
type link struct {
	*client
	gate   *gate
	folder *probetest.Folder
	server *probetest.Server
	words  []string // of the last: its database, if that is not in the folder
}

// newChain starts so many services, each behind an open gate. The words are arguments of the last
// one.
func newChain(t *testing.T, m *probetest.Subject, length int, words ...string) []*link {
	links := make([]*link, length)
	for i := length - 1; i >= 0; i-- {
		l := &link{gate: newGate(t), words: words}
		l.folder, _ = m.Folder(t, 0)
		l.start(t, m, links[i+1:])
		links[i] = l
	}
	return links
}

// start starts the service on its folder, in front of the first of those behind, and
// opens its gate.
func (l *link) start(t *testing.T, m *probetest.Subject, behind []*link) {
	words := l.words
	if len(behind) > 0 {
		words = []string{behind[0].gate.url()}
	}
	l.server = m.Start(t, l.folder, words...)
	l.client = newClient(t, l.server.Port)
	l.gate.set(l.gate.to(l.server.Port))
}

// TestChain tests the contract of services in front of others.
func TestChain(t *testing.T) {
	each(t, asked(), func(t *testing.T, m *probetest.Subject) {
		t.Parallel()
		hurry(m)
		chain := newChain(t, m, 3)
		for end := time.Now().Add(patience); !passes(chain); chain = newChain(t, m, 3) {
			stop(t, chain)
			if time.Now().After(end) {
				t.Fatalf("an upload never passes the chain within %v", nextLimit)
			}
		}
		crowds(chain)
		away(chain)
		lies(chain)
		if *whole {
			waits(chain)
		}
		dies(t, m, chain)
		rings(chain)
		stop(t, chain)
		for _, word := range []string{"http://", "http://127.0.0.1", "http://127.0.0.1:0",
			"http://127.0.0.1:65536", "http://127.0.0.1:x",
			"http://127.0.0.1:80/path", "http://127.0.0.1:80?query", "http://me@127.0.0.1:80",
			"http://:80", "https://127.0.0.1:80"} {
			if line := m.Refuses(t, word); !strings.Contains(line, "expected http://HOST:PORT") {
				t.Errorf("%q: it said %q, want what was expected", word, line)
			}
		}
		m.Refuses(t, "http://127.0.0.1:80", "postgres://me@127.0.0.1:80/x")
	})
}

// stop ends the services of a chain, the first one first.
func stop(t *testing.T, chain []*link) {
	t.Helper()
	for _, l := range chain {
		if err := l.server.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// passes: an upload is in every service when it is acknowledged, and a deleted image in none. It
// returns false if a large one took longer than the contract allows, as on a busy machine: it may
// remain in the services behind.
func passes(chain []*link) bool {
	first, last := chain[0], chain[len(chain)-1]
	content, name := pngOf(first.t, paint(40, 30, 1)), "grüße & 猫?.png"
	kind, body := form([3]string{"image", "of a form.png", string(content)})
	formed := first.stored(first.ask("POST", "/images", map[string]string{"Content-Type": kind},
		body, 201), len(content))
	big := padded(first.t, content, largest)
	uploaded := first.ask("POST", "/images?name=large",
		map[string]string{"Content-Type": "image/png"}, big, 201, 503, 504)
	if uploaded.status != 201 {
		return false
	}
	large := first.stored(uploaded, len(big))
	a := first.ask("POST", "/images?name="+url.QueryEscape(name),
		map[string]string{"Content-Type": "application/octet-stream"}, content, 201)
	i := first.stored(a, len(content))
	if got := a.header.Get("Server-Timing"); !nextTiming.MatchString(got) {
		first.t.Errorf("an upload: got Server-Timing %q, want %s", got, nextTiming)
	}
	if i.Name != name || formed.Name != "of a form.png" || large.Bytes != largest {
		first.t.Errorf("got %+v, %+v and %+v", i, formed, large)
	}
	tag := first.ask("GET", i.URL, nil, nil, 200).header.Get("ETag")
	for n, l := range chain {
		l.same(first.list(), fmt.Sprintf("in service %d of the chain, after uploads to the first",
			n+1))
		a := l.ask("GET", i.URL, nil, nil, 200)
		if !bytes.Equal(a.body, content) || a.header.Get("ETag") != tag ||
			a.header.Get("Content-Type") != "image/png" {
			l.t.Errorf("service %d: got %d bytes, %v", n+1, len(a.body), a.header)
		}
		if got := a.header.Get("Server-Timing"); nextTiming.MatchString(got) != (l != last) ||
			!timing.MatchString(got) {
			l.t.Errorf("service %d of %d, a fetch: got Server-Timing %q", n+1, len(chain), got)
		}
	}
	if got := first.ask("GET", large.URL, nil, nil, 200); int64(len(got.body)) != large.Bytes {
		first.t.Errorf("got %d bytes of %d", len(got.body), large.Bytes)
	}
	first.ask("HEAD", i.URL, nil, nil, 200)
	first.ask("GET", i.URL, map[string]string{"If-None-Match": tag}, nil, 304)
	if got := first.ask("GET", i.URL, map[string]string{"Range": "bytes=1-3"}, nil,
		206); string(got.body) != "PNG" {
		first.t.Errorf("a range: got %q", got.body)
	}
	first.ask("GET", i.Thumbnail, nil, nil, 200)
	first.refused("what is no image", map[string]string{"Content-Type": "image/png"},
		[]byte("text"), 415)
	for _, gone := range []info{i, formed, large} {
		first.ask("DELETE", gone.URL, nil, nil, 204)
		first.ask("DELETE", gone.URL, nil, nil, 404)
		for _, l := range chain {
			l.ask("GET", gone.URL, nil, nil, 404)
		}
	}
	i = first.upload("image/png", "deleted-behind", content)
	last.ask("DELETE", i.URL, nil, nil, 204)
	first.ask("GET", i.URL, nil, nil, 404)
	first.ask("DELETE", i.URL, nil, nil, 204) // it was here
	first.ask("DELETE", i.URL, nil, nil, 404)
	return true
}

// crowds: many clients at once get their own bytes back, from every service.
func crowds(chain []*link) {
	const clients, each = 16, 4
	first := chain[0]
	var wait sync.WaitGroup
	for n := range clients {
		content := jpegOf(first.t, paint(60, 60, uint64(n)))
		wait.Go(func() {
			for range each {
				a, err := first.try("POST", "/images?name=crowd",
					map[string]string{"Content-Type": "image/jpeg"}, bytes.NewReader(content))
				if err != nil || a.status != 201 {
					first.t.Errorf("one of many uploads: %v, %.300v", err, a)
					return
				}
				for _, l := range chain {
					if got, err := l.try("GET", a.header.Get("Location"), nil, nil); err != nil ||
						!bytes.Equal(got.body, content) {
						l.t.Errorf("%s: not what was uploaded there: %v", a.header.Get("Location"),
							err)
					}
				}
			}
		})
	}
	wait.Wait()
	if got := len(first.list()); got != clients*each {
		first.t.Errorf("%d uploads at once: the first service has %d images", clients*each, got)
	}
	for n, l := range chain {
		l.same(first.list(), fmt.Sprintf("in service %d of the chain, after many uploads at once",
			n+1))
	}
}

// away: while a service behind cannot be reached, nothing is stored, fetched or deleted. The chain
// recovers when it is back.
func away(chain []*link) {
	first := chain[0]
	content := gifOf(first.t, 9, 9)
	i := first.upload("image/gif", "kept", content)
	before := first.list()
	for n, l := range chain[1:] {
		l.gate.close()
		for range 3 {
			asksInVain(first, i, content, 502)
		}
		first.ask("GET", i.Thumbnail, nil, nil, 200) // of its own
		first.ask("GET", "/healthz", nil, nil, 200)
		l.gate.set(l.gate.to(l.server.Port))
		first.back(i)
		for m, l := range chain {
			l.same(before, fmt.Sprintf("in service %d of the chain, after number %d was away", m+1,
				n+2))
		}
		back := first.upload("image/gif", "back", content)
		first.ask("GET", back.URL, nil, nil, 200)
		first.ask("DELETE", back.URL, nil, nil, 204)
	}
	first.ask("DELETE", i.URL, nil, nil, 204)
}

// without: while the database of the last service is away, nothing is stored, fetched or deleted.
// The chain recovers when it is back.
func without(chain []*link, database *postgres.Server) {
	first, last := chain[0], chain[len(chain)-1]
	content := gifOf(first.t, 9, 9)
	i := first.upload("image/gif", "kept", content)
	before := first.list()
	database.Stop()
	// its own limit for a connection is as long as the limit for its answer
	asksInVain(first, i, content, 503, 504)
	first.ask("GET", i.Thumbnail, nil, nil, 200) // of its own
	first.ask("GET", "/healthz", nil, nil, 200)
	database.Start()
	last.recovers()
	first.back(i)
	for n, l := range chain {
		l.same(before,
			fmt.Sprintf("in service %d of the chain, after the database of the last was away", n+1))
	}
	back := first.upload("image/gif", "back", content)
	first.ask("GET", back.URL, nil, nil, 200)
	for _, gone := range []info{back, i} {
		first.ask("DELETE", gone.URL, nil, nil, 204)
	}
}

// asksInVain sends requests that need the next service, and wants one of these statuses and no
// change.
func asksInVain(first *link, i info, content []byte, want ...int) {
	first.t.Helper()
	before := first.list()
	var wait sync.WaitGroup
	wait.Go(func() { first.ask("GET", i.URL, nil, nil, want...) })
	wait.Go(func() { first.ask("DELETE", i.URL, nil, nil, want...) })
	wait.Go(func() {
		a := first.refusedBy(map[string]string{"Content-Type": "image/gif"}, content)
		if a != nil && !slices.Contains(want, a.status) {
			first.t.Errorf("an upload without the next service: got %d %.300q, want %d", a.status,
				a.body, want)
		}
	})
	wait.Wait()
	first.same(before, "after requests that the next service did not answer")
}

// lies: invalid answers of the next service are refused.
func lies(chain []*link) {
	first, second := chain[0], chain[1]
	content := gifOf(first.t, 9, 9)
	i := first.upload("image/gif", "true", content)
	status := func(line string) string {
		return "HTTP/1.1 " + line + "\r\nContent-Length: 0\r\n\r\n"
	}
	told := func(body string) string {
		return fmt.Sprintf("HTTP/1.1 201 Created\r\nLocation: /images/7\r\nContent-Type: "+
			"application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	next := &liar{}
	second.gate.set(next.serve)
	for _, lie := range []struct {
		name, text   string
		whole        bool
		post, others int
	}{
		{"the end", "", false, 502, 502}, {"no HTTP", "SSH-2.0\r\n", false, 502, 502},
		{"half a head", "HTTP/1.1 200 OK\r\nContent-Le", false, 502, 502},
		{"500", status("500 Internal Server Error"), true, 502, 502}, {"302", status("302 Found"),
			true, 502, 502}, {"413", status("413 Content Too Large"), true, 502, 502},
		{"503", status("503 Service Unavailable"), true, 503, 503},
		{"504", status("504 Gateway Timeout"), true, 504, 504},
		{"507", status("507 Insufficient Storage"), true, 507, 507},
		{"508", status("508 Loop Detected"), true, 508, 508},
		{"no JSON", told("tea"), true, 502, 502},
		{"no id", told(`{"created":"2026-11-22T07:20:11.123Z"}`), true, 502, 502},
		{"an id of 0", told(`{"id":0,"created":"2026-11-22T07:20:11.123Z"}`), true, 502, 502},
		{"no time", told(`{"id":7777}`), true, 502, 502},
		{"a time that is none", told(`{"id":7777,"created":"yesterday"}`), true, 502, 502},
		{"an endless text", told(`"` + strings.Repeat("x", 1<<20) + `"`), true, 502, 502},
		{"too few bytes", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nGIF", true, 502, 502},
		{"fewer bytes than told", "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nGIF", false, 502,
			502},
		{"too many bytes", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" +
			strings.Repeat("x", 1000), true, 502, 502},
	} {
		next.say(lie.text, lie.whole)
		before := first.list()
		first.refused("the next service says "+lie.name,
			map[string]string{"Content-Type": "image/gif"}, content, lie.post)
		first.ask("GET", i.URL, nil, nil, lie.others)
		first.ask("DELETE", i.URL, nil, nil, lie.others)
		first.same(before, "after the next service said "+lie.name)
	}
	next.say(status("404 Not Found"), true)
	first.refused("the next service has no such path",
		map[string]string{"Content-Type": "image/gif"}, content, 502)
	first.ask("GET", i.URL, nil, nil, 404)
	second.gate.set(second.gate.to(second.server.Port))
	first.back(i)
	first.ask("DELETE", i.URL, nil, nil, 204)
}

// back asks for an image until it comes: kept connections to the next service may have ended
// meanwhile, which shows when they are used.
func (l *link) back(i info) {
	l.t.Helper()
	l.settles(i, 200)
}

// settles asks for an image until the answer has this status: 502 may come before.
func (l *link) settles(i info, status int) {
	l.t.Helper()
	for range 100 {
		if l.ask("GET", i.URL, nil, nil, status, 502).status == status {
			return
		}
	}
	l.t.Errorf("the next service is back, and %s gets 502, want %d", i.URL, status)
}

// waits: a service behind that does not answer gets its time, and no more.
func waits(chain []*link) {
	first, last := chain[0], chain[len(chain)-1]
	content := gifOf(first.t, 9, 9)
	i := first.upload("image/gif", "late", content)
	for _, l := range []*link{chain[1], last} {
		l.gate.mute.Store(true)
		begin := time.Now()
		asksInVain(first, i, content, 504)
		if took := time.Since(begin); took < nextLimit {
			first.t.Errorf("a service behind that says nothing: answered after %v, want %v or more",
				took, nextLimit)
		}
		l.gate.set(l.gate.to(l.server.Port))
		first.back(i)
	}
	first.ask("DELETE", i.URL, nil, nil, 204)
}

// dies kills the last service in the middle of uploads. Acknowledged images are in all services,
// and each image of a service is in all behind it.
func dies(t *testing.T, m *probetest.Subject, chain []*link) {
	first, last := chain[0], chain[len(chain)-1]
	acknowledged := first.kill(last.server)
	first.refused("an upload after the last service was killed",
		map[string]string{"Content-Type": "image/gif"}, gifOf(t, 9, 9), 502)
	last.start(t, m, nil)
	first.back(first.list()[0])
	for n, l := range chain {
		l.survived(acknowledged)
		behind := map[info]bool{}
		for _, i := range last.list() {
			behind[i] = true
		}
		for _, i := range l.list() {
			if !behind[i] {
				t.Errorf("service %d has %s, and the last has not", n+1, i.URL)
			}
		}
	}
	i := first.upload("image/gif", "after", gifOf(t, 9, 9))
	first.ask("DELETE", i.URL, nil, nil, 204)
}

// rings: the last gate leads back to the first service, so that all before it are a ring. Each of
// them says so, and stores and deletes nothing.
func rings(chain []*link) {
	ring, last := chain[:len(chain)-1], chain[len(chain)-1]
	i := chain[0].upload("image/gif", "before", gifOf(chain[0].t, 9, 9))
	last.gate.set(last.gate.to(ring[0].server.Port))
	ring[0].settles(i, 508)
	for _, l := range ring {
		before := l.list()
		l.refused("an upload to a ring", map[string]string{"Content-Type": "image/gif"},
			gifOf(l.t, 9, 9), 508)
		l.ask("DELETE", i.URL, nil, nil, 508)
		l.same(before, "in a ring")
	}
}
