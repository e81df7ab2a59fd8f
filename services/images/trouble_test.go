package images

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"interleave/internal/postgres"
	"interleave/internal/probe/probetest"
)

const (
	uploadsAtOnce = 1024 // of the contract
	crowded       = 10_000
	dialAtOnce    = 64 // fewer than any server's listen queue holds
	mostMemory    = 2 << 30
	dripEvery     = 5 * time.Second // less than the 20 s between two pieces of an upload
)

// crowding lets one model at a time have a crowd: four of them need more descriptors than a test
// may have.
var crowding sync.Mutex

// crowd is ten thousand clients: more uploads that never end than the contract allows at once,
// and half heads. Some uploads are refused, all end, the server stays small and answers everybody
// else meanwhile. On a busy machine the first upload may be 20 s old before the last one begins. So
// each sends a byte now and then until the others are answered, and half heads, which end in 20 s
// whatever comes, begin when the uploads are all there.
func (c *client) crowd(pid int) {
	crowding.Lock()
	defer crowding.Unlock()
	before := c.list()
	large := c.upload("image/png", "large", padded(c.t, pngOf(c.t, gray(8, 8)), 18<<20))
	var refused, waiting atomic.Int64
	var wait, arrived sync.WaitGroup
	full, answered := make(chan struct{}), make(chan struct{})
	var once sync.Once
	dialling := make(chan struct{}, dialAtOnce)
	slow := func(sent string, drips bool, ended func(status int, err error)) {
		waiting.Add(1)
		arrived.Add(1)
		wait.Go(func() {
			defer waiting.Add(-1)
			dialling <- struct{}{}
			conn := c.dial()
			<-dialling
			arrived.Done()
			if conn == nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(requestLimit + patience))
			if drips {
				go keep(conn, answered)
			}
			ended(exchange(conn, sent))
		})
	}
	for range uploadsAtOnce + 100 {
		slow("POST /images HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\nContent-Length: "+
			"20000000\r\n\r\n\x89PNG", true, func(status int, err error) {
			switch {
			case status == 503:
				refused.Add(1)
				once.Do(func() { close(full) })
			case os.IsTimeout(err) || status != 0 && status != 408 && status != 400:
				c.t.Errorf("an upload that does not end: got %d, %v, want 408 or the end", status,
					err)
			}
		})
	}
	select {
	case <-full:
	case <-time.After(patience):
		c.t.Errorf("%d uploads at once: none is refused", uploadsAtOnce+100)
	}
	for range crowded - uploadsAtOnce - 100 {
		slow("GET / HTTP/1.1\r\nHost: ", false, func(_ int, err error) {
			if os.IsTimeout(err) {
				c.t.Errorf("half a head is held for more than %v", requestLimit+patience)
			}
		})
	}
	arrived.Wait()
	c.ask("GET", "/images", nil, nil, 200)
	c.ask("GET", "/healthz", nil, nil, 200)
	c.ask("GET", large.Thumbnail, nil, nil, 200)
	close(answered)
	if n := waiting.Load(); n < crowded/2 {
		c.t.Errorf("others were answered when %d of %d who do not end their requests were left, "+
			"want them to be answered meanwhile", n, crowded)
	}
	if got := memory(c, pid); got > mostMemory {
		c.t.Errorf("%d slow clients take %d MiB", crowded, got>>20)
	}
	wait.Wait()
	if n := refused.Load(); n == 0 || n > 600 {
		c.t.Errorf("%d of %d uploads at once were refused, want about 100", n, uploadsAtOnce+100)
	}
	c.ask("DELETE", large.URL, nil, nil, 204)
	c.same(before, "after many requests that did not end")
	c.upload("image/png", "after", pngOf(c.t, gray(8, 8)))
}

// keep sends a byte on a connection now and then, until enough is closed or the connection ends.
func keep(conn net.Conn, enough <-chan struct{}) {
	for {
		select {
		case <-enough:
			return
		case <-time.After(dripEvery):
			if _, err := conn.Write([]byte{0}); err != nil {
				return
			}
		}
	}
}

// memory is the resident memory of a process, in bytes.
func memory(c *client, pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		c.t.Fatal(err)
	}
	m := regexp.MustCompile(`VmRSS:\s+([0-9]+) kB`).FindSubmatch(text)
	if m == nil {
		c.t.Fatalf("no VmRSS in %s", text)
	}
	kb, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return kb << 10
}

