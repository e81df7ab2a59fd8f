package interp

import (
	"strconv"
	"strings"

	"interleave/eve/types"
)

// A network joins the sockets of one program: there is nobody else in it.
type network struct {
	listeners map[int64]*object
	sockets   []*socket
	port      int64
}

// A listener is the value of a tcp_socket.
type listener struct{ port int64 }

// A joining is the value of a connection that has come in.
type joining struct{ client *object }

// A socket is one end of a connection.
type socket struct {
	object *object
	peer   *socket
	inbox  []byte
	ended  bool // the peer writes no more
	shutW  bool // we write no more
	closed bool
	busy   bool // an event is being handled
	limit  int64
}

// firstPort is what port 0 becomes, and the next after it.
const firstPort = 40000

func (in *interp) listen(t *types.Type, port int64) *object {
	o := in.object(&listener{port}, t)
	if port == 0 {
		in.network.port++
		port = firstPort + in.network.port
		o.v = &listener{port}
	}
	if in.network.listeners[port] != nil {
		in.soon(func() { in.fire(o, "error", &fault{text: "Address already in use", code: 98}, nil) })
		return o
	}
	in.network.listeners[port] = o
	in.soon(func() { in.fire(o, "listening", &record{0, []value{port}}, nil) })
	return o
}

// soon runs f as a root that needs nothing.
func (in *interp) soon(f func()) { in.post(nil, f) }

func (in *interp) connect(t *types.Type, port int64, answer func(value)) {
	l := in.network.listeners[port]
	if l == nil {
		in.soon(func() { answer(failed(&fault{text: "Connection refused", code: 111})) })
		return
	}
	near, far := &socket{limit: 1 << 20}, &socket{limit: 1 << 20}
	near.peer, far.peer = far, near
	for _, s := range []*socket{near, far} {
		s.object = in.object(s, t)
		in.network.sockets = append(in.network.sockets, s)
	}
	in.fire(l, "connection", &joining{far.object}, nil)
	in.soon(func() { answer(ok(near.object)) })
}

// handles says whether the socket has a handler for an event.
func (s *socket) handles(event string) bool {
	for _, h := range s.object.handlers {
		if h.event == event {
			return true
		}
	}
	return false
}

// readable tells the handlers of what has come, one event at a time.
func (s *socket) readable(in *interp) {
	if s.busy || s.closed {
		return
	}
	event, v := s.next()
	if event == "" {
		return
	}
	s.busy = true
	in.fire(s.object, event, v, func() {
		s.busy = false
		if event == "close" {
			s.closed = true
			s.object.closed, s.object.handlers = true, nil
			return
		}
		in.soon(func() { s.readable(in) })
	})
}

// next is the event that is due.
func (s *socket) next() (event string, v value) {
	switch {
	case s.handles("line"):
		text := string(s.inbox)
		if line, rest, found := strings.Cut(text, "\n"); found {
			s.inbox = []byte(rest)
			return "line", &record{0, []value{strings.TrimSuffix(line, "\r")}}
		}
		if len(text) > 0 && s.ended {
			s.inbox = nil
			return "line", &record{0, []value{text}}
		}
	case len(s.inbox) > 0 && s.handles("data"):
		return "data", &record{}
	}
	if s.ended && len(s.inbox) == 0 {
		s.peerEnds()
		return "close", &record{}
	}
	return "", nil
}

// peerEnds says goodbye to a peer that still reads.
func (s *socket) peerEnds() {
	s.shutW = true
	s.peer.ended = true
}

// write sends bytes to the peer.
func (s *socket) write(in *interp, b []byte) {
	if s.closed || s.shutW || s.peer.closed || len(b) == 0 {
		return
	}
	s.peer.inbox = append(s.peer.inbox, b...)
	in.soon(func() { s.peer.readable(in) })
}

// end says that no more is written.
func (s *socket) end(in *interp) {
	s.peerEnds()
	in.soon(func() { s.peer.readable(in) })
}

// shut closes the socket: its handlers of close run, and the peer reads the end.
func (s *socket) shut(in *interp) {
	if s.closed || s.ended && s.shutW && len(s.inbox) == 0 {
		return
	}
	s.inbox, s.ended = nil, true
	s.end(in)
	in.soon(func() { s.readable(in) })
}

func (s *socket) read() []byte {
	n := min(len(s.inbox), 64<<10)
	b := s.inbox[:n:n]
	s.inbox = s.inbox[n:]
	return b
}

func addressOf(port int64) string { return "127.0.0.1:" + strconv.FormatInt(port, 10) }
