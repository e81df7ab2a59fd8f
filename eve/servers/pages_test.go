package servers_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// page builds a program of docs/eve/examples, as its readers run it, but for the changes: texts of
// it in turn with what is to be there.
func page(t *testing.T, name string, changes ...string) string {
	t.Helper()
	all, err := os.ReadFile(filepath.Join("../../docs/eve/examples", name+".eve"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(all)
	for i := 0; i+1 < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			t.Fatalf("%s.eve has no %q", name, changes[i])
		}
		text = strings.ReplaceAll(text, changes[i], changes[i+1])
	}
	return compiled(t, name+".eve", text)
}

// asked returns the bytes that a client gets for its input until the server closes.
func asked(t *testing.T, p *process, port int, words string) string {
	t.Helper()
	c := p.dial(port)
	c.say(words)
	got, err := io.ReadAll(c)
	if err != nil {
		t.Errorf("%q: %v", words, err)
	}
	return string(got)
}

func TestPageOfKeysAndValues(t *testing.T) {
	t.Parallel()
	p := start(t, page(t, "kv"))
	port := p.port()
	if got, want := asked(t, p, port,
		"SET a 1\nGET a\nGET b\nSET c 2\r\nKEYS\nDEL a\nDEL a\nGET\nSET x\n\nQUIT\n"),
		"ok\n1\n(none)\nok\na c\ntrue\nfalse\n"+
			strings.Repeat("SET key value, GET key, DEL key, KEYS, QUIT\n", 3); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := asked(t, p, port, "GET c\nQUIT\n"); got != "2\n" {
		t.Errorf("another client got %q, want what the first has set", got)
	}
	p.signal(syscall.SIGINT)
	p.mustExit(0)
}

func TestPageOfChat(t *testing.T) {
	t.Parallel()
	p := start(t, page(t, "chat"))
	port := p.port()
	ann := p.dial(port)
	ann.mustHear("name?\n")
	ann.say("ann\n")
	ann.mustHear("ann is here\n")
	bob := p.dial(port)
	bob.mustHear("name?\n")
	bob.say("bob\n")
	bob.mustHear("bob is here\n")
	ann.mustHear("bob is here\n")
	ann.say("hello\n")
	for _, c := range []peer{ann, bob} {
		c.mustHear("ann: hello\n")
	}
	ann.say("/who\n")
	ann.mustHear("ann, bob\n")
	bob.say("/quit\n")
	ann.mustHear("bob has left\n")
}

func TestPageOfHTTP(t *testing.T) {
	t.Parallel()
	p := start(t, page(t, "http"))
	port := p.port()
	for _, c := range []struct{ head, status, body string }{
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "200 OK", "hello, visitor 1\n"},
		{"GET /agent HTTP/1.0\r\nUser-Agent: a test\r\n\r\n", "200 OK", "you are a test\n"},
		{"GET /nothing HTTP/1.0\r\n\r\n", "404 Not Found", "there is no /nothing\n"},
		{"GET / HTTP/1.0\r\n\r\n", "200 OK", "hello, visitor 2\n"},
	} {
		want := fmt.Sprintf("HTTP/1.0 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"+
			"\r\n%s", c.status, len(c.body), c.body)
		if got := asked(t, p, port, c.head); got != want {
			t.Errorf("%q: got %q, want %q", c.head, got, want)
		}
	}
}

// The proxy passes on the output of its target; without a target it closes the client.
func TestPageOfProxy(t *testing.T) {
	t.Parallel()
	target := start(t, page(t, "kv"))
	exe := page(t, "proxy")
	p := startWith(t, []string{exe, "0", fmt.Sprint(target.port())})
	port := p.port()
	if got := asked(t, p, port, "SET a 1\nGET a\nQUIT\n"); got != "ok\n1\n" {
		t.Errorf("got %q through the proxy", got)
	}
	target.signal(syscall.SIGINT)
	target.mustExit(0)
	if got := asked(t, p, port, ""); got != "" {
		t.Errorf("got %q from nobody", got)
	}
	p.eventually("the proxy says why",
		func() bool { return strings.Contains(p.err.String(), "proxy: ") })
	p.mustRun()
}
