package tcp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"interleave/gonet/wire"
)

// script is a conversation with one machine in the notation of packetdrill: testdata/*.pkt. Each
// line has an instant and an event. Instants are seconds since the start, or with a + since the
// previous line. Time passes only between lines. What the machine sends must be the next > line, at
// its instant.
//
//	+0    < S 0:0(0) win 65535 <mss 1460,sackOK,wscale 7>   a segment arrives; sequence numbers count from the SYN
//	+0    > S. 0:0(0) ack 1 win 65535 <mss 1460,...>        the machine sends one; win and < > only where given
//	+0    < [ce] . 1:1001(1000) ack 1                        the packet is marked CE; > [ect0]: it is ECN-capable
//	+.2   write 1000 | read 1000 | close | shutdown | abort | connect | listen
//	+0    state ESTABLISHED | error connection reset by peer | readable 1000 | eof | quiet
//	+0    unreachable soft | unreachable hard | pathmtu 1000 | reusable S 9:9(0) win 0 | taken S 9:9(0) win 0
//	      option nodelay=0 ...                              before the first: fields of Config
type script struct {
	t      *testing.T
	file   string
	line   int
	now    Time
	cfg    Config
	conn   *Conn
	theirs uint32 // the peer's initial sequence number
	out    []sentAt
}

type sentAt struct {
	at  Time
	h   wire.TCP
	n   int
	ect bool
}

// ours0 is our initial sequence number, theirs0 the peer's: both near the end of the space, so that
// every script wraps.
const (
	ours0   = 0xfffffe00
	theirs0 = 0xffffff00
	clock0  = 0xfffff000
)

func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pkt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".pkt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := &script{t: t, file: file, now: Time(time.Hour), theirs: theirs0}
			s.cfg = Config{MSS: 1460, NoTimestamps: true}
			s.run(string(text))
		})
	}
}

func (s *script) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s:%d: %s", s.file, s.line, fmt.Sprintf(format, args...))
}

var scriptLine = regexp.MustCompile(`^(\+?)(\d*\.?\d*)\s+(.*)$`)

func (s *script) run(text string) {
	start := s.now
	for i, line := range strings.Split(text, "\n") {
		s.line = i + 1
		line, _, _ = strings.Cut(line, "//")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "option "); ok {
			s.option(rest)
			continue
		}
		m := scriptLine.FindStringSubmatch(line)
		if m == nil {
			s.fail("not a line of a script: %s", line)
		}
		seconds, err := strconv.ParseFloat("0"+m[2], 64)
		if err != nil {
			s.fail("%v", err)
		}
		at := start.Add(time.Duration(seconds * float64(time.Second)))
		if m[1] == "+" {
			at = s.now.Add(time.Duration(seconds * float64(time.Second)))
		}
		s.passUntil(at)
		s.event(m[3])
		s.collect()
	}
	s.none("at the end")
}

// passUntil lets time pass, and records what the machine sends meanwhile.
func (s *script) passUntil(at Time) {
	for s.conn != nil {
		due, ok := s.conn.Deadline()
		if !ok || due > at {
			break
		}
		s.now = max(due, s.now)
		s.conn.Expire(s.now)
		s.collect()
	}
	s.now = at
}

func (s *script) collect() {
	var seg Segment
	for s.conn != nil && s.conn.Output(&seg, s.now) {
		s.out = append(s.out, sentAt{s.now, seg.Header, seg.Len(), seg.Markable})
		if len(s.out) > 1000 {
			s.fail("the machine sends without end: %s", s.show(s.out[999]))
		}
	}
	if s.conn != nil {
		checkInvariants(s.t, s.conn, s.now)
	}
}

func (s *script) none(when string) {
	s.t.Helper()
	if len(s.out) > 0 {
		s.fail("%s: an unexpected segment: %s", when, s.show(s.out[0]))
	}
}

