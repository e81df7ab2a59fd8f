package interp

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// A network joins the sockets of one program. There are no other processes in it.
type network struct {
	listeners map[int64]*listener // those that have their port
	all       []*listener
	sockets   []*socket
	datagrams []*datagramSocket // those that are open
	awaiting  []*pending
	ports     int64            // number of ports given to sockets without a fixed one
	paths     map[string]int64 // a number in place of a port, for each Unix socket
}

// The first ports that are given out.
const (
	firstPort   = 40000 // to listeners on port 0
	firstClient = 50000 // to clients
)

// Errors of the system, with the numbers and messages of Linux.
var (
	inUse   = &fault{code: 98, text: "Address already in use"}
	refused = &fault{code: 111, text: "Connection refused"}
	tooLong = &fault{code: 90, text: "line too long"}
	noPort  = &fault{code: 99, text: "Cannot assign requested address"}
)

func because(what, host string, port int64, why *fault) *fault {
	return &fault{code: why.code, text: what + " " + address(host, port) + ": " + why.text}
}

func isUnix(host string) bool { return strings.HasPrefix(host, "unix:") && len(host) > 5 }

// port is what stands for a Unix socket in the table of listeners; of others, the port.
func (n *network) port(host string, port int64) int64 {
	if !isUnix(host) {
		return port
	}
	if n.paths == nil {
		n.paths = map[string]int64{}
	}
	if n.paths[host] == 0 {
		n.paths[host] = int64(1<<16 + len(n.paths))
	}
	return n.paths[host]
}

func address(host string, port int64) string {
	if isUnix(host) {
		return host
	}
	return net.JoinHostPort(host, strconv.FormatInt(port, 10))
}

// A listener is the value of a tcp_socket.
type listener struct {
	object  *object
	port    int64
	most    int64 // connections at a time; 0: any number
	open    int64
	backlog []*socket // clients that wait to be accepted
	why     *fault    // the reason why it could not start
	started bool
	busy    bool // the handler of a connection has not run yet
	closed  bool
}

// A joining is the value of an accepted connection.
type joining struct {
	client *socket
	taken  bool
}

func (c *called) listen() value {
	in, host := c.in, c.str(1)
	in.refuse("a listener")
	port := in.network.port(host, c.int(0))
	l := &listener{port: port, most: c.int(2)}
	l.object = in.object(l, c.t.Elem)
	for l.port == 0 || port == 0 && in.network.listeners[l.port] != nil {
		in.network.ports++
		l.port = firstPort + in.network.ports
	}
	switch {
	case (port < 0 || port > 65535) && !isUnix(host):
		l.why = because("cannot listen on", host, port, noPort)
	case in.network.listeners[l.port] != nil:
		l.why = because("cannot listen on", host, port, inUse)
	default:
		in.network.listeners[l.port] = l
	}
	in.network.all = append(in.network.all, l)
	in.starts = append(in.starts, func() { l.start(in) })
	return l.object
}

// start runs when the body that called listen has registered its handlers.
func (l *listener) start(in *interp) {
	if l.why != nil {
		in.emit(l.object, "error", l.why)
		l.close(in)
	} else {
		l.started = true
		port := l.port
		if port > 65535 { // of a Unix socket
			port = 0
		}
		in.emit(l.object, "listening", &record{0, []value{port}})
		l.accept(in)
	}
	if in.ending {
		l.close(in)
	}
}

// accept accepts the next waiting client.
func (l *listener) accept(in *interp) {
	if !l.started || l.closed || l.busy || len(l.backlog) == 0 || l.most > 0 && l.open >= l.most {
		return
	}
	l.busy = true
	l.open++
	client := l.backlog[0]
	l.backlog = l.backlog[1:]
	client.from = l
	in.emit(l.object, "connection", &joining{client: client})
}

func (l *listener) changed(*interp) {}

func (l *listener) handled(in *interp, _ string, v value) {
	c, is := v.(*joining)
	if !is {
		return
	}
	l.busy = false
	if !c.taken {
		c.client.retire(in) // no handler took it
	}
	l.accept(in)
}

func (l *listener) unhandled(in *interp, event string, v value) {
	if why, is := v.(*fault); is {
		in.die(why.text)
	}
	l.handled(in, event, v)
}

func (l *listener) failed(in *interp, f *failure) bool {
	heard := l.object.handles("error") && in.emit(l.object, "error", f.fault())
	l.close(in)
	return heard
}

func (l *listener) close(in *interp) {
	if !l.closed {
		l.closed = true
		in.emitLast(l.object, "close", &record{})
	}
}

func (l *listener) gone(in *interp) {
	if in.network.listeners[l.port] == l {
		delete(in.network.listeners, l.port)
	}
	for _, s := range l.backlog {
		s.retire(in)
	}
	l.backlog = nil
}

// An opening is a connection that is being made.
type opening struct{ cancelled bool }

var cancelled = &fault{code: 125, text: "cancelled"}

// opening is what connect was given for that, or another one.
func (c *called) opening() *opening {
	if o := c.args[3].(*record); len(o.fields) > 0 {
		return o.fields[0].(*object).v.(*opening)
	}
	return &opening{}
}

