package gonet

import (
	"container/list"
	"net/netip"
	"sync"
	"time"
)

// UDPFlow is what one client sends to one foreign address, and what it gets back: a net.Conn whose
// local address is the foreign one. It ends when its handler returns, and when it has been idle for
// ForwardConfig.FlowIdle, or longer than all others when another flow needs its place: then Read
// fails with net.ErrClosed. The next datagram of the client begins another flow.
type UDPFlow struct {
	*PacketConn
	first packet // the first datagram, as ICMP errors quote it

	// Dealer only:
	take  func(datagrams [][]byte) // see Handle; nil: they wait for Receive
	batch [][]byte                 // the datagrams of this batch of frames, for take

	// Guarded by the mutex of flows:
	element *list.Element // nil when the flow has ended
	used    time.Time     // when the last datagram was sent or received
}

// ForwardUDP has the stack hand the datagrams to foreign addresses (Config.Promiscuous) to handle,
// by flows: handle is called in a goroutine of its own for each, and reads the first datagram from
// it. A nil handle ends the forwarder: datagrams of new flows are dropped.
func (s *Stack) ForwardUDP(handle func(*UDPFlow)) error {
	return s.setForwarder(func(f *forwarder) { f.handleUDP = handle })
}

// Source returns the client's address.
func (w *UDPFlow) Source() netip.AddrPort { return w.remote }

// Destination returns the foreign address.
func (w *UDPFlow) Destination() netip.AddrPort { return w.local }

// Receive returns the next datagram, which the caller may keep. A goroutine that waits in Receive
// needs no buffer.
func (w *UDPFlow) Receive() ([]byte, error) {
	d, err := w.receive()
	return d.body, err
}

// ReceiveBatch waits for a datagram, and returns it with those that have come meanwhile, at most
// len(batch) of which it sets so many. The caller may keep them. A program that sends them on can
// do so by fewer calls.
func (w *UDPFlow) ReceiveBatch(batch [][]byte) (int, error) {
	if len(batch) == 0 {
		return 0, nil
	}
	d, err := w.receive()
	if err != nil {
		return 0, err
	}
	batch[0] = d.body
	return 1 + w.in.takeBodies(batch[1:]), nil
}

// Handle has the stack's own goroutine call take with the datagrams that come, all of a batch of
// frames at once, and first with those that have come before. So nobody is woken for a datagram,
// and none is copied. take must neither block nor keep the datagrams, and of the flow's methods may
// call those that write or set a deadline. Receive and Read return errors only from now on, and end
// with the flow.
func (w *UDPFlow) Handle(take func(datagrams [][]byte)) error {
	return w.stack.claim(func() {
		w.take = take
		batch := make([][]byte, socketLen)
		for n := w.in.takeBodies(batch); n > 0; n = w.in.takeBodies(batch) {
			take(batch[:n])
		}
	})
}

// queueForHandler has the end of this batch hand a datagram to its handler. Dealer only.
func (s *Stack) queueForHandler(w *UDPFlow, body []byte) {
	if len(w.batch) == 0 {
		s.udp.toHand = append(s.udp.toHand, w)
	}
	w.batch = append(w.batch, body)
}

// keptBatch bounds the length of a list of datagrams whose memory an idle flow keeps.
const keptBatch = 4

// handDatagrams calls the handlers of flows with the datagrams of this batch. Dealer only.
func (s *Stack) handDatagrams() {
	for i, w := range s.udp.toHand {
		w.touch()
		w.take(w.batch)
		clear(w.batch)
		if w.batch = w.batch[:0]; cap(w.batch) > keptBatch {
			w.batch = nil
		}
		s.udp.toHand[i] = nil
	}
	s.udp.toHand = s.udp.toHand[:0]
}

// Unreachable answers the first datagram with an ICMP error, and ends the flow.
func (w *UDPFlow) Unreachable(why Unreachable) {
	s := w.stack
	_ = s.claim(func() { s.sendUnreachable(&w.first, why) }) // a stack that has ended sends nothing
	_ = w.Close()                                            // it may have ended
}

// run is the goroutine of a handler.
func (w *UDPFlow) run(handle func(*UDPFlow)) {
	defer w.stack.forward.flowHandlers.Add(-1)
	defer func() { _ = w.Close() }() // it may have ended
	handle(w)
}

// touch notes that a datagram was sent or received. Any goroutine.
func (w *UDPFlow) touch() {
	t := &w.stack.forward.flows
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.element != nil {
		w.used = now
		t.lru.MoveToFront(w.element)
	}
}

// flows has the flows in the order of their use. One timer serves all.
type flows struct {
	mu    sync.Mutex
	lru   list.List // of *UDPFlow; the last used one is in front
	timer *time.Timer
	ended bool
}

// add adds a flow, and sets the timer if it is the first one. Dealer only.
func (t *flows) add(w *UDPFlow, idle time.Duration, onTimer func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w.used, w.element = time.Now(), t.lru.PushFront(w)
	switch {
	case t.lru.Len() > 1 || t.ended:
	case t.timer == nil:
		t.timer = time.AfterFunc(idle, onTimer)
	default:
		t.timer.Reset(idle)
	}
}

// remove removes a flow. The timer is not stopped: it finds nothing to do, or other flows.
func (t *flows) remove(w *UDPFlow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.element != nil {
		t.lru.Remove(w.element)
		w.element = nil
	}
}

// oldest returns the flow that has been idle for the longest time, and for how long; nil if there
// is none.
func (t *flows) oldest() (*UDPFlow, time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.lru.Back()
	if last == nil {
		return nil, 0
	}
	w := last.Value.(*UDPFlow)
	return w, time.Since(w.used)
}

func (t *flows) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lru.Len()
}

// reset sets the timer.
func (t *flows) reset(wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.timer.Reset(wait)
	}
}

// end stops the timer. It is not set again.
func (t *flows) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.timer != nil {
		t.timer.Stop()
	}
}

// newFlow makes a flow for its first datagram, and starts its handler. It returns nil if no handler
// is set, or too many run: those of flows that have ended count, too. Dealer only.
func (s *Stack) newFlow(p *packet, local, remote netip.AddrPort) *PacketConn {
	f := s.forward
	if f.handleUDP == nil {
		s.stats.foreign.Add(1)
		return nil
	}
	if int(f.flowHandlers.Load()) >= 2*f.limits.Flows {
		s.stats.droppedForwards.Add(1)
		return nil
	}
	if f.flows.count() >= f.limits.Flows {
		w, _ := f.flows.oldest()
		s.endFlow(w)
	}
	w := &UDPFlow{PacketConn: s.newPacketConn(local, remote), first: p.quotable()}
	w.flow = w
	s.udp.peers[peerKey{local, remote}] = w.PacketConn
	f.flows.add(w, f.limits.FlowIdle, func() {
		_ = s.post(s.expireFlows) // a stack that has ended has no flows
	})
	f.flowHandlers.Add(1)
	go w.run(f.handleUDP)
	return w.PacketConn
}

// endFlow ends a flow that is idle. Dealer only.
func (s *Stack) endFlow(w *UDPFlow) {
	s.removeSocket(w.PacketConn)
	w.closeWith(errClosed)
}

// expireFlows ends the flows that have been idle for too long, and sets the timer for the next one.
// Dealer only.
func (s *Stack) expireFlows() {
	f := s.forward
	for {
		w, idle := f.flows.oldest()
		switch {
		case w == nil:
			return
		case idle < f.limits.FlowIdle:
			f.flows.reset(f.limits.FlowIdle - idle)
			return
		}
		s.endFlow(w)
	}
}
