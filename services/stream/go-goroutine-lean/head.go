package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	headBytes = 8 << 10          // the longest head that is read; the contract asks for 4 KiB
	headTime  = 10 * time.Second // for it to come, by the contract
	leaveTime = 2 * time.Second  // a guess: for a refused client to read why
)

var errTooLong = errors.New("head too long")

var path = regexp.MustCompile(`^/test/[A-Za-z0-9_-]{1,64}$`)

// answer reads a head, and hands a stream's client to the wheel.
func answer(client *net.TCPConn, greeted chan<- stream) {
	defer func() { _ = client.Close() }()
	_ = client.SetDeadline(time.Now().Add(headTime))
	id, request, status := read(client)
	switch {
	case status == 0: // it has gone
	case status != http.StatusOK:
		refuse(client, status)
	case request.Method == http.MethodHead:
		leave(client, head(request))
	default:
		s := stream{id: id, fd: int32(own(client)), coded: request.ProtoMinor > 0}
		text := s.code([]byte(head(request)), []byte("Goconntest welcomes you! Your Id: "+id+"\n"))
		if !say(int(s.fd), text) {
			_ = unix.Close(int(s.fd))
			return
		}
		// the runtime's timers are of milliseconds, too
		s.since = time.Since(start).Round(time.Millisecond).Milliseconds()
		greeted <- s
	}
}

// A mouth is the source of a head. It keeps the reason why no more came.
type mouth struct {
	client io.Reader
	left   int // bytes that a head may still have
	err    error
}

func (m *mouth) Read(p []byte) (n int, err error) {
	if m.left == 0 {
		m.err = errTooLong
		return 0, m.err
	}
	n, m.err = m.client.Read(p[:min(len(p), m.left)])
	m.left -= n
	return n, m.err
}

// read returns the ID of the requested stream, the request, and a status: 0 if the client has gone.
func read(client io.Reader) (string, *http.Request, int) {
	from := &mouth{client: client, left: headBytes}
	r, err := http.ReadRequest(bufio.NewReaderSize(from, 1<<10))
	switch {
	case errors.Is(from.err, os.ErrDeadlineExceeded):
		return "", nil, http.StatusRequestTimeout
	case errors.Is(from.err, errTooLong):
		return "", nil, http.StatusRequestHeaderFieldsTooLarge
	case from.err != nil:
		return "", nil, 0
	case err != nil:
		return "", nil, http.StatusBadRequest
	}
	id, _, _ := strings.Cut(r.RequestURI, "?")
	switch {
	case r.ProtoMajor != 1 || r.ProtoMinor > 1:
		return "", nil, http.StatusHTTPVersionNotSupported
	case r.ProtoMinor == 1 && r.Host == "", !plain(r.Header):
		return "", nil, http.StatusBadRequest
	case !path.MatchString(id):
		return "", nil, http.StatusNotFound
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return "", nil, http.StatusMethodNotAllowed
	}
	return strings.Clone(id), r, http.StatusOK // a copy: the head goes
}

// plain rejects heads that ReadRequest accepts and net/http's server does not: a blank in a name,
// control characters in a value.
func plain(header http.Header) bool {
	for name, values := range header {
		if strings.Contains(name, " ") {
			return false
		}
		for _, value := range values {
			if strings.ContainsFunc(value,
				func(r rune) bool { return r < ' ' && r != '\t' || r == 127 }) {
				return false
			}
		}
	}
	return true
}

// own returns a descriptor of the client that the runtime's poller does not know, or -1 if none
// becomes free in time.
func own(client *net.TCPConn) int {
	raw, err := client.SyscallConn()
	own := -1
	for end := time.Now().Add(headTime); err == nil && own < 0 && time.Now().Before(end); {
		if err = raw.Control(func(fd uintptr) { own = copied(int(fd)) }); own < 0 {
			time.Sleep(rest)
		}
	}
	return own
}

func head(r *http.Request) string {
	coding := ""
	if r.ProtoMinor > 0 {
		coding = "Transfer-Encoding: chunked\r\n"
	}
	if r.ProtoMinor == 0 || r.Method == http.MethodHead {
		coding += "Connection: close\r\n"
	}
	return "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n" + coding + "\r\n"
}

func refuse(client *net.TCPConn, status int) {
	why, allow := http.StatusText(status)+"\n", ""
	if status == http.StatusMethodNotAllowed {
		allow = "Allow: GET, HEAD\r\n"
	}
	leave(client,
		fmt.Sprintf("HTTP/1.1 %d %s\r\n%sContent-Type: text/plain; charset=utf-8\r\n"+
			"Content-Length: %d\r\nConnection: close\r\n\r\n%s",
			status, http.StatusText(status), allow, len(why), why))
}

// leave sends the last words, and reads on for a while: closing with unread bytes would be a reset,
// which may overtake them.
func leave(client *net.TCPConn, words string) {
	_ = client.SetDeadline(time.Now().Add(leaveTime))
	if _, err := io.WriteString(client, words); err == nil && client.CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, client)
	}
}
