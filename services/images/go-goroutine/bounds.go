package main

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	mostBytes   = 20 << 20 // of an image
	mostAround  = 64 << 10 // of a multipart body beside the image
	mostUploads = 1024
	mostHeld    = 512 << 20 // of all uploads and downloads together
	// the room for an upload's first byte; it is doubled each time
	firstRoom  = 64 << 10
	stallLimit = 20 * time.Second // for a head, and each piece of an upload
	// for each piece of an answer: the kernel takes the next when a third of 4 MiB is gone
	answerLimit  = 60 * time.Second
	requestLimit = 300 * time.Second
)

// Bounds count the memory and uploads of all requests together.
type bounds struct{ uploads, held atomic.Int64 }

// take counts n bytes more, or says that there is no room. The caller must give them back.
func (b *bounds) take(n int64) bool {
	if b.held.Add(n) > mostHeld {
		b.held.Add(-n)
		return false
	}
	return true
}

func (b *bounds) give(n int64) { b.held.Add(-n) }

// A body is read with patience for each piece, and to a last moment for all of it.
type body struct {
	from io.Reader
	conn *http.ResponseController
	last time.Time
	left int64 // bytes it may still have
}

func (b *body) Read(p []byte) (int, error) {
	if err := b.conn.SetReadDeadline(soon(stallLimit, b.last)); err != nil {
		return 0, err
	}
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, errLarge
	}
	return n, err
}

// receive reads an image whose length is known, or -1, and takes room as it comes. The caller gives
// the room back.
func (b *bounds) receive(from io.Reader, length int64) (content []byte, held int64, err error) {
	for {
		if len(content) == cap(content) {
			want := max(firstRoom, 2*int64(cap(content)))
			if length >= int64(len(content)) {
				want = min(want, length+1) // one more, to see the end
			}
			if !b.take(want - held) {
				return nil, held, errRoom
			}
			held = want
			grown := make([]byte, len(content), want)
			copy(grown, content)
			content = grown
		}
		n, err := from.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		switch {
		case len(content) > mostBytes:
			return nil, held, errLarge
		case err == io.EOF && len(content) == 0:
			return nil, held, errEmpty
		case err == io.EOF:
			return content, held, nil
		case err != nil:
			return nil, held, err
		}
	}
}

// A paced answer gives its client patience for each piece that it takes.
type paced struct {
	http.ResponseWriter
	conn *http.ResponseController
	last time.Time
}

func (p paced) Write(b []byte) (int, error) {
	if err := p.conn.SetWriteDeadline(soon(answerLimit, p.last)); err != nil {
		return 0, err
	}
	return p.ResponseWriter.Write(b)
}

// Unwrap lets a ResponseController find the connection.
func (p paced) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// soon is the moment by which the next piece must have passed.
func soon(limit time.Duration, last time.Time) time.Time {
	if next := time.Now().Add(limit); next.Before(last) {
		return next
	}
	return last
}
