// Package lsp is a language server for Eve: the Language Server Protocol 3.17 over two streams.
//
// One goroutine, serve, owns all state: the documents, the requests that are being answered, the
// output. It reads messages in the order in which they come. A request is answered by a goroutine
// of its own, from a view: the documents as they were when the request came. A view never changes,
// so a request needs no lock and sees no half of a change.
//
// The program of a document is checked at most once, by the first request that needs it or a
// short time after the last change. Requests that need only the syntax do not wait for that.
package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"time"
)

// Options are the surroundings of a server.
type Options struct {
	Version string    // of this program, for the client
	Log     io.Writer // for failures of the server itself
	// Cache is a folder in which the modules of std are written for editors to show. Without one,
	// declarations in std have no location.
	Cache string
	// After returns a channel that delivers when a time has passed; nil stands for time.After.
	After func(time.Duration) <-chan time.Time
}

// delay is the time between the last change of a document and its check. People type faster than
// that while they know what they write; a guess.
const delay = 150 * time.Millisecond

// maxRequests bounds the requests that wait for their answers. No editor has more than a few
// dozen; a guess.
const maxRequests = 1000

// Serve answers a client that writes to in and reads from out. It returns the exit code of the
// process: 0 when the client has said shutdown and exit, otherwise 1. The error says why the
// server ended without an exit of the client.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) (code int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return newServer(ctx, out, o).serve(receive(ctx, in))
}

