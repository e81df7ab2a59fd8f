package packetdrill

import (
	"sort"
	"strconv"
	"strings"

	"interleave/gonet/tcp"
)

// measures are the fields of Linux's tcp_info that GoNet has, too. Linux counts in segments what
// GoNet counts in bytes.
var measures = map[string]func(c *conn, i *tcp.Info) int64{
	"tcpi_state": func(_ *conn, i *tcp.Info) int64 { return constants[states[i.State]] },
	"tcpi_ca_state": func(_ *conn, i *tcp.Info) int64 {
		switch {
		case i.Expired:
			return constants["TCP_CA_Loss"]
		case i.Recovering:
			return constants["TCP_CA_Recovery"]
		case i.Sacked > 0:
			return constants["TCP_CA_Disorder"]
		}
		return constants["TCP_CA_Open"]
	},
	"tcpi_options": func(_ *conn, i *tcp.Info) int64 {
		return bit(i.Timestamps, constants["TCPI_OPT_TIMESTAMPS"]) |
			bit(i.SACK, constants["TCPI_OPT_SACK"]) |
			bit(i.Scaling, constants["TCPI_OPT_WSCALE"]) |
			bit(i.ECN, constants["TCPI_OPT_ECN"])
	},
	"tcpi_backoff":  func(_ *conn, i *tcp.Info) int64 { return int64(i.Backoff) },
	"tcpi_rto":      func(_ *conn, i *tcp.Info) int64 { return i.RTO.Microseconds() },
	"tcpi_rtt":      func(_ *conn, i *tcp.Info) int64 { return i.RTT.Microseconds() },
	"tcpi_rttvar":   func(_ *conn, i *tcp.Info) int64 { return i.Deviation.Microseconds() },
	"tcpi_min_rtt":  func(_ *conn, i *tcp.Info) int64 { return i.MinRTT.Microseconds() },
	"tcpi_snd_mss":  func(_ *conn, i *tcp.Info) int64 { return int64(i.MSS) },
	"tcpi_advmss":   func(c *conn, _ *tcp.Info) int64 { return int64(c.cfg.MSS) },
	"tcpi_snd_cwnd": func(_ *conn, i *tcp.Info) int64 { return int64(i.Window / i.MSS) },
	"tcpi_snd_ssthresh": func(_ *conn, i *tcp.Info) int64 {
		if i.Threshold == 0 {
			return 0x7fffffff
		}
		return int64(i.Threshold / i.MSS)
	},
	"tcpi_unacked": func(_ *conn, i *tcp.Info) int64 {
		return segments(i.InFlight+i.Sacked+i.Lost, i)
	},
	"tcpi_sacked": func(_ *conn, i *tcp.Info) int64 { return segments(i.Sacked, i) },
	// Linux counts a lost segment until it is acknowledged, also after its retransmission.
	"tcpi_lost": func(_ *conn, i *tcp.Info) int64 {
		return segments(i.Lost+i.Repairing, i)
	},
	"tcpi_retrans":       func(_ *conn, i *tcp.Info) int64 { return segments(i.Repairing, i) },
	"tcpi_total_retrans": func(_ *conn, i *tcp.Info) int64 { return int64(i.Resent) },
}

// leftOutMeasures are Linux's own: its estimate of how far segments are reordered. RACK needs none.
var leftOutMeasures = map[string]bool{"tcpi_reordering": true, "tcpi_reord_seen": true}

func bit(is bool, value int64) int64 {
	if is {
		return value
	}
	return 0
}

// segments returns how many segments n bytes are.
func segments(n int, i *tcp.Info) int64 { return int64((n + i.MSS - 1) / i.MSS) }

var states = map[tcp.State]string{
	tcp.Closed: "TCP_CLOSE", tcp.SynSent: "TCP_SYN_SENT", tcp.SynReceived: "TCP_SYN_RECV",
	tcp.Established: "TCP_ESTABLISHED", tcp.FinWait1: "TCP_FIN_WAIT1",
	tcp.FinWait2: "TCP_FIN_WAIT2", tcp.CloseWait: "TCP_CLOSE_WAIT", tcp.Closing: "TCP_CLOSING",
	tcp.LastAck: "TCP_LAST_ACK", tcp.TimeWait: "TCP_TIME_WAIT",
}

// constants are the names that packetdrill defines for the code of scripts.
var constants = map[string]int64{
	"TCP_ESTABLISHED": 1, "TCP_SYN_SENT": 2, "TCP_SYN_RECV": 3, "TCP_FIN_WAIT1": 4,
	"TCP_FIN_WAIT2": 5, "TCP_TIME_WAIT": 6, "TCP_CLOSE": 7, "TCP_CLOSE_WAIT": 8,
	"TCP_LAST_ACK": 9, "TCP_LISTEN": 10, "TCP_CLOSING": 11,
	"TCP_CA_Open": 0, "TCP_CA_Disorder": 1, "TCP_CA_CWR": 2, "TCP_CA_Recovery": 3,
	"TCP_CA_Loss":         4,
	"TCPI_OPT_TIMESTAMPS": 1, "TCPI_OPT_SACK": 2, "TCPI_OPT_WSCALE": 4, "TCPI_OPT_ECN": 8,
	"TCPI_OPT_ECN_SEEN": 16, "TCPI_OPT_SYN_DATA": 32,
}

// needs returns the measures that GoNet does not have, as an error, or those whose assertions are
// left out. assigned has the variables of the code before, and gets those of this.
func (c Code) needs(assigned map[string]bool) (left string, err error) {
	statements, err := parseCode(c)
	if err != nil {
		return "", unsupported("code: " + err.Error())
	}
	skipped := map[string]bool{}
	for _, s := range statements {
		s.value.names(func(name string) {
			_, constant := constants[name]
			switch {
			case leftOutMeasures[name]:
				skipped[name] = true
			case measures[name] == nil && !constant && !assigned[name] && err == nil:
				err = unsupported(name)
			}
		})
		if s.name != "" {
			assigned[s.name] = true
		}
	}
	names := make([]string, 0, len(skipped))
	for name := range skipped {
		names = append(names, name)
	}
	sort.Strings(names)
	return strings.Join(names, ", "), err
}

// assert runs code.
func (p *player) assert(c Code) error {
	statements, err := parseCode(c)
	if err != nil {
		return p.differs("the code: %v", err)
	}
	p.measure()
	for _, s := range statements {
		left := false
		s.value.names(func(name string) { left = left || leftOutMeasures[name] })
		if left {
			continue
		}
		v, err := s.value.eval(p.vars)
		switch {
		case err != nil:
			return p.differs("%s: %v", s.text, err)
		case s.add:
			p.vars[s.name] += v
		case s.name != "":
			p.vars[s.name] = v
		case v == 0:
			return p.differs("%s: it is not%s", s.text, p.values(s.value))
		}
	}
	return nil
}

// values lists the measures in an expression with their values.
func (p *player) values(e *expression) string {
	text := ""
	e.names(func(name string) {
		if measures[name] != nil {
			text += ", " + name + " is " + strconv.FormatInt(p.vars[name], 10)
		}
	})
	return text
}

// measure gives the variables of the code their values at this instant.
func (p *player) measure() {
	for name, v := range constants {
		p.vars[name] = v
	}
	if p.conn == nil || p.conn.machine == nil {
		return
	}
	i := p.conn.machine.Info()
	for name, value := range measures {
		p.vars[name] = value(p.conn, &i)
	}
}
