package load

// An image service for the tests: right, or wrong in one way.

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// An imageServer keeps images in memory. change may change an answer before it is sent; one that it
// cuts off ends the connection.
type imageServer struct {
	mu      sync.Mutex
	images  map[string][]byte
	kinds   map[string]int // Content-Types seen
	last    int
	most    int // images at once
	chunked bool
	slow    time.Duration // each upload
	change  func(r *http.Request, answer []byte) []byte
	asked   atomic.Int64
}

func newImageServer() *imageServer {
	return &imageServer{images: map[string][]byte{}, kinds: map[string]int{}}
}

// serve answers the requests of one connection.
func (s *imageServer) serve(c *net.TCPConn) {
	in := bufio.NewReaderSize(c, 64<<10)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.asked.Add(1)
		right := s.answer(r, body)
		out := right
		if s.change != nil {
			out = s.change(r, right)
		}
		if _, err := c.Write(out); err != nil || len(out) < len(right) &&
			bytes.HasPrefix(right, out) {
			return
		}
	}
}

func (s *imageServer) answer(r *http.Request, body []byte) []byte {
	if r.Method == http.MethodPost {
		time.Sleep(s.slow)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.TrimSuffix(r.URL.Path, "/thumbnail")
	image, found := s.images[name]
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/images":
		s.last++
		s.kinds[r.Header.Get("Content-Type")]++
		path := fmt.Sprintf("/images/%d", s.last)
		s.images[path] = body
		s.most = max(s.most, len(s.images))
		return fmt.Appendf(nil,
			"HTTP/1.1 201 Created\r\nLocation: %s\r\nServer-Timing: db;dur=0.25, next;dur=0.5, "+
				"all;dur=1\r\nContent-Length: 2\r\n\r\n{}", path)
	case !found:
		return []byte("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
	case r.Method == http.MethodDelete:
		delete(s.images, name)
		return []byte("HTTP/1.1 204 No Content\r\n\r\n")
	case name != r.URL.Path:
		return []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsmall")
	case r.Header.Get("If-None-Match") == `"`+name+`"`:
		return []byte("HTTP/1.1 304 Not Modified\r\nETag: \"" + name + "\"\r\n\r\n")
	case s.chunked:
		half := len(image) / 2
		return fmt.Appendf(nil,
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+
				"%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", half, image[:half],
			len(image)-half, image[half:])
	}
	return fmt.Appendf(nil,
		"HTTP/1.1 200 OK\r\nETag: \"%s\"\r\nServer-Timing: db;dur=0.125\r\nContent-Length: "+
			"%d\r\n\r\n%s", name, len(image), image)
}

// onGet changes the answers to GETs, from the n-th request on.
func (s *imageServer) onGet(n int64, change func(answer []byte) []byte) {
	s.change = func(r *http.Request, answer []byte) []byte {
		if r.Method == http.MethodGet && s.asked.Load() >= n {
			return change(answer)
		}
		return answer
	}
}

// replaced is an answer with another text in place of one.
func replaced(old, other string) func([]byte) []byte {
	return func(answer []byte) []byte {
		return bytes.Replace(answer, []byte(old), []byte(other), 1)
	}
}
