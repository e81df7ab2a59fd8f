package gonet

import "time"

// Abort ends the stack as Close does, and tells the peers. A program that ends should call it. The kernel closes what a program leaves
// behind; behind a tap there is nobody left who could. Connections that the user has closed have lastWords for what is on its way; all others,
// and those that are not done then, are reset.
func (s *Stack) Abort() error {
	var left []*Conn
	err := s.claim(func() {
		for _, c := range s.conns {
			left = append(left, c)
		}
	})
	if err != nil {
		return s.Close()
	}
	closed := left[:0]
	asked := false
	for _, c := range left {
		busy := c.busy()
		if c.Abort() != nil {
			closed = append(closed, c)
		} else {
			asked = asked || busy
		}
	}
	until := time.Now().Add(lastWords)
	for anyBusy(closed) && time.Now().Before(until) {
		time.Sleep(lookAgain)
	}
	_ = s.claim(func() { // the link may have gone, and with it the dealer
		for _, c := range closed {
			s.discard(c)
		}
	})
	if asked {
		time.Sleep(lookAgain) // a peer whom a reset does not reach in order asks (RFC 5961 section 3), and is answered by refuse
	}
	return s.Close()
}

const (
	// lastWords is how long what a user has closed is waited for when its stack ends. A guess: many round trips of a local network, and
	// little of the seconds that a program has to end in.
	lastWords = 300 * time.Millisecond
	// lookAgain is the pause between two looks at those that are waited for. A guess, too.
	lookAgain = 5 * time.Millisecond
)

func (c *Conn) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machine.Info().Busy()
}

func anyBusy(conns []*Conn) bool {
	for _, c := range conns {
		if c.busy() {
			return true
		}
	}
	return false
}