func (s *script) event(text string) {
	word, rest, _ := strings.Cut(text, " ")
	n, _ := strconv.Atoi(rest)
	switch word {
	case ">":
		s.expect(rest)
		return
	case "<":
		s.none("before this arrives")
		s.arrives(rest)
		return
	case "connect":
		s.conn = Dial(&s.cfg, ours0, s.now)
		return
	case "listen":
		return
	}
	if s.conn == nil {
		s.fail("there is no connection yet")
	}
	switch word {
	case "write":
		if got := s.conn.Write(make([]byte, n)); got != n {
			s.fail("write took %d bytes", got)
		}
	case "read":
		if got := s.conn.Read(make([]byte, n), s.now); got != n {
			s.fail("read gave %d bytes", got)
		}
	case "readable":
		if got := s.conn.Readable(); got != n {
			s.fail("%d bytes can be read", got)
		}
	case "close":
		s.conn.Close(s.now)
	case "shutdown":
		s.conn.CloseWrite()
	case "abort":
		s.conn.Abort()
	case "unreachable":
		s.conn.Unreachable(errors.New("no route to host"), rest == "hard")
	case "pathmtu":
		s.conn.PathMTU(n, s.now)
	case "eof":
		if !s.conn.EndOfStream() {
			s.fail("the stream has not ended")
		}
	case "reusable":
		h, _, _, _ := s.segment(rest, theirs0, ours0)
		if !s.conn.Reusable(&h) {
			s.fail("the SYN may not begin a new connection")
		}
	case "taken":
		h, _, _, _ := s.segment(rest, theirs0, ours0)
		if s.conn.Reusable(&h) {
			s.fail("the SYN may begin a new connection")
		}
	case "state":
		if got := s.conn.State().String(); got != rest {
			s.fail("the state is %s", got)
		}
	case "error":
		if err := s.conn.Err(); (err == nil) != (rest == "none") ||
			err != nil && err.Error() != rest {
			s.fail("the error is %v", err)
		}
	case "quiet":
		s.none("it should be quiet")
	default:
		s.fail("unknown event: %s", word)
	}
}

func (s *script) option(text string) {
	for _, field := range strings.Fields(text) {
		name, value, _ := strings.Cut(field, "=")
		n, _ := strconv.Atoi(value)
		switch name {
		case "timestamps":
			s.cfg.NoTimestamps = n == 0
			s.cfg.Clock = clock0 - uint32(time.Hour/time.Millisecond)
		case "sack":
			s.cfg.NoSACK = n == 0
		case "scale":
			s.cfg.NoScale = n == 0
		case "nagle":
			s.cfg.Delay = n == 1
		case "ecn":
			s.cfg.ECN = n == 1
		case "quickack":
			s.cfg.QuickAck = n == 1
		case "burst":
			s.cfg.Burst = n
		case "receive":
			s.cfg.ReceiveBuffer = n
		case "send":
			s.cfg.SendBuffer = n
		case "congestion":
			s.cfg.Congestion = value
		case "keepalive":
			s.cfg.KeepAlive = time.Duration(n) * time.Second
		case "keepinterval":
			s.cfg.KeepInterval = time.Duration(n) * time.Second
		case "keepcount":
			s.cfg.KeepCount = n
		case "mss":
			s.cfg.MSS = n
		case "usertimeout":
			s.cfg.UserTimeout = time.Duration(n) * time.Second
		default:
			s.fail("unknown option: %s", name)
		}
	}
}

var scriptSegment = regexp.MustCompile(
	`^([SFRPUEW.]+|-) (-?\d+):(-?\d+)\((\d+)\)(?: ack (-?\d+))?(?: win (\d+))?(?: <([^>]*)>)?$`)

// segment parses a segment of a script. It also returns whether win and the options were given.
func (s *script) segment(text string, seq0, ack0 uint32) (h wire.TCP, n int, win, options bool) {
	m := scriptSegment.FindStringSubmatch(text)
	if m == nil {
		s.fail("not a segment: %s", text)
	}
	number := func(text string) uint32 {
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			s.fail("%v", err)
		}
		return uint32(v)
	}
	for _, f := range m[1] {
		if i := strings.IndexRune("FSRP.UEW", f); i >= 0 {
			h.Flags |= 1 << i
		}
	}
	n = int(number(m[4]))
	if int(number(m[3])-number(m[2])) != n {
		s.fail("%s:%s are not %d bytes", m[2], m[3], n)
	}
	h.Seq = seq0 + number(m[2])
	if m[5] != "" {
		h.Ack = ack0 + number(m[5])
		h.Flags |= wire.ACK
	}
	if m[6] != "" {
		h.Window, win = uint16(number(m[6])), true
	}
	if m[7] != "" {
		options = true
		s.options(&h.Options, m[7], ack0)
	}
	return h, n, win, options
}