// fullDisk fills SQLite's disk: uploads are refused completely, reading goes on, and writing does
// when there is room again.
func (c *client) fullDisk(folder *probetest.Folder) {
	kept := c.upload("image/png", "kept", pngOf(c.t, paint(20, 20, 7)))
	if err := folder.Fill(); err != nil {
		c.t.Fatal(err)
	}
	content, refused := padded(c.t, pngOf(c.t, gray(30, 30)), 4<<20), false
	before := c.list()
	for range diskBytes / len(content) { // SQLite's files still have room for some
		a := c.ask("POST", "/images?name=full", map[string]string{"Content-Type": "image/png"},
			content, 201, 507, 503)
		if refused = a.status != 201; refused {
			break
		}
		before = append([]info{c.stored(a, len(content))}, before...)
	}
	if !refused {
		c.t.Error("uploads to a full disk: all are stored")
	}
	c.same(before, "after an upload to a full disk")
	c.ask("GET", kept.URL, nil, nil, 200)
	c.ask("GET", kept.Thumbnail, nil, nil, 200, 507)
	c.ask("GET", "/", nil, nil, 200)
	if err := folder.Drain(); err != nil {
		c.t.Fatal(err)
	}
	c.upload("image/png", "room", content)
	c.ask("DELETE", kept.URL, nil, nil, 204)
}

// acknowledged are the images that were answered 201, with their bytes.
type acknowledged struct {
	sync.Mutex
	images map[string][]byte
}

// kill kills the server in the middle of uploads, after many were acknowledged.
func (c *client) kill(server *probetest.Server) *acknowledged {
	const uploaders, enough = 8, 100
	all := &acknowledged{images: map[string][]byte{}}
	reached := make(chan struct{})
	var wait sync.WaitGroup
	for n := range uploaders {
		content := pngOf(c.t, paint(150, 150, uint64(100+n)))
		wait.Go(func() {
			for {
				a, err := c.try("POST", "/images?name=killed",
					map[string]string{"Content-Type": "image/png"}, bytes.NewReader(content))
				if err != nil || a.status != 201 {
					return // it is dead
				}
				all.Lock()
				all.images[a.header.Get("Location")] = content
				if len(all.images) == enough {
					close(reached)
				}
				all.Unlock()
			}
		})
	}
	select {
	case <-reached:
	case <-time.After(patience):
		c.t.Errorf("%d uploads were not acknowledged in %v", enough, patience)
	}
	server.Kill()
	wait.Wait()
	return all
}

// survived checks the images of a server that was killed: all acknowledged ones are there, and none
// is cut.
func (c *client) survived(all *acknowledged) {
	for path, content := range all.images {
		if a := c.ask("GET", path, nil, nil, 200); !bytes.Equal(a.body, content) {
			c.t.Errorf("%s was acknowledged: got %d bytes, want %d", path, len(a.body),
				len(content))
		}
	}
	for _, i := range c.list() {
		if i.Name != "killed" || all.images[i.URL] != nil {
			continue
		}
		if a := c.ask("GET", i.URL, nil, nil, 200); int64(len(a.body)) != i.Bytes ||
			!bytes.HasSuffix(a.body, []byte("IEND\xaeB`\x82")) {
			c.t.Errorf("%s was not acknowledged and is there by halves: %d of %d bytes", i.URL,
				len(a.body), i.Bytes)
		}
	}
}

// outage stops a server's database and starts it again.
func (c *client) outage(database *postgres.Server) {
	content := pngOf(c.t, gray(7, 7))
	i := c.upload("image/png", "o", content)
	before := c.list()
	database.Stop()
	for range 3 {
		for _, asked := range [][2]string{{"GET", "/images"}, {"GET", i.URL}, {"GET", i.Thumbnail},
			{"DELETE", i.URL}, {"GET", "/healthz"}} {
			c.ask(asked[0], asked[1], nil, nil, 503)
		}
		c.refused("an upload without a database", map[string]string{"Content-Type": "image/png"},
			content, 503)
	}
	c.ask("GET", "/", nil, nil, 200)
	database.Start()
	c.recovers()
	c.same(before, "after the database was away")
	c.upload("image/png", "back", content)
}

// recovers waits until a server sees that its database is back.
func (c *client) recovers() {
	for until := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if a, err := c.try("GET", "/healthz", nil, nil); err == nil && a.status == 200 {
			return
		}
		if time.Now().After(until) {
			c.t.Fatalf("the database is back, and the server does not see it for %v", patience)
		}
	}
}