// connect joins a socket to a listener of the program.
func (c *called) connect(answer func(value)) {
	in, host, by := c.in, c.str(0), c.opening()
	in.refuse("a connection")
	port := in.network.port(host, c.int(1))
	t := c.fn.Result.Elem.Elem
	l := in.network.listeners[port]
	if l == nil || l.closed {
		in.soon(func() { answer(failed(because("cannot connect to", host, port, refused))) })
		return
	}
	near, far := newSocket(address("127.0.0.1", port)),
		newSocket(address("127.0.0.1", firstClient+int64(len(in.network.sockets))))
	if isUnix(host) {
		near.address, far.address = host, "unix:"
	}
	near.peer, far.peer = far, near
	for _, s := range []*socket{near, far} {
		s.object = in.object(s, t)
		in.network.sockets = append(in.network.sockets, s)
	}
	l.backlog = append(l.backlog, far)
	in.soon(func() { l.accept(in) })
	in.soon(func() {
		if by.cancelled {
			near.retire(in)
			answer(failed(because("cannot connect to", host, port, cancelled)))
			return
		}
		near.adopt(in)
		answer(ok(near.object))
	})
}

// addresses knows numbers and one name.
func (c *called) addresses(answer func(value)) {
	host := c.str(0)
	at, err := netip.ParseAddr(host)
	switch {
	case err == nil:
		host = at.String()
	case host == "localhost":
		host = "127.0.0.1"
	default:
		why := &fault{code: 113, text: "cannot find " + host + ": Name or service not known"}
		c.in.soon(func() { answer(failed(why)) })
		return
	}
	c.in.soon(func() { answer(ok(stringsOf([]string{host}))) })
}

// soon runs f as a root without objects.
func (in *interp) soon(f func()) { in.post(nil, f) }

// waits says whether there is an emitter that other processes would make emit.
func (in *interp) waits() bool {
	for _, l := range in.network.all {
		if l.started && !l.closed {
			return true
		}
	}
	for _, s := range in.network.sockets {
		if s.started && !s.retired {
			return true
		}
	}
	for _, n := range in.queues {
		if n.waits() {
			return true
		}
	}
	for _, s := range in.network.datagrams {
		if s.waits() {
			return true
		}
	}
	return false
}

// pending records a continuation that waits for an answer, since it can reach sockets.
func (n *network) pending(p *pending) {
	live := n.awaiting[:0]
	for _, q := range n.awaiting {
		if !q.answered {
			live = append(live, q)
		}
	}
	n.awaiting = append(live, p)
}

// closeLonely closes sockets that no code can use any more: without an input handler at their
// start, and without a handle anywhere. It is called when no task is left, so that all handles are
// in objects, handlers and pending continuations. True when it has found one.
func (in *interp) closeLonely() bool {
	var asked []*socket
	for _, s := range in.network.sockets {
		if s.started && !s.decided {
			s.decided = true
			if data, line := s.reads(); !data && !line && !s.closing && s.clock == nil {
				asked = append(asked, s)
			}
		}
	}
	if len(asked) == 0 {
		return false
	}
	seen := in.reachable()
	any := false
	for _, s := range asked {
		if !seen.objects[s.object] {
			any = true
			s.close(in)
		}
	}
	return any
}

// loseAnswers answers calls whose answer no code can give any more, by an error. It is called when
// no task is left. True when it has found one.
func (in *interp) loseAnswers() bool {
	var asked []*pending
	for _, p := range in.network.awaiting {
		if !p.answered && p.lose != nil {
			asked = append(asked, p)
		}
	}
	if len(asked) == 0 {
		return false
	}
	seen := in.reachable()
	any := false
	for _, p := range asked {
		if !seen.closures[p.reply] {
			any = true
			p.lose()
		}
	}
	return any
}

// reachable are the objects that remaining code may name.
func (in *interp) reachable() reach {
	r := reach{map[*object]bool{}, map[*closure]bool{}}
	for _, p := range in.globals {
		r.value(*p)
	}
	for _, p := range in.network.awaiting {
		if !p.answered {
			r.cells(p.captured)
		}
	}
	for _, l := range in.network.all {
		r.handlers(l.object)
	}
	for _, t := range in.timers {
		if !t.stopped {
			r.handlers(t.object)
		}
	}
	for _, s := range in.network.sockets {
		if !s.retired {
			r.handlers(s.object)
		}
	}
	return r
}

// A reach collects objects, and the callbacks that answer calls.
type reach struct {
	objects  map[*object]bool
	closures map[*closure]bool
}

func (r reach) handlers(o *object) {
	for _, h := range o.emits.handlers {
		r.cells(h.cells)
	}
}

func (r reach) cells(all cells) {
	for _, c := range all {
		r.value(*c.at)
	}
}

func (r reach) all(vs []value) {
	for _, v := range vs {
		r.value(v)
	}
}

func (r reach) value(v value) {
	switch v := v.(type) {
	case *object:
		if r.objects[v] {
			return
		}
		r.objects[v] = true
		r.value(v.v)
		if v.emits != nil {
			r.handlers(v)
		}
	case *record:
		r.all(v.fields)
	case *list:
		r.all(v.elems)
	case *table:
		r.all(v.keys)
		r.all(v.values)
	case *closure:
		r.closures[v] = true
		r.cells(v.cells)
	}
}