func (s *script) options(o *wire.TCPOptions, text string, ack0 uint32) {
	for _, option := range strings.Split(text, ",") {
		f := strings.Fields(option)
		number := func(i int) uint32 {
			if i >= len(f) {
				s.fail("option %s: a number is missing", option)
			}
			v, err := strconv.ParseInt(f[i], 10, 64)
			if err != nil {
				s.fail("option %s: %v", option, err)
			}
			return uint32(v)
		}
		switch f[0] {
		case "mss":
			o.MSS = uint16(number(1))
		case "sackOK":
			o.SACKPermitted = true
		case "wscale":
			o.HasWindowScale, o.WindowScale = true, uint8(number(1))
		case "TS":
			o.HasTimestamp, o.TSVal, o.TSEcr = true, number(2), number(4)
		case "sack":
			for _, block := range f[1:] {
				left, right, _ := strings.Cut(block, ":")
				f = []string{left, right}
				o.SACK[o.SACKCount] = wire.SACKBlock{Left: ack0 + number(0),
					Right: ack0 + number(1)}
				o.SACKCount++
			}
		case "nop":
		default:
			s.fail("unknown option of TCP: %s", option)
		}
	}
}

func (s *script) arrives(text string) {
	text, ce := strings.CutPrefix(text, "[ce] ")
	h, n, _, _ := s.segment(text, theirs0, ours0)
	if h.Flags&wire.ACK == 0 {
		h.Ack = 0
	}
	if o := &h.Options; o.HasTimestamp && o.TSEcr != 0 {
		o.TSEcr += clock0
	}
	if s.conn == nil {
		s.conn = Accept(&s.cfg, ours0, &h, s.now)
		return
	}
	if ce {
		s.conn.Marked()
	}
	s.conn.Input(&h, make([]byte, n), s.now)
}

func (s *script) expect(text string) {
	text, ect := strings.CutPrefix(text, "[ect0] ")
	want, n, win, options := s.segment(text, ours0, theirs0)
	if len(s.out) == 0 {
		due, _ := s.conn.Deadline()
		s.fail("nothing was sent, want %s; the next timer is due in %v", text, due.Sub(s.now))
	}
	got := s.out[0]
	s.out = s.out[1:]
	g, w := got.h, want
	if !win {
		g.Window, w.Window = 0, 0
	}
	if !options {
		g.Options, w.Options = wire.TCPOptions{}, wire.TCPOptions{}
	} else if g.Options.HasTimestamp {
		g.Options.TSVal -= clock0
	}
	if got.at != s.now || g != w || got.n != n || got.ect != ect {
		s.fail("sent %s\nwant +0 > %s", s.show(got), text)
	}
}

func (s *script) show(x sentAt) string {
	h := x.h
	text := fmt.Sprintf("%+.3f s: %s %d:%d(%d)", x.at.Sub(s.now).Seconds(), h.Flags,
		int32(h.Seq-ours0), int32(h.Seq-ours0)+int32(x.n), x.n)
	if h.Flags&wire.ACK != 0 {
		text += fmt.Sprintf(" ack %d", int32(h.Ack-theirs0))
	}
	text += fmt.Sprintf(" win %d <", h.Window)
	if o := h.Options; o.MSS != 0 {
		text += fmt.Sprintf("mss %d,", o.MSS)
	}
	if h.Options.SACKPermitted {
		text += "sackOK,"
	}
	if o := h.Options; o.HasTimestamp {
		text += fmt.Sprintf("TS val %d ecr %d,", o.TSVal-clock0, o.TSEcr)
	}
	if o := h.Options; o.HasWindowScale {
		text += fmt.Sprintf("wscale %d,", o.WindowScale)
	}
	if h.Options.SACKCount > 0 {
		text += "sack"
		for _, b := range h.Options.SACK[:h.Options.SACKCount] {
			text += fmt.Sprintf(" %d:%d", int32(b.Left-theirs0), int32(b.Right-theirs0))
		}
	}
	if text = strings.TrimSuffix(text, ",") + ">"; x.ect {
		text += ", ECT(0)"
	}
	return text
}
