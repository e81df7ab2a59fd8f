package packetdrill

import (
	"errors"
	"fmt"
	"time"

	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// Result is what became of a script.
type Result uint8

// The results.
const (
	Passed        Result = iota
	NotApplicable        // the script needs something that GoNet does not have
	Differs              // the machine does something else
	Unread               // the script cannot be read
)

func (r Result) String() string {
	return [...]string{"passed", "not applicable", "differs", "unread"}[r]
}

// Outcome is the result of a script.
type Outcome struct {
	Result Result
	Line   int    // of the statement that differs or is not read, or 0
	Why    string // "" if the script has passed, unless parts of it were left out
}

// Run reads and plays a script.
func Run(source string) Outcome {
	s, err := Parse(source)
	if err == nil {
		err = s.play()
	}
	var needs unsupported
	var other *difference
	var syntax *SyntaxError
	var left leftOut
	switch {
	case err == nil:
		return Outcome{}
	case errors.As(err, &left):
		return Outcome{Why: left.Error()}
	case errors.As(err, &needs):
		return Outcome{Result: NotApplicable, Why: needs.Error()}
	case errors.As(err, &other):
		return Outcome{Result: Differs, Line: other.line, Why: other.text}
	case errors.As(err, &syntax):
		return Outcome{Result: Unread, Line: syntax.Line, Why: syntax.Text}
	}
	return Outcome{Result: Unread, Why: err.Error()}
}

// difference is something that the machine does otherwise than the script says.
type difference struct {
	line int
	text string
}

func (d *difference) Error() string { return fmt.Sprintf("line %d: %s", d.line, d.text) }

// leftOut is the measures of Linux of which a script that has passed asserts something.
type leftOut string

func (l leftOut) Error() string { return "without the assertions on " + string(l) }

// player plays one script.
type player struct {
	script     *Script
	set        settings
	start, now tcp.Time
	line       int      // of the current event
	last       tcp.Time // the instant of the event before, as the script has it
	files      map[int64]*file
	listener   *file
	conn       *conn // the connection under test; nil while a listener waits for it
	conns      []*conn
	out        []sent // not yet compared
	waiting    *waiting
	vars       map[string]int64 // of the code
}

var errUnreachable = errors.New("host unreachable")

// play plays the script. It returns an unsupported, a *difference, a leftOut or nil.
func (s *Script) play() error {
	p := &player{script: s, set: initialSettings(), files: map[int64]*file{},
		vars: map[string]int64{}}
	p.start = tcp.Time(time.Hour)
	p.now, p.last = p.start, p.start
	if err := p.configure(); err != nil {
		return err
	}
	left, err := s.needs(p.set)
	if err != nil {
		return err
	}
	for i := range s.Events {
		if err := p.event(&s.Events[i]); err != nil {
			return err
		}
	}
	if err := p.await(); err != nil {
		return err
	}
	if left != "" {
		return leftOut(left)
	}
	return nil
}

func (p *player) configure() error {
	for _, o := range p.script.Options {
		if err := p.set.option(o); err != nil {
			return err
		}
	}
	if err := p.set.shell(p.script.Init); err != nil {
		return err
	}
	return p.set.shell(p.script.Cleanup)
}

// needs looks through a script for what GoNet does not have, so that a script which needs it is not
// played at all. It returns the measures of Linux whose assertions are left out.
func (s *Script) needs(set settings) (left string, err error) {
	assigned := map[string]bool{} // variables of the code
	for _, e := range s.Events {
		switch a := e.Action.(type) {
		case *Segment:
			err = a.needs(set.fastopen&listenersAreFast == listenersAreFast)
		case *ICMP:
			if a.Out || !softErrors[a.Code] && !hardErrors[a.Code] && a.MTU == 0 {
				err = unsupported("ICMP code " + a.Code)
			}
		case *Call:
			err = a.needs()
		case Command:
			err = set.shell(string(a))
		case Code:
			var l string
			l, err = a.needs(assigned)
			if left == "" {
				left = l
			}
		}
		if err != nil {
			return "", err
		}
	}
	return left, nil
}

// needs returns what GoNet does not send. It skips what it does not know in a segment that arrives
// (RFC 9293 MUST-6), unless Linux's listeners accept Fast Open: then they do not skip it.
func (s *Segment) needs(fastopen bool) error {
	for _, f := range s.Foreign {
		cookie := f == "FO" || f == "FOEXP"
		if s.Out || !cookie {
			return unsupported(f)
		}
		if fastopen && s.Header.Flags&wire.SYN != 0 {
			return unsupported("tcp_fastopen")
		}
	}
	return nil
}

func (p *player) differs(format string, args ...any) error {
	return &difference{p.line, fmt.Sprintf(format, args...)}
}

// patience is how long after its instant a segment is waited for, as in packetdrill; so long is
// waited for one at any time.
const (
	patience     = 2 * time.Second
	longPatience = time.Hour
)

func (p *player) event(e *Event) error {
	p.line = e.Line
	base := p.start
	if e.Time.Kind != Absolute && e.Time.Kind != AbsoluteRange {
		base = p.now
	}
	at := base.Add(e.Time.At)
	defer func() { p.last = at }()
	if s, ok := e.Action.(*Segment); ok && s.Out {
		return p.expect(e, s, at, base.Add(e.Time.Until))
	}
	c, isCall := e.Action.(*Call)
	if isCall {
		if err := p.await(); err != nil {
			return err
		}
	}
	if late := p.now.Sub(at); late > p.tolerance(at, p.last) {
		return p.differs("it is %v late: what was sent before took longer", late)
	}
	if err := p.passUntil(at); err != nil {
		return err
	}
	switch a := e.Action.(type) {
	case *Segment:
		return p.arrive(a)
	case *ICMP:
		return p.icmp(a)
	case Command:
		return p.set.shell(string(a))
	case Code:
		return p.assert(a)
	}
	return p.begin(c, at, base.Add(c.End))
}

// tolerance returns how far from at something may happen, as packetdrill computes it. since is the
// instant from which the script measures.
func (p *player) tolerance(at, since tcp.Time) time.Duration {
	return max(p.set.tolerance, time.Duration(p.set.percent/100*float64(at.Sub(since))))
}
