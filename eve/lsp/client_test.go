package lsp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// limit is how long a client waits before it fails its test: a net, not a measurement.
const limit = 2 * time.Minute

// A client plays an editor: it writes to a server and reads its answers, over pipes.
type client struct {
	t      testing.TB
	server *server
	in     *io.PipeWriter
	clock  chan time.Time
	log    *safeBuffer
	ended  chan struct{}
	code   int
	err    error
	id     int
	cache  string

	mu      sync.Mutex
	answers map[string]chan *message
	notes   chan *message
}

// A safeBuffer is a log that the server and the test use at one time.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// start starts a server. The test fails if the server logs a failure of its own.
func start(t testing.TB) *client {
	t.Helper()
	c := &client{t: t, clock: make(chan time.Time), log: &safeBuffer{},
		ended: make(chan struct{}), answers: map[string]chan *message{},
		notes: make(chan *message, 1000), cache: t.TempDir()}
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	c.in = in
	ctx, cancel := context.WithCancel(context.Background())
	c.server = newServer(ctx, fromServer, Options{Version: "test", Log: c.log,
		Cache: c.cache, After: func(time.Duration) <-chan time.Time { return c.clock }})
	go func() {
		c.code, c.err = c.server.serve(receive(ctx, toServer))
		fromServer.Close()
		toServer.Close()
		close(c.ended)
	}()
	go c.read(out)
	t.Cleanup(func() {
		cancel()
		in.Close()
		c.wait()
		if log := c.log.String(); log != "" {
			t.Errorf("the server logged:\n%s", log)
		}
	})
	return c
}

// open starts a server and initializes it.
func open(t testing.TB, folders ...string) *client {
	t.Helper()
	c := start(t)
	c.initialize(nil, folders...)
	return c
}

func (c *client) initialize(encodings []string, folders ...string) map[string]any {
	c.t.Helper()
	all := []map[string]string{}
	for _, f := range folders {
		all = append(all, map[string]string{"uri": uriOf(f), "name": f})
	}
	var result map[string]any
	c.must("initialize", map[string]any{
		"processId": nil, "rootUri": nil, "workspaceFolders": all,
		"capabilities": map[string]any{
			"general": map[string]any{"positionEncodings": encodings},
			"textDocument": map[string]any{"documentSymbol": map[string]any{
				"hierarchicalDocumentSymbolSupport": true}},
		},
	}, &result)
	c.notify("initialized", map[string]any{})
	return result
}

func (c *client) read(out io.Reader) {
	r := bufio.NewReader(out)
	for {
		content, err := readMessage(r)
		if err != nil {
			return
		}
		m := &message{}
		if err := json.Unmarshal(content, m); err != nil {
			c.t.Errorf("the server wrote %q: %v", content, err)
			return
		}
		if m.Method != "" {
			c.notes <- m
			continue
		}
		c.answer(string(m.ID)) <- m
	}
}

func (c *client) answer(id string) chan *message {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers[id] == nil {
		c.answers[id] = make(chan *message, 10)
	}
	return c.answers[id]
}

// wait waits until the server has ended.
func (c *client) wait() {
	select {
	case <-c.ended:
	case <-time.After(limit):
		c.t.Error("the server did not end")
	}
}

// write writes the content of a message with its header.
func (c *client) write(content string) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(content),
		content); err != nil {
		c.t.Fatalf("writing %.100s: %v", content, err)
	}
}

func (c *client) notify(method string, params any) {
	c.t.Helper()
	content, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method,
		"params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(string(content))
}

// send sends a request and returns its id.
func (c *client) send(method string, params any) string {
	c.t.Helper()
	c.id++
	content, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method,
		"params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(string(content))
	return fmt.Sprint(c.id)
}

// receive waits for the response to a request.
func (c *client) receive(id string) *message {
	c.t.Helper()
	select {
	case m := <-c.answer(id):
		return m
	case <-time.After(limit):
		c.t.Fatalf("no answer to request %s", id)
		return nil
	}
}

// call sends a request and reads its result; it returns the error of the response.
func (c *client) call(method string, params, result any) *rpcError {
	c.t.Helper()
	m := c.receive(c.send(method, params))
	if m.Error != nil {
		return m.Error
	}
	if result != nil {
		if err := json.Unmarshal(m.Result, result); err != nil {
			c.t.Fatalf("%s: %s: %v", method, m.Result, err)
		}
	}
	return nil
}

// must is call for a request that succeeds.
func (c *client) must(method string, params, result any) {
	c.t.Helper()
	if err := c.call(method, params, result); err != nil {
		c.t.Fatalf("%s: %d %s", method, err.Code, err.Message)
	}
}

// tick lets the time pass after which changed documents are checked. Before that the server has
// handled all that was sent: it answers even an unknown request in its turn.
func (c *client) tick() {
	c.t.Helper()
	if err := c.call("test/unknown", nil, nil); err == nil {
		c.t.Error("an unknown request has a result")
	}
	select {
	case c.clock <- time.Time{}:
	case <-time.After(limit):
		c.t.Fatal("the server waits for no time to pass")
	}
}

func (c *client) didOpen(uri, text string) {
	c.t.Helper()
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": uri, "languageId": "eve", "version": 1, "text": text}})
}

// didChange replaces parts of a document.
func (c *client) didChange(uri string, version int, changes ...change) {
	c.t.Helper()
	c.notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": uri, "version": version},
		"contentChanges": changes})
}

// diagnostics waits for the diagnostics of a version of a document; -1 stands for none.
func (c *client) diagnostics(uri string, version int) []diagnostic {
	c.t.Helper()
	for {
		select {
		case m := <-c.notes:
			var p publishParams
			if err := json.Unmarshal(m.Params, &p); err != nil {
				c.t.Fatal(err)
			}
			if p.URI == uri && (p.Version == nil && version < 0 ||
				p.Version != nil && *p.Version == version) {
				return p.Diagnostics
			}
		case <-time.After(limit):
			c.t.Fatalf("no diagnostics of version %d of %s", version, uri)
		}
	}
}

var marker = regexp.MustCompile(`\$\d`)

// marked returns a program without its markers $1, $2, and the places of these.
func marked(text string) (string, map[string]position) {
	places := map[string]position{}
	for {
		at := marker.FindStringIndex(text)
		if at == nil {
			return text, places
		}
		before := text[:at[0]]
		line := strings.Count(before, "\n")
		places[text[at[0]:at[1]]] = position{line,
			utf16.units(before[strings.LastIndexByte(before, '\n')+1:])}
		text = before + text[at[1]:]
	}
}

func at(uri string, p position) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": uri}, "position": p}
}

func of(uri string) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": uri}}
}

// apply makes edits in a text, from the last to the first.
// completed returns the completions at the place $1 of a new text.
func completed(t testing.TB, text string) []completion {
	t.Helper()
	c := open(t)
	text, places := marked(text)
	c.didOpen(hello, text)
	var list completionList
	c.must("textDocument/completion", at(hello, places["$1"]), &list)
	return list.Items
}

func apply(text string, edits []textEdit) string {
	f := newFile("", text)
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b textEdit) int {
		return utf16.offset(f, b.Range.Start) - utf16.offset(f, a.Range.Start)
	})
	for _, e := range edits {
		part := utf16.part(f, e.Range)
		text = text[:part.Start] + e.NewText + text[part.End:]
	}
	return text
}
