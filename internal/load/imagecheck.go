package load

// The answers of an image service are held against the requests.

import (
	"bytes"
	"fmt"

	"interleave/internal/manifest"
)

// readHead reads up to the end of the answer's head and gives how many bytes of p belong to it; -1
// while it is not whole.
func (m *images) readHead(v *imageClient, p []byte) (n int, kind, what string) {
	if !v.asked {
		return 0, Extra, "nobody asked for anything"
	}
	carried := len(v.carry)
	whole := p
	if carried > 0 {
		v.carry = append(v.carry, p[:min(len(p), cap(v.carry)-carried)]...)
		whole = v.carry
	}
	var a answer
	n, what = a.parse(whole)
	switch {
	case what != "":
		return 0, WrongReply, what
	case n == 0 && carried == 0:
		v.carry = append(v.carry, p...)
		return -1, "", ""
	case n == 0:
		return -1, "", ""
	}
	if kind, what = m.checkHead(v, &a); kind != "" {
		return 0, kind, what
	}
	v.carry = v.carry[:0]
	v.answer = answer{status: a.status, length: a.length, chunked: a.chunked, database: a.database,
		next: a.next}
	v.inBody, v.at, v.left, v.chunks = true, 0, a.length, chunks{}
	if a.empty() {
		v.left, v.answer.chunked = 0, false
	}
	return n - carried, "", ""
}

// checkHead holds the head of an answer against what was asked.
func (m *images) checkHead(v *imageClient, a *answer) (kind, what string) {
	want := 200
	switch {
	case v.step == stepPost:
		want = 201
	case v.step == stepDelete:
		want = 204
	case m.conditional(v):
		want = 304
	}
	switch {
	case a.status >= 400:
		return Refused, fmt.Sprintf("status %d, want %d", a.status, want)
	case a.status != want:
		return WrongReply, fmt.Sprintf("status %d, want %d", a.status, want)
	case v.out < len(v.head)+len(v.body):
		return WrongReply, "it came before the request was out"
	case a.closes:
		return Ended, "the server is about to end the connection"
	case a.length < 0 && !a.chunked && !a.empty():
		return WrongReply, "its body has no length"
	case v.step == stepGet && m.wanted != manifest.AskThumbnail && want == 200 && a.length >= 0 &&
		a.length != int64(len(v.picture.bytes)):
		return WrongReply, fmt.Sprintf("a body of %d bytes, the image has %d", a.length,
			len(v.picture.bytes))
	case v.step == stepPost:
		path := pathOf(a.location)
		if len(path) == 0 || len(path) > pathMost {
			return WrongReply, "no Location with a path"
		}
		v.path = append(v.path[:0], path...)
	case m.wanted == manifest.AskUnchanged && v.step == stepGet && v.gets == 0:
		if len(a.etag) == 0 || len(a.etag) > pathMost {
			return WrongReply, "no ETag"
		}
		v.etag = append(v.etag[:0], a.etag...)
	}
	return "", ""
}

// pathOf is the path of a reference that may begin with scheme and host.
func pathOf(location []byte) []byte {
	if i := bytes.Index(location, []byte("://")); i >= 0 {
		location = location[i+len("://"):]
		location = location[max(0, bytes.IndexByte(location, '/')):]
	}
	if len(location) == 0 || location[0] != '/' || bytes.ContainsAny(location, " \r\n") {
		return nil
	}
	return location
}

// readBody takes bytes of a body. rest is what follows it once it has ended.
func (m *images) readBody(v *imageClient, p []byte) (rest []byte, ended bool, what string) {
	for {
		var data []byte
		if v.answer.chunked {
			var used int
			var ok bool
			if data, used, ended, ok = v.chunks.next(p); !ok {
				return nil, false, "its chunks are not in their form"
			}
			p = p[used:]
		} else {
			data = p[:min(int64(len(p)), v.left)]
			p = p[len(data):]
			v.left -= int64(len(data))
			ended = v.left == 0
		}
		if what := m.compare(v, data, ended); what != "" {
			return nil, false, what
		}
		v.at += len(data)
		if ended || len(p) == 0 {
			return p, ended, ""
		}
	}
}

// compare holds bytes of a body against the image, where it is one; of others nothing is known.
func (m *images) compare(v *imageClient, data []byte, last bool) (what string) {
	if v.step != stepGet || v.answer.status != 200 {
		return ""
	}
	if m.wanted == manifest.AskThumbnail {
		if last && v.at+len(data) == 0 {
			return "an empty thumbnail"
		}
		return ""
	}
	want := v.picture.bytes[v.at:]
	switch {
	case len(data) > len(want) || !bytes.Equal(data, want[:len(data)]):
		return "not the bytes of the image"
	case last && len(data) < len(want):
		return "not all bytes of the image"
	}
	return ""
}
