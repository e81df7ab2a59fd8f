package hall

import "interleave/papaya/irc"

// A Run is the bytes that several clients get alike: the lines of one batch in one room, in one
// form. It only grows, so a part can be written to sockets while lines are added behind it. It is
// not copied for each client.
type Run struct{ lines []byte }

// maxRun is in bytes. A slow client keeps the whole run in memory that its part belongs to.
const maxRun = 256 << 10

// Add appends a line, and returns its place.
func (r *Run) Add(line []byte) (from, to int) {
	from = len(r.lines)
	r.lines = append(r.lines, line...)
	return from, len(r.lines)
}

// Part returns the bytes from one place to another.
func (r *Run) Part(from, to int) []byte { return r.lines[from:to:to] }

// Size returns how much memory a part of the run keeps in use.
func (r *Run) Size() int { return cap(r.lines) }

// runs are the runs of one room and one batch, one for each form.
type runs struct {
	batch uint64
	each  [looks + 1]*Run
}

// add appends a line, or a message of several lines, to the run of a form.
func (r *runs) add(o *out, look caps) (run *Run, from, to int) {
	run = r.each[look]
	if run == nil || len(run.lines) > maxRun {
		run = &Run{}
		r.each[look] = run
	}
	from = len(run.lines)
	run.lines = o.form(run.lines, look)
	return run, from, len(run.lines)
}

// A shared line goes to many clients of a room.
type shared struct {
	o    *out
	runs *runs
	at   [looks + 1]struct {
		run      *Run
		from, to int
	}
}

func (h *Hall) share(r *room, o *out) shared {
	if r.runs.batch != h.batchNumber {
		r.runs = runs{batch: h.batchNumber}
		h.shared = append(h.shared, r)
	}
	return shared{o: o, runs: &r.runs}
}

// to sends the line to a client of the room.
func (s *shared) to(c *Client) {
	switch {
	case c == nil || c.closed:
	case c.captured != nil:
		s.o.to(c)
	default:
		look := s.o.look(c)
		a := &s.at[look]
		if a.run == nil {
			a.run, a.from, a.to = s.runs.add(s.o, look)
		}
		c.sink.Share(a.run, a.from, a.to)
	}
}

// toRoom sends a line to the clients of this server that are in the room and have all capabilities
// of want, except to the sessions of the user who has sent it.
func (h *Hall) toRoom(r *room, u *user, o *out, want caps) {
	s := h.share(r, o)
	for _, c := range r.clients {
		if c.user != u && c.caps&want == want && !(len(c.backlogs) > 0 && c.waitsFor(r)) {
			s.to(c)
			c.sent = h.at
		}
	}
}

// toPart is toRoom for those members that a message with a prefix (STATUSMSG) is for.
func (h *Hall) toPart(r *room, u *user, o *out, status string, want caps) {
	if status == "" {
		h.toRoom(r, u, o, want)
		return
	}
	for _, in := range r.here {
		if in.user == u || !in.standing().hears(status) {
			continue
		}
		in.user.eachClient(func(c *Client) {
			if c.caps&want == want && !c.waitsFor(r) {
				o.to(c)
				c.sent = h.at
			}
		})
	}
}

// Reached calls each with every folded name to which a message for this client may be sent: its
// nick and its rooms.
func (h *Hall) Reached(c *Client, each func(name string)) {
	if c.user == nil {
		return
	}
	each(irc.Lower(c.user.nick))
	for _, m := range c.user.rooms {
		each(irc.Lower(m.room.name))
	}
}
