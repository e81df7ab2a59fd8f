package server

// When thousands of clients come back after a restart, each account that returns is told to all who
// share a room with it and are in already (away-notify). One write to each of them for each account
// would cost more than all else: ten thousand clients of three thousand accounts are fifteen
// million writes. During a rush such lines so wait for the next line of their client, or for the
// next tick, and are written together.

// rushLogins is how many clients must have been registered in the last one to two ticks for a rush.
// A guess: so many alone are told at once.
const rushLogins = 16

// A rush counts the clients that were registered in this tick and in the last one, and has those
// for which lines wait.
type rush struct {
	now, last int
	waiting   []*conn
}

// rushed says whether many clients come at the moment.
func (s *server) rushed() bool { return s.rush.now+s.rush.last >= rushLogins }

// WriteLater implements hall.Sink.
func (c *conn) WriteLater(line []byte) {
	s := c.server
	if c.dirty || !s.rushed() {
		c.Write(line)
		return
	}
	if c.stage == nil {
		c.stage = newSendQueue()
	}
	c.stage.write(line)
	s.delivered++
	if !c.waits {
		c.waits = true
		s.rush.waiting = append(s.rush.waiting, c)
	}
}

// tickRush has the lines that wait written.
func (s *server) tickRush() {
	s.rush.last, s.rush.now = s.rush.now, 0
	for _, c := range s.rush.waiting {
		c.waits = false
		if c.stage != nil {
			c.touch()
		}
	}
	clear(s.rush.waiting)
	s.rush.waiting = s.rush.waiting[:0]
	if !s.rushed() {
		s.rush.waiting = nil
	}
}
