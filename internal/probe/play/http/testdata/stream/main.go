// Command stream is a small server of services/stream with one fault, which its first argument
// names.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"
)

var (
	fault string
	path  = regexp.MustCompile(`^/test/[A-Za-z0-9_-]{1,64}$`)
)

func main() {
	fault = os.Args[1]
	listener, err := net.Listen("tcp4", net.JoinHostPort(os.Args[3], os.Args[2]))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				time.Sleep(100 * time.Millisecond)
				continue
			}
			go serve(c)
		}
	}()
	fmt.Fprintln(os.Stderr, "ready")
	<-stop
}

func serve(c net.Conn) {
	defer c.Close()
	if fault != "patient" {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	}
	in := bufio.NewReader(io.LimitReader(c, 32<<10))
	r, err := http.ReadRequest(in)
	code, more := 0, ""
	switch {
	case fault == "takes-anything" && err != nil:
		r = &http.Request{Method: http.MethodGet, ProtoMajor: 1, ProtoMinor: 1,
			RequestURI: "/test/7"}
	case err == io.EOF, os.IsTimeout(err):
		return
	case err != nil || r.ProtoAtLeast(1, 1) && r.Host == "" || !clean(r.Header):
		code = 400
	case r.ProtoMajor != 1:
		code = 505
	case !path.MatchString(strings.Split(r.RequestURI, "?")[0]):
		code = 404
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		code, more = 405, "Allow: HEAD, GET\r\n"
		if fault == "no-allow" {
			more = ""
		}
	}
	if code != 0 && fault != "accepts-all" || fault == "refuses-all" {
		fmt.Fprintf(c, "HTTP/1.1 %d No\r\nContent-Length: 0\r\n%s\r\n", max(code, 400), more)
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	feed(c, r, strings.Split(r.RequestURI, "?")[0])
}

// clean refuses requests that http.ReadRequest accepts and a server of net/http does not.
func clean(fields http.Header) bool {
	for name, values := range fields {
		if strings.Contains(name, " ") || name == "" ||
			strings.Contains(strings.Join(values, ""), "\x00") {
			return false
		}
	}
	return true
}

// feed sends a stream. If the fault is one of a chunk, the second chunk has it.
func feed(c net.Conn, r *http.Request, id string) {
	chunked := r.ProtoAtLeast(1, 1) != (fault == "no-coding") || fault == "codes-old"
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	if chunked {
		head += "Transfer-Encoding: chunked\r\n"
	}
	if fault == "says-html" {
		head = strings.Replace(head, "plain", "html", 1)
	}
	if _, err := io.WriteString(c, head+"\r\n"); err != nil || r.Method == http.MethodHead &&
		fault != "head-has-body" {
		return
	}
	send := func(text string) error {
		if chunked {
			text = fmt.Sprintf("%x\r\n%s\r\n", len(text), text)
		}
		_, err := io.WriteString(c, text)
		return err
	}
	err := send("Goconntest welcomes you! Your Id: " + id + "\n")
	second := time.Second
	if fault == "early" {
		second = 800 * time.Millisecond
	}
	for n := 1; err == nil; n++ {
		time.Sleep(second)
		text := fmt.Sprintf("Chunk %d for id %s\n", n, id)
		if n == 2 {
			switch fault {
			case "skips":
				continue
			case "doubles":
				_ = send(text)
			case "exchanges":
				text = strings.Replace(text, "Chunk 2", "Chunk 3", 1)
			case "wrong-id":
				text = strings.Replace(text, id, id+"0", 1)
			case "joins":
				text += text
			case "no-end":
				text = strings.TrimSuffix(text, "\n")
			case "wrong-size":
				_, _ = fmt.Fprintf(c, "%x\r\n%s\r\n", len(text)+1, text)
				continue
			case "lf-only":
				_, _ = fmt.Fprintf(c, "%x\n%s\n", len(text), text)
				continue
			case "cuts":
				_, _ = io.WriteString(c, "17\r\nChunk 2")
				return
			}
		}
		err = send(text)
	}
}
