package lsp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const hello = "file:///tmp/hello.eve"

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		name    string
		session func(*client)
		code    int
		err     string
	}{
		{"shutdown and exit", func(c *client) {
			c.initialize(nil)
			c.must("shutdown", nil, nil)
			c.notify("exit", nil)
		}, 0, ""},
		{"exit without shutdown", func(c *client) {
			c.initialize(nil)
			c.notify("exit", nil)
		}, 1, ""},
		{"exit before initialize", func(c *client) { c.notify("exit", nil) }, 1, ""},
		{"end of the input", func(c *client) {
			c.initialize(nil)
			c.in.Close()
		}, 1, "the input ended before the client said exit"},
		{"half a message", func(c *client) {
			fmt.Fprint(c.in, "Content-Length: 100\r\n\r\n{")
			c.in.Close()
		}, 1, "reading a message of 100 bytes: unexpected EOF"},
		{"half a header", func(c *client) {
			fmt.Fprint(c.in, "Content-Len")
			c.in.Close()
		}, 1, "reading the header of a message: unexpected EOF"},
		{"no length", func(c *client) {
			fmt.Fprint(c.in, "Content-Type: x\r\n\r\n")
		}, 1, "a message has no Content-Length"},
		{"negative length", func(c *client) {
			fmt.Fprint(c.in, "Content-Length: -5\r\n\r\n")
		}, 1, `" -5" is not the length of a message`},
		{"too long", func(c *client) {
			fmt.Fprint(c.in, "Content-Length: 99999999999\r\n\r\n")
		}, 1, "a message of 99999999999 bytes exceeds the limit of 67108864"},
		{"endless header", func(c *client) {
			fmt.Fprint(c.in, strings.Repeat("x", maxHeader))
		}, 1, "reading the header of a message: it is longer than 4096 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl := start(t)
			c.session(cl)
			cl.wait()
			got := ""
			if cl.err != nil {
				got = cl.err.Error()
			}
			if cl.code != c.code || got != c.err {
				t.Errorf("got code %d and error %q, want %d and %q", cl.code, got, c.code, c.err)
			}
		})
	}
}

func TestRequestsOutOfPlace(t *testing.T) {
	c := start(t)
	refused := func(method string, params any, code int) {
		t.Helper()
		if err := c.call(method, params, nil); err == nil || err.Code != code {
			t.Errorf("%s: got the error %v, want code %d", method, err, code)
		}
	}
	refused("textDocument/hover", at(hello, position{}), serverNotInitialized)
	c.notify("textDocument/didOpen", map[string]any{}) // is ignored
	c.initialize(nil)
	refused("initialize", map[string]any{}, invalidRequest)
	refused("textDocument/frobnicate", nil, methodNotFound)
	refused("textDocument/hover", []int{1}, invalidParams)
	refused("textDocument/hover", at(hello, position{}), requestFailed) // it is not open
	for content, code := range map[string]int{
		"{":                         parseError,
		"[]":                        invalidRequest,
		"17":                        invalidRequest,
		`{"jsonrpc":"2.0"}`:         invalidRequest,
		`{"id":1,"method":"x"}`:     invalidRequest,
		`{"id":{},"method":"x"}`:    invalidRequest,
		"{\"jsonrpc\":\"2.0\"}\xff": parseError,
	} {
		c.write(content)
		if m := c.receive("null"); m.Error == nil || m.Error.Code != code {
			t.Errorf("%s: got %+v, want code %d", content, m.Error, code)
		}
	}
	c.notify("$/setTrace", map[string]any{"value": "off"}) // an unknown notification is ignored
	c.write(`{"jsonrpc":"2.0","id":99,"result":null}`)     // so is an answer
	c.write(`{"jsonrpc":"2.0","id":"a\"b","method":"workspace/symbol","params":{"query":""}}`)
	if m := c.receive(`"a\"b"`); string(m.Result) != "[]" {
		t.Errorf("an id may be a string: got %s, %v", m.Result, m.Error)
	}
	c.must("shutdown", nil, nil)
	refused("textDocument/hover", at(hello, position{}), invalidRequest)
}