func newServer(ctx context.Context, out io.Writer, o Options) *server {
	if o.After == nil {
		o.After = time.After
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	return &server{
		ctx: ctx, options: o, out: bufio.NewWriter(out), running: map[string]*job{},
		done: make(chan *job), checked: make(chan published),
		slots: make(chan struct{}, max(2, runtime.NumCPU())),
		view:  &view{encoding: utf16, docs: map[string]*document{}},
		dirty: map[string]bool{}, workspace: newWorkspace(),
	}
}

// A packet is the content of a message, or the error that ended the input.
type packet struct {
	content []byte
	err     error
}

// receive reads messages until the input ends.
func receive(ctx context.Context, in io.Reader) <-chan packet {
	packets := make(chan packet)
	go func() {
		r := bufio.NewReader(in)
		for {
			content, err := readMessage(r)
			select {
			case packets <- packet{content, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return packets
}

// A state is the stage of a session.
type state uint8

const (
	starting state = iota // before initialize
	serving
	stopping // after shutdown
)

// A server is one session.
type server struct {
	ctx       context.Context
	options   Options
	out       *bufio.Writer
	state     state
	view      *view
	workspace *workspace
	running   map[string]*job // by id
	done      chan *job       // jobs that are finished
	slots     chan struct{}   // holds one element for each request that computes now
	dirty     map[string]bool // paths of the documents whose diagnostics are to be published
	due       <-chan time.Time
	checked   chan published
	flat      bool // the client knows no hierarchy of symbols
	watches   bool // the client can be asked to watch files
}

// A job is a request that is being answered.
type job struct {
	id     string
	cancel context.CancelFunc
	result any
	err    error
}

// errExit ends serve when the client has said exit.
var errExit = errors.New("exit")

// serve handles messages until the client says exit or the input ends.
func (s *server) serve(packets <-chan packet) (int, error) {
	for {
		var err error
		select {
		case p := <-packets:
			switch {
			case errors.Is(p.err, io.EOF):
				err = errors.New("the input ended before the client said exit")
			case p.err != nil:
				err = p.err
			default:
				err = s.receive(p.content)
			}
		case j := <-s.done:
			err = s.finish(j)
		case p := <-s.checked:
			err = s.publish(p)
		case <-s.due:
			s.due = nil
			s.checkDirty()
		case <-s.ctx.Done():
			err = s.ctx.Err()
		}
		if err == nil {
			err = s.out.Flush()
		}
		switch {
		case errors.Is(err, errExit) && s.state == stopping:
			return 0, nil
		case errors.Is(err, errExit):
			return 1, nil
		case err != nil:
			return 1, err
		}
	}
}

// receive handles one message.
func (s *server) receive(content []byte) error {
	m, fault := parseMessage(content)
	switch {
	case fault != nil:
		return s.respond(nil, nil, fault)
	case m.Method == "" && m.ID == nil:
		return s.respond(nil, nil, &rpcError{invalidRequest, "the message has no method"})
	case m.Method == "":
		return nil // the answer to our request to watch files: nothing depends on it
	case m.ID == nil:
		return s.notified(m)
	}
	return s.request(m)
}

// request starts to answer a request.
func (s *server) request(m *message) error {
	refuse := func(code int, why string) error {
		return s.respond(m.ID, nil, &rpcError{code, why})
	}
	id := string(m.ID)
	switch {
	case m.Method == "initialize" && s.state != starting:
		return refuse(invalidRequest, "initialize was sent before")
	case m.Method == "initialize":
		return s.initialize(m)
	case s.state == starting:
		return refuse(serverNotInitialized, "initialize comes first")
	case s.state == stopping:
		return refuse(invalidRequest, "shutdown was sent before")
	case m.Method == "shutdown":
		s.state = stopping
		return s.respond(m.ID, nil, nil)
	case s.running[id] != nil:
		return refuse(invalidRequest, "the id is that of a request that is not answered yet")
	case len(s.running) >= maxRequests:
		return refuse(requestFailed, fmt.Sprintf("%d requests are not answered yet", maxRequests))
	}
	answer := methods[m.Method]
	if answer == nil {
		return refuse(methodNotFound, fmt.Sprintf("there is no method %q here", m.Method))
	}
	ctx, cancel := context.WithCancel(s.ctx)
	j := &job{id: id, cancel: cancel}
	s.running[id] = j
	r := &request{ctx: ctx, view: s.view, workspace: s.workspace, options: &s.options,
		flat: s.flat}
	go s.work(j, r, answer, m)
	return nil
}

// work answers one request, and gives the answer to serve.
func (s *server) work(j *job, r *request, answer method, m *message) {
	select {
	case s.slots <- struct{}{}:
		j.result, j.err = r.safely(m.Method, func() (any, error) { return answer(r, m.Params) })
		<-s.slots
	case <-r.ctx.Done():
		j.err = r.ctx.Err()
	}
	select {
	case s.done <- j:
	case <-s.ctx.Done():
	}
}

// safely runs f. A panic is an error of this server: it is logged, the request fails, and the
// session goes on.
func (r *request) safely(what string, f func() (any, error)) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(r.options.Log, "eve lsp: %s: %v\n%s", what, p, debug.Stack())
			err = &rpcError{internalError, fmt.Sprintf("%s: %v", what, p)}
		}
	}()
	return f()
}

// finish sends the answer of a job, unless it was cancelled.
func (s *server) finish(j *job) error {
	j.cancel()
	if s.running[j.id] != j {
		return nil
	}
	delete(s.running, j.id)
	var fault *rpcError
	switch {
	case j.err == nil:
	case errors.As(j.err, &fault):
	default:
		fault = &rpcError{requestFailed, j.err.Error()}
	}
	return s.respond(json.RawMessage(j.id), j.result, fault)
}

// cancelled answers a request that the client does not want answered any more.
func (s *server) cancelled(params json.RawMessage) error {
	var p struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		s.ignored("$/cancelRequest: %v", err)
		return nil
	}
	j := s.running[string(p.ID)]
	if j == nil {
		return nil // it was answered already
	}
	delete(s.running, j.id)
	j.cancel()
	return s.respond(p.ID, nil, &rpcError{requestCancelled, "the request was cancelled"})
}

// respond sends a response. Without an id, that of a message that could not be read, it is null.
func (s *server) respond(id json.RawMessage, result any, fault *rpcError) error {
	if id == nil {
		id = json.RawMessage("null")
	}
	m := &message{ID: id, Error: fault}
	if fault == nil {
		content, err := json.Marshal(result)
		if err != nil {
			return err
		}
		m.Result = content
	}
	return writeMessage(s.out, m)
}

// notify sends a notification.
func (s *server) notify(method string, params any) error {
	content, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return writeMessage(s.out, &message{Method: method, Params: content})
}
