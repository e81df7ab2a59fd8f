package relay

import (
	"bytes"
	"cmp"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Flows forwards datagrams from the clients of one socket to one destination. Each client, which is
// an address and a port, has a flow: a socket of its own to the destination, so replies find their
// client.
type Flows struct {
	// Dial opens a socket that is connected to the destination. Its context ends after 30 s, and
	// with the flow.
	Dial func(ctx context.Context) (net.Conn, error)
	// Idle is the time without a datagram after which a flow ends; 0 is two minutes, the least
	// that RFC 4787 section 4.3 lets a translator of addresses have.
	Idle time.Duration
	// Most bounds the flows; 0 is 256. A further client ends the flow that was idle for longest.
	Most int
	// Log receives the failures of Dial; nil: they are not reported.
	Log func(format string, args ...any)
}

const (
	defaultIdle  = 2 * time.Minute
	defaultFlows = 256 // a guess; each has a buffer of 64 KiB
	dialTime     = 30 * time.Second
	maxDatagram  = 65535 // bytes
	// queueLen is how many datagrams of a client wait while Dial looks up a name. A guess.
	queueLen = 16
)

// table has the flows of one socket.
type table struct {
	*Flows
	in      net.PacketConn
	running sync.WaitGroup
	mu      sync.Mutex // guards flows
	flows   map[string]*flow
}

// flow is one client's.
type flow struct {
	client net.Addr
	queue  chan []byte  // datagrams of the client
	last   atomic.Int64 // when the last datagram came, since epoch
	cancel context.CancelFunc
}

// epoch is a time before all flows. Times are kept as their distance from it, which is monotonic.
var epoch = time.Now()

// touch notes a datagram of either direction.
func (f *flow) touch() { f.last.Store(int64(time.Since(epoch))) }

// idle returns for how long there was no datagram.
func (f *flow) idle() time.Duration { return time.Since(epoch) - time.Duration(f.last.Load()) }

// Serve forwards the datagrams of a socket until the context ends. It closes the socket and all
// flows, and returns when their goroutines have ended. An error is one of the socket.
func (s *Flows) Serve(ctx context.Context, in net.PacketConn) error {
	ctx, cancel := context.WithCancel(ctx)
	t := &table{Flows: s, in: in, flows: map[string]*flow{}}
	defer t.running.Wait()
	defer cancel()
	defer closeWith(ctx, in)()
	b := make([]byte, maxDatagram)
	for {
		n, from, err := in.ReadFrom(b)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		t.deliver(ctx, from, bytes.Clone(b[:n]))
	}
}

// deliver gives a datagram to the flow of its client, and begins one if there is none.
func (t *table) deliver(ctx context.Context, client net.Addr, b []byte) {
	key := client.String()
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.flows[key]
	if f == nil {
		if len(t.flows) >= cmp.Or(t.Most, defaultFlows) {
			t.endOldest()
		}
		f = t.begin(ctx, key, client)
	}
	f.touch()
	select {
	case f.queue <- b:
	default: // UDP may lose datagrams
	}
}

// begin begins a flow. The caller holds mu.
func (t *table) begin(ctx context.Context, key string, client net.Addr) *flow {
	ctx, cancel := context.WithCancel(ctx)
	f := &flow{client: client, queue: make(chan []byte, queueLen), cancel: cancel}
	t.flows[key] = f
	t.running.Go(func() {
		defer cancel()
		err := t.run(ctx, f)
		ended := ctx.Err() != nil // then an error is no news
		t.mu.Lock()
		t.remove(f)
		t.mu.Unlock()
		if err != nil && !ended && t.Log != nil {
			t.Log("%v: %v", client, err)
		}
	})
	return f
}

// remove removes a flow from the table, if it is still there. The caller holds mu.
func (t *table) remove(f *flow) {
	if key := f.client.String(); t.flows[key] == f {
		delete(t.flows, key)
	}
}

// expire removes a flow that was idle for the limit, or returns how much of it is left.
func (t *table) expire(f *flow, limit time.Duration) (left time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if left = limit - f.idle(); left > 0 {
		return left
	}
	if len(f.queue) > 0 {
		return limit
	}
	t.remove(f)
	return 0
}

// endOldest ends the flow that was idle for longest. The caller holds mu.
func (t *table) endOldest() {
	oldest := ""
	for key, f := range t.flows {
		if oldest == "" || f.last.Load() < t.flows[oldest].last.Load() {
			oldest = key
		}
	}
	t.flows[oldest].cancel()
	delete(t.flows, oldest)
}

// run forwards the datagrams of one flow, from its dial to its end.
func (t *table) run(ctx context.Context, f *flow) error {
	dialing, cancel := context.WithTimeout(ctx, dialTime)
	far, err := t.Dial(dialing)
	cancel()
	if err != nil {
		return err
	}
	closeFar := func() { _ = far.Close() } // it may be closed already
	defer closeFar()
	defer context.AfterFunc(ctx, closeFar)()
	t.running.Go(func() {
		defer f.cancel()
		t.replies(f, far)
	})
	limit := cmp.Or(t.Idle, defaultIdle)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case b := <-f.queue:
			_, _ = far.Write(b) // a datagram that cannot be sent is lost
		case <-timer.C:
			left := t.expire(f, limit)
			if left == 0 {
				return nil
			}
			timer.Reset(left)
		case <-ctx.Done():
			return nil
		}
	}
}

// replies is the goroutine that gives a client the replies of the destination. It ends when the
// flow does, or when the destination refuses datagrams.
func (t *table) replies(f *flow, far net.Conn) {
	b := make([]byte, maxDatagram)
	for {
		n, err := far.Read(b)
		if err != nil {
			return
		}
		f.touch()
		_, _ = t.in.WriteTo(b[:n], f.client) // a datagram that cannot be sent is lost
	}
}