// A client that can watch files is asked to, and another one is not.
func TestWatchesFiles(t *testing.T) {
	for _, can := range []bool{false, true} {
		c := start(t)
		c.must("initialize", map[string]any{"capabilities": map[string]any{
			"workspace": map[string]any{"didChangeWatchedFiles": map[string]any{
				"dynamicRegistration": can}}}}, nil)
		c.notify("initialized", map[string]any{})
		c.must("workspace/symbol", map[string]any{"query": ""}, nil) // what it asks comes before
		if !can {
			if len(c.notes) > 0 {
				t.Errorf("a client that cannot watch was sent %+v", <-c.notes)
			}
			continue
		}
		m := <-c.notes
		if m.Method != "client/registerCapability" || m.ID == nil ||
			!strings.Contains(string(m.Params), `"globPattern":"**/*.eve"`) {
			t.Errorf("got %s %s", m.Method, m.Params)
		}
		c.write(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":null}`)
		c.must("workspace/symbol", map[string]any{"query": ""}, nil)
	}
}

// A request that waits is answered once when it is cancelled, and never again.
func TestCancel(t *testing.T) {
	c := open(t)
	c.didOpen(hello, "main: () void:\n    pass\n")
	for range cap(c.server.slots) { // no request can compute
		c.server.slots <- struct{}{}
	}
	waiting := c.send("textDocument/documentSymbol", of(hello))
	other := c.send("textDocument/documentSymbol", of(hello))
	c.notify("$/cancelRequest", map[string]any{"id": c.id - 1})
	if m := c.receive(waiting); m.Error == nil || m.Error.Code != requestCancelled {
		t.Errorf("got %s, %v, want it cancelled", m.Result, m.Error)
	}
	for range cap(c.server.slots) {
		<-c.server.slots
	}
	if m := c.receive(other); m.Error != nil {
		t.Errorf("the other request: %v", m.Error)
	}
	c.notify("$/cancelRequest", map[string]any{"id": other}) // it is answered already
	c.notify("$/cancelRequest", []int{})
	c.must("textDocument/documentSymbol", of(hello), nil)
	select {
	case m := <-c.answer(waiting):
		t.Errorf("a second answer: %+v", m)
	default:
	}
	c.expectLog("eve lsp: $/cancelRequest: json: cannot unmarshal array")
}

// A failure of the server itself fails one request, and the session goes on.
func TestPanic(t *testing.T) {
	methods["test/panic"] = func(*request, json.RawMessage) (any, error) { panic("a mistake") }
	defer delete(methods, "test/panic")
	c := open(t)
	err := c.call("test/panic", nil, nil)
	if err == nil || err.Code != internalError || err.Message != "test/panic: a mistake" {
		t.Errorf("got %v", err)
	}
	c.must("workspace/symbol", map[string]any{"query": ""}, nil)
	log := c.log.String()
	if !strings.Contains(log, "eve lsp: test/panic: a mistake\n") {
		t.Errorf("the log is %q", log)
	}
	c.log.mu.Lock()
	c.log.b = bytes.Buffer{}
	c.log.mu.Unlock()
}

func TestEncodings(t *testing.T) {
	for _, c := range []struct {
		offered []string
		want    string
		start   int // of n in the text below, in units
	}{
		{nil, "utf-16", 18},
		{[]string{"utf-32", "utf-16"}, "utf-16", 18},
		{[]string{"utf-16", "utf-8"}, "utf-8", 21},
	} {
		cl := start(t)
		got := cl.initialize(c.offered)
		if e := got["capabilities"].(map[string]any)["positionEncoding"]; e != c.want {
			t.Errorf("offered %v: got %v, want %s", c.offered, e, c.want)
		}
		cl.didOpen(hello, "main: [+stdout] () void:\n    print(\"é😀\", n)\n")
		d := cl.diagnostics(hello, 1)
		if len(d) == 0 || d[0].Range.Start != (position{1, c.start - 1}) {
			t.Errorf("%s: got %+v", c.want, d)
		}
	}
}

func TestPositions(t *testing.T) {
	f := newFile("a.eve", "é😀x\r\n\xffy\n")
	for _, c := range []struct {
		e      encoding
		at     position
		offset int
	}{
		{utf16, position{0, 0}, 0}, {utf16, position{0, 1}, 2}, {utf16, position{0, 3}, 6},
		{utf16, position{0, 4}, 7}, {utf16, position{1, 1}, 10}, {utf16, position{1, 2}, 11},
		{utf16, position{2, 0}, 12},
		{utf8s, position{0, 2}, 2}, {utf8s, position{0, 6}, 6}, {utf8s, position{1, 1}, 10},
	} {
		if got := c.e.offset(f, c.at); got != c.offset {
			t.Errorf("%s %v: got offset %d, want %d", c.e, c.at, got, c.offset)
		}
		if got := c.e.position(f, c.offset); got != c.at {
			t.Errorf("%s offset %d: got %v, want %v", c.e, c.offset, got, c.at)
		}
	}
	// inside a character, behind a line, behind the text, before it
	for at, want := range map[position]int{{0, 2}: 2, {0, 99}: 7, {9, 9}: 12, {-1, -1}: 0,
		{0, -3}: 0} {
		if got := utf16.offset(f, at); got != want {
			t.Errorf("%v: got offset %d, want %d", at, got, want)
		}
	}
	if got := utf8s.offset(f, position{0, 3}); got != 2 {
		t.Errorf("inside a character: got offset %d, want 2", got)
	}
}

func TestURIs(t *testing.T) {
	for uri, path := range map[string]string{
		"file:///a/b.eve":          "/a/b.eve",
		"file:///a%20b/%C3%A9.eve": "/a b/é.eve",
		"file://localhost/a.eve":   "/a.eve",
		"untitled:Untitled-1":      "untitled:Untitled-1",
		"file://other/a.eve":       "file://other/a.eve",
		"%%":                       "%%",
	} {
		if got := pathOf(uri); got != path {
			t.Errorf("%s: got %s, want %s", uri, got, path)
		}
	}
	if got := uriOf("/a b/é.eve"); got != "file:///a%20b/%C3%A9.eve" {
		t.Errorf("got %s", got)
	}
}
