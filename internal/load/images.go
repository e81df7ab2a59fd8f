package load

// Images: an operation uploads an image and then fetches it, over HTTP/1.1 on one connection, one
// request after the other; each answer is held against what must come. Then it deletes the image,
// so that a window of any length leaves no more on the disk than the connections have under way; a
// cold load keeps them, for its number bounds it.
//
// The time of each request is split as a client sees it: from its first byte to its last one
// written, from there to the answer's first byte, from there to its last. The shares of the
// database and of the service behind it are what the server says of itself (Server-Timing).

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/hist"
	"interleave/internal/manifest"
)

// operationDrainTime is for operations under way when the load has ended.
const operationDrainTime = 5 * time.Second

// firstMost is how many requests are kept one by one.
const firstMost = 4096

type step uint8

const (
	stepRest step = iota // between two operations
	stepPost
	stepGet
	stepDelete
)

var stepNames = [...]string{"between two operations", "POST", "GET", "DELETE"}

const (
	pathMost    = 256 // bytes of an image's path, and of its tag: a guess, ours have a dozen
	requestMost = 2*pathMost + 256
)

// An imageClient is what a client of an image service has besides its connection.
type imageClient struct {
	step    step
	gets    int // of the operation, so far
	picture *picture
	path    []byte
	etag    []byte
	// head and body are the request; out is how much of both is written. asked tells that an
	// answer is owed.
	head  []byte
	body  []byte
	out   int
	asked bool
	// carry is the beginning of a head whose end has not come. Then the body: left
	// bytes, or chunks.
	carry  []byte
	inBody bool
	answer answer // without its slices
	left   int64
	chunks chunks
	at     int // bytes of the body so far
	// due is the operation's. Times are of the request: when it began, was out, and
	// its answer began.
	due, began, wrote, first int64
	post, fetched            int64 // what the operation's POST and GETs took
}

func init() {
	speak(manifest.Images, protocol{
		family:   imagesFamily,
		shapes:   []manifest.Shape{manifest.Closed, manifest.Open, manifest.Cold},
		validate: (*Plan).validateImages,
		prepare: func(p *Plan) (job, error) {
			pictures, err := picturesFor(p.Load.SizeBytes, p.Seed)
			return independent(func(w *worker) driver { return newImages(w, pictures) }), err
		},
	})
}

func (p *Plan) validateImages() error {
	switch l := &p.Load; {
	case l.Ask != manifest.AskImage && l.Ask != manifest.AskThumbnail &&
		l.Ask != manifest.AskUnchanged:
		return fmt.Errorf("ask is %q, want image, thumbnail or unchanged", l.Ask)
	case l.Reads < 0 || l.Ask == manifest.AskUnchanged && l.Reads < 2:
		return fmt.Errorf("reads is %d, want 1 at least, and 2 to find out what has not changed",
			l.Reads)
	case l.Pipeline > 1:
		return errors.New("pipeline is set, but a client of an image service waits for each answer")
	case l.Shape == manifest.Cold && (l.Connections != 1 || l.Requests == 0 || p.WarmUp > 0):
		return errors.New("a cold load is a number of requests on one connection, without warm-up")
	case l.SizeBytes < leastPicture || l.SizeBytes > mostPicture:
		return fmt.Errorf("size is %d bytes, want %d to %d", l.SizeBytes, leastPicture, mostPicture)
	}
	return nil
}

// images drives the clients of one thread.
type images struct {
	base
	pictures []picture
	clients  []imageClient
	reads    int
	wanted   string
	keeps    bool // nothing is deleted
	times    ImageTimes
	iov      [2]unix.Iovec
	readAt   int64 // when the last read began
}

const imageReadBytes = 256 << 10

func newImages(w *worker, pictures []picture) driver {
	l := &w.plan.Load
	m := &images{
		base: base{w}, pictures: pictures, clients: make([]imageClient, len(w.conns)),
		reads: max(1, l.Reads), wanted: l.Ask, keeps: l.Shape == manifest.Cold,
	}
	w.in = make([]byte, imageReadBytes)
	m.times = ImageTimes{Response: &hist.Histogram{}, Post: newSplit(), Get: newSplit()}
	if m.keeps {
		n := int(min(l.Requests, firstMost))
		m.times.FirstPost, m.times.FirstGet = make([]int64, 0, n), make([]int64, 0, n)
	}
	for i := range m.clients {
		v := &m.clients[i]
		v.path, v.etag = make([]byte, 0, pathMost), make([]byte, 0, pathMost)
		v.head, v.carry = make([]byte, 0, requestMost), make([]byte, 0, maxHeadBytes)
	}
	return m
}

// issued records how late the engine is. A client that is busy may send later, and its server
// answers for that.
func (m *images) issued(c *conn) {
	if due := m.rings.at(c.index, c.issued-1).due; m.scheduled && m.inWindow(due) {
		m.late.Record(m.now - due)
	}
}

func (m *images) ready(c *conn, events uint32) { m.attend(m, c, events) }

func (m *images) receive(c *conn) (int, unix.Errno) {
	m.readAt = nanotime()
	return rawRead(c.fd, m.in)
}

func (m *images) awaited(c *conn) string {
	return fmt.Sprintf("the answer to the %s of operation %d", stepNames[m.clients[c.index].step],
		c.answered)
}

func (m *images) drainTime() time.Duration { return cmp.Or(m.plan.Drain, operationDrainTime) }

// part returns the counts of the thread.
func (m *images) part() Part {
	m.times.FirstPost, m.times.FirstGet = slices.Clip(m.times.FirstPost),
		slices.Clip(m.times.FirstGet)
	p := &Images{Operations: m.served, Total: m.total, Offered: m.offered,
		BytesOut: m.windowOut, BytesIn: m.windowIn, Operation: &m.service, ImageTimes: m.times}
	if m.scheduled {
		p.Latency, p.Late = &m.latency, &m.late
	}
	return p
}

// request renders the head of the client's next request. A head is at most requestMost bytes.
func (m *images) request(h []byte, v *imageClient) []byte {
	switch v.step {
	case stepPost:
		h = append(h, "POST /images?name=picture HTTP/1.1\r\nHost: images\r\nContent-Type: "...)
		h = append(h, v.picture.kind...)
		h = append(h, "\r\nContent-Length: "...)
		h = strconv.AppendInt(h, int64(len(v.picture.bytes)), 10)
		return append(h, "\r\n\r\n"...)
	case stepGet:
		h = append(append(h, "GET "...), v.path...)
		if m.wanted == manifest.AskThumbnail {
			h = append(h, "/thumbnail"...)
		}
	default:
		h = append(append(h, "DELETE "...), v.path...)
	}
	h = append(h, " HTTP/1.1\r\nHost: images\r\n"...)
	if m.conditional(v) {
		h = append(append(append(h, "If-None-Match: "...), v.etag...), "\r\n"...)
	}
	return append(h, "\r\n"...)
}

// conditional tells the requests that should find nothing new: all but the first fetch, where
// unchanged images are asked for.
func (m *images) conditional(v *imageClient) bool {
	return m.wanted == manifest.AskUnchanged && v.step == stepGet && v.gets > 0
}
